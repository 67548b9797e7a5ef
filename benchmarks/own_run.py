"""tunamh as its user meets it, all choices left to the library, with set-up and sampling timed apart."""

from __future__ import annotations

import time
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import tunamh
from common import min_ess

MODELS = {"logistic": tunamh.LogisticRegression, "student": partial(tunamh.RobustRegression, scale=1.0)}
_MOST_VALUES = 5e7  # 400 MB of draws


class OwnRun(NamedTuple):
    """``setup_seconds`` is everything before the first kept draw: target, mode, bounds, warm-up."""

    draws: np.ndarray
    stats: Any
    setup_seconds: float
    sampling_seconds: float


def timed_run(family: str, X: np.ndarray, y: np.ndarray, *, draws: int, limit: float, cores: int = 1) -> OwnRun:
    """One chain; ``limit`` seconds are only a guard."""
    started = time.perf_counter()
    target = MODELS[family](X, y)
    posterior = tunamh.sample(
        target, draws=draws, tune=1000, chains=1, cores=cores, rng=1, max_seconds=limit, progressbar=False
    )
    wall = time.perf_counter() - started
    seconds = float(posterior.sample_stats["elapsed"].values[0, -1])
    return OwnRun(posterior.posterior["theta"].values[0], posterior.sample_stats, wall - seconds, seconds)


def long_run(family: str, X: np.ndarray, y: np.ndarray, *, pilot: OwnRun, cap: float, cores: int = 1) -> OwnRun:
    """At least two seconds of sampling; up to ``cap`` when these hold fewer than 400 effective draws."""
    most = int(_MOST_VALUES / X.shape[1])
    draws = int(2.5 * len(pilot.draws) / pilot.sampling_seconds) + 1000
    run = timed_run(family, X, y, draws=min(draws, most), limit=2 * cap, cores=cores)
    effective = min_ess(run.draws)
    more = min(cap / run.sampling_seconds, 800 / effective, most / len(run.draws))
    if effective < 400 and more > 1.5:
        run = timed_run(family, X, y, draws=int(len(run.draws) * more), limit=2 * cap, cores=cores)
    return run
