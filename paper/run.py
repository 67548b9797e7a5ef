"""``tunamh reproduce``: the order of the experiments, their progress, and what is written where.

Each experiment leaves one JSON file and its pictures; the page is rebuilt from whatever JSON files the folder has, so
that one experiment can be run again, and Ctrl-C loses only the one under way.
"""

from __future__ import annotations

import json
import math
import os
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tunamh import ChainsDisagree
from tunamh._version import __version__
from tunamh.cli.demo.records import processor, write_json
from tunamh.process.progress import Progress

from . import acceptance_curve, batch_sizes, mixture, mnist, robust, settings, theory_checks, walk
from .runs import Report, part
from .settings import Budget


class Experiment(NamedTuple):
    title: str
    measure: Callable[[Budget, Report], dict[str, Any]]


def figure_1(budget: Budget, report: Report) -> dict[str, Any]:
    simulate = settings.WALK_SIMULATED[:1]
    return {
        "walk": walk.measure(settings.WALK_STATES, simulate, budget.walk_seconds, part(report, 0.0, 0.8)),
        "advised": walk.advised(),
        "curve": acceptance_curve.measure(budget.curve_draws, part(report, 0.8, 1.0)),
    }


def appendix(budget: Budget, report: Report) -> dict[str, Any]:
    simulate = settings.WALK_SIMULATED[1:]
    return {
        "walk": walk.measure(settings.WALK_STATES[1:], simulate, budget.walk_seconds, part(report, 0.0, 0.3)),
        "low": robust.low_dimension(budget.low_rows, budget.low_seconds, part(report, 0.3, 0.7)),
        "austere": robust.austere_error(budget.austere_share, part(report, 0.7, 1.0)),
    }


EXPERIMENTS = {
    "figure-1": Experiment("Inexact tests on a walk; acceptance of exact ones", figure_1),
    "figure-2": Experiment(
        "Robust regression", lambda budget, report: robust.measure(budget.robust_rows, budget.robust_seconds, report)
    ),
    "figure-3": Experiment(
        "Truncated Gaussian mixture",
        lambda budget, report: mixture.measure(budget.mixture_seconds, budget.mixture_runs, report),
    ),
    "figure-4": Experiment(
        "Logistic regression on MNIST",
        lambda budget, report: mnist.measure(budget.mnist_seconds, budget.mnist_runs, report),
    ),
    "table-1": Experiment("Batch sizes", lambda budget, report: batch_sizes.measure(budget.table_share, report)),
    "appendix": Experiment("Appendix: more states, ten columns, AustereMH on a regression", appendix),
    "theory": Experiment(
        "Theorem 1 and corollary 1",
        lambda budget, report: theory_checks.measure(budget.gap_problems, budget.scaling_rows, report),
    ),
}


def reproduce(names: Sequence[str], *, quick: bool, out: Path, say: Callable[[str], None] = print) -> Path:
    """Run the named experiments, then build the page from all results in ``out``; returns the page."""
    from .page import build

    budget = settings.QUICK if quick else settings.FULL
    out.mkdir(parents=True, exist_ok=True)
    say(f"{', '.join(names)}: the whole {budget.name} set takes about {budget.minutes:g} minutes on 2 cores")
    try:
        for number, name in enumerate(names, start=1):
            started = time.perf_counter()
            with Progress(f"{name} ({number} of {len(names)})") as progress, warnings.catch_warnings():
                warnings.simplefilter("ignore", ChainsDisagree)  # short chains of slow methods are the point
                measured = EXPERIMENTS[name].measure(budget, progress.update)
            seconds = time.perf_counter() - started
            write_json(out / f"{name}.json", plain({**circumstances(budget, seconds), "result": measured}))
            say(f"{name}: {seconds:.0f} s, {out / name}.json")
    except KeyboardInterrupt:
        say("interrupted: the page shows what was finished")
    return build(out)


def circumstances(budget: Budget, seconds: float) -> dict[str, Any]:
    """What a reader needs to judge a figure."""
    return {
        "budget": budget.name,
        "date": time.strftime("%Y-%m-%d"),
        "machine": processor(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "version": __version__,
        "seconds": round(seconds, 1),
    }


def plain(value: Any) -> Any:
    """Six digits are enough for a record, and keep the files small; None for what is not a number."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value


def load(folder: Path) -> dict[str, dict[str, Any]]:
    """All results of a folder, in the order of the experiments."""
    found = {name: folder / f"{name}.json" for name in EXPERIMENTS}
    return {name: json.loads(path.read_text()) for name, path in found.items() if path.exists()}
