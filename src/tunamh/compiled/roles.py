"""The roles of the compiled core: one signature per role, and the bundles that cross it.

A function plays a role by `part`. Bundles are NamedTuples of what persists between steps. Numba types of what the
library hands over are spelled here; a kernel with roles of its own (`tunamh.groups.roles`) makes them of `KINDS`.
"""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import types

from .machinery import part

BLOCK = 256
"""Rows that cross a pointer at once: large enough to hide the call, small enough for the first-level cache."""

# ---------------------------------------------------------------------------------------------- plain types

_real, _integer, _flag = types.float64, types.int64, types.boolean
_vector = types.Array(_real, 1, "C")
_fixed = types.Array(_real, 1, "C", readonly=True)
_matrix = types.Array(_real, 2, "C")
_rows = types.Array(_real, 2, "C", readonly=True)
_index = types.Array(_integer, 1, "C")
_generator = numba.typeof(np.random.default_rng(0))

# ------------------------------------------------------------------------------------------ roles of a target

Locate = types.FunctionType(types.void(_vector, _vector, _fixed))
"""``(state, theta, hyper)``: fills ``theta`` with the parameters at ``state``, the chain's own coordinates. Rows and
prior see ``theta``; proposal, distance and offset see states. Mostly the two are one and the same vector."""

LogPrior = types.FunctionType(_real(_vector, _fixed))
"""``(theta, hyper) -> log prior(theta)``; ``-inf`` outside the support."""

Distance = types.FunctionType(_real(_vector, _vector, _fixed))
"""``(here, there, hyper) -> M``: returns the distance of two states; it must be symmetric in them."""

Offset = types.FunctionType(_real(_vector, _vector, _fixed))
"""``(here, there, hyper)``: returns the cheap exact part of ``log pi(there) - log pi(here)``, without the prior."""

Dots = types.FunctionType(types.void(_vector, _vector, _rows, _index, _integer, _fixed, _vector, _vector))
"""``(theta, prop, rows, index, n, hyper, eta, eta_prop)``: a design's linear predictors at both points, for the packed
rows ``index[:n]``. Later numbers in ``index`` are rows soon to be asked for."""

Dot = types.FunctionType(types.void(_vector, _rows, _index, _integer, _fixed, _vector))
"""``(theta, rows, index, n, hyper, eta)``: the same at one point, for the rows ``index[:n]``."""

Sizes = types.FunctionType(types.Tuple([_real, _real])(_vector, _rows, _integer, _fixed))
"""``(theta, rows, i, hyper)``: ``sum_j |x_ij theta_j|``, grown by the number of terms as the rounding of their sum is,
and ``|x_i|``."""

FamilyRise = types.FunctionType(types.void(_integer, _vector, _vector, _vector, _fixed, _vector))
"""``(n, eta, eta_prop, y, hyper, out)``: fills ``out[:n]`` with the differences ``f(eta_prop, y) - f(eta, y)``.

``f`` is the energy (negative log-likelihood) of a row with the linear predictor ``eta`` and the response ``y``."""

FamilyEnergy = types.FunctionType(types.void(_integer, _vector, _vector, _fixed, _vector))
"""``(n, eta, y, hyper, out)``: fills ``out[:n]`` with the energies ``f(eta, y)`` of rows; see `FamilyRise`."""


class Data(NamedTuple):
    """What the compiled functions of a target read, and the work space of one chain for them."""

    rows: Any
    hyper: Any
    family_rise: Any
    family_energy: Any
    family_hyper: Any
    dots: Any
    dot: Any
    sizes: Any
    eta: Any
    eta_prop: Any
    y: Any


_data = types.NamedTuple(
    [_rows, _fixed, FamilyRise, FamilyEnergy, _fixed, Dots, Dot, Sizes, _vector, _vector, _vector], Data
)

# Blocks are passed as whole buffers with a start and a count: a slice costs two atomic operations on a counter.

Differences = types.FunctionType(types.void(_vector, _vector, _index, _integer, _integer, _data, _vector, _vector))
"""``(theta, prop, index, start, n, data, rise, bound)``: for the rows ``index[start : start + n]``, the differences
``U_i(prop) - U_i(theta)`` and the constants ``c_i``. Later numbers in ``index`` are rows soon to be asked for."""

