"""Known scales of groups beside an unknown scale of the errors: effects are N(0, s^2) in the units of the responses."""

import numpy as np
import pytest
from quadrature import moments_of_known_scales
from scipy import stats
from test_mixed_model import score

import tunamh
from tunamh import GroupEffects, MixedModel, Normal

PRIOR = tunamh.priors.LogNormal(0.0, 0.5)


def held(posterior, name, wanted):
    """Coefficients, the logarithm of the family's own parameter, and effects: means and mean squares."""
    own = np.log(posterior[name].values)[..., None]
    draws = np.concatenate([posterior["theta"].values, own, posterior["group_effect"].values], axis=-1)
    assert draws.shape[-1] == len(wanted[0])
    for j in range(draws.shape[-1]):
        assert abs(score(draws[..., j], wanted[0][j])) < 4, j
        assert abs(score(draws[..., j] ** 2, wanted[1][j])) < 4, j


def gaussian_moments(X, y, Z, scales, sizes):
    """``(beta, v)`` are jointly normal given the errors' scale, which has a grid."""
    D, sd = np.column_stack([X, Z]), np.concatenate([np.full(X.shape[1], 3.0), scales])
    p, logs, first, second = X.shape[1], [], [], []
    for size in sizes:
        P = D.T @ D / size**2 + np.diag(sd**-2.0)
        mean, S = np.linalg.solve(P, D.T @ y / size**2), np.linalg.inv(P)
        covariance = size**2 * np.eye(len(y)) + (D * sd**2) @ D.T
        logs.append(stats.multivariate_normal(np.zeros(len(y)), covariance).logpdf(y) - 0.5 * (np.log(size) / 0.5) ** 2)
        first.append(np.insert(mean, p, np.log(size)))
        second.append(np.insert(mean**2 + np.diag(S), p, np.log(size) ** 2))
    weight = np.exp(np.array(logs) - max(logs))
    return weight @ np.array(first) / weight.sum(), weight @ np.array(second) / weight.sum()


def real_data(seed=3):
    rng = np.random.default_rng(seed)
    g, h = np.arange(40) % 8, np.arange(40) // 8
    X = np.column_stack([np.ones(40), rng.standard_normal(40)])
    y = X @ [0.5, -0.5] + 2.0 * rng.standard_normal(8)[g] + 0.7 * rng.standard_normal(40)
    return X, y, g, h


@pytest.mark.parametrize("size", [0.3, 10.0])
def test_gaussian_errors(size):
    X, y, g, _ = real_data()
    wanted = gaussian_moments(X, y, g[:, None] == np.arange(8), np.full(8, size), np.exp(np.linspace(-2, 2, 801)))
    model = MixedModel(X, y, tunamh.Gaussian(PRIOR), GroupEffects(g, scale=size), prior=Normal(scale=3.0))
    tree = tunamh.sample(model, draws=4000, tune=300, chains=4, rng=1)
    held(tree.posterior, "scale", wanted)
    assert float(tree.sample_stats["acceptance_rate"].mean()) > 0.7


def test_two_factors():
    X, y, g, h = real_data()
    Z = np.column_stack([g[:, None] == np.arange(8), h[:, None] == np.arange(5)])
    wanted = gaussian_moments(X, y, Z, np.repeat([2.0, 0.4], [8, 5]), np.exp(np.linspace(-2, 2, 801)))
    groups = [GroupEffects(g, name="g", scale=2.0), GroupEffects(h, name="h", scale=0.4)]
    model = MixedModel(X, y, tunamh.Gaussian(PRIOR), groups, prior=Normal(scale=3.0))
    held(tunamh.sample(model, draws=20_000, tune=500, chains=4, rng=1).posterior, "scale", wanted)


def test_slopes():
    X, y, g, _ = real_data()
    Z = np.concatenate([(g == k)[:, None] * X for k in range(8)], axis=1)
    wanted = gaussian_moments(X, y, Z, np.tile([2.0, 0.4], 8), np.exp(np.linspace(-2, 2, 801)))
    model = MixedModel(X, y, tunamh.Gaussian(PRIOR), GroupEffects(g, X=X, scale=[2.0, 0.4]), prior=Normal(scale=3.0))
    held(tunamh.sample(model, draws=8000, tune=300, chains=4, rng=1).posterior, "scale", wanted)


def student(x, y, eta, size):
    r = (y - eta) / size
    return -2.5 * np.log1p(r * r / 4) - np.log(size)


def log_normal(x, y, eta, size):
    return -0.5 * ((np.log(y) - eta) / size) ** 2 - np.log(size)


def weibull(x, y, eta, shape):
    z = shape * (np.log(y) - eta)
    return np.log(shape) + z - np.exp(np.minimum(z, 50.0))


FAMILIES = {
    "Student-t": (tunamh.StudentT(4, PRIOR), student, "scale", False),
    "log-normal": (tunamh.LogNormal(PRIOR), log_normal, "scale", True),
    "Weibull": (tunamh.Weibull(PRIOR), weibull, "shape", True),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_other_errors(name):
    family, log_density, own, positive = FAMILIES[name]
    rng = np.random.default_rng(5)
    codes, x = np.arange(24) % 4, rng.standard_normal(24)
    y = 0.5 * x + rng.standard_normal(4)[codes] + 0.4 * rng.standard_normal(24)
    y = np.exp(y) if positive else y
    beta, logs, u = np.linspace(-1.5, 2.5, 49), np.linspace(-2.2, 2.2, 45), np.linspace(-9, 9, 361)
    shared = np.stack([a.ravel() for a in np.meshgrid(beta, logs, indexing="ij")], axis=1)
    log_like = np.zeros((4, len(shared), len(u)))
    for x_i, y_i, g in zip(x, y, codes, strict=True):
        log_like[g] += log_density(x_i, y_i, x_i * shared[:, :1] + u, np.exp(shared[:, 1:]))
    prior = -0.5 * (shared[:, 0] / 2) ** 2 - 0.5 * (shared[:, 1] / 0.5) ** 2
    wanted = moments_of_known_scales(log_like, u[:, None], -0.5 * (u / 1.5) ** 2, shared, prior)
    model = MixedModel(x[:, None], y, family, GroupEffects(codes, scale=1.5), prior=Normal(scale=2.0))
    held(tunamh.sample(model, draws=6000, tune=500, chains=4, rng=1).posterior, own, wanted)
