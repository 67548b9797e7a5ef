"""Warm-up: step size and chi, learned in windows of fixed length and frozen before the first kept draw.

The chain runs a window of ten steps with the knobs of the moment, what it recorded is added to what is known, and the
knobs are turned; all of it in compiled code. What is known is a value, and `update` a pure function: the same seed
gives the same draws on any machine, however many windows are run at once, since nothing rests on a stopwatch.
"""

from __future__ import annotations

import math

import numpy as np

from ..chains.guard import explain, parameters_at
from ..chains.loop import MOVE_BOUND, RATE, ChainState, Kernel, new_record, run_chain
from ..chains.state import RunState
from ..compiled import NO_FAULT, Goals, Learned, Outcome, RunWindows, helper, nothing_to_adapt, part, read_only
from ..proposals import ReadyProposal

WINDOW = 10
"""Steps between two updates."""

_LARGEST_GAIN = 1.0


@helper
def update(learned, record, goals):
    """What is known after one more window, given its record.

    The step size follows Robbins-Monro, ``log s += t^-0.6 (alpha_t - alpha*)`` summed over the window (spec 5e, rule
    1). What will be frozen is the average over the last third of all steps.
    """
    n = record.shape[0]
    done = learned.done + n
    rate, move_bound, finite = 0.0, 0.0, 0
    for k in range(n):
        rate += record[k, RATE] / n
        if math.isfinite(record[k, MOVE_BOUND]):
            move_bound += record[k, MOVE_BOUND]
            finite += 1
    log_step = learned.log_step
    if goals.tuned:
        gain = min(n * done**-0.6, _LARGEST_GAIN)
        log_step = min(log_step + gain * (rate - goals.acceptance), math.log(goals.largest))
    late = 1 if 3 * done > 2 * goals.steps else 0
    late_move_bounds = late if finite > 0 else 0
    newest = move_bound / finite if finite > 0 else learned.move_bound
    return Learned(
        done,
        log_step,
        newest,
        learned.late_windows + late,
        learned.late_log_steps + late * log_step,
        learned.late_move_bounds + late_move_bounds,
        learned.late_total + (newest if late_move_bounds > 0 else 0.0),
    )


@part(RunWindows)
def _run_windows(
    windows, run, rng, stream, here, there, theta, prop, memory,
    model, propose, proposal_knobs, decide, test_knobs, work, draws, record, adapt, goals, learned,
):  # fmt: skip
    """``windows`` times: fill ``draws`` and ``record``, learn from the record, turn the knobs."""
    steps = 0
    for _ in range(windows):
        record[:, :] = 0.0
        outcome = run(
            1, rng, stream, here, there, theta, prop, memory,
            model, propose, read_only(proposal_knobs), decide, read_only(test_knobs), work, draws, record,
        )  # fmt: skip
        steps += outcome.steps
        if outcome.fault != NO_FAULT:
            return Outcome(steps, outcome.fault), learned
        learned = update(learned, record, goals)
        if goals.tuned:
            proposal_knobs[0] = math.exp(learned.log_step)
        if learned.move_bound > 0.0:
            adapt(test_knobs, learned.move_bound)
    return Outcome(steps, NO_FAULT), learned


def first_state(kernel: Kernel, chain: ChainState, rng: np.random.Generator) -> RunState:
    """The record before the first step: the test adapts to the mean move bound of 20 proposals from where it is.

    Proposals without a bound, which are decided on all rows, say nothing about it.
    """
    proposal, model = kernel.proposal, kernel.model
    log_step = math.log(proposal.knobs[0]) if proposal.tuned else 0.0
    learned = Learned(0, log_step, math.nan, 0, 0.0, 0, 0.0)
    state = RunState(chain, learned, np.array(proposal.knobs), np.array(kernel.test.knobs))
    if kernel.test.adapt is not None:
        there, move_bounds = np.empty_like(chain.here), []
        for _ in range(20):
            proposal.propose(rng, chain.here, there, proposal.knobs)
            move_bounds.append(model.total_bound * model.distance(chain.here, there, model.data.hyper))
        finite = [bound for bound in move_bounds if math.isfinite(bound)]
        if finite:
            _adapt(state, kernel, float(np.mean(finite)))
    return state


def goals_of(proposal: ReadyProposal, steps: int) -> Goals:
    """What so many steps of warm-up aim at."""
    return Goals(steps, proposal.tuned, float(proposal.acceptance), float(proposal.largest))


def steps_left(state: RunState, goals: Goals) -> int:
    """Steps of warm-up to go."""
    return goals.steps - state.learned.done


def warm_up(state: RunState, kernel: Kernel, goals: Goals, windows: int) -> int:
    """Run so many windows, or as many as are left, the last of which may be short; returns the steps made.

    With the last of them the knobs are frozen.
    """
    before = state.learned.done
    whole = min(windows, steps_left(state, goals) // WINDOW)
    if kernel.proposal.learn is None:
        _learn(state, kernel, goals, whole, WINDOW)
    else:
        for _ in range(whole):
            _learn(state, kernel, goals, 1, WINDOW)
    if whole < windows and steps_left(state, goals):
        _learn(state, kernel, goals, 1, steps_left(state, goals))
    steps = state.learned.done - before
    if steps > 0 and not steps_left(state, goals):
        _freeze(state, kernel)
    return steps


def _learn(state: RunState, kernel: Kernel, goals: Goals, windows: int, length: int) -> None:
    """``windows`` windows of ``length`` steps, in compiled code; a proposal may learn from the draws of one."""
    chain, model, test = state.chain, kernel.model, kernel.test
    theta, prop = (parameters_at(point, model) for point in (chain.here, chain.there))
    draws = np.empty((length, chain.here.size))
    outcome, state.learned = _run_windows(
        *(windows, run_chain, chain.rng, chain.stream.of(test.supply), chain.here, chain.there, theta, prop),
        *(chain.memory, model, kernel.proposal.propose, state.proposal_knobs, test.decide, state.test_knobs),
        *(kernel.work, draws, new_record(length)),
        *(test.adapt or nothing_to_adapt, goals, state.learned),
    )
    chain.steps += outcome.steps
    if outcome.fault != NO_FAULT:
        raise explain(outcome.fault, chain.here, chain.there, model, chain.steps, kernel.pool)
    if kernel.proposal.learn is not None and windows == 1:
        step = kernel.proposal.learn(state.proposal_knobs, draws, state.learned.done, goals.steps)
        if step is not None:
            state.proposal_knobs[0] = step
            state.learned = state.learned._replace(log_step=math.log(step))


def _freeze(state: RunState, kernel: Kernel) -> None:
    """The knobs for the kept draws: averages over the last third, of steps in their logarithm."""
    learned, proposal = state.learned, kernel.proposal
    if proposal.tuned and learned.late_windows:
        state.proposal_knobs[0] = min(math.exp(learned.late_log_steps / learned.late_windows), proposal.largest)
    if kernel.test.fresh:
        state.chain.memory[:] = kernel.test.memory
    if learned.late_move_bounds:
        _adapt(state, kernel, learned.late_total / learned.late_move_bounds)


def _adapt(state: RunState, kernel: Kernel, mean_move_bound: float) -> None:
    if kernel.test.adapt is not None and mean_move_bound > 0:
        kernel.test.adapt(state.test_knobs, mean_move_bound)
