"""MHMinibatch: Barker's test on a subset whose noise is completed to a logistic variable (spec 2.9). NOT EXACT."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._arguments import positive_number, settle, whole_number
from ..compiled import NO_FAULT, Decide, Decision, fixed, part
from ..compiled.layouts import NUMBER, WHOLE, Layout
from ..rows.supply import NO_ROWS
from ..theory import FiniteProblem, correction_atoms, subset_acceptance
from .base import Memory, ReadyTest, failure, verdict
from .subsets import SubsetRows, grow

_KNOBS = Layout("Barker", stage=WHOLE, delta=NUMBER, n=WHOLE, atoms=("n",), cumulated=("n",))
"""Rows per stage, delta, the atoms of the correction and their cumulated probabilities."""

_knobs_at = _KNOBS.reader()


@part(Decide)
def _decide(rng, move, model, stream, knobs, memory, work):
    """Accept iff ``N mean(l) + log rho + N(0, 1 - s^2) + X_corr > 0``, the subset grown until ``s^2 < 1``."""
    if move.log_rho == -np.inf:
        return verdict(rng, move.log_rho, 0, False, np.nan, np.nan)
    own = _knobs_at(knobs, 0)
    n_rows, stage, delta = memory.size, own.stage, own.delta
    gains = np.empty(n_rows)
    subset = (0, 0.0, 0.0)
    rows = SubsetRows(move, memory, model, work)
    while True:
        wanted = min(subset[0] + stage, n_rows)
        subset, fault = grow(rng, rows, subset, wanted, gains)
        if fault != NO_FAULT:
            return failure(fault)
        seen, mean, squares = subset
        estimate = n_rows * mean + move.log_rho
        if seen == n_rows:
            noise = 0.0  # nothing is left to chance: Barker's test itself
            break
        variance = squares / (seen - 1)
        noise = n_rows * n_rows * variance / seen
        if noise < 1.0:
            if variance == 0.0:
                break
            size = np.abs(gains[:seen] - mean) / math.sqrt(variance)
            if (6.4 * (size**3).mean() + 2.0 * size.mean()) / math.sqrt(seen) <= delta:
                break
    u, atom = rng.random(), 0
    while atom < own.n - 1 and u >= own.cumulated[atom]:
        atom += 1
    total = estimate + math.sqrt(1.0 - noise) * rng.standard_normal() + own.atoms[atom]
    accepted = total > 0.0
    return Decision(accepted, 0.0 if accepted else -np.inf, seen, seen == n_rows, np.nan, np.nan, np.nan, NO_FAULT)


@dataclass(frozen=True)
class MHMinibatch:
    """The minibatch test of Seita et al. (2017). It is INEXACT: use it only for comparisons.

    The test assumes that the sum of the energy differences of a random subset of rows has a normal distribution. If it
    has not, the stationary distribution of the chain differs from the posterior. The energy of a row is its negative
    log-likelihood.

    Parameters
    ----------
    batch : int
        Number of rows added at each stage.
    delta : float
        The test adds rows at least until the Berry-Esseen error ``(6.4 E|X|^3 + 2 E|X|) / sqrt(b)`` is at most this
        number. ``X`` are the standardised energy differences of the ``b`` rows in the subset.
    """

    batch: int = 100
    delta: float = 5.0

    exact: ClassVar[bool] = False

    def __post_init__(self) -> None:
        delta = positive_number("delta", self.delta, infinite=True)
        settle(self, batch=whole_number("batch", self.batch, 2), delta=delta)

    def finite_acceptance(self, problem: FiniteProblem, here: int, there: int) -> float:
        """Return the exact probability that the test accepts the move from state ``here`` to state ``there``.

        It is a mean over all orders in which the rows of ``problem`` can be drawn, and over all values of the random
        correction that the test adds to the log ratio (`tunamh.theory.correction_atoms`).
        """
        from scipy.special import ndtr

        atoms, chance = correction_atoms()
        n_rows, log_rho = len(problem.c), problem.log_rho(here, there)

        def accepts(gains: np.ndarray) -> float:
            for n in [*range(self.batch, n_rows, self.batch), n_rows]:
                seen = gains[:n]
                noise = 0.0 if n == n_rows else n_rows**2 * seen.var(ddof=1) / n
                if n == n_rows or (noise < 1 and self._settled(seen)):
                    break
            return float(chance @ ndtr((n_rows * seen.mean() + log_rho + atoms) / math.sqrt(1 - noise)))

        return subset_acceptance(problem, here, there, accepts)

    def _settled(self, gains: np.ndarray) -> bool:
        spread = gains.std(ddof=1)
        if spread == 0:
            return True
        size = np.abs(gains - gains.mean()) / spread
        return bool((6.4 * (size**3).mean() + 2 * size.mean()) / math.sqrt(gains.size) <= self.delta)

    def bind(self, target: Any) -> ReadyTest:
        """Return the test, compiled for ``target``. Raises `NotApplicable` if it does not fit the target.

        All rows of the target must be in memory.
        """
        atoms, chance = correction_atoms()
        knobs = fixed(_KNOBS.pack(stage=self.batch, delta=self.delta, atoms=atoms, cumulated=np.cumsum(chance)))
        n_rows = len(target.rows)  # all of them must be in memory
        return ReadyTest(_decide, knobs, np.arange(n_rows, dtype=np.float64), NO_ROWS, memory_is=Memory.APART)
