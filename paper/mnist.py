"""Figure 4: logistic regression on MNIST's sevens and nines, test accuracy against time and iterations.

As in the released code: no prior, no intercept, and the accuracy at a moment is that of the mean of all draws so far,
the first one included.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import tunamh
from tunamh import MH, FactorizedMH, FlyMC, TunaMH

from . import settings
from .make_mnist import Digits, load
from .runs import Report, Run, timed_run

CURVE_POINTS = 60
KEEP = 20_000

METHODS: dict[str, Any] = {
    "MH": MH(),
    "TFMH": FactorizedMH(),
    "FlyMC": FlyMC(q=settings.MNIST_Q),
    "TunaMH": TunaMH(chi=settings.MNIST_CHI),
}


def starting_point(seed: int) -> np.ndarray:
    """As in the released code: uniform on ``+-1/sqrt(50)``."""
    return np.random.default_rng(seed).uniform(-settings.MNIST_START, settings.MNIST_START, 50)


def curve(run: Run, digits: Digits) -> dict[str, Any]:
    """Test accuracy of the running mean at points equally spaced on a logarithmic axis."""
    mean = np.cumsum(run.theta, axis=0) / np.arange(1, len(run.theta) + 1)[:, None]
    at = np.unique(np.geomspace(1, len(mean), CURVE_POINTS).astype(int)) - 1
    right = ((digits.X_test @ mean[at].T > 0) == digits.y_test[:, None]).mean(axis=0)
    return {
        "iterations": ((at + 1) * run.thin).tolist(),
        "seconds": run.elapsed[at].tolist(),
        "accuracy": right.tolist(),
    }


def reached(line: dict[str, Any], accuracy: float, axis: str) -> float | None:
    """When the accuracy was first reached, or None."""
    for value, right in zip(line[axis], line["accuracy"], strict=True):
        if right >= accuracy:
            return value
    return None


def several(
    target: Any, test: Any, step: float, seconds: float, runs: int, digits: Digits, say: Report
) -> dict[str, Any]:
    curves, summaries = [], []
    for number in range(runs):
        say(number / runs, f"run {number + 1}")
        seed = settings.SEED + number
        start = starting_point(seed)
        run = timed_run(target, test, scale=step, seconds=seconds, start=start, seed=seed, keep=KEEP)
        curves.append(curve(run, digits))
        summaries.append(run.summary())
    times = [reached(line, settings.MNIST_ACCURACY, "seconds") for line in curves]
    iterations = [reached(line, settings.MNIST_ACCURACY, "iterations") for line in curves]
    return {
        "curves": curves,
        "runs": summaries,
        "seconds_to_accuracy": _mean_or_none(times),
        "iterations_to_accuracy": _mean_or_none(iterations),
    }


def _mean_or_none(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if len(known) == len(values) else None


def measure(seconds: float, runs: int, report: Report) -> dict[str, Any]:
    digits = load()
    target = tunamh.LogisticRegression(digits.X, digits.y)
    mode = tunamh.Taylor(order=1)(target).centre  # type: ignore[attr-defined]
    result: dict[str, Any] = {
        "mode_accuracy": float(((digits.X_test @ mode > 0) == digits.y_test).mean()),
        "methods": {},
        "dial": {},
        "dial_same_step": {},
    }
    ways = [("methods", name, test, settings.MNIST_STEPS[name]) for name, test in METHODS.items()]
    for chi, step in settings.MNIST_DIAL.items():
        ways.append(("dial", f"{chi:g}", TunaMH(chi=chi), step))
        ways.append(("dial_same_step", f"{chi:g}", TunaMH(chi=chi), settings.MNIST_STEPS["TunaMH"]))
    for k, (group, name, test, step) in enumerate(ways):

        def say(done: float, remark: str, first: float = float(k), name: str = name) -> None:
            report((first + done) / len(ways), f"MNIST, {name}, {remark}")

        result[group][name] = several(target, test, step, seconds, runs, digits, say)
    return result
