"""Laplace's approximation, and the same repaired by importance sampling (PSIS), beside exact draws.

    python benchmarks/laplace_psis.py [--only NAME] [--out benchmarks/results]

Draws from the normal law at the mode are weighted by the posterior's density over the law's, with Pareto smoothed
weights (Vehtari, Simpson, Gelman, Yao and Gabry 2024; ArviZ's). k-hat above 0.7 says that the weights are of no use.
Every draw's weight needs a pass over all rows. Problems: *balanced*, where there is nothing to repair; *rare events*
(`rare_events.py`); *pure 500*, *pure 50* and *Zipf* (`thin_levels.py`); *groups*, random intercepts with an unknown
scale (`group_problems.py`); the law is that of coefficients and log scale, effects integrated out, as in INLA: about
their mode for the law, by quadrature for the weights. (The joint density of effects and scale has no useful mode.)

Errors are those of the parameter that Laplace's law has most wrong: the largest difference of the 2.5, 50 and 97.5 %
quantiles from exact ones, in posterior standard deviations. Exact are 200,000 draws of tunamh;
its own error is that of 4000 draws, root mean square over five seeds, its effective draws the median.
Seconds are the processor's, for 4000 draws, after the search for the mode, which all need.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import group_problems
import rare_events
import thin_levels
import tunamh
from common import DOCS, RESULTS, machine, number, print_table, write_json

DRAWS, CHAINS, EXACT, RUNS = 4000, 4, 200_000, 5
LEVELS = (0.025, 0.5, 0.975)
_BLOCK, _TOGETHER, _PRODUCT = 8192, 64, 16


class Posterior(NamedTuple):
    """A posterior by its target, its normal approximation in some coordinates, and the density in these."""

    target: Any
    names: list[str]
    n_rows: int
    mean: np.ndarray
    covariance: np.ndarray
    log_density: Callable[[np.ndarray], np.ndarray]  # of the rows of a matrix of draws
    natural: Callable[[np.ndarray], np.ndarray]  # from those coordinates to the parameters that are compared
    compared: Callable[[Any], np.ndarray]  # from tunamh's result to the same parameters


# ------------------------------------------------------------------------------------------------------- log densities


def softplus_sums(predictors: Callable[[slice, np.ndarray], np.ndarray], draws: np.ndarray, n_rows: int) -> np.ndarray:
    """``sum_i log(1 + exp(eta_i))`` of every draw: products of sixteen, then one logarithm (``eta`` far below 40)."""
    sums = np.zeros(len(draws))
    for first in range(0, len(draws), _TOGETHER):
        some = slice(first, first + _TOGETHER)
        for start in range(0, n_rows, _BLOCK):
            odds = np.exp(predictors(slice(start, min(start + _BLOCK, n_rows)), draws[some])) + 1
            whole = len(odds) - len(odds) % _PRODUCT
            products = odds[:whole].reshape(-1, _PRODUCT, odds.shape[1]).prod(axis=1)
            sums[some] += np.log(products).sum(axis=0) + np.log(odds[whole:]).sum(axis=0)
    return sums


def regression(
    target: Any, X: np.ndarray, y: np.ndarray, prior_sd: float, codes: np.ndarray | None = None
) -> Posterior:
    """Logistic regression; ``codes`` is a column of categories, of which the first level has no coefficient."""
    law = tunamh.laplace(target, check=False)
    d, totals = X.shape[1], X.T @ y
    if codes is not None:
        totals = np.r_[totals, np.bincount(codes, y)[1:]]

    def predictors(rows: slice, draws: np.ndarray) -> np.ndarray:
        eta = X[rows] @ draws[:, :d].T
        return eta if codes is None else eta + np.insert(draws[:, d:], 0, 0.0, axis=1).T[codes[rows]]

    def log_density(draws: np.ndarray) -> np.ndarray:
        likelihood = draws @ totals - softplus_sums(predictors, draws, len(y))
        return likelihood - 0.5 * np.sum((draws / prior_sd) ** 2, axis=1)

    def compared(tree: Any) -> np.ndarray:
        return tree.posterior["theta"].values.reshape(-1, target.dim)

    return Posterior(target, target.names, len(y), law.mode, law.covariance, log_density, np.asarray, compared)


def grouped(problem: group_problems.GroupProblem) -> Posterior:
    """Coefficients and the log scale ``l``, every group's effect integrated out by the trapezoidal rule."""
    order = np.argsort(problem.codes[:, 0], kind="stable")
    X, y, codes = problem.X[order], problem.y[order], problem.codes[order, 0]
    d, first = X.shape[1], np.flatnonzero(np.r_[True, np.diff(codes) > 0])
    target = group_problems.target(problem)
    law = tunamh.laplace(target, check=False).law
    peak, precision = likelihood_by_group(X @ law.mean[:d], y, codes)
    nodes = np.linspace(-8, 8, 49)  # in units of an effect's standard deviation: a step of a third

    def log_density(draws: np.ndarray) -> np.ndarray:
        return np.array([log_marginal(u[:d], u[d]) for u in draws])

    def log_marginal(theta: np.ndarray, log_scale: float) -> float:
        s, fixed = np.exp(log_scale), X @ theta
        sharp = precision + s**-2
        effect = precision * peak / sharp + nodes[:, None] / np.sqrt(sharp)
        eta = fixed + effect[:, codes]
        rows = np.add.reduceat(y * eta - np.log1p(np.exp(eta)), first, axis=1)
        inside = rows - 0.5 * (effect / s) ** 2 - log_scale - 0.5 * np.log(sharp)
        top = inside.max(axis=0)
        integrals = top + np.log(np.exp(inside - top).sum(axis=0))
        prior = -0.5 * np.sum((theta / group_problems.PRIOR) ** 2) - 0.5 * s**2 + log_scale
        return float(integrals.sum() + prior)

    names = [*(f"theta[{j}]" for j in range(d)), "log scale"]
    covariance = law.factor @ law.factor.T
    return Posterior(
        target,
        names,
        len(y) * len(nodes),
        law.mean,
        covariance,
        log_density,
        np.asarray,
        lambda tree: group_problems.columns_of(tree)[:, : d + 1],
    )


