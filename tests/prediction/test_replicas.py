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
    assert replicas.sizes == {"chain": 4, "draw": 250, "row": 200}
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
    assert (np.abs(found.pointwise - exact) < 0.03 * np.maximum(w, 1.0)).all()  # an error counts w times as well
    np.testing.assert_allclose(found.elpd, np.sum(exact), atol=0.3)
    by_array = tunamh.regression("y ~ x", few, family=tunamh.Gaussian(2.0), weights=few["w"].to_numpy())
    lost = tunamh.sample(by_array, draws=100, rng=1, progressbar=False)
    with pytest.raises(NotApplicable, match=r"weights=\"w\""):
        tunamh.loo(lost, few)


def test_loo_of_trials_is_that_of_the_binomial_model():
    """With an intercept only and a flat prior, ``p`` is Beta(k, n - k): leaving a row out is a formula."""
    n = RNG.integers(5, 30, 40)
    table = pd.DataFrame({"n": n, "k": RNG.binomial(n, 0.3)})
    target = tunamh.regression("k | trials(n) ~ 1", table, family=tunamh.Logistic(), prior=tunamh.Flat())
    posterior = tunamh.sample(target, draws=4000, rng=1, progressbar=False)
    k, m = table["k"].sum() - table["k"], table["n"].sum() - table["n"]
    exact = stats.betabinom(table["n"], k, m - k).logpmf(table["k"])
    found = tunamh.loo(posterior, table, rows=40, draws=16_000)
    np.testing.assert_allclose(found.pointwise, exact, atol=0.03)


def test_trials_of_an_array_are_not_kept():
    table = pd.DataFrame({"n": [4, 5, 6, 7], "k": [1, 2, 1, 4]})
    target = tunamh.regression("k ~ 1", table, family=tunamh.Logistic(), trials=table["n"].to_numpy())
    lost = tunamh.sample(target, draws=50, rng=1, progressbar=False)
    for lookup in (tunamh.loo, tunamh.replicate):
        with pytest.raises(NotApplicable, match="trials of this model was an array"):
            lookup(lost, table)
    with pytest.raises(tunamh.FormulaError, match="trials="):
        tunamh.predict(lost, table, kind="response")
    assert tunamh.predict(lost, table, kind="response", trials=5, quantiles=None, rng=1).max() > 1


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


# ---------------------------------------------------------------------------------------- groups as ArviZ has them


def test_groups_say_what_they_are(fitted):
    tree = tunamh.replicate(fitted, TABLE, rows=200, rng=1)
    names = {"posterior", "observed_data", "constant_data", "posterior_predictive", "log_likelihood"}
    assert set(tree.children) == names
    for name in names - {"posterior"}:
        attributes = tree[name].attrs
        assert attributes["rows"] == "200 of 599 rows, drawn at random"
        assert attributes["creation_library"] == attributes["inference_library"] == "tunamh"
    rows = tree["constant_data"]["row"].values
    np.testing.assert_array_equal(tree["constant_data"]["x"], TABLE["x"][rows])
    every = tunamh.replicate(fitted, TABLE, rows=10**6, draws=8, rng=1)
    assert every["observed_data"].attrs["rows"] == "all 599 rows"


def test_a_result_is_extended(fitted, tmp_path):
    found = tunamh.replicate(fitted, TABLE, rows=50, draws=40, rng=1, extend=True)
    assert {"posterior", "sample_stats", "observed_data", "posterior_predictive"} <= set(found.children)
    assert found.posterior.sizes["draw"] == fitted.posterior.sizes["draw"]
    assert fitted["observed_data"].sizes["row"] == N - 1  # what was extended stays as it is
    drawn = found["posterior_predictive"]
    assert dict(drawn.sizes) == {"chain": 4, "draw": 10, "row": 50}
    eta = fitted.posterior["Intercept"] + fitted.posterior["x"] * found["constant_data"]["x"]
    wanted = stats.norm(eta.sel(draw=drawn["draw"]), 2.0).logpdf(found["observed_data"]["y"])
    np.testing.assert_allclose(found["log_likelihood"]["y"], wanted)
    found.to_netcdf(tmp_path / "run.nc", engine="h5netcdf")


def test_results_have_the_attributes_of_arviz_and_pymc(fitted):
    from arviz_base import make_attrs

    for group in (fitted.posterior, fitted.sample_stats):
        assert set(make_attrs()) <= set(group.attrs)
        assert group.attrs["inference_library"] == group.attrs["creation_library"] == "tunamh"
        assert group.attrs["tuning_steps"] == 1000
        assert group.attrs["sampling_time"] > 0


