"""The evidence of models with unknown scales (group effects, curves, Ridge): is its error right, and what does it cost?

    python benchmarks/evidence_of_scales.py [--out benchmarks/results] [--parts coverage cost]

*coverage*: three models of 60 Gaussian rows by 100 seeds each, beside a sum over a grid of the scales, given which the
rows have a density in closed form. Every seed has a run and proposals of its own.
*cost*: seconds of the process for the run and for the evidence, the stated error, and the rows that a proposal reads.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy import special, stats

import tunamh
from evidence import run
from tunamh import priors

SEEDS, N = 100, 60
HALF = tunamh.HalfNormal(1.0)


def log_of_scale(log_scale: float, width: float) -> float:
    return float(stats.halfnorm.logpdf(np.exp(log_scale), 0, width)) + log_scale


def summed(log_density: Callable[..., float], *grids: np.ndarray) -> float:
    values = [log_density(*at) for at in product(*grids)]
    return float(special.logsumexp(values)) + sum(float(np.log(grid[1] - grid[0])) for grid in grids)


def gaussian(y: np.ndarray, covariance: np.ndarray) -> float:
    return float(stats.multivariate_normal.logpdf(y, np.zeros(len(y)), covariance))


def ridge(rng: np.random.Generator) -> tuple[Any, float]:
    X = np.c_[np.ones(N), rng.standard_normal((N, 4))]
    y = X @ [1.0, 0.5, 0.0, 0.0, 0.3] + 0.8 * rng.standard_normal(N)
    prior = priors.ByName({"0": tunamh.Normal(scale=5.0)}, others=priors.Ridge())
    target = tunamh.GLM(X, y, tunamh.Gaussian(tunamh.HalfNormal(2.0)), prior=prior)
    fixed, wide = 25 * np.outer(X[:, 0], X[:, 0]), X[:, 1:] @ X[:, 1:].T

    def log_density(a: float, b: float) -> float:
        own = gaussian(y, np.exp(2 * b) * np.eye(N) + fixed + np.exp(2 * a) * wide)
        return own + np.log(2) + float(stats.t.logpdf(np.exp(a), 3, 0, 2.5)) + a + log_of_scale(b, 2.0)

    return target, summed(log_density, np.linspace(-9, 6, 180), np.linspace(np.log(0.5), np.log(1.4), 40))


def crossed(rng: np.random.Generator) -> tuple[Any, float]:
    first, second = rng.integers(3, size=N), rng.integers(2, size=N)
    y = 0.5 + (0.9 * rng.standard_normal(3))[first] + (0.4 * rng.standard_normal(2))[second]
    y = y + 0.7 * rng.standard_normal(N)
    factors = [tunamh.GroupEffects(codes, name=name, scale=HALF) for name, codes in (("a", first), ("b", second))]
    target = tunamh.MixedModel(np.ones((N, 1)), y, tunamh.Gaussian(0.7), factors, prior=tunamh.Normal(scale=2.0))
    one, other = (codes[:, None] == codes[None, :] for codes in (first, second))

    def log_density(a: float, b: float) -> float:
        own = gaussian(y, 0.49 * np.eye(N) + 4 + np.exp(2 * a) * one + np.exp(2 * b) * other)
        return own + log_of_scale(a, 1.0) + log_of_scale(b, 1.0)

    return target, summed(log_density, *[np.linspace(-9, 2, 70)] * 2)


def slopes(rng: np.random.Generator) -> tuple[Any, float]:
    codes, Z = rng.integers(6, size=N), np.c_[np.ones(N), rng.standard_normal(N)]
    y = Z @ [1.0, 0.5] + np.einsum("ij,ij->i", Z, (rng.standard_normal((6, 2)) * [0.8, 0.5])[codes])
    y = y + 0.7 * rng.standard_normal(N)
    groups = tunamh.GroupEffects(codes, Z, scale=[HALF, HALF], correlation=2.0)
    target = tunamh.MixedModel(Z, y, tunamh.Gaussian(0.7), groups, prior=tunamh.Normal(scale=2.0))
    same = codes[:, None] == codes[None, :]

    def log_density(a: float, b: float, w: float) -> float:
        r = np.tanh(w)
        S = np.array([[np.exp(2 * a), np.exp(a + b) * r], [np.exp(a + b) * r, np.exp(2 * b)]])
        own = gaussian(y, 0.49 * np.eye(N) + 4 * Z @ Z.T + same * (Z @ S @ Z.T))
        turned = 2 * np.log1p(-r * r) - np.log(4 / 3)
        return own + log_of_scale(a, 1.0) + log_of_scale(b, 1.0) + float(turned)

    return target, summed(log_density, *[np.linspace(-7, 1.6, 40)] * 2, np.linspace(-3.2, 3.2, 17))


SMALL = {"Ridge, 4 columns": ridge, "two crossed factors": crossed, "correlated slopes, 6 groups": slopes}


def coverage() -> list[dict[str, Any]]:
    found = []
    for name, model in SMALL.items():
        target, truth = model(np.random.default_rng(0))
        each = []
        for seed in range(SEEDS):
            posterior = tunamh.sample(target, draws=400, rng=1000 + seed, progressbar=False)
            each.append(tunamh.evidence(target, posterior, rng=seed, proposals=400))
        z = np.array([(one.log_evidence - truth) / one.se for one in each])
        found.append(
            {
                "model": name,
                "truth": truth,
                "se": float(np.mean([one.se for one in each])),
                "acceptance": float(np.mean([one.acceptance[0] for one in each])),
                "mean_z": float(z.mean()),
                "sd_z": float(z.std()),
                "within_two": float((np.abs(z) < 2).mean()),
            }
        )
    return found


def larger() -> list[tuple[str, str, pd.DataFrame, Any]]:
    rng = np.random.default_rng(1)
    group, day = np.repeat(np.arange(18), 10), np.tile(np.arange(10.0), 18)
    time_to_react = 251 + 10.5 * day + (25 * rng.standard_normal(18))[group]
    time_to_react += (6 * rng.standard_normal(18))[group] * day + 25 * rng.standard_normal(180)
    sleep = pd.DataFrame({"y": time_to_react, "d": day, "g": [f"s{k}" for k in group]})
    a, b, x = rng.integers(200, size=4000), rng.integers(40, size=4000), rng.standard_normal(4000)
    eta = 0.3 + 0.5 * x + (0.7 * rng.standard_normal(200))[a] + (0.5 * rng.standard_normal(40))[b]
    labels = pd.DataFrame({"x": x, "a": [f"a{k}" for k in a], "b": [f"b{k}" for k in b]})
    labels["y"] = (rng.random(4000) < special.expit(eta)).astype(float)
    n = 300_000
    tall = pd.DataFrame({"x": rng.uniform(-2, 2, n), "w": rng.uniform(-2, 2, n), "z": rng.standard_normal(n)})
    tall["y"] = (rng.random(n) < special.expit(-1 + np.sin(2 * tall["x"]) + 0.3 * tall["z"])).astype(float)
    real, binary = tunamh.Gaussian(), tunamh.Logistic()
    return [
        ("180 rows, 18 groups", "y ~ d + (1 | g)", sleep, real),
        ("180 rows, 18 groups", "y ~ d + (d | g)", sleep, real),
        ("180 rows, 18 groups", "y ~ s(d) + (1 | g)", sleep, real),
        ("4,000 labels, 200 x 40 groups", "y ~ x + (1 | a) + (1 | b)", labels, binary),
        ("4,000 labels, 200 x 40 groups", "y ~ x + (x | a) + (1 | b)", labels, binary),
        ("300,000 labels", "y ~ s(x) + s(w) + z", tall, binary),
    ]


def cost() -> list[dict[str, Any]]:
    found = []
    for name, formula, table, family in larger():
        target = tunamh.regression(formula, table, family=family)
        tunamh.evidence(target, rng=2, proposals=200)  # what is compiled is loaded
        begin = time.process_time()
        posterior = tunamh.sample(target, rng=1, progressbar=False)
        middle = time.process_time()
        one = tunamh.evidence(target, posterior, rng=1, proposals=1000)
        found.append(
            {
                "data": name,
                "formula": formula,
                "fit": middle - begin,
                "evidence": time.process_time() - middle,
                "log_evidence": one.log_evidence,
                "se": one.se,
                "rows": one.rows,
                "acceptance": one.acceptance[0],
            }
        )
    return found


if __name__ == "__main__":
    run({"coverage": coverage, "cost": cost}, "evidence_of_scales", __doc__)
