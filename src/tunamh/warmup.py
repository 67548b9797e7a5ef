"""Warm-up: step size and chi, learned in windows of fixed length and frozen before the first kept draw.

Everything rests on counts, never on a stopwatch, so the same seed gives the same draws on any machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from .acceptance.base import BoundTest
from .chain import RATE, REACH, ChainState, Kernel, advance

WINDOW = 10
_LARGEST_GAIN = 1.0


@dataclass
class WarmUp:
    """Learns while the chain runs; ``kernel`` always holds the choices of the moment.

    The step size follows Robbins-Monro, ``log s += t^-0.6 (alpha_t - alpha*)`` summed over a window (spec 5e, rule 1),
    and the test adapts to the mean reach ``C M`` of the proposals. What is frozen is the average over the last third.
    """

    kernel: Kernel
    steps: int
    done: int = 0
    log_steps: list[float] = field(default_factory=list)
    reaches: list[float] = field(default_factory=list)

    def advance(self, state: ChainState) -> None:
        """One window of steps, then one update."""
        n = min(WINDOW, self.steps - self.done)
        draws, record = np.empty((n, state.here.size)), np.empty((n, REACH + 1))
        advance(state, self.kernel, draws, record)
        self.done += n
        reach = record[:, REACH]
        if np.isfinite(reach).any():
            self.reaches.append(float(reach[np.isfinite(reach)].mean()))
        proposal, test = self.kernel.proposal, self.kernel.test
        if proposal.tuned:
            gain = min(n * self.done**-0.6, _LARGEST_GAIN)
            wanted = math.log(proposal.knobs[0]) + gain * (record[:, RATE].mean() - proposal.acceptance)
            proposal = proposal.with_step(math.exp(wanted))
            self.log_steps.append(math.log(proposal.knobs[0]))
        self.kernel = self.kernel._replace(proposal=proposal, test=_adapted(test, self.reaches[-1:]))

    def frozen(self) -> Kernel:
        """The kernel for the kept draws."""
        proposal, test = self.kernel.proposal, self.kernel.test
        if self.log_steps:
            proposal = proposal.with_step(math.exp(np.mean(_last_third(self.log_steps))))
        return self.kernel._replace(proposal=proposal, test=_adapted(test, _last_third(self.reaches)))


def first_kernel(kernel: Kernel, here: np.ndarray, rng: np.random.Generator) -> Kernel:
    """The choices before the first step: the test adapts to the reach of proposals from ``here``."""
    there = np.empty_like(here)
    reaches = []
    for _ in range(20 if kernel.test.adapt is not None else 0):
        kernel.proposal.propose(rng, here, there, kernel.proposal.knobs)
        reaches.append(kernel.model.total_bound * kernel.model.distance(here, there, kernel.model.data.hyper))
    return kernel._replace(test=_adapted(kernel.test, reaches))


def _adapted(test: BoundTest, reaches: list[float]) -> BoundTest:
    return test.adapted(float(np.mean(reaches))) if reaches else test


def _last_third(values: list[float]) -> list[float]:
    return values[-(-2 * len(values) // 3) :] or values
