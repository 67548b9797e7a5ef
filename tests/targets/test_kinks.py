"""Priors with kinks and peaks: the expansion by differences takes them as the posterior sees them."""

from functools import cache

import numba
import numpy as np
import pytest

from conftest import quantile_scores
from tunamh import LogisticRegression, sample

RNG = np.random.default_rng(5)
X = np.column_stack([np.ones(2000), RNG.normal(size=2000)])
Y = (RNG.random(2000) < 1 / (1 + np.exp(-(0.3 + 0.1 * X[:, 1])))).astype(float)


@numba.njit
def lasso(theta):
    return -abs(theta[1]) / 0.02


@numba.njit
def cauchy(theta):
    return -np.log1p((theta[1] / 0.01) ** 2)


@numba.njit
def spike(theta):
    return -np.log1p((theta[1] / 0.001) ** 2)


@cache
def energies():
    """On a grid of both coefficients; that of the intercept, which has no narrow prior, is coarse."""
    a, b = np.linspace(0.05, 0.6, 28), np.linspace(-0.35, 0.45, 1601)
    total = np.zeros((len(a), len(b)))
    for x, y in zip(X[:, 1], Y, strict=True):
        eta = a[:, None] + b * x
        total += np.logaddexp(0, eta) - y * eta
    return b, total


@pytest.mark.parametrize("prior", [lasso, cauchy], ids=["lasso", "cauchy"])
def test_own_priors_narrower_than_the_likelihood_agree_with_quadrature(prior):
    b, total = energies()
    log_prior = np.array([prior(np.array([0.0, value])) for value in b])
    cdf = np.cumsum(np.exp(total.min() - total + log_prior - log_prior.max()).sum(axis=0))
    tree = sample(LogisticRegression(X, Y, prior=prior), draws=5000, rng=1)
    middle = b + 0.5 * (b[1] - b[0])
    below = np.interp(tree.posterior["theta"].values[:, :, 1], middle, cdf / cdf[-1])
    assert np.abs(quantile_scores(below, lambda share: share)).max() < 4.5
    assert tree.sample_stats["acceptance_rate"].mean() > 0.5


def test_a_peak_far_narrower_than_the_likelihood_is_reported():
    with pytest.warns(UserWarning, match="times narrower than the likelihood for 1"):
        sample(LogisticRegression(X, Y, prior=spike), draws=200, rng=1)
