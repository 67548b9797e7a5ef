"""Replicas and leave-one-out on subsamples, against models whose answer is known."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import tunamh
from tunamh.errors import NotApplicable

RNG = np.random.default_rng(21)
N = 600
TABLE = pd.DataFrame({"x": RNG.standard_normal(N)})
TABLE["y"] = 1 + TABLE["x"] + 2 * RNG.standard_normal(N)
TABLE.loc[3, "x"] = np.nan


@pytest.fixture(scope="module")
def fitted():
    target = tunamh.regression("y ~ x", TABLE, family=tunamh.Gaussian(2.0), prior=tunamh.Flat(), missing="drop")
    return tunamh.sample(target, draws=1000, rng=1, progressbar=False)


def test_replicas_look_like_the_data(fitted):
    tree = tunamh.replicate(fitted, TABLE, rows=200, rng=1)
    observed, replicas = tree["observed_data"]["y"], tree["posterior_predictive"]["y"]
    assert replicas.sizes == {"chain": 1, "draw": 1000, "row": 200}
    assert 3 not in observed["row"].values
    np.testing.assert_array_equal(observed, TABLE["y"][observed["row"].values])
    assert abs(float(replicas.std() / observed.std()) - 1) < 0.2
    every = tunamh.replicate(fitted, TABLE, rows=10**6, draws=50, rng=1)
    assert every["posterior_predictive"]["y"].sizes["row"] == N - 1


def test_loo_of_all_rows_is_that_of_the_normal_model(fitted):
    """With a known scale, leaving a row out is a formula: the residual over ``1 - h``, the variance, too."""
    kept = TABLE.dropna()
    X, y = np.column_stack([np.ones(N - 1), kept["x"]]), kept["y"].to_numpy()
    h = np.einsum("ij,ij->i", X @ np.linalg.inv(X.T @ X), X)
    off = (y - X @ np.linalg.lstsq(X, y, rcond=None)[0]) / (1 - h)
    variance = 4 / (1 - h)
    exact = -0.5 * np.log(2 * np.pi * variance) - 0.5 * off**2 / variance
    found = tunamh.loo(fitted, TABLE, rows=N, draws=4000)
    np.testing.assert_allclose(found.pointwise, exact, atol=0.02)
    np.testing.assert_allclose(found.elpd, exact.sum(), atol=0.5)
    assert found.subsampling_se == 0
    assert found.bad == 0
    np.testing.assert_allclose(found.se, np.sqrt(N - 1) * exact.std(), rtol=0.02)


def test_loo_leaves_weighted_rows_out_whole():
    """By the formula of the normal model: the other rows keep their weights, and the density counts by its own."""
    few = TABLE.dropna().head(80).assign(w=np.tile([0.5, 1.0, 3.0, 0.0], 20))
    target = tunamh.regression("y ~ x", few, family=tunamh.Gaussian(2.0), prior=tunamh.Flat(), weights="w")
    posterior = tunamh.sample(target, draws=4000, rng=1, progressbar=False)
    X, y, w = np.column_stack([np.ones(80), few["x"]]), few["y"].to_numpy(), few["w"].to_numpy()
    exact = []
    for i in range(80):
        left = np.where(np.arange(80) == i, 0.0, w)
        precision = X.T @ (left[:, None] * X)
        mean = X[i] @ np.linalg.solve(precision, X.T @ (left * y))
        variance = 4 * (1 + X[i] @ np.linalg.solve(precision, X[i]))
        exact.append(w[i] * stats.norm(mean, np.sqrt(variance)).logpdf(y[i]))
    found = tunamh.loo(posterior, few, rows=80, draws=16_000)
    np.testing.assert_allclose(found.pointwise, exact, atol=0.03)
    np.testing.assert_allclose(found.elpd, np.sum(exact), atol=0.3)
    by_array = tunamh.regression("y ~ x", few, family=tunamh.Gaussian(2.0), weights=few["w"].to_numpy())
    lost = tunamh.sample(by_array, draws=100, rng=1, progressbar=False)
    with pytest.raises(NotApplicable, match=r"weights=\"w\""):
        tunamh.loo(lost, few)


def test_a_subsample_tells_its_error(fitted):
    whole = tunamh.loo(fitted, TABLE, rows=N)
    parts = [tunamh.loo(fitted, TABLE, rows=100, rng=seed) for seed in range(12)]
    off = np.array([(part.elpd - whole.elpd) / part.subsampling_se for part in parts])
    assert np.abs(off).max() < 4
    assert 0.4 < np.sqrt(np.mean(off**2)) < 1.8
    assert "100 of 599 rows left out" in str(parts[0])


def test_loo_prefers_the_right_model(fitted):
    empty = tunamh.regression("y ~ 1", TABLE, family=tunamh.Gaussian(2.0), missing="drop")
    other = tunamh.sample(empty, draws=500, rng=1, progressbar=False)
    assert tunamh.loo(fitted, TABLE, rows=N).elpd > tunamh.loo(other, TABLE, rows=N).elpd + 20


def test_results_without_a_formula_are_refused():
    target = tunamh.GLM(TABLE[["x"]].dropna(), TABLE["y"].drop(index=3), tunamh.Gaussian(2.0))
    posterior = tunamh.sample(target, draws=10, tune=10, rng=1, progressbar=False)
    with pytest.raises(NotApplicable, match="made from a formula"):
        tunamh.loo(posterior, TABLE)
