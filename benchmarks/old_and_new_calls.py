"""Are whole calls as fast as they were? An older commit against this tree: import, one call, set-up, sweeps of groups.

    python benchmarks/old_and_new_calls.py [--old COMMIT] [--repeats 5] [--out FOLDER]

As in `old_and_new.py`: old and new in turns, each measurement in a process of its own on one core, all code compiled
before, time of the processor (its own and the system's), medians and the extremes of the pairs' ratios. A sweep is the
time of 2,000 more draws of a chain, divided by their number.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from common import CACHE, RESULTS, keep_to_cores, machine, run_apart, write_json
from old_and_new import ROOT, commit_of, report, summary, unpack

BEFORE = "0d37933"  # before the rooms of the third edition
TIMEOUT = 600.0

WORKER = """
import json, sys, time, warnings
from pathlib import Path
from statistics import median

tree, result = sys.argv[1], sys.argv[2]
sys.path.insert(0, tree + "/src")
began = time.process_time()
import tunamh

figures = {"import": time.process_time() - began}
assert Path(tunamh.__file__).is_relative_to(tree), f"{tunamh.__file__} is not in {tree}"
import numpy as np

warnings.simplefilter("ignore")
settings = {"chains": 1, "cores": 1, "progressbar": False}


def logistic(n, d):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    return X, (rng.random(n) < 1 / (1 + np.exp(-X[:, 0]))).astype(float)


def seconds(call, times):
    found = []
    for _ in range(times):
        began = time.process_time()
        call()
        found.append(time.process_time() - began)
    return median(found)


def mixed(n, n_groups):
    X, y = logistic(n, 10)
    groups = np.random.default_rng(1).integers(n_groups, size=n)
    prior = {"prior": tunamh.Normal(scale=5.0)}
    return tunamh.MixedModel(X, y, tunamh.Logistic(), groups, **prior)


X, y = logistic(10_000, 20)
call = lambda: tunamh.sample(tunamh.LogisticRegression(X, y), draws=1000, tune=1000, rng=1, **settings)
call()
figures["a call, 1e4 x 20"] = seconds(call, 5)
large = logistic(1_000_000, 50)
call = lambda: tunamh.sample(tunamh.LogisticRegression(*large), draws=10, tune=10, rng=1, **settings)
figures["set-up, 1e6 x 50"] = seconds(call, 1)
del large
model = mixed(100_000, 1_000)
few, many = (lambda n=n: tunamh.sample(model, draws=n, tune=100, rng=1, **settings) for n in (100, 2100))
few()
figures["a sweep, 1e5 rows in 1,000 groups"] = (seconds(many, 3) - seconds(few, 3)) / 2000
figures["a call with groups"] = seconds(few, 3)
Path(result).write_text(json.dumps({name: 1e9 * value for name, value in figures.items()}))
"""


def measure(tree: Path) -> dict[str, float]:
    found = run_apart([sys.executable, "-P", "-c", WORKER, str(tree)], cores=1, timeout=TIMEOUT)
    if "status" in found:
        raise SystemExit("\n".join([f"{tree}: {found['status']}", *found.get("log", [])]))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", default=BEFORE, metavar="COMMIT")
    parser.add_argument("--repeats", type=int, default=5, help="pairs of old and new")
    parser.add_argument("--quick", action="store_true", help="the file goes to benchmarks/.cache")
    parser.add_argument("--out", type=Path, help="folder for old_and_new_calls.json")
    options = parser.parse_args()
    keep_to_cores(1)
    with tempfile.TemporaryDirectory() as folder:
        unpack(options.old, Path(folder))
        trees = {"old": Path(folder), "new": ROOT}
        for version, tree in trees.items():
            print(f"compiling: {version} ...", flush=True)
            measure(tree)
        found: dict[str, list[dict[str, float]]] = {version: [] for version in trees}
        for k in range(options.repeats):
            for version in list(trees)[:: -1 if k % 2 else 1]:
                print(f"repeat {k + 1}: {version} ...", flush=True)
                found[version].append(measure(trees[version]))
    figures = summary(found)
    report(figures)
    commits = {"old": commit_of(options.old), "new": commit_of("HEAD")}
    path = (options.out or (CACHE if options.quick else RESULTS)) / "old_and_new_calls.json"
    write_json(path, {"machine": machine(), "commits": commits, "repeats": options.repeats, "figures": figures})


if __name__ == "__main__":
    main()
