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
| ... ``{"scale": "~ (1 \\| g)"}`` | ``sigma_1\\|g``, ``sigma_1\\|g_sigma`` | ``g__factor_dim`` |
| ``s(x)`` | ``s(x)``, and its scale ``s(x)_sigma`` | ``s(x)_dim`` |
| ``te(x, z)`` | ``te(x, z)``, and its scales ``te(x, z)_sigma`` | ``te(x, z)_dim``, ``te(x, z)_sigma_dim`` |
| ``predictors={"scale": "~ s(x)"}`` | ``sigma_s(x)``, and its scale ``sigma_s(x)_sigma`` | ``sigma_s(x)_dim`` |
| the family's parameters | ``sigma``, ``nu``, ``alpha``, ``kappa``, ``psi``, ``threshold`` | |
| classes of `Categorical` | every coefficient, effect, scale and correlation once for each class | ``species_dim`` |

Names that files cannot hold or that are taken are changed: ``/`` becomes ``÷``, and a name that is taken (``draw``, or
``sigma`` beside a family's own) gets an underscore at its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..priors.smooths import SCALES_OF_SMOOTHS
from ..results.layout import CLASSES, COEFFICIENT, PARAMETER, ROLE, SMOOTH_SCALE, Layout, Variable, Variables
from . import group_names
from .right_side import RightSide
from .syntax import label
from .variable_parts import FAMILY_NAMES, Dimensions, Found, about, as_written, prefix

if TYPE_CHECKING:
    from .model import FormulaModel

_DESCRIBED = {"sigma": "scale", "kappa": "precision", "psi": "positive"}


def by_own_names(predictors: Any, known: Sequence[str]) -> Any:
    """Return ``predictors`` with the family's own parameter names. The keys may also be the names in results."""
    if not isinstance(predictors, Mapping):
        return predictors
    return {name if name in known else _DESCRIBED.get(name, name): formula for name, formula in predictors.items()}


_OF_PRIORS = ("local_scale", "global_scale", "prior_scale")
"""Variables of priors whose scales are drawn."""


def layout(model: FormulaModel, variables: Variables, groupings: Sequence[Any]) -> Layout:
    """Return the variables of the result. ``variables`` and ``groupings`` are those of the formula's target."""
    found: list[Found] = []
    at = 0
    for name, labels in variables:
        size = 1 if labels is None else len(labels)
        columns = np.arange(at, at + size)
        if name == "theta" and not model.side.dim:
            pass  # hazards without columns
        elif name == "theta":
            found += _coefficients(model.side, columns, _classes(model, size))
        elif name in model.others:
            found += _coefficients(model.others[name], columns, {}, name)
        elif name == "group_scale":
            found += group_names.scales(_factors(model, groupings), columns)
        elif name == "group_correlation":
            found += group_names.correlations(_factors(model, groupings), columns)
        elif name == "group_effect":
            found += group_names.effects(_factors(model, groupings), columns)
        elif name == SCALES_OF_SMOOTHS:
            sides = _sides(model, variables)
            found += _scales_of_smooths(sides, columns, _classes_of_scales(model, sides, size))
        else:
            found.append(_parameter(name, labels, columns))
        at += size
    return _named(found)


def _factors(model: FormulaModel, groupings: Sequence[Any]) -> list[group_names.Factor]:
    classes: Dimensions = {}
    if model.response.levels is not None and groupings[0].label is not None:
        classes = _classes(model, (len(model.response.levels) - 1) * model.side.dim)
    return group_names.factors_of(model.groups, groupings, classes)


def _named(found: Sequence[Found]) -> Layout:
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
        named = dict(zip(one.dims, dims, strict=True))
        attributes = {key: named[value] if key == CLASSES else value for key, value in one.attributes.items()}
        variables.append(Variable(names[k], one.columns, tuple(dims), attributes))
    return Layout(tuple(variables), labels)


def _free(name: str, taken: set[str]) -> str:
    name = name.replace("/", "÷")
    while name in taken:
        name += "_"
    return name


def _parameter(name: str, labels: Sequence[str] | None, columns: np.ndarray) -> Found:
    called = FAMILY_NAMES.get(name, name)
    if labels is None:
        return Found(called, columns[0], {}, about(PARAMETER, term=name))
    return Found(called, columns, {f"{called}_dim": tuple(labels)}, about(PARAMETER, term=name))


def _sides(model: FormulaModel, variables: Variables) -> list[tuple[str | None, RightSide]]:
    """All predictors in the order of their coefficients; None is the name of the main one."""
    named = [(name, model.others[name]) for name, _ in variables if name in model.others]
    return [(None, model.side), *named]


def _classes_of_scales(model: FormulaModel, sides: Sequence[tuple[str | None, RightSide]], scales: int) -> Dimensions:
    """As `_classes`: each class has as many scales."""
    each = sum(max(len(one.scale_labels(side.levels)), 1) for _, side in sides for one in side.smooths)
    return _classes(model, scales // each * model.side.dim) if model.side.dim else {}


def _scales_of_smooths(
    sides: Sequence[tuple[str | None, RightSide]], columns: np.ndarray, classes: Dimensions
) -> Iterator[Found]:
    """``s(x)_sigma``, of a curve for each level, or of a surface, with a dimension; of classes with theirs."""
    at, of_classes = 0, max((len(labels) for labels in classes.values()), default=1)
    by_class = columns.reshape(of_classes, -1).T
    for of, curve, levels in ((of, curve, side.levels) for of, side in sides for curve in side.smooths):
        name, labels = f"{prefix(of)}{curve.name}_sigma", curve.scale_labels(levels)
        count = max(len(labels), 1)
        own, at = by_class[at : at + count], at + count
        own = own if labels else own[0]
        dims: Dimensions = {f"{name}_dim": tuple(labels)} if labels else {}
        attributes = about(SMOOTH_SCALE, term=curve.name, predictor=of)
        yield Found(name, own if classes else own[..., 0], {**dims, **classes}, attributes)


def _classes(model: FormulaModel, coefficients: int) -> Dimensions:
    """The classes that have coefficients of their own, by the response's dimension; none but of `Categorical`."""
    response, count = model.response, coefficients // model.side.dim
    of_classes = response.levels is not None and not response.labels and not model.side.hide_intercept
    if not of_classes and count == 1:
        return {}
    named = response.levels[1:] if response.levels is not None else tuple(str(k + 1) for k in range(count))
    return {f"{label(response.node)}_dim": named}


def _coefficients(side: RightSide, columns: np.ndarray, classes: Dimensions, of: str | None = None) -> Iterator[Found]:
    """``columns`` hold the coefficients of the first class, then those of the next."""
    by_class = columns.reshape(-1, side.dim).T if classes else columns
    for piece, at in as_written(side):
        own = by_class[at] if piece.labels is None else by_class[at : at + piece.size]
        name = f"{prefix(of)}{piece.name}"
        dims: Dimensions = {} if piece.labels is None else {f"{name}_dim": piece.labels}
        yield Found(
            name,
            own,
            {**dims, **classes},
            about(COEFFICIENT, term=piece.name, predictor=of, reference=piece.reference, curve=piece.curve),
        )
