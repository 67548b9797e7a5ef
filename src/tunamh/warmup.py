"""Warm-up: step size and chi, learned in windows of fixed length and frozen before the first kept draw.

The chain runs a window of ten steps with the knobs of the moment, what it recorded is added to what is known, and the
knobs are turned; all of it in compiled code. What is known is a value, and `update` a pure function: the same seed
gives the same draws on any machine, however many windows are run at once, since nothing rests on a stopwatch.
"""

from __future__ import annotations

import math

import numpy as np

from ._jit import NO_FAULT, Goals, Learned, Outcome, RunWindows, fixed, helper, nothing_to_adapt, part, read_only
from .chain import MOVE_BOUND, RATE, ChainState, Kernel, new_record, run_chain
from .guard import explain, parameters_at

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


class WarmUp:
    """Warm-up of one chain on its way: what is known, and the knobs of the moment, which are its own to turn."""

    def __init__(self, kernel: Kernel, steps: int):
        self.kernel = kernel
        proposal = kernel.proposal
        self.goals = Goals(steps, proposal.tuned, float(proposal.acceptance), float(proposal.largest))
        log_step = math.log(proposal.knobs[0]) if proposal.tuned else 0.0
        self.learned = Learned(0, log_step, math.nan, 0, 0.0, 0, 0.0)
        self.proposal_knobs, self.test_knobs = np.array(proposal.knobs), np.array(kernel.test.knobs)

    @property
    def left(self) -> int:
        """Steps to go."""
        return self.goals.steps - self.learned.done

    def advance(self, state: ChainState, windows: int) -> int:
        """Run so many windows, or as many as are left, the last of which may be short; returns the steps made."""
        before = self.learned.done
        whole = min(windows, self.left // WINDOW)
        self._run(state, whole, WINDOW)
        if whole < windows and self.left:
            self._run(state, 1, self.left)
        return self.learned.done - before

    def _run(self, state: ChainState, windows: int, length: int) -> None:
        kernel, model = self.kernel, self.kernel.model
        theta, prop = (parameters_at(point, model) for point in (state.here, state.there))
        outcome, self.learned = _run_windows(
            *(windows, run_chain, state.rng, state.stream.of(kernel.test.supply), state.here, state.there, theta, prop),
            *(state.memory, model, kernel.proposal.propose, self.proposal_knobs, kernel.test.decide, self.test_knobs),
            *(kernel.work, np.empty((length, state.here.size)), new_record(length)),
            *(kernel.test.adapt or nothing_to_adapt, self.goals, self.learned),
        )
        state.steps += outcome.steps
        if outcome.fault != NO_FAULT:
            raise explain(outcome.fault, state.here, state.there, model, state.steps)

    def frozen(self) -> Kernel:
        """The kernel for the kept draws: averages over the last third, of steps in their logarithm."""
        proposal, test, learned = self.kernel.proposal, self.kernel.test, self.learned
        test = test._replace(knobs=fixed(self.test_knobs))
        if proposal.tuned and learned.late_windows:
            proposal = proposal.with_step(math.exp(learned.late_log_steps / learned.late_windows))
        if learned.late_move_bounds:
            test = test.adapted(learned.late_total / learned.late_move_bounds)
        return self.kernel._replace(proposal=proposal, test=test)


def first_kernel(kernel: Kernel, here: np.ndarray, rng: np.random.Generator) -> Kernel:
    """The choices before the first step: the test adapts to the mean move bound of 20 proposals from ``here``."""
    if kernel.test.adapt is None:
        return kernel
    model, there = kernel.model, np.empty_like(here)
    move_bounds = []
    for _ in range(20):
        kernel.proposal.propose(rng, here, there, kernel.proposal.knobs)
        move_bounds.append(model.total_bound * model.distance(here, there, model.data.hyper))
    return kernel._replace(test=kernel.test.adapted(float(np.mean(move_bounds))))
