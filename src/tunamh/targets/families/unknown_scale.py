"""Linear regression whose scale is unknown: what its families have in common (spec 5l).

With ``y_i = x_i.beta + scale eps_i`` the rows are those of scale 1 in the coordinates of
`tunamh.targets.coordinates.base.Scale`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ..._arguments import shown
from ...errors import ImproperPosterior
from ...priors.positive import HalfStudentT, PositivePrior
from ...rows.source import Rows
from ..coordinates.base import Df, Scale, ScaleAndDf
from ..observations.observed import Observations
from ..observations.row_layout import (
    Arrangement,
    Extra,
    beside,
    column_names,
    known_scale,
    no_codes,
    rough_fit,
    shared_scalar,
)
from .scaled import StudentRows

_PRIOR_DF, _PRIOR_WIDTH = 3.0, 2.5


def default_scale_prior(observations: Observations, response: Any, *, shape: bool = False) -> HalfStudentT:
    """Half-Student-t with 3 degrees of freedom and 2.5 times the typical deviation of the responses as its scale.

    A shape is one over a scale, and so is that of its prior.
    """
    step = max(1, observations.n_rows // 10_000)
    y = response(observations.take(np.arange(0, observations.n_rows, step)).rows())
    typical = float(np.median(np.abs(y - np.median(y)))) / 0.6745
    typical = typical if typical > 0 else float(np.std(y))
    typical = typical if typical > 0 else max(float(np.abs(y).max()), 1.0)
    return HalfStudentT(_PRIOR_DF, float(f"{_PRIOR_WIDTH * (1 / typical if shape else typical):.3g}"))


def uncensored_weight(observations: Observations, temper: float) -> float:
    """What the rows whose response is known weigh together, tempering included."""

    def terms(rows: Rows) -> tuple[float]:
        weights = np.ones(len(rows.y)) if rows.weights is None else rows.weights
        return (float(weights.sum() if rows.censored is None else weights[rows.censored == 0].sum()),)

    return temper * observations.sums(terms)[0]


def refuse_perfect_fit(observations: Observations, response: Any, b0: np.ndarray, name: str, way_out: str) -> None:
    """Where all residuals are rounding, the density grows without end as the scale goes to zero."""

    def sizes(rows: Rows) -> tuple[float, float, int]:
        counts = np.ones(len(rows.y), bool) if rows.weights is None else rows.weights > 0
        counts &= True if rows.censored is None else rows.censored == 0
        y, off = response(rows)[counts], (response(rows) - rows.X.dot(b0))[counts]
        return float(np.abs(off).max(initial=0.0)), float(np.abs(y).max(initial=0.0)), int(counts.sum())

    lefts, sizes_of_y, numbers = zip(*observations.map(sizes), strict=True)
    left, largest, known = max(lefts), max(sizes_of_y), sum(numbers)
    if known > observations.design.dim and (left <= 1e-10 * largest or largest == 0.0):  # with fewer, any y is met
        raise ImproperPosterior(
            f"the columns explain every response exactly, so that the {name} has no posterior: the likelihood grows "
            f"without end as the errors vanish. Look for a column that holds the response, or {way_out}."
        )


def with_unknown_scale(
    observations: Observations,
    temper: float,
    prior: PositivePrior | None,
    rows_family: Any,
    *,
    name: str = "scale",
    response: Any = lambda rows: rows.y,
) -> Arrangement:
    """A regression of ``response`` whose scale (or, by the name of shape, one over it) has a prior."""
    if prior is not None and not isinstance(prior, PositivePrior):
        raise TypeError(f"the prior of a {name} is one of a positive parameter, got {shown(prior)}.")
    fit = rough_fit(observations, response)
    if fit.exact and not (prior is not None and prior.vanishes_at_zero):
        refuse_perfect_fit(observations, response, fit.b0, name, "give a known scale")
    rows, tau_at = beside(observations, response, no_codes, fit.b0)
    weight = uncensored_weight(observations, temper)
    form = Scale(fit.b0, tau_at, 1 / fit.scale, weight, shape=name == "shape")
    law: PositivePrior = default_scale_prior(observations, response, shape=name == "shape") if prior is None else prior
    start = np.append(fit.b0, law.inside(1 / fit.scale if name == "shape" else fit.scale))
    names = column_names(observations)
    return Arrangement(rows, rows_family, names, form, (Extra(name),), (law.law(),), start)


def with_unknown_scale_and_df(
    observations: Observations, temper: float, scale: PositivePrior | None, df: PositivePrior
) -> Arrangement:
    """Student-t errors of unknown scale and degrees of freedom: the latter a second predictor that all rows share."""
    alone = with_unknown_scale(observations, temper, scale, StudentRows())
    rows, form, start = shared_scalar(alone.observations), alone.form, np.append(np.asarray(alone.start), 5.0)
    assert isinstance(form, Scale)
    both = ScaleAndDf(form.b0, form.tau_at, form.tau_0, uncensored_weight(observations, temper))
    extras, laws = (Extra("scale"), Extra("df")), (*alone.laws, df.law())
    return Arrangement(rows, StudentRows(), alone.names, both, extras, laws, start)


def with_unknown_df(observations: Observations, temper: float, scale: float, df: PositivePrior) -> Arrangement:
    """Student-t errors of a known scale and unknown degrees of freedom."""
    alone = known_scale(observations, scale, lambda rows: rows.y, StudentRows())
    form = Df(observations.design.dim, uncensored_weight(observations, temper))
    start = np.append(rough_fit(observations, lambda rows: rows.y).b0, 5.0)
    rows = shared_scalar(alone.observations)
    return Arrangement(rows, StudentRows(), alone.names, form, (Extra("df"),), (df.law(),), start)


class UnknownScale(ABC):
    """A family of residuals whose ``scale`` is a number (known), a prior, or None: unknown, with the default prior."""

    scale: Any

    @abstractmethod
    def with_scale(self, scale: float) -> Any:
        """The same family with a known scale."""

    def arrange(self, observations: Observations, temper: float) -> Arrangement:
        if isinstance(self.scale, float):
            return Arrangement(observations, self, column_names(observations))
        return with_unknown_scale(observations, temper, self.scale, self.with_scale(1.0))