def test_columns_of_odd_names_are_constant_data():
    table = pd.DataFrame({"km/h": TABLE["x"].fillna(0), "row": RNG.choice(["u", "v"], N), "y": TABLE["y"]})
    tree = tunamh.sample(tunamh.regression("y ~ `km/h` + row", table), draws=10, rng=1, progressbar=False)
    found = tunamh.replicate(tree, table, rows=5, rng=1)["constant_data"]
    assert set(found.data_vars) == {"km÷h", "row_"}
    assert found["row_"].values.tolist() == table["row"][found["row"].values].tolist()


# --------------------------------------------------------------------------------------------------- own families


def of_own(eta, y):
    return 0.5 * ((y - eta) / 2.0) ** 2 + np.log(2.0) + 0.5 * np.log(2 * np.pi)


def of_own_scale(eta, log_scale, y):
    return 0.5 * ((y - eta) * np.exp(-log_scale)) ** 2 + log_scale + 0.5 * np.log(2 * np.pi)


def sampled(family, **given):
    target = tunamh.regression("y ~ x", TABLE, family=family, prior=tunamh.Flat(), missing="drop", **given)
    return tunamh.sample(target, draws=500, rng=1, progressbar=False)


def test_a_family_of_ones_own_is_left_out_and_replicated(fitted):
    family = tunamh.family(of_own, convex=True, mean=lambda eta: eta, draw=lambda rng, eta: rng.normal(eta, 2.0))
    tree = sampled(family)
    ours = tunamh.loo(tree, TABLE, rows=10**6, family=family, rng=1)
    wanted = tunamh.loo(fitted, TABLE, rows=10**6, rng=1)
    assert abs(ours.elpd - wanted.elpd) < 0.5
    replicas = tunamh.replicate(tree, TABLE, rows=200, family=family, rng=1)["posterior_predictive"]["y"]
    assert abs(float(replicas.std() / TABLE["y"].std()) - 1) < 0.2
    mean = tunamh.predict(tree, TABLE.dropna().head(4), family=family)["mean"]
    np.testing.assert_allclose(mean, tunamh.predict(tree, TABLE.dropna().head(4), kind="linear")["mean"])


def test_a_family_of_two_parameters_is_replicated():
    def draw(rng, eta, log_scale):
        return rng.normal(eta, np.exp(log_scale))

    family = tunamh.family(of_own_scale, mean=lambda eta, log_scale: eta, draw=draw)
    tree = sampled(family)
    replicas = tunamh.replicate(tree, TABLE, rows=200, family=family, rng=1)["posterior_predictive"]["y"]
    assert abs(float(replicas.std() / TABLE["y"].std()) - 1) < 0.2
    described = sampled(family, predictors={"log_scale": "~ x"})
    assert list(described.posterior.data_vars) == ["Intercept", "x", "log_scale_Intercept", "log_scale_x"]
    posterior = described.posterior.to_dataset().stack(sample=("chain", "draw"))
    row = TABLE.dropna().head(1)
    found = tunamh.predict(described, row, kind="response", family=family, quantiles=None, draws=2000, rng=1)
    log_scale = posterior["log_scale_Intercept"] + posterior["log_scale_x"] * float(row["x"].iloc[0])
    linear = tunamh.predict(described, row, kind="linear", quantiles=None, draws=2000)
    assert abs(float((found - linear).std() / np.exp(log_scale).mean()) - 1) < 0.1


def test_what_an_energy_alone_does_not_say():
    plain = tunamh.family(of_own, convex=True)
    tree = sampled(plain)
    with pytest.raises(NotApplicable, match="does not contain its code: pass the family again, family="):
        tunamh.predict(tree, TABLE.dropna().head(2))
    with pytest.raises(NotApplicable, match=r"cannot compute the mean of a response .*tunamh.family\(energy, mean="):
        tunamh.predict(tree, TABLE.dropna().head(2), family=plain)
    with pytest.raises(NotApplicable, match=r"cannot simulate responses .*draw="):
        tunamh.replicate(tree, TABLE, family=plain)
    assert np.isfinite(tunamh.loo(tree, TABLE, rows=50, family=plain, rng=1).elpd)
    with pytest.raises(ValueError, match=r"family family\(of_own\), got family\(of_own_scale\)"):
        tunamh.loo(tree, TABLE, family=tunamh.family(of_own_scale))
    with pytest.raises(TypeError, match="mean must be a function"):
        tunamh.family(of_own, mean=3)


def test_a_family_that_results_know_is_not_given_again(fitted):
    with pytest.raises(TypeError, match="has its own family"):
        tunamh.predict(fitted, TABLE.dropna().head(2), family="gaussian")
