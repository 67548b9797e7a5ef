"""Proposals reversible for the Laplace law of the posterior, and the steps that make them safe in heavy tails."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from .._arguments import number_between, settle
from ..capabilities import Whitenable, offers
from ..compiled import Propose, fixed, helper, part
from ..errors import NotApplicable
from .base import OPTIMAL_WALK, Proposal, ReadyProposal, Space
from .walks import log_dilation

# knobs of the autoregressive proposal: sqrt(1 - rho^2), robust share, length of a random-walk step, rho's sign,
# spread of the logarithm of that length.


@helper
def _propose_walk(rng, here, there, step):
    for j in range(here.size):
        there[j] = here[j] + step * rng.standard_normal()
    return 0.0


@helper
def _propose_heavy_tailed(rng, here, there):
    """An independent draw from the multivariate Student-t of ``v = max(5, d)`` degrees of freedom.

    log q(here) - log q(there) = (v + d)/2 log((v + |there|^2) / (v + |here|^2)).
    """
    d = here.size
    freedom = max(5, d)
    square = 0.0
    for _ in range(freedom):
        square += rng.standard_normal() ** 2
    stretch = math.sqrt(freedom / square)
    before, after = 0.0, 0.0
    for j in range(d):
        there[j] = stretch * rng.standard_normal()
        before += here[j] * here[j]
        after += there[j] * there[j]
    return 0.5 * (freedom + d) * math.log((freedom + after) / (freedom + before))


@helper
def _propose_dilation(rng, here, there):
    """``z' = e^s z``: half of the draws that are heavy-tailed, where a prior may have tails heavier than theirs."""
    s = log_dilation(rng)
    for j in range(here.size):
        there[j] = math.exp(s) * here[j]
    return here.size * s


@helper
def _propose_autoregressive(rng, here, there, rho, innovation):
    """``z' = rho z + innovation xi``, reversible for the standard normal law when the squares add up to 1."""
    log_q = 0.0
    for j in range(here.size):
        there[j] = rho * here[j] + innovation * rng.standard_normal()
        log_q += 0.5 * (there[j] - here[j]) * (there[j] + here[j])
    return log_q


@part(Propose)
def _mixed(rng, here, there, knobs):
    """Which kind of step does not depend on the state, so each kind needs its own ratio only."""
    innovation, share, walk, sign = knobs[0], knobs[1], knobs[2], knobs[3]
    if share > 0.0:
        u = rng.random() / share
        if u < 0.25 and knobs[4] > 0.0:
            return _propose_dilation(rng, here, there)
        if u < 0.5:
            return _propose_heavy_tailed(rng, here, there)
        if u < 0.75:
            if knobs[4] > 0.0:
                walk *= math.exp(knobs[4] * rng.standard_normal())  # drawn without a look at the state: symmetric
            return _propose_walk(rng, here, there, walk)
        if u < 1.0:
            innovation, sign = innovation * rng.random(), 1.0
    rho = sign * math.sqrt(max(0.0, 1.0 - innovation * innovation))
    return _propose_autoregressive(rng, here, there, rho, innovation)


@dataclass(frozen=True)
class Autoregressive(Proposal):
    """Proposal from Laplace's approximation, for targets with a Taylor expansion. `sample` chooses it for regressions.

    Let ``m`` be the centre of the expansion (a mode), and ``Q`` the posterior precision there. Laplace's approximation
    is ``N(m, Q^-1)``. In the coordinates ``z`` with ``theta = m + L z`` and ``L L' = Q^-1``, the proposal is ``z' = rho
    z + sqrt(1 - rho^2) xi`` with a standard normal ``xi``. It is reversible for Laplace's approximation (section 5b of
    docs/spec.md has the proof). On a Taylor target of order 2 the quadratic part cancels in the acceptance ratio, so
    only the remainders decide, and nearly every proposal is accepted.

    Parameters
    ----------
    rho : float, between -1 and 1, optional
        Autocorrelation of the chain if all proposals are accepted. With 0, the proposal does not depend on the current
        state. Default: warm-up finds the smallest value with an acceptance rate of 0.6.
    robust_share : float, optional
        The share of steps that use another proposal. Without these steps, a chain can get stuck if the tails of the
        posterior are heavier than Gaussian. Half of these steps are independent draws from a Student-t distribution (if
        the prior is not Gaussian, some of these steps move along the line through the centre). A quarter of the steps
        are a random walk, and a quarter use a random ``rho`` for shorter steps. Default: between 0.03 and 0.5, larger
        if the posterior is farther from Gaussian.

    Examples
    --------
    >>> tunamh.sample(target, proposal=tunamh.Autoregressive(), control=tunamh.Taylor(order=2))
    """

    rho: float | None = None
    robust_share: float | None = None

    def __post_init__(self) -> None:
        if self.rho is not None:
            settle(self, rho=number_between("rho", self.rho, -1, 1))
        if self.robust_share is not None:
            settle(self, robust_share=number_between("robust_share", self.robust_share, 0, 1, ends="both"))

    def prepare(self, target: Any) -> Any:
        """Return the target in coordinates in which Laplace's approximation is the standard normal distribution."""
        if not offers(target, Whitenable):
            raise NotApplicable("Autoregressive proposes from Laplace's approximation: pass control=Taylor(order=2).")
        return target.whitened()

    def bind(self, space: Space) -> ReadyProposal:
        innovation = 1.0 if self.rho is None else math.sqrt(1.0 - self.rho**2)
        sign = math.copysign(1.0, self.rho or 1.0)
        share = min(max(space.non_gaussianity, 0.03), 0.5) if self.robust_share is None else self.robust_share
        knobs = fixed([innovation, share, OPTIMAL_WALK / math.sqrt(space.dim), sign, space.walk_spread])
        autoregressive = 1.0 - 0.75 * share  # the share of steps whose acceptance rho decides
        return ReadyProposal(_mixed, knobs, self.rho is None, 0.6 * autoregressive, largest=1.0)


OF_MOST_RUNS = (_mixed,)
"""To be compiled while a first run is set up (`tunamh.sampling.compilation`)."""
