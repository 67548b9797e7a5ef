"""What results call the parameters of a formula: a variable for every term, with the names that Bambi has.

| in the formula | variables | dimensions |
|---|---|---|
| intercept, number | ``Intercept``, ``distance``, ``distance:hour`` | |
| factor, product with factors | ``carrier``, ``carrier:distance``, ``carrier:month`` | ``carrier_dim`` |
| ``(1 + x \\| airport)`` | ``1\\|airport``, ``x\\|airport`` | ``airport__factor_dim`` |
| ... their standard deviations | ``1\\|airport_sigma``, ``x\\|airport_sigma`` | |
| ... their correlation | ``1,x\\|airport_corr`` | |
| ``(carrier \\| airport)`` | ``carrier\\|airport`` | ``carrier__expr_dim``, ``airport__factor_dim`` |
| ``predictors={"inflation": "~ year"}`` | ``inflation_Intercept``, ``inflation_year`` | |
| ``s(x)`` | ``s(x)``, and its scale ``s(x)_sigma`` | ``s(x)_dim`` |
| the family's parameters | ``sigma``, ``nu``, ``alpha``, ``kappa``, ``psi``, ``threshold`` | |
| classes of `Categorical` | every coefficient once for each class | ``species_dim`` |

Names that files cannot hold or that are taken are changed: ``/`` becomes ``÷``, and a name that is taken (``draw``, or
``sigma`` beside a family's own) gets an underscore at its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..priors.smooths import SCALES_OF_SMOOTHS
from ..results.layout import (
    COEFFICIENT,
    CORRELATION,
    EFFECT,
    GROUP_SCALE,
    PARAMETER,
    ROLE,
    SMOOTH_SCALE,
    Layout,
    Variable,
    Variables,
)
from .coding import Block
from .right_side import RightSide
from .smooths import Smooth
from .syntax import label
from .terms import term_label

if TYPE_CHECKING:
    from .model import FormulaModel, GroupSide

FAMILY_NAMES = {
    "scale": "sigma",
    "df": "nu",
    "dispersion": "alpha",
    "shape": "alpha",
    "precision": "kappa",
    "positive": "psi",
    "cutpoint": "threshold",
}
"""What results of formulas call a family's parameter, as Bambi does; others keep the family's own name.

``inflation`` does: it is the probability of a zero too many, and Bambi's ``psi`` is 1 minus that probability.
"""

_DESCRIBED = {"sigma": "scale", "kappa": "precision", "psi": "positive"}


def by_own_names(predictors: Any, known: Sequence[str]) -> Any:
    """``predictors`` by the family's own names of its parameters, for which results' names may stand."""
    if not isinstance(predictors, Mapping):
        return predictors
    return {name if name in known else _DESCRIBED.get(name, name): formula for name, formula in predictors.items()}


_OF_PRIORS = ("local_scale", "global_scale", "prior_scale")
"""Variables of priors whose scales are drawn."""


class Piece(NamedTuple):
    """Columns of one block: its name, the labels of its columns (None: it is one column), and the reference."""

    name: str
    labels: tuple[str, ...] | None
    reference: str | None
    curve: str | None = None
    """Of a curve, the column that it is over."""

    @property
    def size(self) -> int:
        return 1 if self.labels is None else len(self.labels)


def pieces_of(side: RightSide) -> list[Piece]:
    """The blocks of a right side, in the order of its columns."""
    return [_piece(side, part) for part in side.parts]


def as_written(side: RightSide) -> list[tuple[Piece, int]]:
    """The blocks in the order of the formula, with the places of their first columns."""
    found, at = {}, 0
    for part, piece in zip(side.parts, pieces_of(side), strict=True):
        found[part], at = (piece, at), at + piece.size
    return [found[part] for part in (*side.blocks, *side.curves) if part in found]


def _piece(side: RightSide, block: Block | Smooth) -> Piece:
    if isinstance(block, Smooth):
        return Piece(block.name, side.curve_labels(block), None, label(block.asked.x))
    name = side.block_name(block)
    if not block.factors:
        return Piece(name, None, None)
    references = {label(one.atom): side.levels[label(one.atom)][0] for one in block.factors if not one.full}
    told = [level if len(block.factors) == 1 else f"{factor} = {level}" for factor, level in references.items()]
    return Piece(name, tuple(", ".join(levels) for levels in side.cell_levels(block)), ", ".join(told) or None)


def layout(model: FormulaModel, variables: Variables, groupings: Sequence[Any]) -> Layout:
    """The result's variables; ``variables`` and ``groupings`` are those of the formula's target."""
    found: list[_Found] = []
    at = 0
    for name, labels in variables:
        size = 1 if labels is None else len(labels)
        columns = np.arange(at, at + size)
        if name == "theta":
            found += _coefficients(model.side, columns, _classes(model, size))
        elif name in model.others:
            found += _coefficients(model.others[name], columns, {}, name)
        elif name == "group_scale":
            found += _scales(model.groups, groupings, columns)
        elif name == "group_correlation":
            found += _correlations(model.groups, groupings, columns)
        elif name == "group_effect":
            found += _effects(model.groups, groupings, columns)
        elif name == SCALES_OF_SMOOTHS:
            found += _scales_of_smooths(model.side, columns)
        else:
            found.append(_parameter(name, labels, columns))
        at += size
    return _named(found)


Dimensions = dict[str, tuple[str, ...]]
"""Labels by the dimension's name."""


