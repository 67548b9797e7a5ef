"""Student-t group effects: against quadrature, through a formula, in predictions and tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from arviz_stats.base import array_stats
from scipy import stats

import tunamh
from tunamh import GroupEffects, priors

CODES = np.repeat(np.arange(4), 3)
Y = np.repeat([0.1, -0.3, 0.2, 6.0], 3) + np.tile([-0.4, 0.0, 0.4], 4)
TIMES = {"chains": 4, "draws": 3000, "rng": 1, "progressbar": False}


def _model(df):
    law = None if df is None else priors.StudentT(df=df)
    groups = GroupEffects(CODES, scale=1.0, law=law)
    return tunamh.MixedModel(np.ones((12, 1)), Y, tunamh.Gaussian(scale=1.0), groups, prior=tunamh.Normal(scale=2.0))


def _means_by_quadrature(law):
    """Of the intercept and the last effect: given the intercept, effects are independent."""
    b, v = np.linspace(-8, 8, 801), np.linspace(-12, 12, 1201)
    rows = Y.reshape(4, 3)
    joint = stats.norm(scale=2.0).logpdf(b)
    for one in rows:
        fit = -0.5 * ((one[:, None, None] - b[:, None] - v) ** 2).sum(axis=0)
        weight = np.exp(fit + law.logpdf(v))
        joint = joint + np.log(weight.sum(axis=1))
    last = (weight * v).sum(axis=1) / weight.sum(axis=1)
    mass = np.exp(joint - joint.max())
    return float(mass @ b / mass.sum()), float(mass @ last / mass.sum())


@pytest.mark.parametrize("df", [None, 2.0])
def test_means_are_those_of_quadrature(df):
    found = tunamh.sample(_model(df), **TIMES)["posterior"]
    theta, effect = found["theta"].values.ravel(), found["group_effect"].values[..., -1].ravel()
    expected = _means_by_quadrature(stats.norm() if df is None else stats.t(df))
    assert theta.mean() == pytest.approx(expected[0], abs=0.06)
    assert effect.mean() == pytest.approx(expected[1], abs=0.06)


def test_effects_of_a_group_whose_labels_are_all_ones_have_their_tail():
    """It is far longer than the curvature at the mode says, by which independent draws and walks are made."""
    codes, y = np.repeat(np.arange(3), 30), np.tile([0.0, 1.0], 45)
    y[codes == 1] = 1.0
    groups = GroupEffects(codes, scale=1.0, law=priors.StudentT(df=3))
    target = tunamh.MixedModel(np.ones((90, 1)), y, tunamh.Logistic(), groups, prior=tunamh.Normal(scale=1e-3))
    draws = tunamh.sample(target, **TIMES | {"draws": 10_000})["posterior"]["group_effect"].values[..., 1]
    v = np.sinh(np.linspace(-3, 9, 4001))
    mass = np.exp(30 * -np.log1p(np.exp(-v)) + stats.t(3).logpdf(v)) * np.sqrt(1 + v**2)
    for place in (0.05, 0.5, 0.9, 0.95, 0.99):
        below = draws < np.interp(place, np.cumsum(mass) / mass.sum(), v)
        batches = below.reshape(-1, 1000).mean(axis=1)
        assert abs(batches.mean() - place) < 4 * max(batches.std(ddof=1) / np.sqrt(len(batches)), 1e-4), place


def test_a_formula_names_the_law_and_new_groups_have_it():
    table = pd.DataFrame({"y": Y, "g": [f"g{k}" for k in CODES]})
    law = {"law (1 | g)": priors.StudentT(df=2.5), "(1 | g)": tunamh.HalfNormal(1.0)}
    target = tunamh.regression("y ~ 1 + (1 | g)", table, prior=law)
    assert [one.df for one in target.groupings] == [2.5]
    found = tunamh.sample(target, **TIMES)
    new = tunamh.predict(found, pd.DataFrame({"g": ["new"]}), new_levels="draw", rng=0)
    assert new is not None
    shares = tunamh.group_scales(found).query("quantity == 'share'")
    assert 0.0 < float(shares["mean"].iloc[0]) < 1.0
    assert "Student-t with 2.5" in " ".join(tunamh.prior_summary(target).attrs["notes"])


@pytest.fixture(scope="module")
def by_formula():
    table = pd.DataFrame({"y": Y, "g": [f"g{k}" for k in CODES]})
    prior = {"law (1 | g)": priors.StudentT(df=2.5), "(1 | g)": tunamh.HalfNormal(1.0)}
    target = tunamh.regression("y ~ 1 + (1 | g)", table, prior=prior)
    return table, target, tunamh.sample(target, chains=2, draws=3000, rng=1, progressbar=False)


def _densities(posterior):
    """(draws, rows), of the draws' own effects: the law of the effects is in no row."""
    draws = posterior.posterior
    eta = draws["Intercept"].values[..., None] + draws["1|g"].values[..., CODES]
    return stats.norm(eta, draws["sigma"].values[..., None]).logpdf(Y).reshape(-1, 12)


@pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")
def test_replicas_have_the_density_of_the_draws(by_formula):
    table, _, posterior = by_formula
    found = tunamh.replicate(posterior, table, rows=12, draws=6000, rng=1)
    own = found.log_likelihood["y"].values.reshape(-1, 12)
    np.testing.assert_allclose(own, _densities(posterior)[: len(own)], rtol=1e-9, atol=1e-12)
    simulated = found.posterior_predictive["y"].values.reshape(-1, 12)
    middle = (posterior.posterior["Intercept"].values[..., None] + posterior.posterior["1|g"].values[..., CODES]).mean()
    assert simulated.mean() == pytest.approx(middle, abs=5 * simulated.std() / np.sqrt(simulated.size / 12))


@pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning", "ignore:Estimated shape parameter")
def test_rows_are_left_out_by_importance(by_formula):
    """Effects are integrated out; ``-log E[1 / p(y_i)]`` with effects held is near where its own Pareto k is small."""
    table, _, posterior = by_formula
    found = tunamh.loo(posterior, table, rows=12, draws=6000)
    held = _densities(posterior)
    plain = -np.log(np.exp(-held).mean(axis=0))
    light = array_stats.psislw(held.T, axis=-1)[1] < 0.4
    assert light.sum() >= 3
    np.testing.assert_allclose(found.pointwise[light], plain[light], atol=0.05)


@pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")
def test_a_run_that_is_resumed_goes_on_with_the_same_draws(by_formula, tmp_path):
    """Weights of groups are drawn in every sweep and are no part of the state."""
    _, target, _ = by_formula
    options = {"chains": 2, "tune": 60, "rng": 7, "progressbar": False}
    whole = tunamh.sample(target, draws=90, **options)
    tunamh.sample(target, draws=40, store=tmp_path / "run", **options)
    resumed = tunamh.resume(tmp_path / "run", target, draws=90, progressbar=False)
    for name, values in whole.posterior.data_vars.items():
        np.testing.assert_array_equal(resumed.posterior[name].values, values.values, err_msg=str(name))


def test_shares_need_a_variance():
    found = tunamh.sample(_model(2.0), chains=1, draws=50, rng=1, progressbar=False)
    table = tunamh.group_scales(found)
    assert not (table["quantity"] == "share").any()
    assert "degrees of freedom" in table.attrs["notes"][0]


def test_other_laws_are_refused():
    with pytest.raises(TypeError, match="StudentT"):
        GroupEffects(CODES, law=tunamh.Normal(scale=1.0))
    with pytest.raises(ValueError, match="scale="):
        GroupEffects(CODES, law=priors.StudentT(df=4, scale=2.0))
    with pytest.raises(tunamh.NotApplicable):
        tunamh.laplace(_model(4.0))
