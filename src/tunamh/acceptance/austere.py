"""AustereMH: a sequential t-test on a growing subset of the rows (spec 2.8). NOT EXACT."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._arguments import number_between, settle, whole_number
from ..compiled import NO_FAULT, Decide, Decision, fixed, part
from ..compiled.layouts import WHOLE, Layout
from ..rows.supply import NO_ROWS
from ..theory import FiniteProblem, subset_acceptance
from .base import Memory, ReadyTest, failure, verdict
from .subsets import SubsetRows, grow

_KNOBS = Layout("Austere", "stages", stage=WHOLE, quantiles=("stages",))
"""Rows per stage, and the Student quantile of every stage but the last."""

_knobs_at = _KNOBS.reader()


@part(Decide)
def _decide(rng, move, model, stream, knobs, memory, work):
    """Accept iff the mean of ``U_i(theta) - U_i(prop)`` exceeds ``(log u - log rho) / N``, as the subset has it."""
    if move.log_rho == -np.inf:
        return verdict(rng, move.log_rho, 0, False, np.nan, np.nan)
    own = _knobs_at(knobs, 0, knobs.size - 1)
    n_rows, stage = memory.size, own.stage
    threshold = (math.log(rng.random()) - move.log_rho) / n_rows
    subset, unkept, test = (0, 0.0, 0.0), np.empty(0), 0
    rows = SubsetRows(move, memory, model, work)
    while True:
        wanted = min(subset[0] + stage, n_rows)
        subset, fault = grow(rng, rows, subset, wanted, unkept)
        if fault != NO_FAULT:
            return failure(fault)
        seen, mean, squares = subset
        if seen == n_rows:
            break
        error = math.sqrt(squares / (seen - 1) / seen * (1.0 - (seen - 1.0) / (n_rows - 1.0)))
        if abs(mean - threshold) > own.quantiles[test] * error:
            break
        test += 1
    accepted = mean > threshold
    return Decision(accepted, 0.0 if accepted else -np.inf, seen, seen == n_rows, np.nan, np.nan, np.nan, NO_FAULT)


@dataclass(frozen=True)
class AustereMH:
    """The minibatch t-test of Korattikara, Chen and Welling (2014). It is INEXACT: use it only for comparisons.

    The chain with this test has a stationary distribution that differs from the posterior.

    Parameters
    ----------
    epsilon : float
        The test adds rows until the estimated probability of a wrong decision is below this number.
    batch : int
        Number of rows added at each stage.
    """

    epsilon: float = 0.01
    batch: int = 500

    exact: ClassVar[bool] = False

    def __post_init__(self) -> None:
        settle(
            self, epsilon=number_between("epsilon", self.epsilon, 0, 0.5), batch=whole_number("batch", self.batch, 2)
        )

    def quantiles(self, n_rows: int) -> np.ndarray:
        """Return the upper ``epsilon`` quantiles of Student's t distribution, one for each stage of the test.

        ``n_rows`` is the number of all rows. Stage ``k = 1, 2, ...`` uses ``n = k batch`` rows, as long as this is
        fewer than ``n_rows``. The quantile of this stage is that of a t distribution with ``n - 1`` degrees of freedom.
        """
        from scipy.special import stdtrit

        return stdtrit(np.arange(self.batch, n_rows, self.batch) - 1.0, 1.0 - self.epsilon)

    def finite_acceptance(self, problem: FiniteProblem, here: int, there: int) -> float:
        """Return the exact probability that the test accepts the move from state ``here`` to state ``there``.

        It is a mean over all orders in which the rows of ``problem`` can be drawn. For one order, it is the probability
        that a uniform random number leads to acceptance.
        """
        n_rows, quantiles = len(problem.c), self.quantiles(len(problem.c))

        def accepts(gains: np.ndarray) -> float:
            """Return the probability of acceptance over the random number ``u``, for rows in this order.

            ``mu0 = (log u - log rho) / N`` decides where the test stops.
            """
            cuts = [0.0, 1.0]
            tests = []
            for k, quantile in enumerate(quantiles):
                n = (k + 1) * self.batch
                mean, sd = gains[:n].mean(), gains[:n].std(ddof=1)
                error = sd / math.sqrt(n) * math.sqrt(1 - (n - 1) / (n_rows - 1))
                tests.append((mean, quantile * error))
            tests.append((gains.mean(), 0.0))
            log_rho = problem.log_rho(here, there)
            for mean, margin in tests:
                cuts += [math.exp(min(0.0, n_rows * (mean + s * margin) + log_rho)) for s in (-1, 0, 1)]
            total = 0.0
            edges = sorted(set(cuts))
            for low, high in itertools.pairwise(edges):
                threshold = (math.log(0.5 * (low + high)) - log_rho) / n_rows
                mean = next(m for m, margin in tests if abs(m - threshold) > margin)
                total += (high - low) * (mean > threshold)
            return total

        return subset_acceptance(problem, here, there, accepts)

    def bind(self, target: Any) -> ReadyTest:
        """Return the test, compiled for ``target``. Raises `NotApplicable` if it does not fit the target.

        All rows of the target must be in memory.
        """
        n_rows = len(target.rows)  # all of them must be in memory
        knobs = fixed(_KNOBS.pack(stage=self.batch, quantiles=self.quantiles(n_rows)))
        return ReadyTest(_decide, knobs, np.arange(n_rows, dtype=np.float64), NO_ROWS, memory_is=Memory.APART)