Energies = types.FunctionType(types.void(_vector, _index, _integer, _data, _vector))
"""``(theta, index, n, data, out)``: ``U_i(theta)`` for the rows ``index[:n]``; in the role of a model's ``scales``, the
size of the numbers that cancel in ``U_i(theta)``, by which rounding is measured."""


class Model(NamedTuple):
    """A target in the form that compiled code reads."""

    data: Any
    differences: Any
    energies: Any
    scales: Any
    locate: Any
    distance: Any
    offset: Any
    log_prior: Any
    prior_hyper: Any
    dim: int
    n_rows: int  # of the data: `data.rows` may one day hold only some of them
    total_bound: float
    own_bounds: bool
    elsewhere: int = 0  # the address of what passes over all rows are asked of, where these are not in memory


_model = types.NamedTuple(
    [
        *(_data, Differences, Energies, Energies, Locate, Distance, Offset),
        *(LogPrior, _fixed, _integer, _integer, _real, _flag, _integer),
    ],
    Model,
)

# ------------------------------------------------------------------------- roles of a proposal and of a test

Propose = types.FunctionType(_real(_generator, _vector, _vector, _fixed))
"""``(rng, here, there, knobs)``: fills the state ``there``, returns ``log q(here|there) - log q(there|here)``."""


_lanes = types.Array(types.uint64, 2, "C")

Refill = types.FunctionType(types.void(_lanes, _index, _vector, _index, _rows))
"""``(lanes, ring, uniform, cursor, law)``: fills ``ring`` with the slots of the next rows, drawn by ``law``, and
``uniform`` with a uniform for each, and sets the cursor to 0; ``lanes`` are its random numbers. Parts index rows by
slot; with random access a row's slot is its number."""


class Stream(NamedTuple):
    """A stream of row numbers and uniform numbers, drawn in advance by a supply; see `tunamh.rows.supply`."""

    lanes: Any
    ring: Any
    uniform: Any
    cursor: Any
    refill: Any
    law: Any


_stream = types.NamedTuple([_lanes, _index, _vector, _index, Refill, _rows], Stream)


class Work(NamedTuple):
    """Work space for one block: row numbers, rises (energy differences) and bounds ``c_i``."""

    index: Any
    rise: Any
    bound: Any


_work = types.NamedTuple([_index, _vector, _vector], Work)


class Decision(NamedTuple):
    """The result of an acceptance test for one proposed move.

    Parameters
    ----------
    accepted : bool
        True if the move is accepted.
    log_ratio : float
        The move is accepted with the probability ``min(1, exp(log_ratio))``.
    rows : int
        The number of rows that the test evaluated.
    full : bool
        True if the test read all rows.
    worst : float
        The largest ratio ``|rise_i| / (c_i M)`` among these rows: the energy change of row ``i``, divided by its bound.
        NaN if the test uses no bounds. The energy of a row is its negative log-likelihood.
    move_bound : float
        The sum ``C M`` of the bounds of all rows. NaN if the test uses no bounds.
    report : float
        A number that the test reports (``reports`` of `ReadyTest`); otherwise NaN.
    fault : int
        `NO_FAULT` (-1) if there is no error. A number of 0 or more is the number of a row: the energy of this row is
        not finite, or it exceeds its bound. Other negative numbers stand for other errors, such as `BAD_RATIO`.
    """

    accepted: bool
    log_ratio: float  # log r: the move is accepted with probability min(1, r)
    rows: int  # rows evaluated
    full: bool  # all rows were read
    worst: float  # largest |rise| / (c_i M) met; NaN when the test uses no bounds
    move_bound: float  # C M, the most that all rows together can pull; NaN for tests without bounds
    report: float  # a number of the test's own, named by `ReadyTest.reports`; NaN where there is none
    fault: int  # NO_FAULT, or what Python must raise an error about


_decision = types.NamedTuple([_flag, _real, _integer, _flag, _real, _real, _real, _integer], Decision)