class _Found(NamedTuple):
    """A variable before its name is known to be free."""

    name: str
    columns: np.ndarray
    dims: Dimensions
    attributes: dict[str, str]


def _named(found: Sequence[_Found]) -> Layout:
    """The family's parameters have the first choice of names, dimensions the last."""
    taken = {"chain", "draw"}
    names: dict[int, str] = {}
    for first in (True, False):
        for k, one in enumerate(found):
            if first == (one.attributes[ROLE] == PARAMETER):
                names[k] = _free(one.name, taken)
                taken.add(names[k])
        taken |= set(_OF_PRIORS)
    labels: Dimensions = {}
    variables = []
    for k, one in enumerate(found):
        dims = []
        for dim, own in one.dims.items():
            others = {name for name, known in labels.items() if known != own}
            dims.append(_free(dim, taken | others))
            labels[dims[-1]] = own
        variables.append(Variable(names[k], one.columns, tuple(dims), one.attributes))
    return Layout(tuple(variables), labels)


def _free(name: str, taken: set[str]) -> str:
    name = name.replace("/", "÷")
    while name in taken:
        name += "_"
    return name


def _about(role: str, **others: str | None) -> dict[str, str]:
    return {ROLE: role, **{key: value for key, value in others.items() if value is not None}}


def _parameter(name: str, labels: Sequence[str] | None, columns: np.ndarray) -> _Found:
    called = FAMILY_NAMES.get(name, name)
    if labels is None:
        return _Found(called, columns[0], {}, _about(PARAMETER, term=name))
    return _Found(called, columns, {f"{called}_dim": tuple(labels)}, _about(PARAMETER, term=name))


def _scales_of_smooths(side: RightSide, columns: np.ndarray) -> Iterator[_Found]:
    """``s(x)_sigma``, of a curve for each level with a dimension."""
    at = 0
    for curve in side.curves:
        if curve.asked.penalised:
            name, count = f"{curve.name}_sigma", max(curve.levels, 1)
            own, at = columns[at : at + count], at + count
            by = curve.asked.by
            levels = () if by is None else side.levels.get(label(by), ())
            dims: Dimensions = {f"{name}_dim": tuple(levels)} if curve.levels else {}
            yield _Found(name, own if curve.levels else own[0], dims, _about(SMOOTH_SCALE, term=curve.name))


def _classes(model: FormulaModel, coefficients: int) -> Dimensions:
    """The classes that have coefficients of their own, by the response's dimension; none but of `Categorical`."""
    response, count = model.response, coefficients // model.side.dim
    of_classes = response.levels is not None and not response.labels and not model.side.hide_intercept
    if not of_classes and count == 1:
        return {}
    named = response.levels[1:] if response.levels is not None else tuple(str(k + 1) for k in range(count))
    return {f"{label(response.node)}_dim": named}


