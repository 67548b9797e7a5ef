"""Comparison of models: what loo, compare and evidence cost beside the fit, and whether their stated errors are right.

    python benchmarks/evidence.py [--out benchmarks/results] [--parts cost coverage importance choice]

*cost*: seconds of the process (all cores together) at 10^6 rows x 20 columns, after everything is compiled.
*coverage*: the evidence of four models by 200 seeds each, beside quadrature: the standard deviation of the errors over
the stated ones, and how many lie within two of these.
*importance*: ten models, the evidence beside importance sampling on all rows; z over both errors.
*choice*: how often `compare` puts the true model first (Poisson or negative binomial, 40 data sets each).
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

import tunamh
from common import RESULTS, machine, number, print_table, write_json
from tunamh import priors

PRIOR = tunamh.Normal(scale=2.5)
ROWS, COLUMNS, SEEDS, DATA_SETS = 1_000_000, 20, 200, 40


def process_seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    started = time.process_time()
    found = call()
    return time.process_time() - started, found


# ------------------------------------------------------------------------------------------------------------- cost


def table_of(n: int, d: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(d)])
    eta = -0.5 + X @ np.linspace(0.3, -0.3, d)
    table["label"] = (rng.random(n) < special.expit(eta)).astype(float)
    table["count"] = rng.negative_binomial(3.0, 3.0 / (3.0 + np.exp(eta))).astype(float)
    return table


def costs(n: int = ROWS, d: int = COLUMNS) -> list[dict[str, Any]]:
    found = []
    for name, response, family in (
        ("logistic", "label", tunamh.Logistic()),
        ("negative binomial", "count", tunamh.NegativeBinomial()),
    ):
        columns = [f"x{j}" for j in range(d)]
        for size in (20_000, n):  # the first compiles
            table = table_of(size, d, 1)
            target = tunamh.regression(f"{response} ~ {' + '.join(columns)}", table, family=family)
            small = tunamh.regression(f"{response} ~ {' + '.join(columns[:-1])}", table, family=family)
            fit, posterior = process_seconds(lambda t=target: tunamh.sample(t, rng=1, progressbar=False))
            other = tunamh.sample(small, rng=1, progressbar=False)
            loo, score = process_seconds(lambda p=posterior, t=table: tunamh.loo(p, t, rng=1))
            both = {"all": posterior, "one less": other}
            compare, compared = process_seconds(lambda b=both, t=table: tunamh.compare(b, t, rng=1))
            evidence, marginal = process_seconds(lambda t=target, p=posterior: tunamh.evidence(t, p, rng=1))
        found.append(
            {
                "model": name,
                "rows": n,
                "columns": d,
                "fit": fit,
                "loo": loo,
                "compare": compare,
                "evidence": evidence,
                "loo_subsampling_se": score.subsampling_se,
                "plain_mean_se": float(n * np.std(score.pointwise) / np.sqrt(score.rows)),
                "difference_subsampling_se": float(compared["subsampling_se_diff"].iloc[1]),
                "evidence_se": marginal.se,
                "evidence_rows": marginal.rows,
            }
        )
    return found


# --------------------------------------------------------------------------------------------------- stated errors


def by_quadrature(target: Any, points: int = 61, width: float = 8.0) -> float:
    """The trapezoid rule about the mode in the coordinates that are walked, with one constant."""
    mode = target.modes[0]
    factor, grid = mode.posterior.metric().factor, np.linspace(-width, width, points)
    z = np.stack(np.meshgrid(*[grid] * target.dim, indexing="ij"), axis=-1).reshape(-1, target.dim)
    at = mode.point + z @ factor.T
    values = -np.concatenate([target.energies_at(at[k : k + 2000]) for k in range(0, len(at), 2000)])
    constant = target.log_joint(mode.point) + target.energies_at(mode.point[None])[0]
    volume = target.dim * np.log(grid[1] - grid[0]) + np.linalg.slogdet(factor)[1]
    return float(special.logsumexp(values) + constant + volume)


def small_models() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(500), rng.standard_normal(500)])
    eta = X @ [-0.5, 0.8]
    labels, counts = rng.binomial(1, special.expit(eta)), rng.poisson(np.exp(eta))
    reals = eta + 0.7 * rng.standard_normal(500)
    return {
        "logistic": tunamh.GLM(X, labels, tunamh.Logistic(), prior=PRIOR),
        "Poisson": tunamh.GLM(X, counts, tunamh.Poisson(), prior=PRIOR),
        "Gaussian, unknown scale": tunamh.GLM(X, reals, tunamh.Gaussian(), prior=PRIOR),
        "rare labels (4 of 100)": tunamh.GLM(X[:100], (np.arange(100) % 25 == 0) * 1.0, tunamh.Logistic(), prior=PRIOR),
    }


def coverage(seeds: int = SEEDS) -> list[dict[str, Any]]:
    found = []
    for name, target in small_models().items():
        truth = by_quadrature(target, 101 if target.dim == 2 else 61)
        each = [tunamh.evidence(target, rng=seed, proposals=1000) for seed in range(seeds)]
        z = np.array([(one.log_evidence - truth) / one.se for one in each])
        found.append(
            {
                "model": name,
                "truth": truth,
                "se": float(np.mean([one.se for one in each])),
                "acceptance": each[0].acceptance[0],
                "mean_z": float(z.mean()),
                "sd_z": float(z.std()),
                "within_two": float((np.abs(z) < 2).mean()),
            }
        )
    return found


def ten_models() -> dict[str, Any]:
    rng = np.random.default_rng(3)
    X = np.column_stack([np.ones(2000), rng.standard_normal((2000, 5))])
    eta = X @ [0.2, 0.5, -0.4, 0.3, 0.0, 0.1]
    labels, reals = rng.binomial(1, special.expit(eta)) * 1.0, eta + 0.8 * rng.standard_normal(2000)
    counts, positive = rng.negative_binomial(2, 2 / (2 + np.exp(eta))) * 1.0, rng.gamma(2, np.exp(eta) / 2)
    classes = np.searchsorted([-0.5, 1.0], eta + rng.logistic(size=2000)) + 1.0
    cases = {
        "logistic": (labels, tunamh.Logistic(), PRIOR),
        "logistic, Student-t prior": (labels, tunamh.Logistic(), priors.StudentT(df=4.0, scale=1.0)),
        "probit": (labels, tunamh.Probit(), PRIOR),
        "Gaussian": (reals, tunamh.Gaussian(), PRIOR),
        "Student-t errors": (reals, tunamh.StudentT(), PRIOR),
        "Poisson": (counts, tunamh.Poisson(), PRIOR),
        "negative binomial": (counts, tunamh.NegativeBinomial(), PRIOR),
        "zero-inflated Poisson": (counts, tunamh.ZeroInflated(tunamh.Poisson()), PRIOR),
        "gamma": (positive, tunamh.Gamma(), PRIOR),
        "ordinal": (classes, tunamh.Ordinal(), PRIOR),
    }
    return {
        name: tunamh.GLM(X[:, 1:] if name == "ordinal" else X, y, family, prior=prior)
        for name, (y, family, prior) in cases.items()
    }


def importance(draws: int = 4000) -> list[dict[str, Any]]:
    """Student-t draws about the mode, weighted on all rows, beside the evidence."""
    found = []
    for k, (name, target) in enumerate(ten_models().items()):
        rng, mode, d = np.random.default_rng(k), target.modes[0], target.dim
        factor, df = mode.posterior.metric().factor, 10.0
        z = rng.standard_normal((draws, d)) / np.sqrt(rng.chisquare(df, (draws, 1)) / df)
        at = mode.point + z @ factor.T
        with np.errstate(all="ignore"):
            energies = np.concatenate([target.energies_at(at[j : j + 200]) for j in range(0, draws, 200)])
        square = np.einsum("ij,ij->i", z, z)
        log_q = special.gammaln((df + d) / 2) - special.gammaln(df / 2) - d / 2 * np.log(df * np.pi)
        log_q = log_q - (df + d) / 2 * np.log1p(square / df) - np.linalg.slogdet(factor)[1]
        constant = target.log_joint(mode.point) + target.energies_at(mode.point[None])[0]
        values = np.where(np.isfinite(energies), constant - energies - log_q, -np.inf)
        weights = np.exp(values - values.max())
        wanted = float(np.log(weights.mean()) + values.max())
        error = float(weights.std() / weights.mean() / np.sqrt(draws))
        ours = tunamh.evidence(target, rng=1)
        z_score = (ours.log_evidence - wanted) / np.hypot(error, ours.se)
        found.append(
            {"model": name, "evidence": ours.log_evidence, "se": ours.se, "importance": wanted, "its_se": error}
            | {"z": float(z_score), "acceptance": ours.acceptance[0]}
        )
    return found


def choice(data_sets: int = DATA_SETS) -> list[dict[str, Any]]:
    """Which of the two is first, and by how much, in units of the standard error of the difference."""
    families = {"Poisson": tunamh.Poisson(), "negative binomial": tunamh.NegativeBinomial()}
    found = []
    for true in families:
        first, clear = 0, 0
        for seed in range(data_sets):
            rng = np.random.default_rng(seed)
            x = rng.standard_normal(1500)
            rate = np.exp(0.3 + 0.4 * x) * (1.0 if true == "Poisson" else rng.gamma(8.0, 1 / 8.0, 1500))
            table = pd.DataFrame({"x": x, "y": rng.poisson(rate).astype(float)})
            results = {
                name: tunamh.sample(
                    tunamh.regression("y ~ x", table, family=family), draws=250, rng=seed, progressbar=False
                )
                for name, family in families.items()
            }
            compared = tunamh.compare(results, table, rows=300, rng=seed)
            first += compared.index[0] == true
            clear += compared.index[0] != true and compared["elpd_diff"].iloc[1] > max(
                4, 2 * compared["se_diff"].iloc[1]
            )
        found.append({"true": true, "first": first / data_sets, "wrong_and_clear": clear / data_sets})
    return found


PARTS: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "cost": costs,
    "coverage": coverage,
    "importance": importance,
    "choice": choice,
}


def run(parts: dict[str, Callable[[], list[dict[str, Any]]]], name: str, doc: str | None) -> None:
    """The parts that a user asks for, all by default: a table each, and a file that begins with ``name``."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--parts", nargs="+", choices=list(parts), default=list(parts))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for part in options.parts:
        rows = parts[part]()
        write_json(options.out / f"{name}_{part}.json", {"machine": machine(), "rows": rows})
        print_table(
            part,
            list(rows[0]),
            [[one if isinstance(one, str) else number(one) for one in row.values()] for row in rows],
        )


if __name__ == "__main__":
    run(PARTS, "evidence", __doc__)
