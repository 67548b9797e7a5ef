"""Hamiltonian trajectories: shorter rows, forces and energies, the law they keep, and when they are chosen."""

from __future__ import annotations

import numba
import numpy as np
import pandas as pd
import pytest

import tunamh
from tunamh import GLM, Normal
from tunamh.trajectories.lattice_reduction import shorter_basis
from tunamh.trajectories.layout import numbers_of
from tunamh.trajectories.target import HamiltonianRegression
from tunamh.trajectories.trajectory import energy_at, near_energy


@numba.njit
def _energy_at(z, model):
    return energy_at(z, model, numbers_of(model.data.hyper))


@numba.njit
def _near_energy(z, model, gradient):
    return near_energy(z, model, numbers_of(model.data.hyper), gradient)


def levels(rng, n, counts):
    return pd.DataFrame({f"f{k}": pd.Categorical(rng.integers(count, size=n)) for k, count in enumerate(counts)})


def test_a_basis_of_whole_numbers_has_fewer_entries():
    rng = np.random.default_rng(1)
    a = (rng.random(500) < 0.6).astype(float)
    b, c = a.copy(), a.copy()
    b[:5] = 1 - b[:5]
    X = np.column_stack([np.ones(500), a, b, c, 1 - a])
    T = shorter_basis(X.T @ X)
    assert (np.rint(T) == T).all()
    assert abs(np.linalg.det(T)) == pytest.approx(1.0)
    entries = np.sort(np.count_nonzero(X @ T, axis=0))
    assert entries[:3].tolist() == [0, 0, 5]
    assert entries.sum() < 0.4 * np.count_nonzero(X)


def small(family=None, n=300, offset=None):
    rng = np.random.default_rng(2)
    X = pd.concat([pd.DataFrame({"one": np.ones(n), "x": rng.standard_normal(n)}), levels(rng, n, [3, 2])], axis=1)
    y = rng.poisson(1.0, n) if isinstance(family, tunamh.Poisson) else rng.random(n) < 0.4
    weights = rng.integers(1, 3, n).astype(float)
    return GLM(
        X, y, family or tunamh.Logistic(), prior=Normal(mean=0.3, scale=2.0), weights=weights, offset=offset, temper=0.5
    )


@pytest.mark.parametrize("family", [tunamh.Logistic(), tunamh.Poisson(), tunamh.Probit()])
def test_energies_are_the_regressions_own_and_forces_their_gradient(family):
    target = small(family, offset=np.linspace(-1, 1, 300))
    swept = HamiltonianRegression(target)
    swept = swept._with(near=np.arange(10, 300))
    prior, z = target._prior, np.random.default_rng(3).standard_normal(target.dim)
    model = swept.model()._replace(log_prior=prior.log_prior, prior_hyper=prior.hyper)
    gradient = np.empty(target.dim)
    theta = swept.centre + swept.factor @ z
    assert _energy_at(z, model) == pytest.approx(target.energies_at(theta[None])[0], rel=1e-10)

    def energy(z):
        return _near_energy(z, model, gradient)

    energy(z)
    found = gradient.copy()
    by_differences = [(energy(z + 1e-5 * e) - energy(z - 1e-5 * e)) / 2e-5 for e in np.eye(target.dim)]
    assert np.allclose(found, by_differences, rtol=1e-5, atol=1e-5)


def quadrature(X, y, sd):
    """Means and mean squares of two coefficients on a grid."""
    a, b = np.linspace(-8, 6, 281)[:, None], np.linspace(-14, 6, 401)[None, :]
    log_post = -0.5 * (a**2 + b**2) / sd**2
    for x, label in zip(X, y, strict=True):
        eta = x[0] * a + x[1] * b
        log_post = log_post + label * eta - np.logaddexp(0, eta)
    weight = np.exp(log_post - log_post.max())
    weight /= weight.sum()
    return np.array([(weight * v).sum() for v in (a + 0 * b, b + 0 * a, a**2 + 0 * b, b**2 + 0 * a)])


def moments_of(swept, rng=1):
    tree = tunamh.sample(swept, draws=15_000, tune=500, chains=4, rng=rng)
    theta = tree.posterior["theta"].values
    return np.concatenate([theta, theta**2], axis=-1), tree


def scores(values, truth):
    from arviz_stats import ess

    found = []
    for j, of in enumerate(truth):
        own = values[..., j]
        found.append((own.mean() - of) / (own.std() / np.sqrt(float(ess(own)))))
    return np.abs(found)


