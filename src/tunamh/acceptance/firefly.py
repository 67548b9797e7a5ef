"""FlyMC: rows are lit by auxiliary coins, and only the bright ones enter the decision (spec 2.7).

The target is first rewritten around lower bounds ``B_i <= L_i`` of the rows' likelihoods, whose product is known in
closed form and goes into the offset; row ``i`` keeps the energy ``-gap_i``, ``gap_i = log L_i - log B_i >= 0``. With
``Lt_i = e^{gap_i} - 1`` the joint law of state and bright rows is ``prior(theta) prod_i B_i prod_{bright} Lt_i``; its
marginal in theta is the posterior. Each step is a sweep that lights and darkens rows, then MH given the bright ones.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._arguments import flag, number_between, numbers, parameters, settle
from ..capabilities import LowerBounded, offers
from ..compiled import BLOCK, NO_FAULT, Decide, Decision, fixed, helper, part
from ..compiled.layouts import Layout
from ..errors import NotApplicable
from ..rows.supply import NO_ROWS
from ..theory import FiniteProblem
from .base import Memory, ReadyTest, accepts, failure, rounding_at

_NO_GAP = 1e-13  # at a tangent point the gap is zero up to rounding

# memory: number of bright rows, then the rows in an order in which the bright come first, then the gaps of the bright.


@helper
def _log_brightness(gap):
    """``log Lt = log(e^gap - 1)``; minus infinity where there is no gap."""
    if gap <= _NO_GAP:
        return -np.inf
    return gap + math.log(-math.expm1(-gap))


@helper
def _gaps(theta, model, work, n, out, start):
    """Gaps at ``theta`` of the ``n`` rows in ``work.index``; returns the first that is wrong, or ``NO_FAULT``."""
    model.energies(theta, work.index, n, model.data, work.rise)
    for b in range(n):
        gap = -work.rise[b]
        if not math.isfinite(gap):
            return work.index[b]
        if gap < 0.0 and not -gap <= rounding_at(theta, model, work.index[b]):
            return work.index[b]
        out[start + b] = max(gap, 0.0)
    return NO_FAULT


@helper
def _bright_gaps(theta, model, work, order, bright, out):
    """Gaps at ``theta`` of all bright rows."""
    for start in range(0, bright, BLOCK):
        n = min(BLOCK, bright - start)
        for b in range(n):
            work.index[b] = int(order[start + b])
        fault = _gaps(theta, model, work, n, out, start)
        if fault != NO_FAULT:
            return fault
    return NO_FAULT


@helper
def _skip(rng, q):
    """How many dark rows to pass until one is proposed: geometric, at least 1."""
    return 1 if q == 1.0 else 1 + int(min(math.log(1.0 - rng.random()) / math.log1p(-q), 1e15))


@helper
def _light(rng, theta, model, work, order, gap, n_bright, q):
    """Propose every dark row with probability q and light it with ``min(1, Lt / q)``.

    Lit rows are swapped to the end of the bright ones, which never lies beyond the slot at hand. Returns
    ``(bright rows, rows evaluated, fault)``.
    """
    slots, found = np.empty(BLOCK, np.int64), np.empty(BLOCK)
    slot, lit, evaluated = n_bright - 1 + _skip(rng, q), n_bright, 0
    while slot < order.size:
        n = 0
        while slot < order.size and n < BLOCK:
            slots[n], work.index[n] = slot, int(order[slot])
            n += 1
            slot += _skip(rng, q)
        fault = _gaps(theta, model, work, n, found, 0)
        if fault != NO_FAULT:
            return lit, evaluated, fault
        evaluated += n
        for b in range(n):
            if accepts(rng, _log_brightness(found[b]) - math.log(q)):
                row = order[slots[b]]
                order[slots[b]], order[lit] = order[lit], row
                gap[lit] = found[b]
                lit += 1
    return lit, evaluated, NO_FAULT


@helper
def _darken(rng, order, gap, was_bright, n_bright, q):
    """Each row that was bright before the sweep goes dark with ``min(1, q / Lt)``; returns how many are bright now."""
    for slot in range(was_bright - 1, -1, -1):
        if accepts(rng, math.log(q) - _log_brightness(gap[slot])):
            n_bright -= 1
            row = order[slot]
            order[slot], gap[slot] = order[n_bright], gap[n_bright]
            order[n_bright] = row
    return n_bright


_MEMORY = Layout("Firefly", "n", bright=(1,), order=("n",), gap=("n",), gap_prop=("n",))
"""How many rows are bright; all rows, the bright ones first; the gaps of these, at the state and at the proposal."""

_memory_at = _MEMORY.reader()


@part(Decide)
def _decide(rng, move, model, stream, knobs, memory, work):
    """One sweep at ``theta``, then MH to ``prop`` given the bright rows; ``report`` tells how many are bright."""
    q, own = knobs[0], _memory_at(memory, 0, (memory.size - 1) // 3)
    order, gap, gap_prop = own.order, own.gap, own.gap_prop
    was_bright = int(own.bright[0])
    lit, evaluated, fault = _light(rng, move.theta, model, work, order, gap, was_bright, q)
    if fault != NO_FAULT:
        return failure(fault)
    bright = _darken(rng, order, gap, was_bright, lit, q)
    own.bright[0] = bright
    if move.log_rho == -np.inf:
        return Decision(False, move.log_rho, evaluated, False, np.nan, np.nan, float(bright), NO_FAULT)
    fault = _bright_gaps(move.prop, model, work, order, bright, gap_prop)
    if fault != NO_FAULT:
        return failure(fault)
    log_ratio = move.log_rho
    for slot in range(bright):
        log_ratio += _log_brightness(gap_prop[slot]) - _log_brightness(gap[slot])
    accepted = accepts(rng, log_ratio)
    if accepted:
        gap[:bright] = gap_prop[:bright]
    return Decision(accepted, log_ratio, evaluated + bright, False, np.nan, np.nan, float(bright), NO_FAULT)


@dataclass(frozen=True)
class FlyMC:
    """Firefly Monte Carlo (Maclaurin and Adams 2014) with implicit resampling: a test that evaluates only some rows.

    The test is exact. It replaces the likelihood of most rows (the dark rows) by a lower bound, and evaluates only the
    other rows (the bright rows). In ``sample_stats``, ``batch_size`` counts all evaluated energies (negative
    log-likelihoods), and ``bright_rows`` counts the bright rows after the step.

    Three kinds of targets have lower bounds: logistic regression (the bound of Jaakkola and Jordan), Student-t
    regression (the Gaussian tangent), and `GaussianMixture` (the Taylor bound).

    Parameters
    ----------
    q : float
        In each step, every dark row is proposed with this probability. A proposed row may become bright.
    tuned : bool
        True: each lower bound equals the likelihood at ``centre`` (FlyMC-MAP). False, without ``centre``: it equals the
        likelihood where ``|x_i.theta| = 1.5`` (logistic regression), where the residual is zero (Student-t), or at
        ``theta = 0`` (the mixture).
    centre : (d,), optional
        The parameters at which the lower bounds equal the likelihoods. Default with ``tuned=True``: a mode of the
        posterior.
    """

    q: float = 0.1
    tuned: bool = False
    centre: Any = None

    exact: ClassVar[bool] = True

    def __post_init__(self) -> None:
        centre = None if self.centre is None else numbers("centre", self.centre)
        settle(self, q=number_between("q", self.q, 0, 1, ends="high"), tuned=flag("tuned", self.tuned), centre=centre)

    def prepare(self, target: Any) -> Any:
        """Return a target with the same posterior, whose rows have the energies ``-gap_i``.

        ``gap_i`` is the log-likelihood of row ``i`` minus its lower bound. The sum of the lower bounds of all rows is a
        part of the target that is computed without reading rows.
        """
        if not offers(target, LowerBounded):
            raise NotApplicable(
                f"FlyMC needs lower bounds of the likelihood, which {type(target).__name__} does not offer"
            )
        if not self.tuned and self.centre is None:
            return target.firefly(None)
        centre = target.best_mode().point if self.centre is None else parameters("centre", self.centre, target.dim)
        return target.firefly(centre)

    def bind(self, target: Any) -> ReadyTest:
        """Return the test, compiled for ``target``. Raises `NotApplicable` if it does not fit the target.

        All rows of the target must be in memory.
        """
        n_rows = len(target.rows)  # all of them must be in memory
        nothing = np.zeros(n_rows)
        memory = _MEMORY.pack(bright=[0.0], order=np.arange(n_rows), gap=nothing, gap_prop=nothing)
        return ReadyTest(
            _decide, fixed([self.q]), memory, NO_ROWS, reports="bright_rows", memory_is=Memory.PART_OF_STATE
        )

    def finite_acceptance(self, problem: FiniteProblem, here: int, there: int) -> float:
        """Raise `NotApplicable`: the test has a memory, so this probability does not exist.

        Use `joint_transition_matrix` instead.
        """
        raise NotApplicable(
            "FlyMC keeps the bright rows from step to step, so it has no acceptance probability of this kind: use "
            "joint_transition_matrix, which is for parameters and bright rows together."
        )

    def joint_transition_matrix(self, problem: FiniteProblem) -> tuple[np.ndarray, np.ndarray]:
        """Return the exact transition matrix and stationary distribution of (state, bright rows) on a finite problem.

        The energies of the problem are ``-gap_i``; ``gap_i`` is the log-likelihood of row ``i`` minus its lower bound.
        The number of a joint state is ``k * 2^N + z``: ``k`` is the state of the chain, ``N`` is the number of rows,
        and row ``i`` is bright if bit ``i`` of ``z`` is 1.
        """
        n_rows, K = problem.energies.shape
        gaps = np.maximum(-problem.energies, 0.0)
        brightness = np.where(gaps > _NO_GAP, np.expm1(gaps), 0.0)
        coins = list(itertools.product((0, 1), repeat=n_rows))
        Z = len(coins)
        law = np.array(
            [
                [np.exp(problem.log_prior[k]) * np.prod(np.where(z, brightness[:, k], 1.0)) for z in coins]
                for k in range(K)
            ]
        ).ravel()
        with np.errstate(divide="ignore"):
            darkens = np.minimum(1.0, self.q / brightness)
        lights = self.q * np.minimum(1.0, brightness / self.q)
        sweep, move = np.zeros((K * Z, K * Z)), np.zeros((K * Z, K * Z))
        for k in range(K):
            for a, old in enumerate(coins):
                for b, new in enumerate(coins):
                    up = np.where(old, 1 - darkens[:, k], lights[:, k])
                    sweep[k * Z + a, k * Z + b] = np.prod(np.where(new, up, 1 - up))
                for other in range(K):
                    q = problem.proposal
                    if other != k and q[k, other] > 0 and q[other, k] > 0:
                        bright = np.array(old, bool)
                        top, bottom = np.prod(brightness[bright, other]), np.prod(brightness[bright, k])
                        ratio = math.exp(problem.log_rho(k, other)) * top / bottom if bottom > 0 else 1.0
                        move[k * Z + a, other * Z + a] = q[k, other] * min(1.0, ratio)
                move[k * Z + a, k * Z + a] = 1 - move[k * Z + a].sum()
        return sweep @ move, law / law.sum()
