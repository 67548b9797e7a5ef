"""The whole posterior beside point fits: seconds of `tunamh.sample` (4 x 1000 draws) and of libraries that fit a mode.

    python benchmarks/point_fits.py [--quick] [--out benchmarks/results]

Logistic regression without intercept and without penalty, N x d from 1e4 x 20 to 1e6 x 50, on all cores. tunamh's time
has everything in it: the target made of X and y, search for the mode, bounds, warm-up, draws, DataTree. The fits are
glum, scikit-learn's lbfgs and newton-cholesky, and statsmodels' Logit, with their own tolerances. Each runs in a
process of its own (`--worker`), data in memory, libraries imported and code compiled before the clock starts; three
rounds, the second in the opposite order, medians. `away` is how far a fit, or the mean of the draws, ended from the
mode in posterior standard deviations, the worst coefficient counting.

Then the fixed cost of a call: where the time of `sample` goes at 1e4 x 20.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from common import CACHE, HERE, RESULTS, machine, number, print_table, run_apart, versions, write_json
from peer_workers import load, save
from problems import make

PEERS_PYTHON = HERE / ".peers-venv" / "bin" / "python"
SIZES = ["1e4x20", "1e5x20", "1e5x50", "1e6x20", "1e6x50"]
QUICK = SIZES[:1]
ROUNDS = 3
TIMEOUT = 900.0
_FEW_ROWS = 2000  # to warm a library up with

Fit = Callable[[np.ndarray, np.ndarray], np.ndarray]


def fit_tunamh(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    import tunamh

    posterior = tunamh.sample(tunamh.LogisticRegression(X, y), draws=1000, chains=4, rng=1, progressbar=False)
    return posterior.posterior["theta"].values.mean(axis=(0, 1))


def fit_glum(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    from glum import GeneralizedLinearRegressor

    return GeneralizedLinearRegressor(family="binomial", alpha=0.0, fit_intercept=False).fit(X, y).coef_


def fit_lbfgs(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    return _scikit_learn("lbfgs", X, y)


def fit_newton_cholesky(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    return _scikit_learn("newton-cholesky", X, y)


def _scikit_learn(solver: str, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=np.inf, solver=solver, fit_intercept=False, max_iter=1000).fit(X, y).coef_[0]


def fit_statsmodels(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    import statsmodels.api as sm

    return sm.Logit(y, X).fit(disp=0).params


METHODS: dict[str, Fit] = {
    "tunamh, the posterior": fit_tunamh,
    "glum": fit_glum,
    "scikit-learn lbfgs": fit_lbfgs,
    "scikit-learn newton-cholesky": fit_newton_cholesky,
    "statsmodels Logit": fit_statsmodels,
}


def work(method: str, folder: Path) -> dict:
    """In a process of its own: one fit on few rows, or on all for tunamh, whose choices depend on N; then the clock."""
    problem, fit = load(folder), METHODS[method]
    few = slice(None) if fit is fit_tunamh else slice(0, _FEW_ROWS)
    fit(problem.X[few], problem.y[few])
    started = time.perf_counter()
    point = fit(problem.X, problem.y)
    seconds = time.perf_counter() - started
    packages = versions("tunamh", "glum", "scikit-learn", "statsmodels", "numpy")
    return {"seconds": seconds, "away": float(np.max(np.abs(point - problem.mode) / problem.sd)), "versions": packages}


def fixed_cost(calls: int = 20) -> dict:
    """Milliseconds of one call of `sample` at 1e4 x 20 on a new target, on average.

    ``set-up``, ``chains`` and ``ending`` are parts of the whole call. Chains run in threads: the thread-milliseconds of
    their parts add up to more than the whole when there are several cores.
    """
    import tunamh
    from tunamh.sampling.run import ChainRun

    problem = make("logistic-1e4x20")
    session, ending = sys.modules["tunamh.sampling.session"], sys.modules["tunamh.sampling.completion"]
    seconds = dict[str, float]()

    def timed(owner: Any, name: str, label: str) -> None:
        function = getattr(owner, name)

        def call(*arguments: Any, **settings: Any) -> Any:
            started = time.perf_counter()
            try:
                return function(*arguments, **settings)
            finally:
                seconds[label] = seconds.get(label, 0.0) + time.perf_counter() - started

        setattr(owner, name, call)

    timed(session, "run_all", "chains")
    timed(ending, "to_datatree", "DataTree")
    timed(ending, "judge", "R-hat and ESS")
    timed(ChainRun, "open", "opening, in threads")
    timed(ChainRun, "_warm_up", "warm-up, in threads")
    timed(ChainRun, "_keep", "sampling, in threads")
    for k in range(3):
        tunamh.sample(tunamh.LogisticRegression(problem.X, problem.y), rng=k, progressbar=False)
    seconds.clear()
    started = time.perf_counter()
    for k in range(calls):
        tunamh.sample(tunamh.LogisticRegression(problem.X, problem.y), rng=k, progressbar=False)
    whole = time.perf_counter() - started
    ending = seconds["DataTree"] + seconds["R-hat and ESS"]
    parts = {"whole call": whole, "set-up": whole - seconds["chains"] - ending, "ending": ending, **seconds}
    return {name: 1000 * spent / calls for name, spent in parts.items()}


def measure(method: str, folder: Path) -> dict:
    python = Path(sys.executable) if METHODS[method] is fit_tunamh else PEERS_PYTHON
    if not python.exists():
        return {"status": "not installed: benchmarks/.peers-venv is missing, make bench makes it"}
    command = [str(python), str(Path(__file__).resolve()), "--worker", method, str(folder)]
    return run_apart(command, cores=os.cpu_count() or 1, timeout=TIMEOUT)


def compare(size: str) -> dict[str, dict]:
    """All methods on one size: medians over the rounds, or how a method failed."""
    folder = CACHE / "point-fits"
    rounds: dict[str, list[dict]] = {method: [] for method in METHODS}
    try:
        save(make(f"logistic-{size}"), folder)
        for k in range(ROUNDS):
            for method in list(METHODS)[:: -1 if k % 2 else 1]:
                print(f"{size}, round {k + 1}: {method} ...", flush=True)
                rounds[method].append(measure(method, folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {method: _summary(results) for method, results in rounds.items()}


def _summary(results: list[dict]) -> dict:
    failed = [result for result in results if "seconds" not in result]
    if failed:
        return failed[0]
    seconds = [result["seconds"] for result in results]
    return {"seconds": median(seconds), "all": seconds, "away": results[0]["away"], "versions": results[0]["versions"]}


def report_sizes(sizes: dict[str, dict[str, dict]]) -> None:
    rows = []
    for size, results in sizes.items():
        fits = [r["seconds"] for method, r in results.items() if "seconds" in r and METHODS[method] is not fit_tunamh]
        fastest = min(fits, default=float("nan"))
        for method, result in results.items():
            if "seconds" in result:
                cells = [number(result["seconds"]), number(result["seconds"] / fastest), number(result["away"], 2)]
            else:
                cells = [result["status"], "", ""]
            rows.append([size, method, *cells])
    columns = ["N x d", "method", "seconds", "of the fastest fit", "away"]
    print_table("The whole posterior beside point fits", columns, rows, text=2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="1e4 x 20 only; the file goes to benchmarks/.cache")
    parser.add_argument("--out", type=Path, help="folder for point_fits.json")
    parser.add_argument("--worker", nargs=3, metavar=("METHOD", "FOLDER", "RESULT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        method, folder, result = options.worker
        Path(result).write_text(json.dumps(work(method, Path(folder))))
        return
    path = (options.out or (CACHE if options.quick else RESULTS)) / "point_fits.json"
    report: dict[str, Any] = {"machine": machine(), "fixed_cost_ms": fixed_cost(), "sizes": {}}
    print_table(
        "One call of sample at 1e4 x 20",
        ["part", "milliseconds"],
        [[name, number(spent)] for name, spent in report["fixed_cost_ms"].items()],
    )
    for size in QUICK if options.quick else SIZES:
        report["sizes"][size] = compare(size)
        write_json(path, report)
    report_sizes(report["sizes"])


if __name__ == "__main__":
    main()
