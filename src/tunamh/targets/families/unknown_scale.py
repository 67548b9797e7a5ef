"""Linear regression whose scale is unknown: what families with such a scale have in common (spec 5l).

With ``y_i = x_i.beta + scale eps_i`` the rows are those of scale 1 in the coordinates of
`tunamh.targets.coordinates.base.Scale`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arguments import shown
from ...errors import ImproperPosterior
from ...priors.half_student_t import HalfStudentT
from ...priors.positive import PositivePrior
from ...rows.source import Rows
from ..coordinates.base import Scale
from ..observations.base import Observations
from ..observations.row_layout import Extra, RowLayout, column_names, no_codes, rough_fit, with_residual_column

_PRIOR_DF, _PRIOR_WIDTH = 3.0, 2.5


def default_scale_prior(observations: Observations, response: Any, *, shape: bool = False) -> HalfStudentT:
    """Return the default prior of a scale: half-Student-t with 3 degrees of freedom.

    Its scale is 2.5 times the typical deviation of the responses. A shape is 1 divided by a scale, and the scale of its
    prior is computed accordingly.
    """
    step = max(1, observations.n_rows // 10_000)
    y = response(observations.take(np.arange(0, observations.n_rows, step)).rows())
    typical = float(np.median(np.abs(y - np.median(y)))) / 0.6745
    typical = typical if typical > 0 else float(np.std(y))
    typical = typical if typical > 0 else max(float(np.abs(y).max()), 1.0)
    return HalfStudentT(_PRIOR_DF, float(f"{_PRIOR_WIDTH * (1 / typical if shape else typical):.3g}"))


def uncensored_weight(observations: Observations, temper: float) -> float:
    """Return the total weight of the rows whose response is known, including the temper."""

    def terms(rows: Rows) -> tuple[float]:
        weights = np.ones(len(rows.y)) if rows.weights is None else rows.weights
        return (float(weights.sum() if rows.censored is None else weights[rows.censored == 0].sum()),)

    return temper * observations.sums(terms)[0]


def refuse_perfect_fit(observations: Observations, response: Any, b0: np.ndarray, name: str, way_out: str) -> None:
    """Raise an error if all residuals are zero up to rounding.

    Then the density is unbounded as the scale goes to zero.
    """

    def sizes(rows: Rows) -> tuple[float, float, int]:
        counts = np.ones(len(rows.y), bool) if rows.weights is None else rows.weights > 0
        counts &= True if rows.censored is None else rows.censored == 0
        y, off = response(rows)[counts], (response(rows) - rows.X.matvec(b0))[counts]
        return float(np.abs(off).max(initial=0.0)), float(np.abs(y).max(initial=0.0)), int(counts.sum())

    lefts, sizes_of_y, numbers = zip(*observations.map(sizes), strict=True)
    left, largest, known = max(lefts), max(sizes_of_y), sum(numbers)
    if known > observations.design.dim and (left <= 1e-10 * largest or largest == 0.0):  # with fewer, any y is met
        raise ImproperPosterior(
            f"the columns explain every response exactly, so the {name} has no posterior: the likelihood grows "
            f"without limit as the errors go to zero. Look for a column that contains the response, or {way_out}."
        )


def with_unknown_scale(
    observations: Observations,
    temper: float,
    prior: PositivePrior | None,
    likelihood: Any,
    *,
    name: str = "scale",
    response: Any = lambda rows: rows.y,
) -> RowLayout:
    """Return the rows of a regression of ``response`` whose scale has a prior.

    If ``name`` is that of a shape, the prior is that of 1 divided by the scale.
    """
    if prior is not None and not isinstance(prior, PositivePrior):
        raise TypeError(f"the prior of a {name} must be a prior of a positive parameter, got {shown(prior)}.")
    fit = rough_fit(observations, response)
    if fit.exact and not (prior is not None and prior.vanishes_at_zero):
        refuse_perfect_fit(observations, response, fit.b0, name, "give a known scale")
    rows, tau_at = with_residual_column(observations, response, no_codes, fit.b0)
    weight = uncensored_weight(observations, temper)
    form = Scale(fit.b0, tau_at, 1 / fit.scale, weight, shape=name == "shape")
    law: PositivePrior = default_scale_prior(observations, response, shape=name == "shape") if prior is None else prior
    start = np.append(fit.b0, law.inside(1 / fit.scale if name == "shape" else fit.scale))
    names = column_names(observations)
    return RowLayout(rows, likelihood, names, form, (Extra(name),), (law.law(),), start)
