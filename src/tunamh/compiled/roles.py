"""The roles of the compiled core: one signature per role, and the bundles that cross it.

A function plays a role by `part`. Bundles are NamedTuples of what persists between steps. This is the only file that
spells the Numba types of what the library hands over.
"""

from __future__ import annotations

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
"""``(here, there, hyper) -> M``, symmetric in the two states."""

Offset = types.FunctionType(_real(_vector, _vector, _fixed))
"""``(here, there, hyper) ->`` the cheap exact part of ``log pi(there) - log pi(here)`` besides the prior."""

Dots = types.FunctionType(types.void(_vector, _vector, _rows, _index, _integer, _fixed, _vector, _vector))
"""``(theta, prop, rows, index, n, hyper, eta, eta_prop)``: a design's linear predictors at both points, for the packed
rows ``index[:n]``. Later numbers in ``index`` are rows soon to be asked for."""

Dot = types.FunctionType(types.void(_vector, _rows, _index, _integer, _fixed, _vector))
"""``(theta, rows, index, n, hyper, eta)``: the same at one point, for the rows ``index[:n]``."""

Sizes = types.FunctionType(types.Tuple([_real, _real])(_vector, _rows, _integer, _fixed))
"""``(theta, rows, i, hyper)``: ``sum_j |x_ij theta_j|``, grown by the number of terms as the rounding of their sum is,
and ``|x_i|``."""

FamilyRise = types.FunctionType(types.void(_integer, _vector, _vector, _vector, _fixed, _vector))
"""``(n, eta, eta_prop, y, hyper, out)``: ``out = f(eta_prop, y) - f(eta, y)`` for ``n`` linear predictors."""

FamilyEnergy = types.FunctionType(types.void(_integer, _vector, _vector, _fixed, _vector))
"""``(n, eta, y, hyper, out)``: ``out = f(eta, y)`` for ``n`` linear predictors."""


class Data(NamedTuple):
    """What a target's block functions read, and the scratch of one chain for them."""

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


Refresh = types.FunctionType(types.void(_generator, _vector, _fixed))
"""``(rng, here, hyper)``: moves a part of the state, in place, by a draw from its law given the rest; no row is read.
Every step begins with it. Most targets have nothing to refresh."""


class Model(NamedTuple):
    """A target, as compiled code sees it."""

    data: Any
    differences: Any
    energies: Any
    scales: Any
    locate: Any
    distance: Any
    offset: Any
    refresh: Any
    refresh_hyper: Any
    log_prior: Any
    prior_hyper: Any
    common_prior: Any  # of the first parameters, where the state has groups' effects behind them; else the same
    common_hyper: Any
    dim: int
    n_rows: int  # of the data: `data.rows` may one day hold only some of them
    total_bound: float
    own_bounds: bool
    elsewhere: int = 0  # the address of what passes over all rows are asked of, where these are not in memory


_model = types.NamedTuple(
    [
        *(_data, Differences, Energies, Energies, Locate, Distance, Offset, Refresh, _fixed),
        *(LogPrior, _fixed, LogPrior, _fixed, _integer, _integer, _real, _flag, _integer),
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
    """Slots of rows, and uniforms, drawn ahead by a supply; see `tunamh.rows.stream`."""

    lanes: Any
    ring: Any
    uniform: Any
    cursor: Any
    refill: Any
    law: Any


_stream = types.NamedTuple([_lanes, _index, _vector, _index, Refill, _rows], Stream)


class Work(NamedTuple):
    """One block's scratch: row numbers, rises (differences) and bounds ``c_i``."""

    index: Any
    rise: Any
    bound: Any


_work = types.NamedTuple([_index, _vector, _vector], Work)


class Decision(NamedTuple):
    """What an acceptance test saw and decided."""

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

Decide = types.FunctionType(
    _decision(_generator, _vector, _vector, _real, _real, _model, _stream, _fixed, _vector, _work)
)
"""``(rng, theta, prop, log_rho, distance, model, stream, knobs, memory, work) -> Decision``.

``log_rho`` is the deterministic log ratio of the spec (prior, offset and proposal) and ``distance`` the ``M`` of the
move, meaningless where ``log_rho`` is ``-inf``; ``knobs`` are the test's numbers, ``memory`` is what it keeps.
"""


class Outcome(NamedTuple):
    """How far a call of the chain loop came."""

    steps: int
    fault: int


Run = types.FunctionType(
    types.NamedUniTuple(_integer, 2, Outcome)(
        *(_integer, _generator, _stream, _vector, _vector, _vector, _vector, _vector),
        *(_model, Propose, _fixed, Decide, _fixed, _work, _matrix, _matrix),
    )
)
"""The chain loop; see `tunamh.chains.loop`."""

Adapt = types.FunctionType(types.void(_vector, _real))
"""``(knobs, mean_move_bound)``: turns a test's knobs, in place, given the mean move_bound ``C M`` of proposals."""


class Goals(NamedTuple):
    """What warm-up aims at."""

    steps: int  # of warm-up, in all
    tuned: bool  # whether the step size is learned
    acceptance: float  # the rate it is learned for
    largest: float  # no step size is larger


class Learned(NamedTuple):
    """What warm-up knows after some of its steps."""

    done: int  # steps
    log_step: float  # logarithm of the step size
    move_bound: float  # mean move bound of the newest window that has one, else NaN
    late_windows: int  # windows in the last third of the steps
    late_log_steps: float  # the sum of their log_step
    late_move_bounds: int  # how many of them have one
    late_total: float  # the sum of these


_goals = types.NamedTuple([_integer, _flag, _real, _real], Goals)
_learned = types.NamedTuple([_integer, _real, _real, _integer, _real, _integer, _real], Learned)

RunWindows = types.FunctionType(
    types.Tuple([types.NamedUniTuple(_integer, 2, Outcome), _learned])(
        *(_integer, Run, _generator, _stream, _vector, _vector, _vector, _vector, _vector),
        *(_model, Propose, _vector, Decide, _vector, _work, _matrix, _matrix, Adapt, _goals, _learned),
    )
)
"""The chain loop in windows, and what is learned from each; see `tunamh.sampling.warmup`."""

FullPass = types.FunctionType(types.Tuple([_real, _real, _integer])(_flag, _vector, _vector, _real, _model, _work))
"""``(rises, theta, prop, distance, model, work) -> (sum, worst ratio, fault)``: of the rises, or of the energies at
``theta``, over the rows of one block; see `tunamh.acceptance.out_of_core`."""

Audit = types.FunctionType(types.Tuple([_real, _integer])(_vector, _vector, _real, _model, _work))
"""``(theta, prop, distance, model, work) -> (value, fault)`` from a pass over all rows; see `tunamh.chains.guard`."""


@part(Refresh)
def nothing_to_refresh(rng, here, hyper):
    """All of the state is moved by proposals."""


@part(Locate)
def same_coordinates(state, theta, hyper):
    """The chain's states are the parameters: ``theta`` is the vector ``state``, and nothing is left to do."""


@part(Adapt)
def nothing_to_adapt(knobs, mean_move_bound):
    """The test's knobs were given, or there are none."""
