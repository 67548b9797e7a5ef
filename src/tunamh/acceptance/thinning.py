"""The numbers of the Poisson-thinned kernel, and its exact acceptance probabilities on finite problems."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..theory import FiniteProblem, full_acceptance, thinned_acceptance

LARGEST_BATCH = 1e12
"""No batch is larger: beyond, even a test told never to fall back reads all rows once instead."""


class Thinning(NamedTuple):
    """The numbers of the Poisson-thinned kernel (spec 1).

    The mean batch size is ``max(C M (1 + chi C M), floor) = beta C M``. If it is ``limit`` or more, the step is
    full-data MH. With ``delayed``, the step first tests ``min(1, rho)``.
    """

    gamma: float
    chi: float = 0.0
    floor: float = 0.0
    limit: float = LARGEST_BATCH
    delayed: bool = False

    def mean_batch(self, move_bound: float) -> float:
        if move_bound == math.inf:  # beyond the last rung of a ladder, whatever chi
            return math.inf
        return max(move_bound * (1 + self.chi * move_bound), self.floor)

    def finite_acceptance(self, problem: FiniteProblem, here: int, there: int) -> float:
        log_rho = problem.log_rho(here, there)
        rise = problem.energies[:, there] - problem.energies[:, here]
        move_bound = float(problem.c.sum() * problem.distance[here, there])
        if move_bound == 0 or self.mean_batch(move_bound) >= self.limit:
            return full_acceptance(problem, here, there)
        bound = problem.c * problem.distance[here, there]
        numbers = {"beta": self.mean_batch(move_bound) / move_bound, "gamma": self.gamma}
        if self.delayed:
            return math.exp(min(0.0, log_rho)) * thinned_acceptance(0.0, rise, bound, **numbers)
        return thinned_acceptance(log_rho, rise, bound, **numbers)