def pure_pair():
    """Twelve rows, of which four are of a level without events: far from Gaussian."""
    X = np.column_stack([np.ones(12), np.r_[np.zeros(8), np.ones(4)]])
    y = np.r_[0.0, 1, 1, 0, 1, 0, 1, 1, 0, 0, 0, 0]
    return X, y


@pytest.mark.parametrize("near", [range(12), [0, 8, 9, 10, 11]], ids=["all rows near", "five rows near"])
def test_the_law_is_that_of_quadrature(near):
    X, y = pure_pair()
    truth = quadrature(X, y, 2.5)
    swept = HamiltonianRegression(tunamh.LogisticRegression(X, y, prior=Normal(scale=2.5)))
    swept = swept._with(near=np.array(near))
    values, tree = moments_of(swept)
    assert scores(values, truth).max() < 4
    assert 0.5 < float(tree.sample_stats["acceptance_rate"].mean()) < 0.99
    assert (tree.sample_stats["full_data_step"] == 1).all()


def test_a_wrong_energy_would_be_seen():
    """Negative control: the force is the same, the weights in the energy are a tenth larger."""
    X, y = pure_pair()
    truth = quadrature(X, y, 2.5)
    target = tunamh.LogisticRegression(X, y, prior=Normal(scale=2.5))
    swept = HamiltonianRegression(target)
    swept.short.table[:, 1] *= 1.5
    values, _ = moments_of(swept)
    assert scores(values, truth).max() > 6


def test_the_nearest_gaussian_has_no_mean_slope_and_the_mean_curvature():
    X, y = pure_pair()
    target = tunamh.LogisticRegression(X, y, prior=Normal(scale=2.5))
    swept = HamiltonianRegression(target)
    theta = swept.centre + np.random.default_rng(1).standard_normal((400_000, 2)) @ swept.factor.T
    mu = 1 / (1 + np.exp(-theta @ X.T))
    slope = (mu - y) @ X + theta / 2.5**2
    error = slope.std(axis=0) / np.sqrt(len(theta))
    assert (np.abs(slope.mean(axis=0)) < 4 * error + 0.05 * np.sqrt(np.diag(np.linalg.inv(swept.factor.T)))).all()
    curvature = (X.T * (mu * (1 - mu)).mean(axis=0)) @ X + np.eye(2) / 2.5**2
    assert np.allclose(swept.factor.T @ curvature @ swept.factor, np.eye(2), atol=0.1)
    laplace = target.modes[0].point + (theta - swept.centre) @ np.linalg.inv(swept.factor).T @ laplace_factor(target).T
    slope = (1 / (1 + np.exp(-laplace @ X.T)) - y) @ X + laplace / 2.5**2
    assert np.linalg.norm(laplace_factor(target).T @ slope.mean(axis=0)) > 0.2


def laplace_factor(target):
    return target.modes[0].posterior.metric().factor


def test_chains_come_back_from_far_away():
    target = many_thin_levels()
    far = 6.0 * np.random.default_rng(1).standard_normal((2, target.dim))
    tree = tunamh.sample(target, draws=100, tune=300, chains=2, rng=1, init=far)
    assert float(tree.sample_stats["acceptance_rate"].mean()) > 0.5
    last = tree.posterior["theta"].values[:, -50:].reshape(-1, target.dim)
    near = target.energies_at(target.modes[0].point[None])[0] + target.dim
    assert (target.energies_at(last) < near).all()
    assert (target.energies_at(far) > near).all()


def many_thin_levels():
    rng = np.random.default_rng(5)
    n = 4000
    counts = [40] * 8
    X = pd.concat([pd.DataFrame({"one": np.ones(n)}), levels(rng, n, counts)], axis=1)
    eta = -4.0 + 0.3 * rng.standard_normal(n)
    return tunamh.LogisticRegression(X, rng.random(n) < 1 / (1 + np.exp(-eta)), prior=Normal(scale=2.5))


def test_they_are_chosen_where_steps_would_read_all_rows_and_be_rejected():
    target = many_thin_levels()
    tree = tunamh.sample(target, draws=150, tune=150, chains=2, rng=1)
    assert "Hamiltonian trajectories" in tree.posterior.attrs["choice"]
    assert tree.posterior["theta"].shape[-1] == target.dim
    assert "laplace_mean_shift" in tree.posterior.attrs
    rate = float(tree.sample_stats["acceptance_rate"].mean())
    assert 0.5 < rate < 0.99
