"""The compiled loop: propose, ask the test, move, record. It knows roles, no methods and no models."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..acceptance.base import ReadyTest
from ..compiled import BAD_RATIO, NO_FAULT, NO_ROWS_CAME, Model, Outcome, Part, Run, Work, borrowed, part
from ..compiled.vector import copy_into
from ..proposals import ReadyProposal
from ..rows.stream import StreamState
from ..rows.supply import NO_ROWS
from .guard import explain, new_work, opened_model, parameters_at

# Columns of what is recorded beside each kept draw.
ACCEPTED, RATE, ROWS, FULL, WORST, MOVE_BOUND, REPORT = range(7)


def new_record(draws: int) -> np.ndarray:
    """Room for what is recorded beside ``draws`` draws."""
    return np.empty((draws, REPORT + 1))


@part(Run)
def run_chain(
    thin, rng, stream, here, there, theta, prop, memory,
    model, propose, proposal_knobs, decide, test_knobs, work, draws, record,
):  # fmt: skip
    """Fill ``draws``, add to ``record``. At a fault it stops, with ``here`` and ``there`` the move that caused it.

    The chain walks in states ``here`` and ``there``; rows and prior see the parameters ``theta`` and ``prop`` there. Of
    ``thin`` steps the last state is kept. Rates and rows are added up over them, flags and bounds are maxima.
    """
    model, stream, work = borrowed(model), borrowed(stream), borrowed(work)
    here, there, memory = borrowed(here), borrowed(there), borrowed(memory)
    theta, prop = borrowed(theta), borrowed(prop)
    proposal_knobs, test_knobs = borrowed(proposal_knobs), borrowed(test_knobs)
    hyper = model.data.hyper
    prior = model.log_prior(theta, model.prior_hyper)
    for k in range(draws.shape[0]):
        for t in range(thin):
            model.refresh(rng, here, model.refresh_hyper)
            log_q = propose(rng, here, there, proposal_knobs)
            model.locate(there, prop, hyper)
            log_rho = log_q + model.offset(here, there, hyper)
            prior_there, distance = prior, np.nan
            if log_rho > -np.inf:  # prior and distance need not be defined outside the target's support
                prior_there = model.log_prior(prop, model.prior_hyper)
                log_rho += prior_there - prior
                distance = model.distance(here, there, hyper)
            if math.isnan(log_rho) or log_rho == np.inf:
                return Outcome(k * thin + t, BAD_RATIO)
            decision = decide(rng, theta, prop, log_rho, distance, model, stream, test_knobs, memory, work)
            if decision.fault != NO_FAULT:
                return Outcome(k * thin + t, decision.fault)
            if stream.cursor[stream.cursor.size - 1] < 0:
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


_MEANS = [RATE, ROWS, MOVE_BOUND, REPORT]


@dataclass
class ChainState:
    """Where a chain is: with the knobs of the moment, all that its next step depends on (`tunamh.chains.state`).

    ``there`` is scratch, which every proposal fills. Two generators, one here and one in the stream, so that rows can
    be drawn ahead of moves and decisions.
    """

    here: np.ndarray
    rng: np.random.Generator
    stream: StreamState
    memory: np.ndarray
    steps: int = 0
    there: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.there = self.here.copy()


class Kernel(NamedTuple):
    """Everything about a chain that is not its state: the model, and the choices made ready for it."""

    model: Model
    proposal: ReadyProposal
    test: ReadyTest
    work: Work
    pool: Any = None  # rows gathered for this chain, where not all are in memory


def kernel_of(target: Any, proposal: ReadyProposal, test: ReadyTest, rows: np.random.SeedSequence) -> Kernel:
    """That of one chain, whose rows are drawn by the seed ``rows``."""
    model, pool = opened_model(target, rows)
    if pool is not None and test.supply is not NO_ROWS:
        test = test._replace(supply=pool.supply)
    return Kernel(model, proposal, test, new_work(), pool)


def compile_parts(kernel: Kernel) -> None:
    """Compile every part, or load it, here in Python: a Ctrl-C at the border to compiled code would be lost."""
    model, test = kernel.model, kernel.test
    parts = (kernel.proposal.propose, test.decide, test.adapt, test.supply.refill)
    for part_or_array in (*model.data, *model, *parts):
        if isinstance(part_or_array, Part):
            part_or_array.__wrapper_address__()


def advance(state: ChainState, kernel: Kernel, draws: np.ndarray, record: np.ndarray, thin: int = 1) -> None:
    """Run the chain, in place, until ``draws`` and ``record`` are filled; an impossible step raises.

    Of ``thin`` steps to a draw, rates and rows in the record are means.
    """
    record[:] = 0.0
    advance_further(state, kernel, draws, record, thin)
    average(record, thin)


def average(record: np.ndarray, steps: int) -> None:
    """Make means of the sums over so many steps, once all are added up: these do not depend on how they were cut."""
    record[..., _MEANS] /= steps


def advance_further(state: ChainState, kernel: Kernel, draws: np.ndarray, record: np.ndarray, steps: int) -> None:
    """Make so many steps to each draw, and add to ``record``, which may have sums over steps before them."""
    model = kernel.model
    theta, prop = (parameters_at(point, model) for point in (state.here, state.there))
    outcome = run_chain(
        *(steps, state.rng, state.stream.of(kernel.test.supply), state.here, state.there, theta, prop, state.memory),
        *(model, kernel.proposal.propose, kernel.proposal.knobs, kernel.test.decide, kernel.test.knobs),
        *(kernel.work, draws, record),
    )
    state.steps += outcome.steps
    if outcome.fault != NO_FAULT:
        raise explain(outcome.fault, state.here, state.there, model, state.steps, kernel.pool)
