"""Metropolis-Hastings on all rows (spec 2.1)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..compiled import NO_FAULT, Decide, fixed, part
from ..rows.supply import NO_ROWS
from ..theory import FiniteProblem, full_acceptance
from .base import Memory, ReadyTest, failure, sum_of_energies, verdict


@part(Decide)
def _decide(rng, move, model, stream, knobs, memory, work):
    """Accept with ``min(1, exp(log_rho - sum_i U_i(prop) + sum_i U_i(theta)))``; ``memory[0]`` is the last sum.

    A sum of +infinity at ``prop``, as where ``e^eta`` overflows, is a density of zero: the move is rejected.
    """
    if math.isnan(memory[0]):
        memory[0], fault = sum_of_energies(move.theta, model, work)
        if fault != NO_FAULT:
            return failure(fault)
    if move.log_rho == -np.inf:
        return verdict(rng, move.log_rho, 0, False, np.nan, np.nan)
    energy, fault = sum_of_energies(move.prop, model, work)
    if fault != NO_FAULT and energy != np.inf:
        return failure(fault)
    decision = verdict(rng, move.log_rho - (energy - memory[0]), model.n_rows, True, np.nan, np.nan)
    if decision.accepted:
        memory[0] = energy
    return decision


@dataclass(frozen=True)
class MH:
    """The standard Metropolis-Hastings test. It is exact, and each step reads all rows once.

    The test stores the energy (negative log-likelihood) of the current state, so a step evaluates only the proposed
    state. It rejects a proposal with energy +infinity, because the posterior density there is zero. It raises an error
    if an energy is NaN or -infinity, or if the initial state has energy +infinity.
    """

    exact: ClassVar[bool] = True

    def finite_acceptance(self, problem: FiniteProblem, here: int, there: int) -> float:
        """Return the exact probability that the test accepts the move from state ``here`` to state ``there``.

        ``problem`` is a finite target with a proposal (`tunamh.theory.FiniteProblem`).
        """
        return full_acceptance(problem, here, there)

    def bind(self, target: Any) -> ReadyTest:
        """Return the test, compiled for ``target``. Every target has what it needs."""
        return ReadyTest(_decide, fixed([]), np.array([np.nan]), NO_ROWS, memory_is=Memory.OF_PARAMETERS)
