"""What the chain needs of an acceptance test, and the pass over all rows that several tests share."""

from __future__ import annotations

import math
from enum import Enum
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from ..compiled import (
    BAD_DISTANCE,
    BAD_RATIO,
    BLOCK,
    NO_FAULT,
    NO_ROWS_CAME,
    Audit,
    Decide,
    Decision,
    Part,
    call_back,
    helper,
    part,
)
from ..rows.pool import ALL_ROWS_ENERGY, ALL_ROWS_RISE
from ..rows.supply import Supply
from ..theory import FiniteProblem


class Memory(Enum):
    """What must be done with the memory of a test or kernel if another kernel changes the state of the chain.

    The memory is the numbers that a test or kernel keeps from one step to the next.

    - ``APART``: the memory does not depend on the state (an order of rows, sums over draws). Nothing must be done.
    - ``OF_PARAMETERS``: the memory is computed from the parameters, such as their energy (negative log-likelihood). It
      is computed again.
    - ``PART_OF_STATE``: the chain has a joint stationary distribution of parameters and memory. So no other kernel may
      change the parameters.
    """

    APART = "nothing: an order of rows, sums over draws"
    OF_PARAMETERS = "it is known of the parameters, such as their energy, and begins anew when others move these"
    PART_OF_STATE = "the chain's law is one of parameters and memory together: no other kernel may move these"


class ReadyTest(NamedTuple):
    """An acceptance test that is compiled and bound to a target.

    Parameters
    ----------
    decide : Part
        The compiled test, in the role `Decide`.
    knobs : array
        The tuning parameters of the test.
    memory : array
        The initial values of the numbers that the test keeps from one step to the next.
    supply : Supply
        The object that draws rows for the test: ``target.supply``, or `NO_ROWS` if the test draws none.
    adapt : Part, optional
        The compiled function, in the role `Adapt`, that tunes the knobs in warm-up. It gets the mean of ``C M`` over
        the proposals: in one move, ``c_i M`` bounds the energy change of row ``i``, and ``C M`` is the sum of these
        bounds over all rows. Default: nothing is tuned. The energy of a row is its negative log-likelihood.
    reports : str, optional
        Each `Decision` has a number ``report``. ``reports`` is the name of this number in ``sample_stats``. Default:
        results do not contain the number.
    memory_is : Memory, optional
        What must be done with the memory if another kernel changes the state of the chain.
    """

    decide: Part
    knobs: np.ndarray
    memory: np.ndarray
    supply: Supply
    adapt: Part | None = None
    reports: str | None = None
    memory_is: Memory | None = None


class AcceptanceTest(Protocol):
    """The interface of an acceptance test, which accepts or rejects each proposed state.

    A test is an immutable object. ``exact`` is True if the posterior is the stationary distribution of a chain with
    this test. The method ``bind`` compiles the test for a target.
    """

    exact: ClassVar[bool]

    def finite_acceptance(self, problem: FiniteProblem, here: int, there: int) -> float:
        """Return the exact probability that the test accepts the move from state ``here`` to state ``there``.

        ``problem`` is a finite target with a proposal (`tunamh.theory.FiniteProblem`). `tunamh.theory` computes its
        exact transition matrix from these probabilities.
        """

    def bind(self, target: Any) -> ReadyTest:
        """Return the test, compiled for ``target``. Raises `NotApplicable` if it does not fit the target."""


RELATIVE_TOLERANCE = 1e-9
ABSOLUTE_TOLERANCE = 1e-14  # 45 units in the last place of a model's scales


@helper
def accepts(rng, log_ratio):
    """Return True with probability ``min(1, exp(log_ratio))``; ``rng`` is the random generator of the chain.

    The function compares a uniform number first with ``1 + log_ratio``, which is at most ``exp(log_ratio)``. So it
    rarely computes a logarithm.
    """
    if log_ratio >= 0.0:
        return True
    u = rng.random()
    return u < 1.0 + log_ratio or math.log(u) < log_ratio


@helper
def verdict(rng, log_ratio, rows, full, worst, move_bound):
    """Return a `Decision` that accepts with probability ``min(1, exp(log_ratio))``.

    ``rng`` is the random generator of the chain. The other arguments are fields of the `Decision`: the number of
    ``rows`` that the test evaluated, ``full`` if these are all rows, ``worst`` (the largest ratio of an energy
    difference to its bound) and ``move_bound`` (the sum of the bounds of all rows). The last two are NaN if the test
    uses no bounds. The energy of a row is its negative log-likelihood.
    """
    return Decision(accepts(rng, log_ratio), log_ratio, rows, full, worst, move_bound, np.nan, NO_FAULT)


@helper
def failure(fault):
    """Return a `Decision` that rejects the move and reports an error.

    ``fault`` is the number of a row whose energy (negative log-likelihood) is not finite or exceeds its bound, or a
    negative number for another error: `BAD_RATIO` or `BAD_DISTANCE`. Python then raises the error.
    """
    return Decision(False, -np.inf, 0, False, np.nan, np.nan, np.nan, fault)


@part(Decide)
def no_decision(rng, move, model, stream, knobs, memory, work):
    """Report a fault. This is the test of kernels whose step decides by itself, so nobody may call it."""
    return failure(BAD_RATIO)


@helper
def rounding_at(theta, model, row):
    """Return a bound of the rounding error of ``U_i(theta)``: a few units in the last place of its largest terms."""
    index, scale = np.array([row]), np.empty(1)
    model.scales(theta, index, 1, model.data, scale)
    return ABSOLUTE_TOLERANCE * abs(scale[0])


