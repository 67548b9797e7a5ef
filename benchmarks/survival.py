"""Times to event with a hazard in pieces: set-up, rows per draw and effective draws per second of a million rows.

    python benchmarks/survival.py [--rows 1000000] [--draws 4000]

Simulated customers, of whom about half leave; 10 pieces, all choices left to the library, one chain on one core, with
compiled code at hand. *Numbers*: five numeric columns, so that no two pieces are equal. *Levels*: a plan, a region and
an age class, so that equal pieces are added up. Effective draws are those of the worst parameter per second of the
processor. The same coefficients by the default family and by Weibull times stand beside each other.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
import pandas as pd

import tunamh
from common import RESULTS, keep_to_cores, machine, min_ess, number, print_table, write_json


def customers(rows: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({f"x{k}": rng.standard_normal(rows) for k in range(5)})
    table["plan"] = rng.choice(["basic", "plus", "pro"], rows, p=[0.6, 0.3, 0.1])
    table["region"] = rng.choice([f"r{k}" for k in range(12)], rows)
    table["age"] = rng.choice(["18-29", "30-44", "45-64", "65-"], rows)
    log_rate = 0.3 * table["x0"] - 0.2 * table["x1"] + 0.4 * (table["plan"] == "basic")
    leaves = rng.weibull(0.8, rows) * 40.0 * np.exp(-log_rate / 0.8)
    seen = rng.uniform(1.0, 60.0, rows)
    return table.assign(months=np.minimum(leaves, seen), left=(leaves <= seen).astype(int))


CASES: dict[str, tuple[str, Any]] = {
    "numbers": ("Surv(months, left) ~ x0 + x1 + x2 + x3 + x4", tunamh.PiecewiseExponential()),
    "levels": ("Surv(months, left) ~ plan + region + age", tunamh.PiecewiseExponential()),
    "numbers, Weibull": ("Surv(months, left) ~ x0 + x1 + x2 + x3 + x4", tunamh.Weibull()),
}


def measured(formula: str, table: pd.DataFrame, family: Any, draws: int) -> dict[str, Any]:
    settings = {"chains": 1, "cores": 1, "rng": 1, "progressbar": False}
    tunamh.sample(tunamh.regression(formula, table.head(20_000), family=family), draws=100, **settings)
    began, busy = time.perf_counter(), time.process_time()
    target = tunamh.regression(formula, table, family=family)
    posterior = tunamh.sample(target, draws=draws, **settings)
    wall, busy = time.perf_counter() - began, time.process_time() - busy
    stats = posterior.sample_stats
    elapsed = float(stats["elapsed"].values[0, -1])
    names = [name for name, values in posterior.posterior.data_vars.items() if values.ndim >= 2]
    columns = [posterior.posterior[name].values.reshape(1, draws, -1) for name in names]
    ess = min_ess(np.concatenate(columns, axis=2)[0])
    return {
        "pieces": target.n_rows,
        "setup_seconds": wall - elapsed,
        "setup_cpu_seconds": busy - elapsed,
        "rows_per_step": float(stats["batch_size"].mean()),
        "acceptance": float(stats["acceptance_rate"].mean()),
        "ess_per_second": ess / elapsed,
        "ess": ess,
        "draws": draws,
    }


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--draws", type=int, default=4000)
    given = arguments.parse_args()
    keep_to_cores(1)
    warnings.simplefilter("ignore")
    table = customers(given.rows)
    found = {name: measured(*of, draws=given.draws) for name, of in _cases(table)}
    print_table(
        f"{given.rows:,} customers, {int(table['left'].sum()):,} of whom left",
        ["columns", "rows of pieces", "set-up s", "rows per draw", "accepted", "ESS/s"],
        [
            (
                name,
                f"{one['pieces']:,}",
                number(one["setup_seconds"]),
                number(one["rows_per_step"]),
                number(one["acceptance"]),
                number(one["ess_per_second"]),
            )
            for name, one in found.items()
        ],
    )
    write_json(RESULTS / "survival.json", {"machine": machine(), "rows": given.rows, "cases": found})


def _cases(table: pd.DataFrame) -> list[tuple[str, tuple[str, pd.DataFrame, Any]]]:
    return [(name, (formula, table, family)) for name, (formula, family) in CASES.items()]


if __name__ == "__main__":
    main()
