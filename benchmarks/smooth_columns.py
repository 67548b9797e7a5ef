"""Two forms of a curve in a row: where the row lies on the curve (the library), and all columns of the curve.

    python benchmarks/smooth_columns.py [--rows 1000000] [--out benchmarks/results]

`late ~ s(x, k=20) + s(z, k=20)`: 38 columns of curves and an intercept. In the library a row has one number for each
curve, of which compiled code makes four B-splines. The other form is the same target from a matrix of 39 columns, as
`X=` would give it. CPU seconds, one core: to fill the columns, to add up ``X'WX``, to read random rows at two points
(16 rows and 256 rows of a call), to set up a chain, and to draw.
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
from common import RESULTS, machine, print_table, write_json
from tunamh.targets.designs.base import NamedDesign

_K, _RANDOM, _DRAWS = 20, 1_048_576, 6000


@numba.njit
def read(data, theta, prop, index, n):
    for start in range(0, index.size, n):
        some = index[start : start + n]
        data.dots(theta, prop, data.rows, some, n, data.hyper, data.eta, data.eta_prop)


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


def gram(design: Any) -> np.ndarray:
    found = np.zeros((design.dim, design.dim))
    for start in range(0, design.n_rows, 8192):
        n = min(8192, design.n_rows - start)
        found += design.block(slice(start, start + n)).sandwich(np.full(n, 0.2))
    return found


def measured(make: Any, prior: Any, y: np.ndarray, names: list[str]) -> dict[str, float]:
    """Of one form; ``make`` computes its design."""
    design, fill = timed(make, 2)
    gram(design)
    found = {"fill": fill, "gram": timed(lambda: gram(design))[1]}

    def target(prior: Any) -> Any:
        return tunamh.GLM(NamedDesign(design, names), y, tunamh.Logistic(), prior=prior)

    plain = target(tunamh.Normal(scale=3))
    found["bytes of a row"] = plain.rows.nbytes / len(y)
    rng, data = np.random.default_rng(2), plain.model().data
    index, points = rng.integers(len(y), size=_RANDOM), rng.standard_normal((2, len(names)))
    for n in (16, 256):
        read(data, *points, index[:n], n)
        found[f"a million random rows, {n} at once"] = timed(lambda n=n: read(data, *points, index, n))[1]

    def sampled(draws: int) -> Any:
        return tunamh.sample(target(prior), draws=draws, chains=1, cores=1, rng=1, progressbar=False)

    sampled(20)  # compiles
    _, few = timed(lambda: sampled(100), 2)
    tree, many = timed(lambda: sampled(_DRAWS), 2)
    of_curves = tree.posterior["theta"].values
    ess = min(float(arviz_stats.ess(of_curves[..., j])) for j in range(len(names)))
    return found | {
        "set-up and warm-up": few,
        "draws": many - few,
        "effective draws": ess,
        "rows per draw": float(tree.sample_stats["batch_size"].mean()),
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--out", type=Path, default=RESULTS)
    given = options.parse_args()
    table, formula = table_of(given.rows), f"late ~ s(x, k={_K}) + s(z, k={_K})"
    tunamh.regression(formula, table.iloc[:5000], family="logistic")  # compiles
    target, checks = timed(lambda: tunamh.regression(formula, table, family="logistic"), 2)
    side, values, y = target.formula.side, target.formula.values(table), table["late"].to_numpy()
    forms = {
        "one number": measured(lambda: side.design(values), target.prior, y, side.names),
        "columns": measured(lambda: side.columns(values).design(), target.prior, y, side.names),
    }
    rows = [[what, *(f"{forms[form][what]:.3g}" for form in forms)] for what in forms["columns"]]
    print_table(f"{given.rows:,} rows; the formula takes {checks:.2g} s", ["CPU seconds", *forms], rows)
    found = {"machine": machine(), "rows": given.rows, "formula": checks, "draws": _DRAWS, **forms}
    write_json(given.out / "smooth_columns.json", found)


if __name__ == "__main__":
    main()
