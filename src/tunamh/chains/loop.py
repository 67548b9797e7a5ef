"""The compiled loops: step, move, record. They know roles, no methods and no models.

`run_chain` is the loop of `MetropolisHastings` alone, its arguments laid out for speed. `run_in_turn` is that of any
kernels, one after the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..acceptance.base import Memory, no_decision
from ..compiled import (
    ANY,
    BAD_RATIO,
    NO_FAULT,
    NO_ROWS_CAME,
    SUM,
    Kept,
    KernelPart,
    Model,
    Move,
    Outcome,
    Own,
    Part,
    Place,
    RunAlone,
    Step,
    Walk,
    Work,
    borrowed,
    fixed,
    helper,
    no_proposal,
    part,
    run_role,
)
from ..compiled.vector import copy_into
from ..rows.supply import NO_ROWS, StreamState
from .guard import explain, new_work, opened_model, parameters_at
from .kernel import ReadyKernel, Statistics
from .metropolis import (
    ACCEPTED,
    FULL,
    MOVE_BOUND,
    RATE,
    REPORT,
    ROWS,
    WORST,
    metropolis_hastings,
)


@part(RunAlone)
def run_chain(
    thin, rng, stream, here, there, theta, prop, memory,
    model, propose, proposal_knobs, decide, knobs, work, draws, record,
):  # fmt: skip
    """Fill ``draws`` and add to ``record``. If a fault occurs, stop; ``here`` and ``there`` are then the move at fault.

    ``here`` and ``there`` are states in the coordinates of the chain; rows and prior read the parameters ``theta`` and
    ``prop`` at these states. The last state of every ``thin`` steps is kept. In the record, rates and rows are sums
    over these steps, and flags and bounds are maxima.
    """
    model, stream, work = borrowed(model), borrowed(stream), borrowed(work)
    here, there, memory = borrowed(here), borrowed(there), borrowed(memory)
    theta, prop = borrowed(theta), borrowed(prop)
    proposal_knobs, knobs = borrowed(proposal_knobs), borrowed(knobs)
    hyper, failed_at = model.data.hyper, stream.cursor.size - 1  # an index of -1 makes each step a third slower
    prior = model.log_prior(theta, model.prior_hyper)
    for k in range(draws.shape[0]):
        for t in range(thin):
            log_q = propose(rng, here, there, proposal_knobs)  # as in `ratio_of_proposal`, to call which takes longer
            model.locate(there, prop, hyper)
            log_rho = log_q + model.offset(here, there, hyper)
            prior_there, distance = prior, np.nan
            if log_rho > -np.inf:
                prior_there = model.log_prior(prop, model.prior_hyper)
                log_rho += prior_there - prior
                distance = model.distance(here, there, hyper)
            if math.isnan(log_rho) or log_rho == np.inf:
                return Outcome(k * thin + t, BAD_RATIO)
            decision = decide(rng, Move(theta, prop, log_rho, distance), model, stream, knobs, memory, work)
            if decision.fault != NO_FAULT:
                return Outcome(k * thin + t, decision.fault)
            if stream.cursor[failed_at] < 0:
                return Outcome(k * thin + t, NO_ROWS_CAME)
            if decision.accepted:
                copy_into(here, there)
                copy_into(theta, prop)
                prior = prior_there
                record[k, ACCEPTED] = 1.0
            if decision.full:
                record[k, FULL] = 1.0
            record[k, RATE] += math.exp(min(0.0, decision.log_ratio))
            record[k, ROWS] += decision.rows
            record[k, WORST] = decision.worst if math.isnan(decision.worst) else max(record[k, WORST], decision.worst)
            record[k, MOVE_BOUND] += decision.move_bound
            record[k, REPORT] += decision.report
        for j in range(draws.shape[1]):  # what a state has beyond the parameters is kept as it is
            draws[k, j] = theta[j] if j < theta.size else here[j]
    return Outcome(draws.shape[0] * thin, NO_FAULT)


_run_chain = run_chain.dispatcher


@part(Step)
def _made_by_the_loop(rng, place, model, stream, own, work, statistics):
    """The step of `MetropolisHastings` alone: `run_chain` makes it itself, and nobody calls this."""
    return BAD_RATIO


@part(run_role(1))
def run_alone(rng, walk, kept):
    """Do what `run_chain` does, with arguments in bundles. Warm-up calls it for its windows."""
    place, own = walk.place, walk.kernels[0].own
    return _run_chain(
        kept.thin, rng, walk.stream, place.here, place.there, place.theta, place.prop, own.memory,
        walk.model, own.propose, own.proposal_knobs, own.decide, own.knobs, walk.work, kept.draws, kept.record,
    )  # fmt: skip


@helper
def _add(record, k, over_steps, first, statistics):
    """The statistics of one step, to those of the draw under way."""
    for c in range(statistics.size):
        value, column = statistics[c], first + c
        if over_steps[column] == SUM:
            record[k, column] += value
        elif over_steps[column] == ANY:
            record[k, column] = max(record[k, column], 1.0 if value > 0.0 else 0.0)
        else:
            record[k, column] = value if math.isnan(value) else max(record[k, column], value)


@helper
def _differ(a, b):
    for j in range(a.size):  # noqa: SIM110 (compiled)
        if a[j] != b[j]:
            return True
    return False


@helper
def _begin_anew(own):
    """Forget what is known of parameters that have moved."""
    for j in range(own.first_memory.size):
        own.memory[j] = own.first_memory[j]


def run_in_turn(rng, walk, kept):
    """Run a chain with any kernels: in every step each kernel makes one step, in order.

    If a kernel has changed the parameters, the memories of the other kernels that depend on them are computed again.
    """
    walk = borrowed(walk)
    place, stream, model, thin = walk.place, walk.stream, walk.model, kept.thin
    here, theta, draws = place.here, place.theta, kept.draws
    before = theta.copy()
    for k in range(draws.shape[0]):
        for t in range(thin):
            for i in range(len(walk.kernels)):
                turn = walk.kernels[i]
                own = turn.own
                statistics = np.full(own.columns, np.nan)
                fault = turn.step(rng, place, model, stream, own, walk.work, statistics)
                if fault != NO_FAULT:
                    return Outcome(k * thin + t, fault)
                if stream.cursor[-1] < 0:
                    return Outcome(k * thin + t, NO_ROWS_CAME)
                model.locate(here, theta, model.data.hyper)
                if _differ(theta, before):
                    copy_into(before, theta)
                    for other in range(len(walk.kernels)):
                        if other != i:
                            _begin_anew(walk.kernels[other].own)
                _add(kept.record, k, kept.over_steps, own.column, statistics)
        for j in range(draws.shape[1]):
            draws[k, j] = theta[j] if j < theta.size else here[j]
    return Outcome(draws.shape[0] * thin, NO_FAULT)


@cache
def loop_in_turn(kernels: int) -> Part:
    """Return the loop for a step of this number of kernels."""
    return Part(run_in_turn, run_role(kernels), made_by=f"{__name__}:loop_in_turn:{kernels}")


@dataclass
class ChainState:
    """Where a chain is. With the present knobs, the next step depends only on this (`tunamh.chains.state`).

    ``there`` is work space that every proposal fills. There are two random generators, one here and one in the stream,
    so that rows can be drawn ahead of moves and decisions.
    """

    here: np.ndarray
    rng: np.random.Generator
    stream: StreamState
    memory: np.ndarray
    steps: int = 0
    there: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.there = self.here.copy()


class ChainSetup(NamedTuple):
    """Everything about a chain except its state: the model, and the kernel that is bound to it."""

    model: Model
    kernel: ReadyKernel
    work: Work
    pool: Any = None  # rows gathered for this chain, where not all are in memory

    @property
    def statistics(self) -> Statistics:
        return self.kernel.all_statistics

    @property
    def loop(self) -> Part:
        """Return the compiled loop that runs this kernel."""
        return run_alone if self.is_alone else loop_in_turn(len(self.kernel.turns))

    @property
    def is_alone(self) -> bool:
        """Return True if `MetropolisHastings` is the only kernel. Then `run_chain` makes its steps."""
        turns = self.kernel.turns
        return len(turns) == 1 and turns[0].step is metropolis_hastings

    @property
    def steps(self) -> list[Part]:
        """Return the compiled steps of the kernels in the form that the loop takes."""
        return [_made_by_the_loop] if self.is_alone else [turn.step for turn in self.kernel.turns]

    def new_record(self, draws: int) -> np.ndarray:
        """Return an empty record for ``draws`` draws."""
        return np.empty((draws, len(self.statistics)))


def setup_of(target: Any, kernel: ReadyKernel, rows: np.random.SeedSequence) -> ChainSetup:
    """Return the set-up of one chain. ``rows`` is the seed with which its rows are drawn."""
    model, pool = opened_model(target, rows)
    if pool is not None:
        turns = [turn if turn.supply is NO_ROWS else turn._replace(supply=pool.supply) for turn in kernel.turns]
        kernel = kernel.with_turns(turns)
    return ChainSetup(model, kernel, new_work(), pool)


def parts_of(setup: ChainSetup) -> list[Part]:
    """Return all compiled parts that a chain runs."""
    model, turns = setup.model, setup.kernel.turns
    proposals = [turn.proposal.propose for turn in turns if turn.proposal is not None]
    parts = [one for turn in turns for one in (*turn.parts, turn.decide, turn.adapt, turn.supply.refill)]
    loops = [run_chain, run_alone] if setup.is_alone else [setup.loop]
    return [one for one in (*loops, *setup.steps, *parts, *proposals, *model.data, *model) if isinstance(one, Part)]


def compile_parts(setup: ChainSetup) -> None:
    """Compile every part, or load it, here in Python. In compiled code a Ctrl-C during this would be lost."""
    for one in parts_of(setup):
        one.__wrapper_address__()


def slices_of(sizes: list[int]) -> list[slice]:
    """Return the slices of a flat vector that contains parts of these sizes, one after the other."""
    ends = np.cumsum([0, *sizes])
    return [slice(int(a), int(b)) for a, b in pairwise(ends)]


def walk_of(state: ChainState, setup: ChainSetup) -> Walk:
    """Return the chain in the form that compiled code reads."""
    model, turns = setup.model, setup.kernel.turns
    memories = slices_of([turn.memory.size for turn in turns])
    columns = slices_of([len(turn.statistics) for turn in turns])
    in_order = tuple(
        KernelPart(_own(turn, model, state.memory[memory], column), step)
        for turn, step, memory, column in zip(turns, setup.steps, memories, columns, strict=True)
    )
    theta, prop = (parameters_at(point, model) for point in (state.here, state.there))
    place = Place(state.here, state.there, theta, prop)
    return Walk(place, state.stream.of(setup.kernel.source), model, in_order, setup.work)


def _own(turn: ReadyKernel, model: Model, memory: np.ndarray, column: slice) -> Own:
    anew = fixed(turn.memory) if turn.memory_is is Memory.OF_PARAMETERS else fixed([])
    propose, proposal_knobs = (no_proposal, fixed([])) if turn.proposal is None else turn.proposal[:2]
    log_prior, prior_hyper = (model.log_prior, model.prior_hyper) if turn.log_prior is None else turn.log_prior
    parts = np.array([one.__wrapper_address__() for one in turn.parts], dtype=np.int64)
    return Own(
        *(turn.hyper, turn.knobs, memory, anew, propose, proposal_knobs, turn.decide or no_decision),
        *(log_prior, prior_hyper, parts, column.start, column.stop - column.start),
    )


def advance(state: ChainState, setup: ChainSetup, draws: np.ndarray, record: np.ndarray, thin: int = 1) -> None:
    """Run the chain until ``draws`` and ``record`` are filled. Raise an error at an impossible step.

    Rates and rows in the record are means over the ``thin`` steps of a draw.
    """
    record[:] = 0.0
    advance_further(state, setup, draws, record, thin)
    if thin > 1:
        setup.statistics.average(record, thin)


def advance_further(state: ChainState, setup: ChainSetup, draws: np.ndarray, record: np.ndarray, steps: int) -> None:
    """Make ``steps`` steps for each draw and add to ``record``, which may contain sums over earlier steps."""
    walk = walk_of(state, setup)
    if setup.is_alone:
        own = walk.kernels[0].own
        outcome = run_chain.trusted(  # to check the types of so many arguments takes as long as a hundred steps
            *(steps, state.rng, walk.stream, *walk.place, own.memory, walk.model, own.propose, own.proposal_knobs),
            *(own.decide, own.knobs, walk.work, draws, record),
        )
    else:
        outcome = setup.loop.trusted(state.rng, walk, Kept(steps, draws, record, setup.statistics.kinds))
    told_of(outcome, state, setup)


def told_of(outcome: Outcome, state: ChainState, setup: ChainSetup) -> None:
    """Count the steps that a loop has made. If it stopped at a fault, raise the error for this fault."""
    state.steps += outcome.steps
    if outcome.fault != NO_FAULT:
        raise explain(outcome.fault, state.here, state.there, setup.model, state.steps, setup.pool)
