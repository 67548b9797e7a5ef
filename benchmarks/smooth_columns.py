"""Columns of curves stored whole, beside the four B-splines of a row that are not zero: set-up, rows, memory.

    python benchmarks/smooth_columns.py [--rows 1000000] [--out benchmarks/results]

`late ~ s(x, k=20) + s(z, k=20)`: 38 columns of curves and an intercept. "Whole": the library, a row has 39 numbers. The
other form is a prototype: a row has four positions and four values for each curve (of 8 bytes, as packed rows have
them), and its predictor is a sum of B-splines' coefficients. A prior in these coordinates is not diagonal, so that only
the work per row is compared: seconds to fill the columns, to add up ``X'WX``, and to read random rows, by compiled
loops on one core. What a user waits for is shown beside: set-up, and 1,000 effective draws.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import arviz_stats
import numba
import numpy as np
import pandas as pd

import tunamh
from common import RESULTS, machine, write_json
from tunamh.formula.splines import four_functions

_K, _RANDOM = 20, 1_000_000


@numba.njit
def read_whole(X, index, theta):
    total = 0.0
    for i in index:
        eta = 0.0
        for j in range(theta.size):
            eta += X[i, j] * theta[j]
        total += eta
    return total


@numba.njit
def read_banded(at, values, index, theta):
    total = 0.0
    for i in index:
        eta = theta[0]
        for j in range(at.shape[1]):
            eta += values[i, j] * theta[int(at[i, j])]
        total += eta
    return total


@numba.njit
def gram_banded(at, values, weight, d):
    found = np.zeros((d, d))
    for i in range(at.shape[0]):
        found[0, 0] += weight[i]
        for a in range(at.shape[1]):
            v = weight[i] * values[i, a]
            found[0, int(at[i, a])] += v
            for b in range(at.shape[1]):
                found[int(at[i, a]), int(at[i, b])] += v * values[i, b]
    return found


def timed(make: Any, times: int = 3) -> tuple[Any, float]:
    """The least CPU seconds of some runs."""
    seconds = []
    for _ in range(times):
        began = time.process_time()
        found = make()
        seconds.append(time.process_time() - began)
    return found, min(seconds)


def table_of(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"x": rng.uniform(0, 1, n), "z": rng.uniform(0, 1, n)})
    eta = -1 + np.sin(9 * table["x"]) + 0.5 * np.sin(20 * table["z"])
    table["late"] = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(float)
    return table


def in_the_library(table: pd.DataFrame) -> dict[str, float]:
    def made() -> Any:
        return tunamh.regression(f"late ~ s(x, k={_K}) + s(z, k={_K})", table, family="logistic")

    tunamh.sample(made(), draws=20, tune=20, chains=1, rng=1, progressbar=False)  # compiles
    target, columns = timed(made, 1)
    _, set_up = timed(lambda: tunamh.sample(target, draws=10, chains=1, cores=1, rng=1, progressbar=False), 1)
    began = time.process_time()
    tree = tunamh.sample(made(), draws=1500, chains=1, cores=1, rng=1, progressbar=False)
    whole = time.process_time() - began
    ess = min(float(arviz_stats.ess(tree.posterior["s(x)"].values[..., j])) for j in range(_K - 1))
    return {
        "seconds, columns and checks": columns,
        "seconds, set-up and warm-up": set_up,
        "seconds, 1,500 draws with everything": whole,
        "effective draws": ess,
        "rows per draw": float(tree.sample_stats["batch_size"].mean()),
    }


def prototypes(table: pd.DataFrame) -> dict[str, dict[str, float]]:
    n, rng = len(table), np.random.default_rng(2)
    target = tunamh.regression(f"late ~ s(x, k={_K}) + s(z, k={_K})", table, family="logistic")
    side, values = target.formula.side, target.formula.values(table)
    columns, fill_whole = timed(lambda: side.columns(values).dense(), 2)
    index, weight = rng.integers(n, size=_RANDOM), np.full(n, 0.2)
    theta = rng.standard_normal(columns.shape[1])
    read_whole(columns, index[:10], theta)
    whole = {
        "fill": fill_whole,
        "gram": timed(lambda: columns.T @ (columns * weight[:, None]))[1],
        "million random rows": timed(lambda: read_whole(columns, index, theta))[1],
        "bytes of a row": 8.0 * columns.shape[1],
    }

    def banded() -> tuple[np.ndarray, np.ndarray]:
        parts = [four_functions(table[one].to_numpy(), 0.0, 1.0, _K, cyclic=False) for one in ("x", "z")]
        at = np.hstack([own + 1 + k * _K for k, (own, _) in enumerate(parts)]).astype(np.float64)
        return at, np.hstack([own for _, own in parts])

    (at, of_rows), fill_banded = timed(banded, 2)
    theta = rng.standard_normal(2 * _K + 1)
    read_banded(at, of_rows, index[:10], theta)
    gram_banded(at[:10], of_rows[:10], weight, len(theta))
    return {
        "whole": whole,
        "banded": {
            "fill": fill_banded,
            "gram": timed(lambda: gram_banded(at, of_rows, weight, len(theta)))[1],
            "million random rows": timed(lambda: read_banded(at, of_rows, index, theta))[1],
            "bytes of a row": 8.0 * (at.shape[1] + of_rows.shape[1]),
        },
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--out", type=Path, default=RESULTS)
    given = options.parse_args()
    table = table_of(given.rows)
    own = prototypes(table)
    found = {"machine": machine(), "rows": given.rows, "prototypes": own, "library": in_the_library(table)}
    for name, numbers in {**found["prototypes"], "library": found["library"]}.items():
        print(name, {key: round(value, 4) for key, value in numbers.items()}, flush=True)
    write_json(given.out / "smooth_columns.json", found)


if __name__ == "__main__":
    main()