def _coefficients(side: RightSide, columns: np.ndarray, classes: Dimensions, of: str | None = None) -> Iterator[_Found]:
    """``columns`` hold the coefficients of the first class, then those of the next."""
    by_class = columns.reshape(-1, side.dim).T if classes else columns
    prefix = "" if of is None else f"{FAMILY_NAMES.get(of, of)}_"
    for piece, at in as_written(side):
        own = by_class[at] if piece.labels is None else by_class[at : at + piece.size]
        name = f"{prefix}{piece.name}"
        dims: Dimensions = {} if piece.labels is None else {f"{name}_dim": piece.labels}
        yield _Found(
            name,
            own,
            {**dims, **classes},
            _about(COEFFICIENT, term=piece.name, predictor=of, reference=piece.reference, curve=piece.curve),
        )


# ----------------------------------------------------------------------------------------------------- groups


def effect_name(piece: Piece, one: GroupSide) -> str:
    """``1|airport``, ``x|airport``."""
    return f"{_short(piece)}|{term_label(one.by)}"


def _short(piece: Piece) -> str:
    return "1" if piece.name == "Intercept" and piece.labels is None else piece.name


def _expression(piece: Piece) -> Dimensions:
    return {} if piece.labels is None else {f"{piece.name}__expr_dim": piece.labels}


def _effects(groups: Sequence[GroupSide], groupings: Sequence[Any], columns: np.ndarray) -> Iterator[_Found]:
    """Effects lie level by level, those of one level beside each other."""
    start = 0
    for one, grouping in zip(groups, groupings, strict=True):
        own = columns[start : start + grouping.groups * grouping.q].reshape(grouping.groups, grouping.q)
        start, at = start + own.size, 0
        levels = {f"{term_label(one.by)}__factor_dim": tuple(map(str, grouping.levels))}
        for piece in pieces_of(one.columns):
            part = own[:, at] if piece.labels is None else own[:, at : at + piece.size].T
            about = _about(EFFECT, term=piece.name, group=term_label(one.by), reference=piece.reference)
            yield _Found(effect_name(piece, one), part, {**_expression(piece), **levels}, about)
            at += piece.size


def _scales(groups: Sequence[GroupSide], groupings: Sequence[Any], columns: np.ndarray) -> Iterator[_Found]:
    at = 0
    for one, grouping in zip(groups, groupings, strict=True):
        if not grouping.scales:
            continue
        for piece in pieces_of(one.columns):
            own = columns[at] if piece.labels is None else columns[at : at + piece.size]
            about = _about(GROUP_SCALE, term=piece.name, group=term_label(one.by), reference=piece.reference)
            yield _Found(f"{effect_name(piece, one)}_sigma", own, _expression(piece), about)
            at += piece.size


def _correlations(groups: Sequence[GroupSide], groupings: Sequence[Any], columns: np.ndarray) -> Iterator[_Found]:
    """Of a factor with q columns, that of the columns ``j < i`` is number ``i (i - 1) / 2 + j``."""
    start = 0
    for one, grouping in zip(groups, groupings, strict=True):
        if not grouping.scales:
            continue
        q = grouping.q
        i, j = np.indices((q, q))
        place = start + np.maximum(i, j) * (np.maximum(i, j) - 1) // 2 + np.minimum(i, j)
        start += q * (q - 1) // 2
        pieces, ends = pieces_of(one.columns), np.cumsum([piece.size for piece in pieces_of(one.columns)])
        for t, second in enumerate(pieces):
            here = slice(ends[t] - second.size, ends[t])
            for s, first in enumerate(pieces[:t]):
                there = slice(ends[s] - first.size, ends[s])
                own = columns[place[there, here]]
                shape = [piece.size for piece in (first, second) if piece.labels is not None]
                dims = {**_expression(first), **_expression(second)}
                yield _correlation(first, second, one, own.reshape(shape), dims)
            if second.size > 1:
                a, b = np.triu_indices(second.size, 1)
                levels = second.labels or ()
                pairs = tuple(f"{levels[x]}, {levels[y]}" for x, y in zip(a, b, strict=True))
                dims = {f"{second.name}__pair_dim": pairs}
                yield _correlation(second, second, one, columns[place[here, here][a, b]], dims)


def _correlation(first: Piece, second: Piece, one: GroupSide, columns: np.ndarray, dims: Dimensions) -> _Found:
    name = f"{_short(first)},{_short(second)}|{term_label(one.by)}_corr"
    return _Found(name, columns, dims, _about(CORRELATION, term=pair_name(first, second), group=term_label(one.by)))


def pair_name(first: Piece, second: Piece) -> str:
    """The attribute ``term`` of a correlation."""
    return f"{first.name},{second.name}"
