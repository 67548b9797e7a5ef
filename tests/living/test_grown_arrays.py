"""Rows that are added to a target of arrays and taken from it, without a pass over the others."""

import numpy as np
import pytest
from scipy import stats

import tunamh
from tunamh.targets.observations.observed import InMemory


def rows(n, seed, drift=0.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    X[:, 0] = 1.0
    eta = X @ (np.array([-0.5, 0.7, -0.4, 0.1]) + drift)
    return X, (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(float)


def target_of(*parts):
    X, y = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return tunamh.LogisticRegression(X, y, prior=tunamh.Normal(scale=2.0))


@pytest.fixture(scope="module")
def grown():
    parts = [rows(6000, 0), rows(800, 1, drift=0.05), rows(700, 2, drift=-0.05)]
    target = target_of(parts[0])
    for part in parts[1:]:
        target = target.with_rows(*part)
    return target, target_of(*parts), parts


def same_sums(target, whole):
    centre = target.kept.expanded.centre
    exact = whole.expansion(centre)
    np.testing.assert_allclose(target.kept.expanded.at_centre.energy, exact.energy, rtol=1e-11)
    np.testing.assert_allclose(target.kept.expanded.gradient, exact.gradient, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(target.kept.expanded.at_centre.plain_hessian, exact.plain_hessian, rtol=1e-9, atol=1e-8)


def z_scores(one, other):
    found = [
        tunamh.summary(tunamh.sample(one, rng=1, draws=1500, tune=300, progressbar=False)),
        tunamh.summary(tunamh.sample(other, rng=2, draws=1500, tune=300, progressbar=False)),
    ]
    z = []
    for value, error in (("mean", "mcse_mean"), ("sd", "mcse_sd")):
        a, b = (frame[[value, error]].astype(float) for frame in found)
        z.append((a[value] - b[value]) / np.hypot(a[error], b[error]))
    return np.concatenate(z)


def test_sums_and_bounds_are_those_of_all_rows(grown):
    target, whole, _ = grown
    assert target.n_rows == whole.n_rows == 7500
    same_sums(target, whole)
    assert target.kept.told == "the old centre is kept"
    assert 0.05 < tunamh.check_bounds(target.kept.expanded, pairs=20, rng=1) <= 1.0


def test_the_law_is_that_of_a_target_of_all_rows(grown):
    target, whole, _ = grown
    z = z_scores(target, whole)
    assert np.abs(z).max() < 3.8
    assert stats.chi2.sf(np.sum(z**2), len(z)) > 1e-3


def test_old_rows_are_not_looked_at(grown, monkeypatch):
    target, _, _ = grown
    sizes, mapped = [], InMemory.map

    def noted(self, function):
        sizes.append(self.n_rows)
        return mapped(self, function)

    monkeypatch.setattr(InMemory, "map", noted)
    new = target.with_rows(*rows(50, 3))
    tunamh.sample(new, rng=1, draws=50, tune=50, progressbar=False)
    assert set(sizes) == {50}


def test_rows_that_go(grown):
    target, _, parts = grown
    gone = np.random.default_rng(4).choice(7500, 75, replace=False)
    left = np.setdiff1d(np.arange(7500), gone)
    X, y = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    found, whole = target.without_rows(gone), target_of((X[left], y[left]))
    assert found.n_rows == 7425
    same_sums(found, whole)
    assert tunamh.check_bounds(found.kept.expanded, pairs=10, rng=1) <= 1.0
    assert np.abs(z_scores(found, whole)).max() < 3.8
    np.testing.assert_array_equal(found.observations.take(np.arange(7425)).y, y[left])
    rest = found.without_rows([0]).with_rows(*rows(100, 9))
    assert rest.n_rows == 7524


def test_the_first_target_does_not_change(grown):
    target, _, _ = grown
    before = target.kept.expanded.gradient.copy()
    target.with_rows(*rows(400, 5))
    np.testing.assert_array_equal(target.kept.expanded.gradient, before)


def test_the_centre_moves_when_rows_have_doubled():
    target = target_of(rows(1000, 0)).with_rows(*rows(1500, 1))
    assert "expanded about a new centre, because there are 2,500 rows" in target.kept.told
    same_sums(target, target_of(rows(1000, 0), rows(1500, 1)))


def test_weights_and_offsets_go_along():
    X, Z = rows(3000, 0)[0], rows(500, 1)[0]
    w, e = np.random.default_rng(2).uniform(0.5, 2, (2, 3500))
    counts = np.random.default_rng(3).poisson(np.exp(0.2 * np.concatenate([X, Z])[:, 1]))
    arguments = {"prior": tunamh.Normal(scale=2.0)}
    first = tunamh.GLM(X, counts[:3000], tunamh.Poisson(), weights=w[:3000], offset=e[:3000], **arguments)
    found = first.with_rows(Z, counts[3000:], weights=w[3000:], offset=e[3000:])
    whole = tunamh.GLM(np.concatenate([X, Z]), counts, tunamh.Poisson(), weights=w, offset=e, **arguments)
    same_sums(found, whole)
    assert tunamh.check_bounds(found.kept.expanded, pairs=5, rng=1) <= 1.0
    with pytest.raises(ValueError, match="for both or for none"):
        first.with_rows(Z, counts[3000:])


def test_what_cannot_grow_is_refused():
    X, y = rows(500, 0)
    with pytest.raises(tunamh.NotApplicable, match="unknown scale"):
        tunamh.GLM(X, X[:, 1] + y, tunamh.Gaussian()).with_rows(X, y)
    target = target_of((X, y))
    with pytest.raises(ValueError, match="the same columns"):
        target.with_rows(X[:, :2], y)
    with pytest.raises(ValueError, match="numbers 0 to 499"):
        target.without_rows([500])
    with pytest.raises(TypeError, match="counted from 0"):
        target.without_rows([0.5])
