"""Every family against quadrature in two or three dimensions, its likelihood written down once more by `scipy.stats`.

`TUNAMH_MODELS=10 pytest tests/statistical/test_models.py` takes ten data sets and seeds where CI takes one.
"""

import os
import sys
import warnings

import arviz_stats
import numpy as np
import pytest
from regressions import MODELS, Ready
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize

from tunamh import MH, sample

SEEDS = int(os.environ.get("TUNAMH_MODELS", "1"))
LIMIT = 4.0 if SEEDS == 1 else 4.7  # of one score among some 500, or among 5000 and more
REACH = 9.0  # standard deviations
POINTS = {1: 241, 2: 73, 3: 37}


class Marginals:
    """Means, variances and quantiles of every coordinate under a log density of a few."""

    def __init__(self, log_density, start):
        self.dim = len(start)
        centre, root = self._where(log_density, start)
        self.mean, self.variance, self.low, self.high = np.empty((4, self.dim))
        for j in range(self.dim):
            reach = REACH
            while not self._marginal(log_density, centre, root @ root.T, j, reach):
                reach *= 1.5
                assert reach < 100, "the tails do not end"

    @staticmethod
    def _where(log_density, start):
        """Mode and widths, in which the grid is laid: any would do that are about right."""

        def energy(point):
            value = float(log_density(point[None])[0])
            return -value if np.isfinite(value) else 1e300

        found = minimize(energy, start, method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-9, "maxiter": 5000})
        centre, d = found.x, len(start)
        step = np.full(d, 1e-3)
        for _ in range(3):
            hessian = np.empty((d, d))
            for a in range(d):
                for b in range(d):
                    corners = [
                        energy(centre + s * step * np.eye(d)[a] + t * step * np.eye(d)[b]) * s * t
                        for s in (-1, 1)
                        for t in (-1, 1)
                    ]
                    hessian[a, b] = sum(corners) / (4 * step[a] * step[b])
            covariance = np.linalg.inv(hessian)
            step = 0.3 * np.sqrt(np.diag(covariance))
        return centre, np.linalg.cholesky(covariance)

    def _marginal(self, log_density, centre, covariance, j, reach):
        """The grid's first axis is coordinate ``j`` alone, so that sums over the others are its marginal density.

        False where the grid is too small.
        """
        order = [j, *(k for k in range(self.dim) if k != j)]
        root = np.linalg.cholesky(covariance[np.ix_(order, order)])
        n = int(POINTS[self.dim] * reach / REACH)
        axis = np.linspace(-reach, reach, n)
        z = np.stack(np.meshgrid(*[axis] * self.dim, indexing="ij"), axis=-1).reshape(-1, self.dim)
        points = np.empty_like(z)
        points[:, order] = centre[order] + z @ root.T
        value = np.concatenate([log_density(part) for part in np.array_split(points, max(1, len(points) // 5000))])
        weight = np.exp(value - value.max()).reshape(n, -1)
        if max(self._edges(weight.reshape((n,) * self.dim))) > 1e-5 * weight.sum():
            return False
        x, marginal = centre[j] + root[0, 0] * axis, weight.sum(axis=1)
        self.mean[j] = marginal @ x / marginal.sum()
        self.variance[j] = marginal @ (x - self.mean[j]) ** 2 / marginal.sum()
        fine = np.linspace(x[0], x[-1], 20_001)
        curve = CubicSpline(x, np.log(np.maximum(marginal, 1e-30 * marginal.max())))  # smoother than the density
        total = np.cumsum(np.exp(curve(fine) - curve(fine).max()))
        self.low[j], self.high[j] = np.interp([0.1, 0.9], total / total[-1], fine)
        return True

    @staticmethod
    def _edges(weight):
        return [float(np.take(weight, [0, -1], axis=axis).sum()) for axis in range(weight.ndim)]

    def scores(self, draws):
        """(estimate - truth) / error of means, variances and of both tails, (4, dim)."""
        functions = [
            (draws, self.mean),
            ((draws - self.mean) ** 2, self.variance),
            ((draws < self.low).astype(float), np.full(self.dim, 0.1)),
            ((draws > self.high).astype(float), np.full(self.dim, 0.1)),
        ]
        scores = np.empty((len(functions), self.dim))
        for row, (values, truth) in zip(scores, functions, strict=True):
            for j in range(self.dim):
                error = values[..., j].std() / np.sqrt(float(arviz_stats.ess(values[..., j])))
                row[j] = (values[..., j].mean() - truth[j]) / error
        return scores


def drawn(ready, seed, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of scales that are far from the residuals
        return ready.draws(sample(ready.target, draws=4000, rng=seed, progressbar=False, **settings))


def told(name, seed, scores):
    if SEEDS > 1:
        print(f"{name}, seed {seed}: {np.abs(scores).max():.2f}", file=sys.__stderr__, flush=True)


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("name", MODELS)
def test_draws_agree_with_quadrature(name, seed):
    ready = Ready(MODELS[name], seed)
    truth = Marginals(ready.log_density, ready.start)
    scores = truth.scores(drawn(ready, seed + 1))
    told(name, seed, scores)
    assert np.abs(scores).max() < LIMIT, scores


ALL_ROWS = [
    "Student-t",
    "Student-t, df",
    "Tobit, both, own prior",
    "Weibull, right",
    "negative binomial",
    "gamma",
    "zero-inflated",
    "zero-inflated negative binomial",
    "beta",
    "ordinal",
    "categorical",
    "Tweedie",
    "Poisson",
]


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("name", ALL_ROWS)
def test_draws_of_plain_metropolis_hastings_agree_with_quadrature(name, seed):
    """Rows, closed forms and priors, without control variates and minibatches: a random walk on all rows."""
    ready = Ready(MODELS[name], seed)
    truth = Marginals(ready.log_density, ready.start)
    scores = truth.scores(drawn(ready, seed + 1, test=MH(), thin=10))
    told(f"{name}, MH", seed, scores)
    assert np.abs(scores).max() < LIMIT, scores


WITHOUT_JACOBIAN = [
    *("Gaussian", "Student-t", "Student-t, df, known scale", "Weibull, right", "negative binomial", "gamma", "beta"),
    "zero-inflated negative binomial, columns",
]


@pytest.mark.parametrize("name", WITHOUT_JACOBIAN)
def test_a_jacobian_left_out_shows(name):
    """Negative control: quadrature of another density, different by one power of the extra parameter."""
    ready = Ready(MODELS[name], 0)
    wrong = Marginals(lambda points: ready.log_density(points, jacobian=False), ready.start)
    assert np.abs(wrong.scores(drawn(ready, 1))).max() > 8


def test_a_normaliser_left_out_shows():
    """Negative control: the censored rows of a Weibull regression counted as if they had been observed."""
    ready = Ready(MODELS["Weibull, right"], 0)
    censored, ready.codes = ready.codes, np.zeros(len(ready.y))
    wrong = Marginals(ready.log_density, ready.start)
    ready.codes = censored
    assert np.abs(wrong.scores(drawn(ready, 1))).max() > 20
