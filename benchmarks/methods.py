"""Every method on two problems, in one run: rows and microseconds per step, acceptance, effective draws per second.

    python benchmarks/methods.py [--seconds 2] [--out benchmarks/results]

Robust regression, 20,000 rows, 10 columns, untempered: one mode, where control variates pay. The paper's mixture, a
million rows, temper 1e-4: two modes. Step sizes are tuned to the stated acceptance, chains start overdispersed, warm-up
is not counted. Two chains on two cores; an effective draw is ArviZ's, the worst parameter counts.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path

import numpy as np
from arviz_stats import ess

import tunamh
from common import RESULTS, machine, write_json
from tunamh import MH, MHSS, AustereMH, Autoregressive, FactorizedMH, FlyMC, MHMinibatch, PoissonMH, Taylor, TunaMH
from tunamh.cli.demo.paper_mixture import mixture_data


def robust_regression() -> tunamh.Target:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 10))
    return tunamh.RobustRegression(X, X.sum(axis=1) + rng.standard_normal(20_000), scale=1.0)


def mixture() -> tunamh.Target:
    return tunamh.GaussianMixture(mixture_data(1_000_000, seed=1), temper=1e-4)


COMMON = {
    "MH": (MH(), None),
    "TunaMH": (TunaMH(), None),
    "MH-SS": (MHSS(), None),
    "TFMH": (FactorizedMH(), None),
    "FlyMC": (FlyMC(q=0.01), None),
    "FlyMC-MAP": (FlyMC(q=0.01, tuned=True), None),
    "MH-SS, Taylor 1": (MHSS(), Taylor(order=1)),
    "SMH-1": (FactorizedMH(), Taylor(order=1)),
    "AustereMH (inexact)": (AustereMH(0.05, 500), None),
    "MHMinibatch (inexact)": (MHMinibatch(100), None),
}
PROBLEMS = {
    "robust regression 20,000 x 10": (
        robust_regression,
        {
            **COMMON,
            "TunaMH, Taylor 2": (TunaMH(), Taylor(order=2)),
            "MH-SS, Taylor 2": (MHSS(), Taylor(order=2)),
            "SMH-2": (FactorizedMH(), Taylor(order=2)),
            "sample(target)": (MHSS(delayed=False), Taylor(order=2), Autoregressive()),
        },
    ),
    "mixture 1,000,000, temper 1e-4": (mixture, {**COMMON, "PoissonMH": (PoissonMH(500.0), None)}),
}


def measure(target: tunamh.Target, test, control, proposal, *, seconds: float) -> dict:
    started = time.perf_counter()
    controlled = target if control is None else control(target)
    setup = time.perf_counter() - started
    settings = {"test": test, "proposal": proposal, "chains": 2, "rng": 1, "progressbar": False}
    tunamh.sample(controlled, draws=10, tune=1, **settings)  # compiled before the clock runs
    tree = tunamh.sample(controlled, draws=400_000, tune=500, max_seconds=seconds, **settings)
    theta, stats = tree.posterior["theta"].values, tree.sample_stats
    elapsed = float(stats["elapsed"].values[:, -1].max())
    effective = min(float(ess(theta[:, :, j])) for j in range(theta.shape[2]))
    return {
        "exact": bool(test.exact),
        "setup_seconds": setup,
        "rows_per_step": float(stats["batch_size"].mean()),
        "acceptance": float(stats["acceptance_rate"].mean()),
        "microseconds_per_step": elapsed / theta.shape[1] * 1e6,
        "effective_draws_per_second": effective / elapsed if math.isfinite(effective) else float("nan"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4.0, help="for each method, warm-up included")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    report: dict = {"machine": machine()}
    for problem, (make, ways) in PROBLEMS.items():
        target = make()
        print(f"\n{problem}\n{'method':<32} {'rows/step':>12} {'acceptance':>10} {'us/step':>10} {'ESS/s':>10}")
        report[problem] = {}
        for name, (test, control, *proposal) in ways.items():
            try:
                r = measure(target, test, control, *(proposal or [None]), seconds=options.seconds)
            except tunamh.NoDraws:
                print(f"{name:<32} no draw in {options.seconds:g} seconds")
                continue
            report[problem][name] = r
            print(
                f"{name:<32} {r['rows_per_step']:>12,.1f} {r['acceptance']:>10.2f} "
                f"{r['microseconds_per_step']:>10,.1f} {r['effective_draws_per_second']:>10,.1f}",
                flush=True,
            )
    write_json(options.out / "methods.json", report)


if __name__ == "__main__":
    main()
