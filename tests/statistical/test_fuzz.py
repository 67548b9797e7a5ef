"""Random regressions of every family, size and scale: draws that agree with a reference, or a clear error.

The reference is written here from scratch: energies by SciPy, moments by importance sampling from a Student-t law.
`TUNAMH_FUZZ=1000 pytest tests/statistical/test_fuzz.py` runs more cases than CI does.
"""

import os
import warnings

import numpy as np
import pytest
from scipy.special import log_ndtr

import tunamh
from tunamh import GLM, ConvergenceWarning, ImproperPosterior, Normal, sample

CASES = int(os.environ.get("TUNAMH_FUZZ", "48"))
PARTS = 4

FAMILIES = {
    "logistic": (tunamh.Logistic(), lambda eta, y: np.logaddexp(0, eta) - y * eta),
    "probit": (tunamh.Probit(), lambda eta, y: -log_ndtr((2 * y - 1) * eta)),
    "gaussian": (tunamh.Gaussian(1.5), lambda eta, y: 0.5 * ((y - eta) / 1.5) ** 2),
    "student": (tunamh.StudentT(4.0, 1.2), lambda eta, y: 2.5 * np.log1p((y - eta) ** 2 / (4 * 1.2**2))),
    "huber": (
        tunamh.Huber(1.345, 1.3),
        lambda eta, y: np.where(
            np.abs((y - eta) / 1.3) <= 1.345,
            0.5 * ((y - eta) / 1.3) ** 2,
            1.345 * np.abs((y - eta) / 1.3) - 0.5 * 1.345**2,
        ),
    ),
    "negative binomial": (
        tunamh.NegativeBinomial(2.0),
        lambda eta, y: (y + 2) * np.logaddexp(np.log(2.0), eta) - y * eta,
    ),
    "softplus": (
        tunamh.SoftplusPoisson(),
        lambda eta, y: np.logaddexp(0, eta) - y * np.log(np.maximum(np.logaddexp(0, eta), 1e-300)),
    ),
}


def random_columns(rng, n, d):
    """Normal columns, dummies, skewed ones; in units of 1e-3 to 1e3, some with a large common part."""
    columns = [np.ones(n)]
    for _ in range(d - 1):
        kind = rng.integers(4)
        if kind == 0:
            column = (rng.random(n) < rng.choice([0.5, 0.1, 3 / n])).astype(float)
        elif kind == 1:
            column = rng.lognormal(size=n)
        else:
            column = rng.standard_normal(n)
        if rng.random() < 0.2:
            column = column + 10.0 ** rng.integers(1, 7)
        columns.append(column * 10.0 ** rng.integers(-3, 4))
    return np.column_stack(columns)


def random_regression(seed):
    """A target, and its energy written down independently."""
    rng = np.random.default_rng([seed, 9])
    name = sorted(FAMILIES)[seed % len(FAMILIES)]
    family, f = FAMILIES[name]
    n, d = int(10 ** rng.uniform(1.3, 4.3)), int(rng.integers(1, 6))
    X = random_columns(rng, n, d)
    spread = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    eta = spread @ rng.normal(size=d) * 0.7 + rng.normal()
    if name in ("logistic", "probit"):
        y = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(float)
    elif name in ("negative binomial", "softplus"):
        y = rng.poisson(np.exp(np.clip(eta, -5, 5))).astype(float)
    else:
        y = eta + rng.choice([0.5, 1.0, 2.0]) * rng.standard_t(5, size=n)
    weights = rng.choice([0.0, 1.0, 2.0, 0.5], size=n) if rng.random() < 0.3 else None
    prior = Normal(scale=float(10 ** rng.uniform(-1, 2))) if rng.random() < 0.4 else None
    target = GLM(X, y, family, prior=prior, weights=weights)
    w, precision = np.ones(n) if weights is None else weights, 0.0 if prior is None else prior.scale**-2

    def total(theta):
        return float(w @ f(X @ theta, y)) + 0.5 * precision * float(theta @ theta)

    return name, target, total


def reference(total, guess, cov, rng):
    """Means, standard deviations and their errors by importance sampling; None where that does not work.

    The draws under test say only where to look: weights that are all alike prove that the place was right.
    """
    unit = np.sqrt(np.diag(cov))
    root = unit[:, None] * np.linalg.cholesky(cov / np.outer(unit, unit) + 1e-12 * np.eye(len(unit)))
    d, freedom = len(guess), 5
    z = rng.standard_normal((4000, d)) / np.sqrt(rng.chisquare(freedom, size=(4000, 1)) / freedom)
    points = guess + 1.1 * z @ root.T
    log_q = -0.5 * (freedom + d) * np.log1p(np.einsum("ij,ij->i", z, z) / freedom)
    log_w = -np.array([total(point) for point in points]) - log_q
    weight = np.exp(log_w - log_w.max())
    weight /= weight.sum()
    size = 1 / np.sum(weight**2)
    if size < 600 or weight.max() > 0.02:
        return None
    mean = weight @ points
    return mean, np.sqrt(weight @ (points - mean) ** 2), size


@pytest.mark.parametrize("part", range(PARTS))
def test_random_regressions(part):
    compared, refused = 0, 0
    for seed in range(part, CASES, PARTS):
        name, target, total = random_regression(seed)
        try:
            with warnings.catch_warnings(record=True) as heard:
                warnings.simplefilter("always")
                tree = sample(target, draws=1000, rng=seed, progressbar=False)
        except ImproperPosterior:
            refused += 1
            continue
        if any(issubclass(w.category, ConvergenceWarning) for w in heard):
            continue  # it says itself that the draws are not to be trusted
        theta = tree.posterior["theta"].values.reshape(-1, target.dim)
        truth = reference(total, theta.mean(axis=0), np.atleast_2d(np.cov(theta.T)), np.random.default_rng(seed))
        if truth is None:
            continue
        compared += 1
        mean, sd, size = truth
        effective = tunamh.summary(tree, round_to="none")["ess_bulk"].to_numpy()
        scores = (theta.mean(axis=0) - mean) / (sd * np.sqrt(1 / effective + 1 / size))
        assert np.abs(scores).max() < 5, (seed, name, target, scores)
        assert theta.std(axis=0) == pytest.approx(sd, rel=6 * np.sqrt(1 / effective.min() + 1 / size)), (seed, name)
    assert compared >= 0.6 * (CASES // PARTS)
    assert refused <= 0.3 * (CASES // PARTS)
