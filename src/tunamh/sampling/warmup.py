"""Warm-up: step sizes and knobs, learned in windows of fixed length and frozen before the first kept draw.

The chain runs a window of ten steps with the knobs of the moment, what it recorded is added to what is known, and the
knobs are turned; all of it in compiled code. What is known is a value, and `update` a pure function: the same seed
gives the same draws on any machine, however many windows are run at once, since nothing rests on a stopwatch.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from ..chains.kernel import ReadyKernel
from ..chains.loop import ChainSetup, ChainState, slices_of, told_of, walk_of
from ..chains.metropolis import RATE
from ..chains.state import RunState, learners, no_part
from ..compiled import (
    NO_FAULT,
    Goals,
    Kept,
    Learned,
    Lesson,
    Outcome,
    Part,
    helper,
    nothing_to_adapt,
    windows_role,
)

WINDOW = 10
"""Steps between two updates."""

_LARGEST_GAIN = 1.0


@helper
def update(learned, record, goals):
    """Return what warm-up knows of a kernel after one more window of steps, given the record of the window.

    The step size follows the Robbins-Monro rule ``log s += t^-0.6 (alpha_t - alpha*)``, summed over the window (spec
    5e, rule 1). The final step size is the average over the last third of all steps.
    """
    n = record.shape[0]
    done = learned.done + n
    rate, total, finite = 0.0, 0.0, 0
    for k in range(n):
        if goals.rate >= 0:
            rate += record[k, goals.rate] / n
        if goals.adapts_to >= 0 and math.isfinite(record[k, goals.adapts_to]):
            total += record[k, goals.adapts_to]
            finite += 1
    log_step = learned.log_step
    if goals.tuned:
        gain = min(n * done**-0.6, _LARGEST_GAIN)
        log_step = min(log_step + gain * (rate - goals.acceptance), math.log(goals.largest))
    late = 1 if 3 * done > 2 * goals.steps else 0
    late_means = late if finite > 0 else 0
    newest = total / finite if finite > 0 else learned.adapts_to
    return Learned(
        done,
        log_step,
        newest,
        learned.late_windows + late,
        learned.late_log_steps + late * log_step,
        learned.late_means + late_means,
        learned.late_total + (newest if late_means > 0 else 0.0),
    )


@helper
def _learned_in(row):
    return Learned(int(row[0]), row[1], row[2], int(row[3]), row[4], int(row[5]), row[6])


@helper
def _write_learned(row, learned):
    row[0], row[1], row[2], row[3] = learned.done, learned.log_step, learned.adapts_to, learned.late_windows
    row[4], row[5], row[6] = learned.late_log_steps, learned.late_means, learned.late_total


def _run_windows(windows, run, rng, walk, kept, lessons, learned):
    """``windows`` times: fill draws and record, learn from the record, turn the knobs."""
    steps = 0
    for _ in range(windows):
        kept.record[:, :] = 0.0
        outcome = run(rng, walk, kept)
        steps += outcome.steps
        if outcome.fault != NO_FAULT:
            return Outcome(steps, outcome.fault)
        for i in range(len(lessons)):
            lesson = lessons[i]
            known = update(_learned_in(learned[i]), kept.record, lesson.goals)
            _write_learned(learned[i], known)
            if lesson.goals.tuned:
                lesson.proposal_knobs[0] = math.exp(known.log_step)
            if known.adapts_to > 0.0:
                lesson.adapt(lesson.knobs, known.adapts_to)
    return Outcome(steps, NO_FAULT)


@cache
def windows_of(kernels: int) -> Part:
    """Return the loop over windows for a step of this number of kernels."""
    return Part(_run_windows, windows_role(kernels), made_by=f"{__name__}:windows_of:{kernels}")


def first_state(setup: ChainSetup, chain: ChainState, rng: np.random.Generator) -> RunState:
    """Return the state before the first step.

    Tests that adapt start from the mean move bound of 20 proposals from the start of the chain. Proposals without a
    bound, which are decided on all rows, are not counted.
    """
    kernel, model = setup.kernel, setup.model
    learned = [_nothing_yet(kernel.turns[k]) for k in learners(kernel)]
    state = RunState(chain, learned, kernel.first_proposal_knobs, kernel.first_knobs, no_part(setup))
    for k, turn in enumerate(kernel.turns):
        if turn.proposal is not None and turn.adapt is not None:
            there, move_bounds = np.empty_like(chain.here), []
            for _ in range(20):
                turn.proposal.propose(rng, chain.here, there, turn.proposal.knobs)
                move_bounds.append(model.total_bound * model.distance(chain.here, there, model.data.hyper))
            finite = [bound for bound in move_bounds if math.isfinite(bound)]
            if finite:
                _adapt(state, kernel, k, float(np.mean(finite)))
    return state


def _nothing_yet(turn: ReadyKernel) -> Learned:
    tuned = turn.proposal is not None and turn.proposal.tuned
    return Learned(0, math.log(turn.proposal.knobs[0]) if tuned else 0.0, math.nan, 0, 0.0, 0, 0.0)  # type: ignore[union-attr]


def goals_of(kernel: ReadyKernel, steps: int) -> tuple[Goals, ...]:
    """Return the goals of a warm-up of ``steps`` steps, one for each kernel of a step."""
    places = slices_of([len(turn.statistics) for turn in kernel.turns])
    return tuple(_goals(turn, place.start, steps) for turn, place in zip(kernel.turns, places, strict=True))


def _goals(turn: ReadyKernel, column: int, steps: int) -> Goals:
    names = [one.name for one in turn.statistics]
    adapts_to = -1 if turn.adapt is None else column + names.index(turn.adapts_to or "")
    proposal = turn.proposal
    if proposal is None:
        return Goals(steps, False, 0.0, math.inf, -1, adapts_to)
    return Goals(steps, proposal.tuned, float(proposal.acceptance), float(proposal.largest), column + RATE, adapts_to)


def steps_left(state: RunState, goals: tuple[Goals, ...]) -> int:
    """Return the number of remaining steps of warm-up."""
    return goals[0].steps - state.warmed


def warm_up(state: RunState, setup: ChainSetup, goals: tuple[Goals, ...], windows: int) -> int:
    """Run ``windows`` windows of warm-up, or the remaining ones, and return the number of steps.

    The last window of warm-up may be short. After it the knobs are fixed.
    """
    before = state.warmed
    whole = min(windows, steps_left(state, goals) // WINDOW)
    if not any(turn.proposal is not None and turn.proposal.learn is not None for turn in setup.kernel.turns):
        _learn(state, setup, goals, whole, WINDOW)
    else:
        for _ in range(whole):
            _learn(state, setup, goals, 1, WINDOW)
    if whole < windows and steps_left(state, goals):
        _learn(state, setup, goals, 1, steps_left(state, goals))
    steps = state.warmed - before
    if steps > 0 and not steps_left(state, goals):
        _freeze(state, setup.kernel)
    return steps


def _learn(state: RunState, setup: ChainSetup, goals: tuple[Goals, ...], windows: int, length: int) -> None:
    """``windows`` windows of ``length`` steps, in compiled code; a proposal may learn from the draws of one."""
    chain, kernel = state.chain, setup.kernel
    turns, who = kernel.turns, learners(kernel)
    learned = np.array([state.learned[who.index(k) if k in who else 0] for k in range(len(turns))], dtype=np.float64)
    parts = (turn.adapt or nothing_to_adapt for turn in turns)
    knobs = state.proposal_knobs_of(kernel), state.knobs_of(kernel)
    lessons = tuple(Lesson(*each) for each in zip(goals, parts, *knobs, strict=True))
    draws = np.empty((length, chain.here.size))
    kept = Kept(1, draws, setup.new_record(length), setup.statistics.kinds)
    outcome = windows_of(len(turns))(
        windows, setup.loop, chain.rng, walk_of(chain, state.in_force(setup)), kept, lessons, learned
    )
    state.learned = [_learned_of(learned[k]) for k in who]
    told_of(outcome, chain, setup)
    if windows == 1:
        _learn_from_draws(state, kernel, draws, goals[0].steps)


def _learned_of(row: np.ndarray) -> Learned:
    done, log_step, adapts_to, late_windows, late_log_steps, late_means, late_total = row.tolist()
    return Learned(int(done), log_step, adapts_to, int(late_windows), late_log_steps, int(late_means), late_total)


def _learn_from_draws(state: RunState, kernel: ReadyKernel, draws: np.ndarray, steps: int) -> None:
    knobs = state.proposal_knobs_of(kernel)
    for at, k in enumerate(learners(kernel)):
        proposal = kernel.turns[k].proposal
        if proposal is not None and proposal.learn is not None:
            step = proposal.learn(knobs[k], draws, state.warmed, steps)
            if step is not None:
                knobs[k][0] = step
                state.learned[at] = state.learned[at]._replace(log_step=math.log(step))


def _freeze(state: RunState, kernel: ReadyKernel) -> None:
    """The knobs for the kept draws: averages over the last third, of steps in their logarithm."""
    memories = slices_of([turn.memory.size for turn in kernel.turns])
    proposal_knobs = state.proposal_knobs_of(kernel)
    for learned, k in zip(state.learned, learners(kernel), strict=True):
        proposal = kernel.turns[k].proposal
        if proposal is not None and proposal.tuned and learned.late_windows:
            proposal_knobs[k][0] = min(math.exp(learned.late_log_steps / learned.late_windows), proposal.largest)
        if learned.late_means:
            _adapt(state, kernel, k, learned.late_total / learned.late_means)
    for turn, memory in zip(kernel.turns, memories, strict=True):
        if turn.memory_begins_anew:
            state.chain.memory[memory] = turn.memory


def _adapt(state: RunState, kernel: ReadyKernel, k: int, mean: float) -> None:
    adapt = kernel.turns[k].adapt
    if adapt is not None and mean > 0:
        adapt(state.knobs_of(kernel)[k], mean)
