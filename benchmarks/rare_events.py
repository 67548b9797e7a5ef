"""A hundred events in a million rows: rows per step, effective draws per second, and how far the law is from Laplace's.

    python benchmarks/rare_events.py [--old COMMIT] [--rounds 2] [--seconds 10]

Logistic regression, an intercept and nine normal columns, flat prior. The older commit is unpacked into a temporary
folder and measured in turns with this tree, each in a process of its own on one core, compiled before; all choices left
to the library. Figures are medians over the rounds, effective draws those of the worst parameter per second of the
processor. Quantiles are shown for the parameter whose quantiles are furthest from Laplace's (mode and Hessian).
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import NormalDist, median

import numpy as np

from common import CACHE, HERE, RESULTS, machine, number, print_table, run_apart, write_json
from old_and_new import commit_of, unpack
from problems import find_mode

ROWS, COLUMNS, EVENTS = 1_000_000, 10, 100
BEFORE = "5ec9949"  # before slope constants and ladders
LEVELS = (0.025, 0.5, 0.975)

WORKER = """
import json, sys, time, warnings
from pathlib import Path

tree, folder, seconds, result = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
sys.path[:0] = [tree + "/src", tree + "/benchmarks"]
import numpy as np
import tunamh
from common import keep_to_cores, min_ess

assert Path(tunamh.__file__).is_relative_to(tree), f"{tunamh.__file__} is not in {tree}"
keep_to_cores(1)
warnings.simplefilter("ignore")
X, y = np.load(folder / "X.npy"), np.load(folder / "y.npy")
settings = {"chains": 1, "cores": 1, "rng": 1, "progressbar": False}
tunamh.sample(tunamh.LogisticRegression(X, y), draws=100, **settings)
began = time.perf_counter()
target = tunamh.LogisticRegression(X, y)
pilot = tunamh.sample(target, draws=1000, **settings)
setup = time.perf_counter() - began
took = float(pilot.sample_stats["elapsed"].values[0, -1])
began, busy = time.perf_counter(), time.process_time()
posterior = tunamh.sample(target, draws=int(min(1e6, 1000 * max(1, seconds / took))), **settings)
share = (time.process_time() - busy) / (time.perf_counter() - began)
stats, draws = posterior.sample_stats, posterior.posterior["theta"].values[0]
sampling = share * float(stats["elapsed"].values[0, -1])
figures = {
    "rows_per_step": float(stats["batch_size"].mean()),
    "acceptance": float(stats["acceptance_rate"].mean()),
    "full_data_steps": float(stats["full_data_step"].mean()),
    "draws": len(draws),
    "min_ess": min_ess(draws),
    "sampling_seconds": sampling,
    "ess_per_second": min_ess(draws) / sampling,
    "setup_seconds": setup - took,
    "quantiles": np.quantile(draws, [0.025, 0.5, 0.975], axis=0).tolist(),
    "choice": posterior.posterior.attrs["choice"],
}
Path(result).write_text(json.dumps(figures))
"""


def simulate() -> tuple[np.ndarray, np.ndarray]:
    """Events are drawn one after another with the logistic law's odds, so that there are exactly a hundred."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(ROWS), rng.standard_normal((ROWS, COLUMNS - 1))])
    eta = X[:, 1:] @ (rng.standard_normal(COLUMNS - 1) / np.sqrt(COLUMNS - 1))
    y = np.zeros(ROWS)
    y[np.argsort(eta + rng.gumbel(size=ROWS))[-EVENTS:]] = 1
    return X, y


def measure(tree: Path, folder: Path, seconds: float) -> dict:
    command = [sys.executable, "-P", "-c", WORKER, str(tree), str(folder), str(seconds)]
    found = run_apart(command, cores=1, timeout=60 * seconds + 300)
    if "status" in found:
        sys.exit(f"{tree}: {found['status']}\n" + "\n".join(found.get("log", [])))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", default=BEFORE)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    X, y = simulate()
    mode, covariance = find_mode("logistic", X, y)
    sd = np.sqrt(np.diag(covariance))
    folder, rounds = CACHE / "rare-events", []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / "X.npy", X)
        np.save(folder / "y.npy", y)
        with tempfile.TemporaryDirectory() as old:
            unpack(options.old, Path(old))
            trees = {"before": Path(old), "after": HERE.parent}
            for k in range(options.rounds):
                order = list(trees)[:: -1 if k % 2 else 1]
                print(f"round {k + 1}: {', '.join(order)} ...", flush=True)
                rounds.append({name: measure(trees[name], folder, options.seconds) for name in order})
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    figures = {}
    for name in ("before", "after"):
        found = [one[name] for one in rounds]
        figures[name] = found[0] | {
            key: median(one[key] for one in found) for key in ("rows_per_step", "ess_per_second", "setup_seconds")
        }
    laplace = mode + sd * np.array([[NormalDist().inv_cdf(level)] for level in LEVELS])
    worst = int(np.abs((np.array(figures["after"]["quantiles"]) - laplace) / sd).max(axis=0).argmax())
    quantiles = {
        "Laplace": laplace[:, worst].tolist(),
        **{name: [row[worst] for row in figures[name]["quantiles"]] for name in figures},
    }
    commits = {"before": commit_of(options.old), "after": commit_of("HEAD")}
    report = {
        "machine": machine(),
        "commits": commits,
        "rows": ROWS,
        "columns": COLUMNS,
        "events": EVENTS,
        "figures": figures,
        "parameter": "intercept" if worst == 0 else f"column {worst}",
        "levels": LEVELS,
        "quantiles": quantiles,
        "rounds": rounds,
    }
    write_json(RESULTS / "rare_events.json", report)
    columns = ["", "acceptance", "rows per step", "effective draws per second", "set-up, s"]
    keys = ("rows_per_step", "ess_per_second", "setup_seconds")
    rows = [[name, f"{f['acceptance']:.3f}", *(number(f[key]) for key in keys)] for name, f in figures.items()]
    print_table(f"{EVENTS} events in {ROWS:,} rows x {COLUMNS}", columns, rows)
    rows = [[name, *(f"{value:.3f}" for value in values)] for name, values in quantiles.items()]
    print_table(f"Quantiles of the {report['parameter']}", ["", *(f"{100 * level:g} %" for level in LEVELS)], rows)


if __name__ == "__main__":
    main()
