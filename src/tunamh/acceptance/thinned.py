"""The Poisson-thinned test: exact decisions on a random handful of rows (spec 1 and 2.2).

With ``x_i = (U_i(prop) - U_i(theta)) / (c_i M)``, a number in [-1, 1], row ``i`` is seen ``Poisson(lam_i)`` times,

    lam_i = c_i M * rate(x_i),     rate(x) = beta - gamma + (1 - gamma) min(0, x) + gamma max(0, x),

and the move is accepted with probability ``min(1, r)``, ``r = rho prod_i (rate(-x_i) / rate(x_i))^{s_i}``. Because
``lam_i(theta, prop) - lam_i(prop, theta)`` is the rise of row ``i``, the chain is reversible for the posterior (theorem
A). The counts are drawn by thinning: ``Poisson(beta C M)`` rows from the law ``c_i / C``, each kept with probability
``rate(x_i) / beta``, so rows that are never drawn are never read.

TunaMH is ``gamma = 1/2, beta = 1 + chi C M``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._jit import BAD_DISTANCE, BLOCK, NO_FAULT, REASSOCIATE, Decide, fixed, helper, part
from ..data.stream import draw_rows
from ..theory import chi_for_gap
from .base import BoundTest, failure, sum_of_rises, verdict, within_rounding

FULL_PASS_SHARE = 0.4
"""A pass over all rows in order costs about this share of as many random rows (benchmarks/rows_per_second.py)."""


@helper(inline=True)
def _rate(x, beta, gamma):
    return beta - gamma + (1.0 - gamma) * min(0.0, x) + gamma * max(0.0, x)


@helper
def _make_relative(n, x, bound, distance):
    """Turn rises into ``x_i = rise / (c_i M)`` in place; returns the largest ``|x_i|``, infinity when one is NaN."""
    worst = 0.0
    for b in range(n):
        x[b] /= bound[b] * distance
        worst = max(worst, abs(x[b]) if x[b] == x[b] else np.inf)
    return worst


@helper
def _cut_rounding(theta, prop, stream, start, n, model, work, distance):
    """Cut ``|x_i|`` that exceed 1 by rounding alone to 1; returns the first row beyond that, or ``NO_FAULT``."""
    x = work.rise
    for b in range(n):
        if not abs(x[b]) <= 1.0:
            row, bound = stream.ring[start + b], work.bound[b] * distance
            if not within_rounding(theta, prop, model, row, x[b] * bound, bound):
                return row
            x[b] = math.copysign(1.0, x[b])
    return NO_FAULT


@helper(fastmath=REASSOCIATE)
def _log_ratio_of_kept(n, x, uniform, start, beta, gamma):
    """Keep each drawn row with probability ``rate(x) / beta`` and add up the logs of ``rate(-x) / rate(x)``.

    One logarithm serves eight rows, whose ratios are multiplied first.
    """
    total = 0.0
    for first in range(0, n, 8):
        product = 1.0
        for b in range(first, min(first + 8, n)):
            forward = _rate(x[b], beta, gamma)
            ratio = _rate(-x[b], beta, gamma) / forward  # outside the condition: a branch would be mispredicted
            product *= ratio if uniform[start + b] * beta < forward else 1.0
        total += math.log(product)
    return total


@part(Decide)
def _decide(rng, theta, prop, log_rho, model, stream, knobs, memory, work):
    """Accept on a Poisson-sized minibatch, or on all rows when that is the cheaper choice at this pair of points."""
    gamma, chi, full_share = knobs[0], knobs[1], knobs[2]
    if log_rho == -np.inf:
        return verdict(rng, log_rho, 0, False, 0.0, np.nan)
    distance = model.distance(theta, prop, model.data.hyper)
    reach = model.total_bound * distance
    if not reach >= 0.0:
        return failure(BAD_DISTANCE)
    if reach == 0.0:
        return verdict(rng, log_rho, 0, False, 0.0, reach)
    n_rows = model.data.rows.shape[0]
    beta = 1.0 + chi * reach
    if beta * reach > full_share * n_rows:  # symmetric in (theta, prop), so the choice keeps the chain exact
        rises, worst, fault = sum_of_rises(theta, prop, model, work, distance)
        if fault != NO_FAULT:
            return failure(fault)
        return verdict(rng, log_rho - rises, n_rows, True, worst, reach)
    batch = rng.poisson(beta * reach)
    log_ratio, worst, left = log_rho, 0.0, batch
    while left > 0:
        start, n = draw_rows(stream, min(left, BLOCK))
        model.differences(theta, prop, stream.ring, start, n, model.data, work.rise, work.bound)
        worst = max(worst, _make_relative(n, work.rise, work.bound, distance))
        if worst > 1.0:
            fault = _cut_rounding(theta, prop, stream, start, n, model, work, distance)
            if fault != NO_FAULT:
                return failure(fault)
        log_ratio += _log_ratio_of_kept(n, work.rise, stream.uniform, start, beta, gamma)
        left -= n
    return verdict(rng, log_ratio, batch, False, worst, reach)


def _equal_terms(knobs: np.ndarray, mean_reach: float) -> tuple[float, ...]:
    """``chi = 1 / (C M)``: the two terms of the mean batch are equal (spec 5e, rule 3)."""
    gamma, _, full_share = knobs
    return gamma, 1.0 / mean_reach, full_share


@dataclass(frozen=True, kw_only=True)
class TunaMH:
    """Exact minibatch test of Zhang, Cooper and De Sa (NeurIPS 2020), with the proposal ratio corrected.

    Parameters
    ----------
    chi : float, optional
        Trades batch size for convergence rate: the mean batch is ``chi C^2 M^2 + C M``. None: chosen in warm-up, so
        that the two terms are equal on average.
    full_share : float
        When the mean batch exceeds this share of all rows, the step is decided on all rows in order, which is then
        the cheaper choice. The paper's footnote has 1; ``math.inf`` never falls back.
    """

    chi: float | None = None
    full_share: float = FULL_PASS_SHARE

    exact: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.chi is not None and not (self.chi > 0 and math.isfinite(self.chi)):
            raise ValueError(f"chi must be positive and finite, got {self.chi!r}")
        if not self.full_share >= 0:
            raise ValueError(f"full_share must not be negative, got {self.full_share!r}")

    @classmethod
    def for_gap(cls, kappa: float, *, paper: bool = False) -> TunaMH:
        """The test whose spectral gap is at least ``kappa`` times that of full-data MH.

        ``paper=True`` takes the paper's formula, which asks for 13 to 15 times larger ``chi`` than theorem C.
        """
        return cls(chi=chi_for_gap(kappa, paper=paper))

    def bind(self, target: Any) -> BoundTest:
        knobs = fixed([0.5, self.chi or 0.0, self.full_share])
        return BoundTest(_decide, knobs, np.empty(0), target.table, _equal_terms if self.chi is None else None)