NO_FAULT = -1
BAD_RATIO = -2  # prior, offset or proposal ratio is NaN or +infinity
BAD_DISTANCE = -3  # M(theta, prop) is NaN or negative
NO_ROWS_CAME = -4  # rows that are not in memory could not be read
# a fault >= 0 is the number of a row whose energy is not finite or exceeds its bound


class Move(NamedTuple):
    """A proposed move: an argument of an acceptance test.

    ``theta`` are the current parameters, and ``prop`` the proposed ones. ``log_rho`` is the part of the log acceptance
    ratio that needs no rows: prior, proposal, and terms in closed form such as a Taylor polynomial. ``distance`` is the
    distance ``M`` of the move; it has no meaning if ``log_rho`` is ``-inf``.
    """

    theta: Any
    prop: Any
    log_rho: Any
    distance: Any


_move = types.NamedTuple([_vector, _vector, _real, _real], Move)

Decide = types.FunctionType(_decision(_generator, _move, _model, _stream, _fixed, _vector, _work))
"""``(rng, move, model, stream, knobs, memory, work) -> Decision``; ``move`` is a `Move`.

``knobs`` are the tuning parameters of the test, ``memory`` has the numbers that it keeps between steps.
"""

# -------------------------------------------------------------------------------------------- the role of a kernel


class Place(NamedTuple):
    """Where a chain is: states, and the parameters at these states, which rows and prior read.

    ``here`` is the chain's state; a kernel changes it in place. ``theta`` are the parameters at ``here``. ``there`` and
    ``prop`` are work space for a proposal. If states are parameters, ``theta`` is the vector ``here``, and ``prop`` is
    the vector ``there``.
    """

    here: Any
    there: Any
    theta: Any
    prop: Any


_place = types.NamedUniTuple(_vector, 4, Place)


class Own(NamedTuple):
    """The argument ``own`` of a step: the numbers and the memory of one kernel, and the parts that its step calls."""

    hyper: Any  # fixed numbers
    knobs: Any  # numbers that warm-up may turn
    memory: Any  # what it keeps of a chain between steps
    first_memory: Any  # what a memory that is known of the parameters begins with, each time that others move them
    propose: Any
    proposal_knobs: Any
    decide: Any
    log_prior: Any
    prior_hyper: Any
    parts: Any  # addresses of further parts, whose roles its step knows (`.references.part_at`)
    column: int  # its statistics are the columns of the record from here on
    columns: int  # so many


_own = types.NamedTuple(
    [
        *(_fixed, _fixed, _vector, _fixed, Propose, _fixed, Decide),
        *(LogPrior, _fixed, _index, _integer, _integer),
    ],
    Own,
)

Step = types.FunctionType(_integer(_generator, _place, _model, _stream, _own, _work, _vector))
"""``(rng, place, model, stream, own, work, statistics) -> fault``: one exact step of the chain.

It moves ``place.here`` in place and fills ``statistics``, one number for each name that its kernel gives. It returns
``NO_FAULT``, or the number of a fault, for which Python raises an error; then ``place.here`` and ``place.there`` are
the move that caused it. After the step the loop computes ``place.theta``.
"""


KINDS = SimpleNamespace(
    real=_real,
    whole=_integer,
    flag=_flag,
    vector=_vector,
    fixed=_fixed,
    matrix=_matrix,
    index=_index,
    generator=_generator,
    model=_model,
    work=_work,
    stream=_stream,
)
"""Numba types for the roles of a kernel's own parts."""


class KernelPart(NamedTuple):
    """One kernel of a step: its numbers and its compiled step."""

    own: Any
    step: Any


class Walk(NamedTuple):
    """A chain in the form that the loop reads, except for its random generator. Its kernels take turns."""

    place: Any
    stream: Any
    model: Any
    kernels: Any
    work: Any


def _walk(kernels: int) -> Any:
    parts = types.UniTuple(types.NamedTuple([_own, Step], KernelPart), kernels)
    return types.NamedTuple([_place, _stream, _model, parts, _work], Walk)


class Kept(NamedTuple):
    """What a call of the loop fills: the last state of every ``thin`` steps, and the statistics of all steps."""

    thin: int
    draws: Any
    record: Any
    over_steps: Any  # of every column of the record: SUM, ANY or MOST


