"""Priors of the curves of a formula: scales of their wiggles, beside the priors of all other coefficients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._arguments import shown
from ..priors.default import ByTerm
from ..priors.flat import Flat
from ..priors.independent import IndependentPrior
from ..priors.mixtures import MixturePrior, refuse_other_scales
from ..priors.normal import Normal
from ..priors.positive import PositivePrior
from ..priors.smooths import CurveColumns, WithSmooths, default_scale
from .curve_terms import Term
from .errors import FormulaError
from .parser import parse_expression
from .right_side import RightSide
from .smooths import asked
from .syntax import Call


def scales_of_smooths(
    given: Any, side: RightSide, unit: float, sizes: np.ndarray
) -> tuple[dict[str, PositivePrior], Any]:
    """Return the prior of each curve's scale, and the user's other priors.

    ``sizes`` are the sizes of the terms' columns. If a column of numbers multiplies a curve, the unit of the curve's
    scale is the unit of the predictor divided by the size of this column.
    """
    pairs = zip(side.parts, sizes.tolist(), strict=True)
    units = {one.name: unit / size for one, size in pairs if isinstance(one, Term)}
    scales: dict[str, PositivePrior] = {one.name: default_scale(units[one.name]) for one in side.smooths}
    if not isinstance(given, Mapping):
        return scales, given
    others, wiggles = {}, _wiggles(side)
    for name, prior in given.items():
        if (one := wiggles.get(str(name).replace(" ", ""))) is not None:
            raise FormulaError(
                f"prior names {str(name)!r}, one of the coefficients of {one}. They have one prior together: set the "
                f'prior of their scale, {{"{one}": tunamh.HalfStudentT(3, 1)}}.'
            )
        found = _curve(str(name), scales)
        if found is None:
            others[name] = prior
        elif isinstance(prior, PositivePrior):
            refuse_other_scales(f"the prior of {found}, which is the prior of its scale,", prior)
            scales[found] = prior
        else:
            raise TypeError(
                f"the prior of {found} is the prior of its scale (how much the curve differs from a line): set "
                f"tunamh.HalfStudentT(3, scale) or tunamh.HalfCauchy(scale), got {shown(prior)}."
            )
    return scales, others or None


def _wiggles(side: RightSide) -> dict[str, str]:
    """Columns whose prior has an unknown scale, without spaces, and their curves."""
    return {
        f"{one.name}[{label}]".replace(" ", ""): one.name
        for one in side.smooths
        for label, share in zip(side.curve_labels(one), one.shares, strict=True)
        if share.any()
    }


def _curve(written: str, scales: Mapping[str, Any]) -> str | None:
    """The curve that is meant: by its name in results, or by the term as typed, with the numbers that tune it."""
    tight = {name.replace(" ", ""): name for name in scales}
    plain = written.replace(" ", "").removesuffix("_sigma")
    if plain in tight:
        return tight[plain]
    try:
        node = parse_expression(plain)
    except FormulaError:
        return None
    return tight.get(called.replace(" ", "")) if (called := _name_of(node)) else None


def _name_of(node: Any) -> str | None:
    """What results call a term that is a curve; None of other terms, and of what no formula has."""
    if not (isinstance(node, Call) and node.function in ("s", "te")):
        return None
    try:
        return asked(node).name
    except FormulaError:
        return None


def with_smooths(of_columns: Any, side: RightSide, scales: Mapping[str, PositivePrior]) -> Any:
    """Return one prior that contains the prior of the columns and the priors of the scales of curves.

    ``of_columns`` must be a prior by term, or flat.
    """
    if isinstance(of_columns, MixturePrior) or not isinstance(of_columns, ByTerm | Flat):
        raise FormulaError(
            f"{of_columns!r} beside {side.smooths[0].name} is not offered: set priors by term, such as "
            '{"x": tunamh.Normal(scale=1)}.'
        )
    labels: list[str] = []
    laws: list[PositivePrior] = []
    places = {}
    for one in side.smooths:  # scales in the order of the formula
        named = _labels(one, side)
        places[one.name] = len(labels)
        labels += named
        laws += [scales[one.name]] * len(named)
    share = np.zeros((side.dim, len(labels)))
    ends = np.cumsum([0, *(count for _, count in side.spans)])
    for part, at in zip(side.parts, ends[:-1], strict=True):
        if isinstance(part, Term) and part.asked.penalised:
            own = part.shares
            share[at : at + part.size, places[part.name] : places[part.name] + own.shape[1]] = own
    return WithSmooths(_of_others(of_columns, side, scales), share, tuple(labels), tuple(laws))


def _of_others(of_columns: ByTerm | Flat, side: RightSide, scales: Mapping[str, PositivePrior]) -> ByTerm:
    """With placeholders for wiggles, as wide as their scales may be; by column, where single columns were named."""
    widths = {one.name: float(scales[one.name].law().scale[0]) for one in side.smooths}
    if isinstance(of_columns, ByTerm) and list(of_columns.spans) != list(side.spans):
        wiggles = _wiggles(side)
        placeholders = {
            name: Normal(scale=widths[of])
            for name in side.names
            if (of := wiggles.get(name.replace(" ", ""))) is not None
        }
        return ByTerm({**of_columns.priors, **placeholders}, of_columns.spans)
    priors: dict[str, IndependentPrior] = {
        name: of_columns if isinstance(of_columns, Flat) else of_columns.priors[name] for name, _ in side.spans
    }
    for one in side.smooths:
        priors[one.name] = CurveColumns(priors[one.name], one.fixed, one.each, widths[one.name])
    return ByTerm(priors, side.spans)


def _labels(curve: Term, side: RightSide) -> list[str]:
    return [f"{curve.name}[{one}]" for one in curve.scale_labels(side.levels)] or [curve.name]
