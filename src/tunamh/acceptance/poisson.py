"""PoissonMH: Poisson counts with global bounds (spec 2.4).

With ``phi_i(theta) = ceiling_i - U_i(theta)`` in ``[0, width_i]`` everywhere and ``L = sum_i width_i``, every step
draws ``s_i ~ Poisson(lam_i(theta))``, ``lam_i = rate width_i / L + phi_i``, and accepts with probability
``min(1, rho prod_i (lam_i(prop) / lam_i(theta))^{s_i})``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._arguments import positive_number, settle
from ..capabilities import GloballyBounded, offers
from ..compiled import BLOCK, Decide, fixed, helper, part
from ..compiled.layouts import NUMBER, Layout
from ..compiled.random import poisson
from ..errors import NotApplicable
from ..rows.supply import draw_rows, random_access
from ..theory import FiniteProblem, poisson_acceptance
from .base import ABSOLUTE_TOLERANCE, RELATIVE_TOLERANCE, ReadyTest, failure, verdict
from .thinning import LARGEST_BATCH

_KNOBS = Layout("PoissonMH", "n", rate=NUMBER, total=NUMBER, ceilings=("n",), widths=("n",))
_knobs_at = _KNOBS.reader()


@helper
def _height(energy, ceiling, width):
    """``phi = ceiling - U``, cut to ``[0, width]`` where rounding alone exceeds it; NaN beyond that."""
    if not math.isfinite(energy):
        return np.nan
    phi = ceiling - energy
    slack = RELATIVE_TOLERANCE * width + ABSOLUTE_TOLERANCE * (1.0 + abs(energy))
    if not -slack <= phi <= width + slack:
        return np.nan
    return min(max(phi, 0.0), width)


@part(Decide)
def _decide(rng, move, model, stream, knobs, memory, work):
    if move.log_rho == -np.inf:
        return verdict(rng, move.log_rho, 0, False, np.nan, np.nan)
    own = _knobs_at(knobs, 0, model.n_rows)
    rate, total = own.rate, own.total
    batch = poisson(rng, rate + total)
    log_ratio, rows = move.log_rho, 0
    while rows < batch:
        start, n = draw_rows(stream, min(batch - rows, BLOCK))
        work.index[:n] = stream.ring[start : start + n]
        model.energies(move.theta, work.index, n, model.data, work.rise)
        model.energies(move.prop, work.index, n, model.data, work.bound)
        for b in range(n):
            i = work.index[b]
            ceiling, width = own.ceilings[i], own.widths[i]
            here, there = _height(work.rise[b], ceiling, width), _height(work.bound[b], ceiling, width)
            if not here + there >= 0.0:
                return failure(i)
            floor = rate * width / total
            if stream.uniform[start + b] * (floor + width) < floor + here:
                log_ratio += math.log((floor + there) / (floor + here))
        rows += n
    return verdict(rng, log_ratio, batch, False, np.nan, np.nan)


@dataclass(frozen=True)
class PoissonMH:
    """Acceptance test that reads a random minibatch of the rows and needs global bounds (Zhang and De Sa 2019).

    The test is exact: the posterior is the stationary distribution of the chain. The energies (negative
    log-likelihoods) of all rows must be bounded for all parameters. Of the targets of tunamh, only `GaussianMixture`
    and `FiniteWalk` have bounded energies. The paper on TunaMH (Zhang, Cooper and De Sa 2020) prints the proposal ratio
    of this test inverted; tunamh uses the correct ratio.

    Parameters
    ----------
    rate : float
        The parameter ``lambda`` of Zhang and De Sa (2019), a positive number. A larger rate makes the decision less
        noisy. For every move, the mean number of rows that a step draws is ``rate + L``. ``L`` is the sum over all rows
        of the largest minus the smallest energy of the row (or of an upper bound of this difference).
    """

    rate: float

    exact: ClassVar[bool] = True

    def __post_init__(self) -> None:
        settle(self, rate=positive_number("rate", self.rate))

    def finite_acceptance(self, problem: FiniteProblem, here: int, there: int) -> float:
        """Return the exact probability that the test accepts the move from state ``here`` to state ``there``.

        The function uses ``problem.global_bounds``. If these are None, it uses the largest energy (negative
        log-likelihood) of each row over all states, and its largest minus its smallest energy.
        """
        ceiling, width = problem.global_bounds or (problem.energies.max(axis=1), np.ptp(problem.energies, axis=1))
        floor = self.rate * width / width.sum()
        forward, backward = (floor + ceiling - problem.energies[:, k] for k in (here, there))
        return poisson_acceptance(problem.log_rho(here, there), forward, backward)

    def bind(self, target: Any) -> ReadyTest:
        """Return the test, compiled for ``target``. Raises `NotApplicable` if it does not fit the target.

        It fits only targets whose energies (negative log-likelihoods) are bounded for all parameters.
        """
        if not offers(target, GloballyBounded):
            raise NotApplicable(
                f"PoissonMH needs energies that are bounded everywhere, and those of {type(target).__name__} are not. "
                "Use TunaMH(), which only needs bounds of energy differences."
            )
        ceiling, width = target.global_bounds()
        if not 0 < self.rate + width.sum() < LARGEST_BATCH or not width.sum() > 0:
            raise NotApplicable(f"PoissonMH would read {self.rate + width.sum():.3g} rows per step: use TunaMH().")
        knobs = fixed(_KNOBS.pack(rate=self.rate, total=width.sum(), ceilings=ceiling, widths=width))
        return ReadyTest(_decide, knobs, np.empty(0), random_access(width[:, None], 0))