def likelihood_by_group(fixed: np.ndarray, y: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the likelihood of each group's effect peaks, and its curvature there: Newton's steps."""
    peak = np.zeros(codes.max() + 1)
    for _ in range(20):
        share = 1 / (1 + np.exp(-fixed - peak[codes]))
        precision = np.bincount(codes, share * (1 - share))
        peak += np.bincount(codes, y - share) / precision
    return peak, precision


# ------------------------------------------------------------------------------------------------------------ problems


def balanced() -> Posterior:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((100_000, 20))
    y = (rng.random(100_000) < 1 / (1 + np.exp(-X @ rng.standard_normal(20) / 5))).astype(float)
    return regression(tunamh.LogisticRegression(X, y), X, y, np.inf)


def rare() -> Posterior:
    X, y = rare_events.simulate()
    return regression(tunamh.LogisticRegression(X, y), X, y, np.inf)


def pure(rows: int) -> Posterior:
    X, y = thin_levels.pure_rows(rows)
    return regression(tunamh.LogisticRegression(X, y, prior=thin_levels.PRIOR), X, y, 2.5)


def zipf() -> Posterior:
    table, codes, y = thin_levels.zipf_rows()
    target = tunamh.LogisticRegression(table, y, prior=thin_levels.PRIOR)
    return regression(target, table.drop(columns="level").to_numpy(float), y, 2.5, codes)


PROBLEMS: dict[str, Callable[[], Posterior]] = {
    "balanced, 100,000 x 20": balanced,
    "rare: 100 events in 1,000,000 x 10": rare,
    "pure level of 50 rows, 300,000 x 10": lambda: pure(50),
    "pure level of 500 rows, 300,000 x 10": lambda: pure(500),
    "Zipf levels, 1,000,000 x 55": zipf,
    "100 groups, 10,000 x 5": lambda: grouped(group_problems.simulate("logistic", 10_000, 100, 5)),
    "10 groups, 20,000 x 5": lambda: grouped(group_problems.simulate("logistic", 20_000, 10, 5)),
    "5 weak groups, 20,000 x 5": lambda: grouped(group_problems.simulate("logistic", 20_000, 5, 5, 0.05)),
}


# ----------------------------------------------------------------------------------------------------------- measuring


def weighted_quantiles(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    order = np.argsort(values, axis=0)
    ordered = np.take_along_axis(values, order, axis=0)
    above = np.cumsum(weights[order], axis=0)
    places = [np.argmax(above >= level * above[-1], axis=0) for level in LEVELS]
    return np.array([np.take_along_axis(ordered, place[None], axis=0)[0] for place in places])


def importance(problem: Posterior) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Draws of Laplace's law in natural units, their smoothed weights, and what these cost and say."""
    from arviz_stats.base import array_stats

    began = time.process_time()
    factor = np.linalg.cholesky(problem.covariance)
    noise = np.random.default_rng(0).standard_normal((DRAWS, len(problem.mean)))
    draws = problem.mean + noise @ factor.T
    ratios = problem.log_density(draws) + 0.5 * np.sum(noise**2, axis=1)
    log_weights, k_hat = array_stats.psislw(ratios.max() - ratios)  # ArviZ wants minus the logarithms
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    told = {
        "k_hat": float(k_hat),
        "effective": float(1 / np.sum(weights**2)),
        "rows": DRAWS * problem.n_rows,
        "seconds": time.process_time() - began,
    }
    return problem.natural(draws), weights, told


def exact(problem: Posterior) -> tuple[np.ndarray, list[np.ndarray], dict[str, Any]]:
    """The truth from a long run; runs of 4000 draws by chain, and what one costs, the mode known and code compiled."""
    settings: dict[str, Any] = {"chains": CHAINS, "progressbar": False}
    truth = problem.compared(tunamh.sample(problem.target, draws=EXACT // CHAINS, rng=1, **settings))
    began, rows, runs = time.process_time(), 0.0, []
    for seed in range(2, 2 + RUNS):
        tree = tunamh.sample(problem.target, draws=DRAWS // CHAINS, rng=seed, **settings)
        rows += float(tree.sample_stats["batch_size"].sum())
        runs.append(problem.compared(tree))
    return truth, runs, {"rows": rows / RUNS, "seconds": (time.process_time() - began) / RUNS}


def effective(run: np.ndarray) -> float:
    """Of one parameter's draws, chain after chain: in the middle or in the tails, whichever are fewer."""
    from arviz_stats import ess

    chains = run.reshape(CHAINS, -1)
    return min(float(ess(chains)), float(ess(chains, method="tail", prob=(0.05, 0.95))))


def solve(make: Callable[[], Posterior]) -> dict[str, Any]:
    problem = make()
    laplace, weights, repaired = importance(problem)
    truth, runs, ours = exact(problem)
    sd, right = truth.std(axis=0), np.quantile(truth, LEVELS, axis=0)

    def off(quantiles: np.ndarray) -> np.ndarray:
        return np.abs((quantiles - right) / sd).max(axis=0)

    laws = {
        "exact": right,
        "laplace": np.quantile(laplace, LEVELS, axis=0),
        "psis": weighted_quantiles(laplace, weights),
    }
    errors = {name: off(laws[name]) for name in ("laplace", "psis")}
    errors["tunamh"] = np.sqrt(np.mean([off(np.quantile(run, LEVELS, axis=0)) ** 2 for run in runs], axis=0))
    worst = int(np.argmax(errors["laplace"]))
    return {
        "parameter": problem.names[worst],
        "errors": {name: float(error[worst]) for name, error in errors.items()},
        "quantiles": {name: law[:, worst].tolist() for name, law in laws.items()},
        "psis": repaired,
        "tunamh": ours | {"effective": float(np.median([effective(run[:, worst]) for run in runs]))},
        "rows": problem.n_rows,
    }


COLUMNS = [
    "data; parameter",
    "Laplace: error",
    "importance sampling: k-hat",
    "importance sampling: effective draws",
    "importance sampling: error",
    "importance sampling: rows evaluated",
    "importance sampling: seconds",
    "tunamh: effective draws",
    "tunamh: error",
    "tunamh: rows evaluated",
    "tunamh: seconds",
]


def _called(parameter: str) -> str:
    return f"coefficient {parameter}" if parameter.isdigit() else parameter


def cells(name: str, found: dict[str, Any]) -> list[str]:
    psis, ours, errors = found["psis"], found["tunamh"], found["errors"]
    return [
        f"{name}; {_called(found['parameter'])}",
        f"{errors['laplace']:.2f}",
        f"{psis['k_hat']:.2f}",
        *(number(psis["effective"]), f"{errors['psis']:.2f}", number(psis["rows"]), number(psis["seconds"], 2)),
        *(number(ours["effective"]), f"{errors['tunamh']:.2f}", number(ours["rows"]), number(ours["seconds"], 2)),
    ]


def picture(figures: dict[str, Any]) -> None:
    """How far quantiles are off: Laplace, repaired, exact."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 3.6))
    laws = {"laplace": ("#cc3311", "Laplace"), "psis": ("#ccbb44", "Laplace + PSIS"), "tunamh": ("#4477aa", "tunamh")}
    for shift, (law, (colour, label)) in zip((0.25, 0, -0.25), laws.items(), strict=True):
        places = np.arange(len(figures))[::-1] + shift
        axes.barh(places, [found["errors"][law] for found in figures.values()], 0.24, color=colour, label=label)
    labels = [f"{name}  (k-hat {found['psis']['k_hat']:.1f})" for name, found in figures.items()]
    axes.set_yticks(np.arange(len(figures))[::-1], labels, fontsize=8)
    axes.set_xlabel("quantiles off, posterior standard deviations", fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, loc="upper right")
    figure.tight_layout()
    figure.savefig(DOCS / "laplace-psis.png", dpi=160)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    figures = {}
    for name, make in PROBLEMS.items():
        if given.only is None or given.only in name:
            print(f"{name} ...", flush=True)
            figures[name] = solve(make)
    print_table("Laplace, PSIS and exact draws", COLUMNS, [cells(name, found) for name, found in figures.items()])
    if given.only is None:
        report = {"machine": machine(), "draws": DRAWS, "figures": figures}
        write_json(given.out / "laplace_psis.json", report)
        picture(figures)


if __name__ == "__main__":
    main()
