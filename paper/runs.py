"""One method, one chain, one core, for some seconds: what every timed experiment is made of."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import tunamh

from . import settings

Report = Callable[[float, str], None]
"""Takes the share done and what is going on."""

PILOT_SECONDS = 0.2
LEAST_PILOT_DRAWS, MOST_PILOT_DRAWS = 10, 20_000
BURNT_PILOT_DRAWS = 100  # of a pilot that must first burn in
MOST_TUNING_STEPS, LEAST_TUNING_STEPS = 3000, 120


def part(report: Report, first: float, last: float) -> Report:
    """Progress of a part of something larger."""
    return lambda done, remark: report(first + (last - first) * done, remark)


class Run(NamedTuple):
    """A chain seen from outside; arrays have one entry per kept draw, ``thin`` steps each."""

    theta: np.ndarray
    elapsed: np.ndarray
    batch: np.ndarray
    acceptance: np.ndarray
    bright: np.ndarray | None
    full_share: float
    thin: int
    step: float
    described: str

    @property
    def seconds(self) -> float:
        return float(self.elapsed[-1])

    @property
    def steps(self) -> int:
        return len(self.theta) * self.thin

    @property
    def pace(self) -> float:
        """Seconds per step."""
        return self.seconds / self.steps

    def summary(self) -> dict[str, Any]:
        """What the tables show."""
        return {
            "step_size": self.step,
            "steps": self.steps,
            "seconds": self.seconds,
            "microseconds_per_step": self.pace * 1e6,
            "acceptance": float(self.acceptance.mean()),
            "batch": float(self.batch.mean()),
            "bright": None if self.bright is None else float(self.bright.mean()),
            "full_share": self.full_share,
            "method": self.described,
        }


def seen(tree: Any, thin: int = 1) -> Run:
    """A tree of draws with one chain. `tunamh.sample` returns what it has after Ctrl-C; an experiment ends there."""
    stats = tree.sample_stats
    chosen = json.loads(stats.attrs["settings"])
    if chosen["stopped"] == "interrupted":
        raise KeyboardInterrupt
    values = {name: stats[name].values[0] for name in ("elapsed", "batch_size", "acceptance_rate", "full_data_step")}
    return Run(
        tree.posterior["theta"].values[0],
        values["elapsed"],
        values["batch_size"],
        values["acceptance_rate"],
        stats["bright_rows"].values[0] if "bright_rows" in stats else None,
        float(values["full_data_step"].mean()),
        thin,
        float(stats["step_size"].values[0, 0]),
        "{test}, {proposal}".format(**chosen),
    )


def one_chain(target: Any, seed: int, thin: int = 1, **chosen: Any) -> Run:
    """`tunamh.sample` with one chain on one core, in silence."""
    return seen(tunamh.sample(target, chains=1, cores=1, rng=seed, thin=thin, progressbar=False, **chosen), thin)


def walk(scale: float | None) -> tunamh.RandomWalk | None:
    """None leaves the proposal to the target (a walk's neighbours)."""
    return None if scale is None else tunamh.RandomWalk(scale)


def fixed_run(target: Any, test: Any, *, scale: float | None, draws: int, start: Any, seed: int, burn: int = 0) -> Run:
    """So many draws from ``start``, nothing tuned; ``burn`` steps are not kept."""
    return one_chain(target, seed, test=test, proposal=walk(scale), init=start, draws=draws, tune=burn)


def _pace(target: Any, seed: int, **chosen: Any) -> float:
    """Seconds per step, by pilots that grow until one took ``PILOT_SECONDS``; one pilot only where steps are burnt.

    Draws are counted and no clock ends a pilot: on a machine busy with other work it is slow, but it always has draws.
    """
    if chosen.get("tune") != 0:
        return one_chain(target, seed, draws=BURNT_PILOT_DRAWS, **chosen).pace
    draws = LEAST_PILOT_DRAWS
    while True:
        run = one_chain(target, seed, draws=draws, **chosen)
        if run.seconds >= PILOT_SECONDS or draws >= MOST_PILOT_DRAWS:
            return run.pace
        draws = min(MOST_PILOT_DRAWS, 10 * draws)


def _counted_run(target: Any, seconds: float, seed: int, keep: int, **chosen: Any) -> Run:
    """As many steps as take about ``seconds`` at the pace of a pilot, about ``keep`` of them kept."""
    pace = _pace(target, seed, **chosen)
    thin = max(1, math.ceil(seconds / pace / keep))
    return one_chain(target, seed, thin, draws=max(10, int(seconds / pace / thin)), **chosen)


def timed_run(
    target: Any,
    test: Any,
    *,
    scale: float | None,
    seconds: float,
    start: Any,
    seed: int = settings.SEED,
    keep: int = 10_000,
    burn: int = 0,
) -> Run:
    """A method with everything chosen, for about ``seconds`` after ``burn`` steps that are not kept."""
    chosen: dict[str, Any] = {"test": test, "proposal": walk(scale), "init": start, "tune": burn}
    return _counted_run(target, seconds, seed, keep, **chosen)


def untouched_run(target: Any, *, seconds: float, seed: int = settings.SEED, keep: int = 10_000) -> Run:
    """``tunamh.sample(target)`` with nothing chosen but one chain, one core and the time."""
    return _counted_run(target, seconds, seed, keep)


def tuned_step(target: Any, test: Any, *, guess: float, acceptance: float, seconds: float, start: Any) -> float:
    """The step size that warm-up finds for an acceptance rate, in as many steps as fit into ``seconds``."""
    chosen: dict[str, Any] = {"test": test, "init": start}
    pace = _pace(target, settings.SEED, proposal=walk(guess), tune=0, **chosen)
    steps = int(np.clip(seconds / pace, LEAST_TUNING_STEPS, MOST_TUNING_STEPS))
    tuned = tunamh.RandomWalk(acceptance=acceptance)
    return one_chain(target, settings.SEED, proposal=tuned, draws=1, tune=steps, **chosen).step


def effective_draws(theta: np.ndarray) -> float:
    """ArviZ's effective sample size, the median over up to 20 coordinates (the paper does not say what it takes)."""
    from arviz_stats import ess

    d = theta.shape[1]
    if len(theta) < 8:
        return math.nan
    return float(np.median([float(ess(theta[None, :, j])) for j in range(0, d, max(1, d // 20))]))


def effective_draws_by_jumps(run: Run, variance: np.ndarray) -> float:
    """Effective draws of a chain that moves like an autoregression, known from its jumps long before it has mixed.

    A random walk in many dimensions is one in every coordinate: with posterior variance ``v`` the correlation of draws
    k steps apart is ``rho_k = 1 - E (jump_k)^2 / (2 v) = rho^k``, and a step is worth ``(1 - rho) / (1 + rho)`` draws.
    For FlyMC, whose bright rows remember where it was, an upper bound.
    """
    squares = (np.diff(run.theta, axis=0) ** 2).mean(axis=0)
    correlation = np.clip(1 - squares / (2 * variance), 1e-6, 1 - 1e-15)
    rate = -np.log(correlation) / run.thin
    return run.steps * float(np.mean(np.tanh(rate / 2)))
