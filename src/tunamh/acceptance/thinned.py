"""The Poisson-thinned test: exact decisions on a random handful of rows (spec 1 and 2.2).

With ``x_i = (U_i(prop) - U_i(theta)) / (c_i M)``, a number in [-1, 1], row ``i`` is seen ``Poisson(lam_i)`` times,

    lam_i = c_i M * rate(x_i),     rate(x) = beta - gamma + (1 - gamma) min(0, x) + gamma max(0, x),

and the move is accepted with probability ``min(1, r)``, ``r = rho prod_i (rate(-x_i) / rate(x_i))^{s_i}``. Because
``lam_i(theta, prop) - lam_i(prop, theta)`` is the rise of row ``i``, the chain is reversible for the posterior (theorem
A). The counts are drawn by thinning: ``Poisson(beta C M)`` rows from the law ``c_i / C``, each kept with probability
``rate(x_i) / beta``, so rows that are never drawn are never read.

| test | gamma | beta | |
|---|---|---|---|
| TunaMH | 1/2 | 1 + chi C M | |
| MH-SS | 0 | max(1, floor / (C M)) | best for a given batch (theorem B) |
| factorised MH | 1 | 1 | a kept row has ``rate(-x) = 0``: it rejects, and nothing else is read |

*Delayed acceptance* first accepts with ``min(1, rho)`` and draws rows only then; the product alone decides the second
stage (spec 5c). For gamma = 1 it is the same law, at less cost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._arguments import flag, not_negative, number_between, positive_number, settle
from ..compiled import BAD_DISTANCE, BLOCK, NO_FAULT, REASSOCIATE, Adapt, Decide, Decision, Part, fixed, helper, part
from ..compiled.random import poisson
from ..errors import NotApplicable
from ..rows.supply import draw_rows
from ..theory import FiniteProblem, chi_for_gap
from .base import ReadyTest, accepts, failure, sum_of_rises, verdict, within_rounding
from .thinning import LARGEST_BATCH, Thinning

FULL_PASS_SHARE = 0.4
"""A pass over all rows in order costs about this share of as many random rows (benchmarks/rows_per_second.py)."""

_SHORT_BLOCK = 16
"""Rows at once for a test that is likely to stop early."""


@helper(inline=True)
def rate(x, beta, gamma):
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
def log_ratio_of_kept(n, x, uniform, start, beta, gamma):
    """Keep each drawn row with probability ``rate(x) / beta`` and add up ``log rate(-x) / rate(x)`` of the kept rows.

    The ratios of eight rows are multiplied before the logarithm is computed, because this is faster.
    """
    total = 0.0
    for first in range(0, n, 8):
        product = 1.0
        for b in range(first, min(first + 8, n)):
            forward = rate(x[b], beta, gamma)
            ratio = rate(-x[b], beta, gamma) / forward  # outside the condition: a branch would be mispredicted
            product *= ratio if uniform[start + b] * beta < forward else 1.0
        total += math.log(product)
    return total


@helper
def _rows_until_certain(n, x, uniform, start, beta, gamma):
    """How many rows of a block were needed to see one that rejects for certain."""
    for b in range(n):
        forward = rate(x[b], beta, gamma)
        if uniform[start + b] * beta < forward and rate(-x[b], beta, gamma) <= 0.0:
            return b + 1
    return n


@part(Decide)
def _decide(rng, move, model, stream, knobs, memory, work):
    """Accept on a Poisson-sized minibatch, or on all rows when that is the cheaper choice at this pair of points."""
    theta, prop, log_rho, distance = move
    gamma, chi, floor, limit, delayed = knobs[0], knobs[1], knobs[2], knobs[3], knobs[4] > 0.0
    if log_rho == -np.inf:
        return verdict(rng, log_rho, 0, False, 0.0, np.nan)
    move_bound = model.total_bound * distance if distance < np.inf else distance  # no bound, even if C is 0
    if not move_bound >= 0.0:
        return failure(BAD_DISTANCE)
    if move_bound == 0.0:
        return verdict(rng, log_rho, 0, False, 0.0, move_bound)
    mean_batch = max(move_bound * (1.0 + chi * move_bound), floor)
    if not mean_batch < limit:  # symmetric in (theta, prop), so the choice keeps the chain exact; NaN is 0 * infinity
        rises, worst, fault = sum_of_rises(theta, prop, model, work, distance)
        if fault != NO_FAULT:
            return failure(fault)
        return verdict(rng, log_rho - rises, model.n_rows, True, worst, move_bound)
    if delayed:
        if not accepts(rng, log_rho):
            return Decision(False, -np.inf, 0, False, 0.0, move_bound, np.nan, NO_FAULT)
        log_rho = 0.0
    beta = mean_batch / move_bound
    block = _SHORT_BLOCK if gamma == 1.0 else BLOCK
    log_ratio, worst, rows, batch = log_rho, 0.0, 0, poisson(rng, mean_batch)
    while rows < batch:
        start, n = draw_rows(stream, min(batch - rows, block))
        model.differences(theta, prop, stream.ring, start, n, model.data, work.rise, work.bound)
        worst = max(worst, _make_relative(n, work.rise, work.bound, distance))
        if worst > 1.0:
            fault = _cut_rounding(theta, prop, stream, start, n, model, work, distance)
            if fault != NO_FAULT:
                return failure(fault)
            worst = 1.0
        log_ratio += log_ratio_of_kept(n, work.rise, stream.uniform, start, beta, gamma)
        if log_ratio == -np.inf:
            n = _rows_until_certain(n, work.rise, stream.uniform, start, beta, gamma)
            stream.cursor[0] = start + n  # rows behind the one that decided go back
            return Decision(False, log_ratio, rows + n, False, worst, move_bound, np.nan, NO_FAULT)
        rows += n
    return verdict(rng, log_ratio, batch, False, worst, move_bound)


def _bound_to(target: Any, thinning: Thinning, adapt: Part | None = None) -> ReadyTest:
    if not math.isfinite(target.total_bound):
        without = ~np.isfinite(target.c)
        what = f"row {int(np.argmax(without))} has none" if without.any() else "these add up to infinity"
        raise NotApplicable(
            f"this test needs a finite bound for every row, and {what}: use MH() or control=Taylor(...)"
        )
    return ReadyTest(_decide, fixed(thinning), np.empty(0), target.supply, adapt)


_CHI = Thinning._fields.index("chi")


@part(Adapt)
def _equal_terms(knobs, mean_move_bound):
    """``chi = 1 / (C M)``: the two terms of the mean batch size are equal (spec 5e, rule 3)."""
    knobs[_CHI] = 1.0 / mean_move_bound


@dataclass(frozen=True, kw_only=True)
class TunaMH:
    """Acceptance test that reads a random minibatch of the rows (Zhang, Cooper and De Sa, NeurIPS 2020).

    The test is exact: the posterior is the stationary distribution of the chain. The paper prints the proposal ratio
    inverted; tunamh uses the correct ratio.

    In a move by the distance ``M``, the energy (negative log-likelihood) of row ``i`` changes by at most its bound
    ``c_i M``. ``C M`` is the sum of these bounds over all rows.

    Parameters
    ----------
    chi : float, optional
        A larger ``chi`` gives larger batches and faster convergence. The mean number of rows that a step draws (the
        mean batch size) is ``chi C^2 M^2 + C M``. By default warm-up chooses ``chi`` so that the two terms are equal on
        average.
    full_share : float
        If the mean batch size exceeds this share of all rows, the step reads all rows in order, which is cheaper.
        Zhang, Cooper and De Sa use 1. With ``math.inf`` a step never reads all rows.

    Examples
    --------
    >>> posterior = tunamh.sample(target, test=tunamh.TunaMH(), rng=1)
    """

    chi: float | None = None
    full_share: float = FULL_PASS_SHARE

    exact: ClassVar[bool] = True

    def __post_init__(self) -> None:
        chi = None if self.chi is None else positive_number("chi", self.chi)
        settle(self, chi=chi, full_share=not_negative("full_share", self.full_share))

    @classmethod
    def for_gap(cls, kappa: float, *, paper: bool = False) -> TunaMH:
        """Return the test whose spectral gap is at least ``kappa`` times the gap of full-data MH.

        Parameters
        ----------
        kappa : float
            A number between 0 and 1. A larger ``kappa`` gives a larger ``chi`` and larger batches.
        paper : bool
            False: ``chi`` comes from theorem C of docs/spec.md. True: ``chi`` comes from the formula of Zhang, Cooper
            and De Sa (2020). It is then 13 to 15 times larger.
        """
        return cls(chi=chi_for_gap(number_between("kappa", kappa, 0, 1), paper=flag("paper", paper)))

    def thinning(self, n_rows: int) -> Thinning:
        """Return the parameters of the compiled test for a target with ``n_rows`` rows.

        If the ``chi`` of the test is None, the result has ``chi = 0`` until warm-up chooses a value.
        """
        return Thinning(gamma=0.5, chi=self.chi or 0.0, limit=_limit(self.full_share * n_rows))

    def finite_acceptance(self, problem: FiniteProblem, here: int, there: int) -> float:
        """Return the exact probability that the test accepts the move from state ``here`` to state ``there``.

        ``problem`` is a finite target with a proposal (`tunamh.theory.FiniteProblem`). Raises ValueError if ``chi`` of
        the test is None.
        """
        if self.chi is None:
            raise ValueError("an exact acceptance probability needs a number for chi, such as TunaMH(chi=0.1).")
        return self.thinning(len(problem.c)).finite_acceptance(problem, here, there)

    def bind(self, target: Any) -> ReadyTest:
        """Return the test, compiled for ``target``. Raises `NotApplicable` if it does not fit the target.

        A test of this kind needs a finite bound ``c_i`` of every row.
        """
        return _bound_to(target, self.thinning(target.n_rows), _equal_terms if self.chi is None else None)


@dataclass(frozen=True, kw_only=True)
class MHSS:
    """Acceptance test that reads a random minibatch of the rows, called MH-SS (Prado, Nemeth and Sherlock 2024).

    The test is exact: the posterior is the stationary distribution of the chain. With ``delayed=False`` it is also
    optimal: no other test that draws rows in this way, such as `TunaMH`, accepts more proposals with the same mean
    batch size (theorem B in docs/spec.md).

    In a move by the distance ``M``, the energy (negative log-likelihood) of row ``i`` changes by at most its bound
    ``c_i M``. ``C M`` is the sum of these bounds over all rows.

    Parameters
    ----------
    floor : float
        The mean number of rows that a step draws (the mean batch size) is ``max(C M, floor)``. A floor above ``C M``
        makes the decision less noisy.
    delayed : bool
        True: delayed acceptance, as in the original paper. Rows are drawn only for proposals that pass a first test on
        prior, proposal and control variate. This saves time for random walks, because most of their proposals are
        rejected.
    full_share : float
        The same argument as in `TunaMH`: if the mean batch size exceeds this share of all rows, the step reads all rows
        in order.

    Examples
    --------
    >>> posterior = tunamh.sample(target, test=tunamh.MHSS(delayed=False), rng=1)
    """

    floor: float = 0.0
    delayed: bool = True
    full_share: float = FULL_PASS_SHARE

    exact: ClassVar[bool] = True

    def __post_init__(self) -> None:
        settle(
            self,
            floor=not_negative("floor", self.floor, infinite=False),
            delayed=flag("delayed", self.delayed),
            full_share=not_negative("full_share", self.full_share),
        )

    def thinning(self, n_rows: int) -> Thinning:
        """Return the parameters of the compiled test for a target with ``n_rows`` rows."""
        return Thinning(gamma=0.0, floor=self.floor, limit=_limit(self.full_share * n_rows), delayed=self.delayed)

    def finite_acceptance(self, problem: FiniteProblem, here: int, there: int) -> float:
        """Return the exact probability that the test accepts the move from state ``here`` to state ``there``.

        ``problem`` is a finite target with a proposal (`tunamh.theory.FiniteProblem`).
        """
        return self.thinning(len(problem.c)).finite_acceptance(problem, here, there)

    def bind(self, target: Any) -> ReadyTest:
        """Return the test, compiled for ``target``. Raises `NotApplicable` if it does not fit the target.

        A test of this kind needs a finite bound ``c_i`` of every row.
        """
        return _bound_to(target, self.thinning(target.n_rows))


@dataclass(frozen=True)
class FactorizedMH:
    """Acceptance test that draws rows until one of them rejects: FMH, TFMH or SMH (Cornish et al. 2019).

    The test is exact: the posterior is the stationary distribution of the chain. It accepts with the probability
    ``min(1, rho) prod_i exp(-max(0, rise_i))``. ``rise_i`` is the change of the energy (negative log-likelihood) of row
    ``i`` in the move. ``rho`` is the product of the prior ratio, the proposal ratio and the Taylor part.

    Without a control variate this is the factorised test FMH or, with ``truncation``, the truncated test TFMH. With a
    Taylor expansion of order k it is SMH-k (Cornish et al. 2019).

    Parameters
    ----------
    truncation : float, optional
        If ``C M`` is at least this number, the step reads all rows, as in `MH`. ``C M`` is the sum over all rows of the
        bounds ``c_i M`` of ``|rise_i|``. By default a step reads all rows if this is cheaper. With ``math.inf`` no step
        reads all rows (FMH).

    Examples
    --------
    >>> posterior = tunamh.sample(target, test=tunamh.FactorizedMH(), control=tunamh.Taylor(order=2))  # SMH-2
    """

    truncation: float | None = None

    exact: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.truncation is not None:
            settle(self, truncation=not_negative("truncation", self.truncation))

    def thinning(self, n_rows: int) -> Thinning:
        """Return the parameters of the compiled test for a target with ``n_rows`` rows."""
        limit = FULL_PASS_SHARE * n_rows if self.truncation is None else self.truncation
        return Thinning(gamma=1.0, limit=_limit(limit), delayed=True)

    def finite_acceptance(self, problem: FiniteProblem, here: int, there: int) -> float:
        """Return the exact probability that the test accepts the move from state ``here`` to state ``there``.

        ``problem`` is a finite target with a proposal (`tunamh.theory.FiniteProblem`).
        """
        return self.thinning(len(problem.c)).finite_acceptance(problem, here, there)

    def bind(self, target: Any) -> ReadyTest:
        """Return the test, compiled for ``target``. Raises `NotApplicable` if it does not fit the target.

        A test of this kind needs a finite bound ``c_i`` of every row.
        """
        return _bound_to(target, self.thinning(target.n_rows))


def _limit(mean_batch: float) -> float:
    return min(mean_batch, LARGEST_BATCH)


OF_MOST_RUNS = (_decide,)
"""To be compiled while a first run is set up (`tunamh.sampling.compilation`)."""
