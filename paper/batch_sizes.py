"""Table 1: average batch sizes, three runs with standard errors, in the paper's way of counting.

The paper counts rows drawn for TunaMH and PoissonMH, rows up to the first rejecting one for TFMH, and for FlyMC the
rows that are bright after its sweep, not those evaluated in it. FlyMC begins with all rows dark: over a short run its
average is a transient, so the stationary number stands beside it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import tunamh

from . import mixture, mnist, settings
from .make_mnist import load
from .runs import Report, Run, fixed_run

STATIONARY_BURN, STATIONARY_DRAWS = 1000, 1000


def counted(run: Run) -> float:
    """As the paper counts."""
    return float((run.batch if run.bright is None else run.bright).mean())


def row(runs: list[Run], paper: tuple[float, float]) -> dict[str, Any]:
    batches = np.array([counted(run) for run in runs])
    return {
        "paper": paper[0],
        "paper_error": paper[1],
        "ours": float(batches.mean()),
        "error": float(batches.std(ddof=1) / np.sqrt(len(batches))),
        "evaluated": float(np.mean([run.batch.mean() for run in runs])),
        "acceptance": float(np.mean([run.acceptance.mean() for run in runs])),
        "steps": len(runs[0].theta),
    }


def digits_rows(share: float, report: Report) -> dict[str, Any]:
    digits = load()
    target = tunamh.LogisticRegression(digits.X, digits.y)
    rows = {}
    for name, steps in settings.TABLE_STEPS["MNIST"].items():
        report(0.0, f"table 1, MNIST, {name}")
        test, step = mnist.METHODS[name], settings.MNIST_STEPS[name]
        seeds = range(settings.SEED, settings.SEED + settings.TABLE_RUNS)
        runs = [
            fixed_run(target, test, scale=step, draws=int(share * steps), start=mnist.starting_point(seed), seed=seed)
            for seed in seeds
        ]
        rows[name] = row(runs, settings.TABLE_PAPER["MNIST"][name])
    mode = tunamh.Taylor(order=1)(target).centre  # type: ignore[attr-defined]
    fly, draws = mnist.METHODS["FlyMC"], max(50, int(share * STATIONARY_DRAWS))
    run = fixed_run(
        target, fly, scale=settings.MNIST_STEPS["FlyMC"], draws=draws, start=mode, seed=1, burn=STATIONARY_BURN
    )
    rows["FlyMC"] |= {"stationary": counted(run), "stationary_evaluated": float(run.batch.mean())}
    return rows


def mixture_rows(share: float, report: Report) -> dict[str, Any]:
    at = mixture.problem()
    ways, rows = mixture.methods(at), {}
    for name, steps in settings.TABLE_STEPS["mixture"].items():
        report(0.5, f"table 1, mixture, {name}")
        target, test, step = ways[name]
        seeds = range(settings.SEED, settings.SEED + settings.TABLE_RUNS)
        start = settings.MIXTURE_START
        runs = [fixed_run(target, test, scale=step, draws=int(share * steps), start=start, seed=seed) for seed in seeds]
        rows[name] = row(runs, settings.TABLE_PAPER["mixture"][name])
    rows["FlyMC"] |= {
        "stationary": mixture.bright_rows(at, paper_bounds=False),
        "stationary_paper_bounds": mixture.bright_rows(at, paper_bounds=True),
    }
    return rows


def measure(share: float, report: Report) -> dict[str, Any]:
    return {
        "runs": settings.TABLE_RUNS,
        "MNIST": digits_rows(share, report),
        "mixture": mixture_rows(share, report),
    }