@helper
def within_rounding(theta, prop, model, row, rise, bound):
    """Return True if ``|rise|`` is at most ``bound``, or larger only by rounding error (docs/spec.md, section 2.0).

    ``rise`` is the change of the energy (negative log-likelihood) of row ``row`` of ``model`` in the move from
    ``theta`` to ``prop``, and ``bound`` is its bound ``c_i M``. Some targets, such as the finite walk, attain their
    bounds, so a rise may exceed its bound in the last digit. The result is False if the rise is not finite, or if the
    energies that measure the rounding error are not.
    """
    slack = RELATIVE_TOLERANCE * bound + rounding_at(theta, model, row) + rounding_at(prop, model, row)
    return math.isfinite(rise) and math.isfinite(slack) and abs(rise) <= bound + slack


@helper
def sum_of_rises(theta, prop, model, work, distance):
    """Add up the energy differences ``U_i(prop) - U_i(theta)`` of all rows; return ``(sum, worst ratio, fault)``.

    ``U_i`` is the energy (minus log-likelihood) of row ``i``, and ``c_i M`` is its bound in this move; ``distance`` is
    ``M``. ``model`` is the compiled target and ``work`` its temporary space, as `Decide` gets them.

    The worst ratio is the largest ``|U_i(prop) - U_i(theta)| / (c_i M)``. Every row's bound is checked; the fault is
    the number of a row that exceeds its bound or is not finite, otherwise `NO_FAULT`. If a move has no bound, a
    difference of +infinity means a density of zero: the sum is +infinity, without a fault.
    """
    if model.elsewhere != 0:
        return _ask_elsewhere(ALL_ROWS_RISE, theta, prop, model, distance)
    n_rows = model.n_rows
    total, worst = 0.0, 0.0
    for start in range(0, n_rows, BLOCK):
        n = consecutive(work.index, start, n_rows)
        model.differences(theta, prop, work.index, 0, n, model.data, work.rise, work.bound)
        block_total = 0.0
        for b in range(n):
            rise, bound = work.rise[b], work.bound[b] * distance if distance < np.inf else np.inf
            if rise == np.inf and bound == np.inf:
                return rise, worst, NO_FAULT
            if not abs(rise) <= bound and not within_rounding(theta, prop, model, start + b, rise, bound):
                return total, worst, start + b
            if bound > 0.0:
                worst = max(worst, min(abs(rise) / bound, 1.0))
            block_total += rise
        total += block_total
        if not math.isfinite(total):  # under an infinite bound, or a sum beyond all numbers
            return total, worst, start + _first_not_finite(n, work.rise, np.nan)
    return total, worst, NO_FAULT


@helper
def sum_of_energies(theta, model, work):
    """Add up the energies ``U_i(theta)`` (minus log-likelihoods) of all rows; return ``(sum, fault)``.

    ``model`` is the compiled target and ``work`` its temporary space, as `Decide` gets them.

    The fault is `NO_FAULT` if all energies are finite. If not, it is the number of the first row whose energy is NaN or
    -infinity or, if there is no such row, of the first row with the energy +infinity. In this last case the sum is
    +infinity: the density is zero, which is not an error.
    """
    if model.elsewhere != 0:
        energy, _, wrong = _ask_elsewhere(ALL_ROWS_ENERGY, theta, theta, model, 0.0)
        return energy, wrong
    n_rows = model.n_rows
    total, fault = 0.0, NO_FAULT
    for start in range(0, n_rows, BLOCK):
        n = consecutive(work.index, start, n_rows)
        model.energies(theta, work.index, n, model.data, work.rise)
        block_total = 0.0
        for b in range(n):
            block_total += work.rise[b]
        total += block_total
        if not math.isfinite(total):
            if total != np.inf:
                return total, start + _first_not_finite(n, work.rise, np.inf)
            if fault == NO_FAULT:
                fault = start + _first_not_finite(n, work.rise, np.nan)
    return total, fault


@part(Audit)
def audit_pair(theta, prop, distance, model, work):
    """Return the largest ``|rise| / (c_i M)`` of all rows at one move, and the first row that fails."""
    if not distance >= 0.0:
        return 0.0, BAD_DISTANCE
    _, worst, fault = sum_of_rises(theta, prop, model, work, distance)
    return worst, fault


@part(Audit)
def audit_state(theta, prop, distance, model, work):
    """Return the energy of all rows at ``theta``, and the first row whose energy is not finite."""
    return sum_of_energies(theta, model, work)


@helper
def _ask_elsewhere(kind, theta, prop, model, distance):
    """A pass over rows that are not in memory: Python maps a function over their blocks (`.elsewhere`)."""
    out = np.empty(3)
    status = call_back(
        model.elsewhere, kind, theta.ctypes.data, prop.ctypes.data, theta.size, distance, out.ctypes.data
    )
    if status != 0:
        return np.nan, np.nan, NO_ROWS_CAME
    return out[0], out[1], int(out[2])


@helper
def _first_not_finite(n, values, allowed):
    """The first value that is neither finite nor ``allowed``; the last, where all are and their sum is not."""
    for b in range(n):
        if not math.isfinite(values[b]) and values[b] != allowed:
            return b
    return n - 1


@helper
def consecutive(index, start, n_rows):
    """Fill ``index`` with the row numbers of the block that begins at ``start``. Return how many there are."""
    n = min(BLOCK, n_rows - start)
    for b in range(n):
        index[b] = start + b
    return n