_kept = types.NamedTuple([_integer, _matrix, _matrix, _index], Kept)

SUM, ANY, MOST = range(3)
"""How a statistic of a draw comes from those of its steps; of a sum the mean is shown."""


class Outcome(NamedTuple):
    """The result of a call of the chain loop: the number of steps, and a fault."""

    steps: int
    fault: int


_outcome = types.NamedUniTuple(_integer, 2, Outcome)


RunAlone = types.FunctionType(
    _outcome(
        *(_integer, _generator, _stream, _vector, _vector, _vector, _vector, _vector),
        *(_model, Propose, _fixed, Decide, _fixed, _work, _matrix, _matrix),
    )
)
"""The loop of `MetropolisHastings` alone; see `tunamh.chains.loop.run_chain`. Its arguments are not bundled: a step
with few rows takes a sixth longer where they are."""


@cache
def run_role(kernels: int) -> Any:
    """Return the role ``(rng, walk, kept) -> Outcome`` of the loop for this number of kernels."""
    return types.FunctionType(_outcome(_generator, _walk(kernels), _kept))


Adapt = types.FunctionType(types.void(_vector, _real))
"""``(knobs, mean)``: tunes a kernel's knobs (tuning parameters) in place. ``mean`` is the mean of a statistic.

For a test the statistic is the move bound ``C M`` of proposals: the sum of the bounds of all rows."""


class Goals(NamedTuple):
    """The goals of warm-up for one kernel."""

    steps: int  # of warm-up, in all
    tuned: bool  # whether the step size is learned
    acceptance: float  # the rate it is learned for
    largest: float  # no step size is larger
    rate: int  # the column of the record that has the acceptance rate; -1: none
    adapts_to: int  # the column whose mean the knobs are adapted to; -1: none


class Learned(NamedTuple):
    """What warm-up has learned of one kernel so far."""

    done: int  # steps
    log_step: float  # logarithm of the step size
    adapts_to: float  # mean, in the newest window that has one, of what the knobs are adapted to; else NaN
    late_windows: int  # windows in the last third of the steps
    late_log_steps: float  # the sum of their log_step
    late_means: int  # how many of them have a mean to adapt to
    late_total: float  # the sum of these


_goals = types.NamedTuple([_integer, _flag, _real, _real, _integer, _integer], Goals)


class Lesson(NamedTuple):
    """What warm-up may tune of one kernel, and its goals."""

    goals: Any
    adapt: Any
    proposal_knobs: Any
    knobs: Any


_lesson = types.NamedTuple([_goals, Adapt, _vector, _vector], Lesson)


@cache
def windows_role(kernels: int) -> Any:
    """Return the role ``(windows, run, rng, walk, kept, lessons, learned) -> Outcome`` of the loop over windows.

    There is a lesson for each kernel, and a row of ``learned`` with the fields of `Learned`. See
    `tunamh.sampling.warmup`.
    """
    lessons = types.UniTuple(_lesson, kernels)
    return types.FunctionType(
        _outcome(_integer, run_role(kernels), _generator, _walk(kernels), _kept, lessons, _matrix)
    )


FullPass = types.FunctionType(types.Tuple([_real, _real, _integer])(_flag, _vector, _vector, _real, _model, _work))
"""``(rises, theta, prop, distance, model, work) -> (sum, worst ratio, fault)``: of the rises, or of the energies at
``theta``, over the rows of one block; see `tunamh.acceptance.out_of_core`."""

Audit = types.FunctionType(types.Tuple([_real, _integer])(_vector, _vector, _real, _model, _work))
"""``(theta, prop, distance, model, work) -> (value, fault)`` from a pass over all rows (`tunamh.acceptance.base`)."""


@part(Locate)
def same_coordinates(state, theta, hyper):
    """Do nothing: the chain's states are the parameters, and ``theta`` is the vector ``state``."""


@part(Adapt)
def nothing_to_adapt(knobs, mean):
    """Do nothing: the user has set the knobs of the kernel, or it has none."""


@part(Propose)
def no_proposal(rng, here, there, knobs):
    """Return NaN. This is for kernels that do not propose."""
    return np.nan
