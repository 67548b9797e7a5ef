"""What a result says of its factors: the effects of every term, their covariance, and the variance of a row.

Results of a formula have a variable for every term, whose attributes name the factor and the term. Results of
`MixedModel` have one variable ``group_effect`` for all factors, level by level. Both have the columns of effects in the
attribute ``model``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .._arguments import shown
from ..errors import NotApplicable
from ..targets.families.registry import family_from_json
from .layout import CLASSES, COEFFICIENT, CORRELATION, EFFECT, GROUP, GROUP_SCALE, PARAMETER, PREDICTOR, ROLE, TERM
from .tree import summed_effects

Moments = tuple[np.ndarray, np.ndarray]
"""Means and standard deviations, (chain, level)."""

_INTERCEPT = "Intercept"


class Part(NamedTuple):
    """The predictor that effects belong to: that of a class, that of a further parameter, or the main predictor."""

    of_class: str | None = None
    parameter: str | None = None

    def after(self, text: str) -> str:
        """Return the text followed by the predictor of the effects: ``x, class B``, ``x of scale``, ``x``."""
        if self.of_class is not None:
            return f"{text}, class {self.of_class}" if text else f"class {self.of_class}"
        if self.parameter is not None:
            return f"{text} of {self.parameter}" if text else f"of {self.parameter}"
        return text


_MAIN = Part()


@dataclass(frozen=True, eq=False)
class Effects:
    """The effects of one column for every level of a factor: intercepts or slopes.

    ``names`` are the names in `tunamh.summary`. ``draws`` has the dimensions (chain, draw, level); it is None if the
    run kept only the ``moments``. ``coefficient`` (chain, draw) is the common coefficient of the same column, or None.
    """

    factor: str
    term: str
    levels: list[str]
    names: list[str]
    rows: np.ndarray | None
    draws: np.ndarray | None
    moments: Moments | None
    coefficient: np.ndarray | None = None
    part: Part = _MAIN

    @property
    def heading(self) -> str:
        """Return the name of the term and the predictor of its effects, for a heading."""
        return self.part.after(self.term)


@dataclass(frozen=True, eq=False)
class Covariance:
    """The covariance of the effects of a factor.

    ``scales`` are the standard deviations (chain, draw, q), and ``correlations`` (chain, draw) are those of columns ``i
    < j``. Every predictor with group effects has its own covariance. Columns without an entry in ``correlations`` are
    independent. ``squares`` is the mean of ``z z'`` over the rows.
    """

    factor: str
    terms: list[str]
    scales: np.ndarray
    correlations: dict[tuple[int, int], np.ndarray]
    squares: np.ndarray | None
    df: np.ndarray | None = None  # of Student-t effects, column by column; inf of normal ones
    part: Part = _MAIN
    of_rows: bool = False  # every level is one row, and no level is related to another

    @property
    def has_variance(self) -> bool:
        return self.df is None or bool((self.df > 2).all())

    def variance(self) -> np.ndarray | None:
        """Return ``trace(Sigma E[z z'])`` (chain, draw): the average variance that the effects add to a row."""
        if self.squares is None or not self.has_variance:
            return None
        wider = np.ones(len(self.terms)) if self.df is None else 1 / (1 - 2 / self.df)  # df / (df - 2)
        found = np.square(self.scales) @ (wider * np.diag(self.squares))
        for (i, j), related in self.correlations.items():
            found = found + 2 * wider[i] * related * self.scales[..., i] * self.scales[..., j] * self.squares[i, j]
        return found


@dataclass(frozen=True)
class _Block:
    """Columns of effects that are correlated: what the attribute ``model`` says of one group term."""

    factor: str
    name: str
    columns: list[str]
    levels: int
    known: list[float] | None
    squares: np.ndarray | None
    rows: np.ndarray | None
    df: float = np.inf  # of Student-t effects
    related: bool = False  # levels have a known covariance
    part: Part = _MAIN

    @classmethod
    def from_json(cls, about: dict[str, Any]) -> _Block:
        columns, levels = [str(one) for one in about["columns"]], int(about["levels"])
        known, squares, rows = about.get("known"), about.get("squares"), about.get("rows")
        return cls(
            str(about.get("factor", about["name"])),
            str(about["name"]),
            columns,
            levels,
            None if known is None else [float(one) for one in known],
            None if squares is None else np.array(squares, np.float64).reshape(len(columns), len(columns)),
            None if rows is None else np.array(rows, np.int64).reshape(levels),
            float(about.get("df", np.inf)),
            bool(about.get("related", False)),
            Part(*(None if about.get(key) is None else str(about[key]) for key in ("class", "parameter"))),
        )

    @property
    def known_or_none(self) -> list[float | None]:
        """Return the known standard deviation of every column, or None for each column where it is unknown."""
        return [None] * len(self.columns) if self.known is None else [*self.known]

    @property
    def terms(self) -> list[str]:
        """Return the names of the columns. A column such as ``B`` or ``x[B]`` of a class is named without the class."""
        own, label = self.columns, self.part.of_class
        if label is not None:
            own = ["" if one == label else one.removesuffix(f"[{label}]") for one in own]
        return [column or _INTERCEPT for column in own]


class GroupedResult:
    """A result of a model with group effects, opened for tables. Other results raise `NotApplicable`."""

    def __init__(self, tree: Any):
        self.tree = tree
        try:
            self.posterior = tree["posterior"]
            self.about = json.loads(self.posterior.attrs["model"])
            self.of_formula = self.about.get("formula") is not None
            self.blocks = [_Block.from_json(one) for one in self.about.get("groups") or ()]
        except (LookupError, TypeError, AttributeError, ValueError, OverflowError, RecursionError):
            raise NotApplicable(
                "group effects need the result of tunamh.sample for a regression (with draws, and with the attribute "
                f"'model' of the group 'posterior'), got {shown(tree)}."
            ) from None
        if not self.blocks:
            raise NotApplicable(
                "the model of this result has no group effects: write (1 | airport) in its formula, or give groups= to "
                "tunamh.MixedModel."
            )

    @cached_property
    def factors(self) -> list[str]:
        """Return the names of the factors as the formula has them."""
        return list(dict.fromkeys(block.factor for block in self.blocks))

    @cached_property
    def parts(self) -> list[Part]:
        """Return the predictors that the effects of any factor belong to."""
        return list(dict.fromkeys(block.part for block in self.blocks))

    @property
    def covered(self) -> list[tuple[str, Part]]:
        """Return the pairs of a factor and a predictor in which it has effects."""
        return [(factor, part) for factor in self.factors for part in self.parts if self._blocks_of(factor, part)]

    def _variables(
        self, role: str, factor: str | None = None, part: Part | None = None, *, within: Any = None
    ) -> list[Any]:
        """In their order in the result, which is that of the columns; of one class its part of them."""
        group = self.posterior if within is None else within
        return [
            values if part is None else _of_class(values, part.of_class)
            for values in group.data_vars.values()
            if values.attrs.get(ROLE) == role
            and (factor is None or values.attrs.get(GROUP) == factor)
            and (part is None or values.attrs.get(PREDICTOR) == part.parameter)
        ]

    def _blocks_of(self, factor: str, part: Part) -> list[_Block]:
        return [block for block in self.blocks if block.factor == factor and block.part == part]

    # ------------------------------------------------------------------------------------------------- effects

    def effects(self) -> list[Effects]:
        """Return the effects, factor by factor, then predictor by predictor, then column by column."""
        found = [*(self._formula_effects() if self.of_formula else self._plain_effects())]
        if len(found) != sum(len(block.columns) for block in self.blocks):
            raise NotApplicable(
                "the result has neither draws nor means of its group effects. The means of effects that were not kept "
                "are in the result of tunamh.sample or tunamh.resume, not in a stored run; keep_effects=True keeps the "
                "draws."
            )
        return found

    def _formula_effects(self) -> Iterator[Effects]:
        kept = bool(self._variables(EFFECT))
        group = None if kept or not summed_effects(self.tree) else self.tree["group_effects"]
        for factor, part in self.covered:
            own = self._blocks_of(factor, part)
            terms = [term for block in own for term in block.terms]
            for values in self._variables(EFFECT, factor, part, within=group):
                for found in self._columns(values, own[0], kept):
                    yield replace(found, term=terms.pop(0))

    def _columns(self, values: Any, block: _Block, kept: bool) -> Iterator[Effects]:
        """The columns of one variable, which has several where a factor has effects by group."""
        levels = [str(level) for level in values[values.dims[-1]].values.tolist()]
        inner = [str(label) for label in values[values.dims[2]].values.tolist()] if values.ndim == 4 else [""]
        before = ("chain", "draw") if kept else ("chain", "statistic")
        array = values.transpose(*before, ...).values
        flat = array.reshape(*array.shape[:2], -1, array.shape[-1])
        rows = block.rows if block.levels == len(levels) else None  # some levels were cut out
        end = [] if block.part.of_class is None else [block.part.of_class]
        for k, label in enumerate(inner):
            names = [f"{values.name}[{', '.join([*[label] * bool(label), level, *end])}]" for level in levels]
            draws = flat[:, :, k] if kept else None
            moments = None if kept else self._moments(values, flat[:, :, k])
            beside = self._coefficient(values, k, block.part) if kept else None
            yield Effects(block.factor, "", levels, names, rows, draws, moments, beside, block.part)

    @staticmethod
    def _moments(values: Any, flat: np.ndarray) -> Moments:
        at = [str(one) for one in values["statistic"].values.tolist()]
        return flat[:, at.index("mean")], flat[:, at.index("sd")]

    def _coefficient(self, effects: Any, k: int, part: Part) -> np.ndarray | None:
        """Of the same term in the same predictor; of a factor, of the same level; of classes, of the same class."""
        for whole in self._variables(COEFFICIENT):
            values = _of_class(whole, part.of_class, effects.attrs.get(CLASSES))
            same = values.attrs.get(PREDICTOR) == part.parameter
            if values.attrs.get(TERM) == effects.attrs.get(TERM) and same:
                array = values.transpose("chain", "draw", ...).values
                if effects.ndim == 3:
                    return array if array.ndim == 2 else None
                wanted = str(effects[effects.dims[2]].values[k])
                there = [str(one) for one in values[values.dims[-1]].values.tolist()]
                return array[:, :, there.index(wanted)] if array.ndim == 3 and wanted in there else None
        return None

    def _plain_effects(self) -> Iterator[Effects]:
        kept = "group_effect" in self.posterior
        if kept:
            arrays = [self.posterior["group_effect"]]
        else:
            arrays = [*summed_effects(self.tree).get("group_effect", ())]
        if not arrays:
            return
        labels = [str(one) for one in arrays[0][arrays[0].dims[-1]].values.tolist()]
        if len(labels) != sum(block.levels * len(block.columns) for block in self.blocks):
            raise NotApplicable(f"the result has {len(labels):,} group effects, but its model has another number.")
        before = ("chain", "draw") if kept else ("chain",)
        numbers = [one.transpose(*before, ...).values for one in arrays]
        at = 0
        for block in self.blocks:
            q = len(block.columns)
            for k, column in enumerate(block.columns):
                which = slice(at + k, at + block.levels * q, q)
                levels = [_level(label, block.name, column) for label in labels[which]]
                own = [one[..., which] for one in numbers]
                draws, moments = (own[0], None) if kept else (None, (own[0], own[1]))
                term, rows, part = block.terms[k], block.rows, block.part
                yield Effects(block.factor, term, levels, labels[which], rows, draws, moments, None, part)
            at += block.levels * q

    # ------------------------------------------------------------------------------------------------- covariances

    def covariances(self) -> list[Covariance]:
        """Return one covariance for each pair of a factor and a predictor."""
        return [self._covariance(factor, part) for factor, part in self.covered]

    def _covariance(self, factor: str, part: Part) -> Covariance:
        """Group terms of one factor are independent of each other: ``(1 | g) + (0 + x | g)``."""
        own = self._blocks_of(factor, part)
        known: list[float | None] = [size for block in own for size in block.known_or_none]
        unknown = [k for k, size in enumerate(known) if size is None]
        drawn, related = self._formula_scales(factor, part) if self.of_formula else self._plain_scales(own)
        if len(drawn) != len(unknown):
            raise NotApplicable(f"the result does not have all standard deviations of the effects of {factor}.")
        scales = np.empty((self.posterior.sizes["chain"], self.posterior.sizes["draw"], len(known)))
        scales[...] = [np.nan if size is None else size for size in known]
        for k, values in zip(unknown, drawn, strict=True):
            scales[..., k] = values
        correlations = {(unknown[i], unknown[j]): values for (i, j), values in related.items()}
        df = np.array([block.df for block in own for _ in block.columns])
        terms = [t for b in own for t in b.terms]
        squares, df_or_none = _joined_squares(own), None if np.isinf(df).all() else df
        of_rows = all(b.rows is not None and (b.rows == 1).all() and not b.related for b in own)
        return Covariance(factor, terms, scales, correlations, squares, df_or_none, part, of_rows)

    def _formula_scales(self, factor: str, part: Part) -> tuple[list[np.ndarray], dict[Any, np.ndarray]]:
        """Draws of the unknown scales, column by column, and of the correlations, by the places of their columns."""
        variables = self._variables(GROUP_SCALE, factor, part)
        parts = [_along_last(values) for values in variables]
        ends = np.cumsum([0, *(len(part) for part in parts)])
        by_term = {values.attrs.get(TERM): values for values in self._variables(CORRELATION, factor, part)}
        found: dict[Any, np.ndarray] = {}
        for t, second in enumerate(variables):
            for s, first in enumerate(variables[: t + 1]):
                values = by_term.get(f"{first.attrs.get(TERM)},{second.attrs.get(TERM)}")
                if values is None:
                    continue
                n, m = len(parts[s]), len(parts[t])
                a, b = np.triu_indices(n, 1) if s == t else (g.ravel() for g in np.indices((n, m)))
                for i, j, draws in zip(a, b, _along_last(values), strict=True):
                    found[int(ends[s] + i), int(ends[t] + j)] = draws
        return [draws for part in parts for draws in part], found

    def _plain_scales(self, own: list[_Block]) -> tuple[list[np.ndarray], dict[Any, np.ndarray]]:
        (block,) = own
        if block.known is not None:
            return [], {}
        q, name = len(block.columns), block.name
        drawn = self._labelled("group_scale", [f"{name}: {one}" if one else name for one in block.columns])
        pairs = [(j, i) for i in range(q) for j in range(i)]
        labels = [f"{name}: {block.columns[i]}, {block.columns[j]}" for j, i in pairs]
        related = self._labelled("group_correlation", labels) if pairs else []
        return drawn, dict(zip(pairs, related, strict=True))

    def _labelled(self, variable: str, labels: list[str]) -> list[np.ndarray]:
        values = self.posterior[variable].transpose("chain", "draw", ...)
        there = [str(one) for one in values[values.dims[-1]].values.tolist()]
        return [values.values[:, :, there.index(label)] for label in labels]

    # ------------------------------------------------------------------------------------------------- rows

    @cached_property
    def family(self) -> Any:
        """Return the family, or None for a user's own family, because results contain no code."""
        return family_from_json(self.about["family"])

    @property
    def mean_response(self) -> float | None:
        found = self.about.get("mean_response")
        return None if found is None else float(found)

    def latent_variance(self) -> np.ndarray | None:
        """Return the variance of a row on the scale of the linear predictor (chain, draw), or None if it is not known.

        It is not known if a further parameter has columns, because rows then have different variances.
        """
        if self.family is None or self.about.get("predictors"):
            return None
        found: dict[str, Any] = dict(self.family.known_parameters())
        for name in self.family.parameters:
            values = self._parameter(name)
            if values is not None and values.ndim == 2:
                found[name] = values.transpose("chain", "draw").values
        variance = self.family.latent_variance(found, self.mean_response)
        shape = self.posterior.sizes["chain"], self.posterior.sizes["draw"]
        return None if variance is None else np.broadcast_to(variance, shape)

    def _parameter(self, name: str) -> Any:
        if not self.of_formula:
            return self.posterior.get(name)
        return next((one for one in self._variables(PARAMETER) if one.attrs.get(TERM) == name), None)


def _of_class(values: Any, name: str | None, dimension: Any = None) -> Any:
    """Of a variable whose attribute names the dimension of the classes, or that has this one: the part of one class."""
    along = values.attrs.get(CLASSES, dimension)
    if name is None or along not in values.dims:
        return values
    return values.isel({along: [str(one) for one in values[along].values.tolist()].index(name)})


def _joined_squares(blocks: list[_Block]) -> np.ndarray | None:
    """Means of ``z z'``; zero between blocks, whose effects are independent."""
    if any(block.squares is None for block in blocks):
        return None
    from scipy.linalg import block_diag

    return block_diag(*(block.squares for block in blocks))


def _along_last(values: Any) -> list[np.ndarray]:
    """The numbers of a variable one by one, (chain, draw) each."""
    array = values.transpose("chain", "draw", ...).values
    flat = array.reshape(*array.shape[:2], -1)
    return [flat[:, :, k] for k in range(flat.shape[2])]


def _level(label: str, name: str, column: str) -> str:
    """The level in a label that the model made: ``airport[JFK]: distance`` (`tunamh.groups.parameters`)."""
    return label.removeprefix(f"{name}[").removesuffix(f"]: {column}" if column else "]")
