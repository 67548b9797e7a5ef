"""All 478 parameters of the KDD census income data: time to a thousand effective draws of the worst of them.

    python benchmarks/census_posterior.py [--ess 1000] [--seconds 600] [--out benchmarks/results]

299,285 people, income above 50,000 dollars explained by 33 columns of categories and 7 of numbers (`census.py`), prior
N(0, 2.5^2). Two hundred of the coefficients are known no better than to 1: thin levels, levels that no person of one
income has, and levels that mean the same in several columns. `sample(target)` as it is, two chains on two cores, 150
steps of warm-up, until the worst parameter has so many effective draws. Compiled before the clock; set-up counts.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from arviz_stats import ess, rhat

import census
import tunamh
from common import RESULTS, machine, number, print_table, write_json


def target_of(rows: int | None) -> tunamh.LogisticRegression:
    with np.load(census.prepared()) as stored:
        numbers, codes, y = (stored[name][:rows] for name in ("numbers", "codes", "y"))
        factors = stored["factors"]
    table = census.table_of("codes", numbers, codes, factors)
    return tunamh.LogisticRegression(table, y, prior=tunamh.Normal(scale=2.5))


def measured(target: tunamh.LogisticRegression, wanted: float, seconds: float) -> dict:
    begin = time.perf_counter()
    tree = tunamh.sample(
        target,
        draws=20_000,
        tune=150,
        chains=2,
        until=tunamh.Until(ess=wanted),
        max_seconds=seconds,
        rng=1,
        progressbar=False,
    )
    elapsed = time.perf_counter() - begin
    posterior, stats = tree.posterior, tree.sample_stats
    settings = json.loads(posterior.attrs["settings"])
    shift = json.loads(posterior.attrs.get("laplace_mean_shift", "{}"))
    return {
        "rows": target.n_rows,
        "parameters": target.dim,
        "choice": posterior.attrs["choice"],
        "draws": int(posterior.sizes["draw"] * posterior.sizes["chain"]),
        "seconds": elapsed,
        "seconds_by_stage": settings.get("seconds"),
        "ess": float(ess(posterior)["theta"].min()),
        "rhat": float(rhat(posterior)["theta"].max()),
        "acceptance": float(stats["acceptance_rate"].mean()),
        "leapfrog_steps": float(stats["leapfrog_steps"].mean()) if "leapfrog_steps" in stats else None,
        "wide": int((posterior["theta"].std(("chain", "draw")) > 1).sum()),
        "laplace_largest_shift": max(map(abs, shift.values()), default=None),
        "stopped": settings["stopped"],
    }


def entries(target: tunamh.LogisticRegression) -> dict:
    """Of the columns of levels, as they are and in the basis of whole numbers."""
    from tunamh.trajectories.sparse_rows import short_rows, sparse_of

    given = sum(sparse_of(block).nnz for block in target.observations.map(lambda rows: rows.X))
    short = short_rows(target)
    counts = np.bincount(short.matrix.indices, minlength=short.short)
    full = short.table.shape[0] * (target.dim - short.short)
    return {"given": int(given - full), "short": short.matrix.nnz, "empty_columns": int((counts == 0).sum())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ess", type=float, default=1000.0)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    small = target_of(3000)
    tunamh.sample(small, draws=5, tune=10, chains=1, rng=1, progressbar=False)  # compiled
    target = target_of(None)
    found = measured(target, options.ess, options.seconds)
    found["entries"] = entries(target)
    columns = ["rows x parameters", "seconds", "effective draws, worst", "draws", "leapfrog steps", "acceptance"]
    shown = [
        f"{found['rows']:,} x {found['parameters']}",
        *map(number, (found["seconds"], found["ess"], found["draws"])),
    ]
    shown += [number(found["leapfrog_steps"] or 0), number(found["acceptance"])]
    print_table("the whole census", columns, [shown])
    write_json(options.out / "census_posterior.json", {"machine": machine(), "figures": found})


if __name__ == "__main__":
    main()
