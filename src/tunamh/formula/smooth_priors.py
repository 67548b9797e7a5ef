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
from ..priors.positive import PositivePrior
from ..priors.smooths import CurveColumns, WithSmooths, default_scale
from .curve_terms import Term
from .errors import FormulaError
from .right_side import RightSide


def scales_of_smooths(given: Any, side: RightSide, unit: float) -> tuple[dict[str, PositivePrior], Any]:
    """The prior of each curve's scale, and what a user says of all other priors."""
    scales: dict[str, PositivePrior] = {one.name: default_scale(unit) for one in side.smooths}
    if not isinstance(given, Mapping):
        return scales, given
    tight = {name.replace(" ", ""): name for name in scales}
    others = {}
    for name, prior in given.items():
        found = tight.get(str(name).replace(" ", "").removesuffix("_sigma"))
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


def with_smooths(of_columns: Any, side: RightSide, scales: Mapping[str, PositivePrior]) -> Any:
    """Both together; ``of_columns`` is a prior by term, or flat."""
    if isinstance(of_columns, MixturePrior) or not isinstance(of_columns, ByTerm | Flat):
        raise FormulaError(
            f"{of_columns!r} beside {side.smooths[0].name} is not offered: set priors by term, such as "
            '{"x": tunamh.Normal(scale=1)}.'
        )
    priors: dict[str, IndependentPrior] = {
        name: of_columns if isinstance(of_columns, Flat) else of_columns.priors[name] for name, _ in side.spans
    }
    labels: list[str] = []
    laws: list[PositivePrior] = []
    places = {}
    for one in side.smooths:  # scales in the order of the formula
        named = _labels(one, side)
        places[one.name] = len(labels)
        labels += named
        laws += [scales[one.name]] * len(named)
        priors[one.name] = CurveColumns(priors[one.name], one.fixed, one.each, float(scales[one.name].law().scale[0]))
    share = np.zeros((side.dim, len(labels)))
    ends = np.cumsum([0, *(count for _, count in side.spans)])
    for part, at in zip(side.parts, ends[:-1], strict=True):
        if isinstance(part, Term) and part.asked.penalised:
            own = part.shares
            share[at : at + part.size, places[part.name] : places[part.name] + own.shape[1]] = own
    return WithSmooths(ByTerm(priors, side.spans), share, tuple(labels), tuple(laws))


def _labels(curve: Term, side: RightSide) -> list[str]:
    return [f"{curve.name}[{one}]" for one in curve.scale_labels(side.levels)] or [curve.name]
