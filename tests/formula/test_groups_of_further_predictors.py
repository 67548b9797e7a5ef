"""Groups in the predictor of a further parameter: in how much their responses spread, in how many zeros they have."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import tunamh
from tunamh import GroupEffects, MixedModel

pytestmark = pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")  # runs are short on purpose

GROUPS = [f"g{k}" for k in range(8)]


def measurements(n: int = 400) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(3)
    codes, x = rng.integers(8, size=n), rng.standard_normal(n)
    spread = np.exp(-0.5 + 0.8 * np.linspace(-1, 1, 8))
    y = 1 + 0.5 * x + 0.5 * rng.standard_normal(8)[codes] + spread[codes] * rng.standard_normal(n)
    table = pd.DataFrame({"x": x, "g": [GROUPS[k] for k in codes], "h": rng.choice(list("abc"), n), "y": y})
    return table, spread


TABLE, SPREAD = measurements()
CODES = TABLE["g"].map(GROUPS.index).to_numpy()


@pytest.fixture(scope="module")
def model():
    further = {"scale": "~ x + (1 + x | g) + (1 | h)"}
    return tunamh.regression("y ~ x + (1 | g)", TABLE, family="gaussian", predictors=further)


@pytest.fixture(scope="module")
def posterior(model):
    return tunamh.sample(model, draws=200, tune=200, chains=2, rng=1, progressbar=False)


def flat(values) -> np.ndarray:
    found = values.transpose("chain", "draw", ...).values
    return found.reshape(-1, *found.shape[2:])


def mean_and_scale(posterior, table) -> tuple[np.ndarray, np.ndarray]:
    """(draws, rows), of known groups, written down once more."""
    draws, x = posterior.posterior, table["x"].to_numpy()
    codes, places = table["g"].map(GROUPS.index).to_numpy(), table["h"].map("abc".index).to_numpy()
    column = {name: flat(draws[name])[:, None] for name in ("Intercept", "x", "sigma_Intercept", "sigma_x")}
    eta = column["Intercept"] + column["x"] * x + flat(draws["1|g"])[:, codes]
    log_scale = column["sigma_Intercept"] + column["sigma_x"] * x + flat(draws["sigma_1|g"])[:, codes]
    log_scale = log_scale + flat(draws["sigma_x|g"])[:, codes] * x + flat(draws["sigma_1|h"])[:, places]
    return eta, np.exp(log_scale)


# ------------------------------------------------------------------------------------------------- the model


def test_groups_that_spread_more_are_found(posterior):
    table = tunamh.group_effects(posterior, "g", term="Intercept").query("parameter == 'scale'")
    truth = np.log(SPREAD) - np.log(SPREAD).mean()
    away = table["mean"] - table["mean"].mean() - truth
    assert (np.abs(away) < 4.5 * table["sd"]).all()
    assert np.corrcoef(table["mean"], truth)[0, 1] > 0.9


def test_names_are_those_of_the_parameter(model, posterior):
    names = set(posterior.posterior.data_vars)
    assert {"sigma_1|g", "sigma_x|g", "sigma_1|h", "sigma_1|g_sigma", "sigma_1,x|g_corr", "1|g"} <= names
    layout = model.formula.layout(model.variables, model.groupings)
    plain = [name for _, labels in model.variables for name in labels or [""]]
    told = dict(zip(layout.names, plain, strict=True))
    assert told["sigma_x|g[g3]"] == "scale_g[g3]: x"
    assert told["sigma_1|h_sigma"] == "scale_h"
    assert told["1|g[g3]"] == "g[g3]"


def test_priors_are_named_by_the_parameter_and_the_term():
    prior = {"scale (1 | g)": tunamh.HalfNormal(0.25), "(1 | g)": tunamh.HalfNormal(3.0)}
    prior |= {"scale law (1 | g)": tunamh.priors.StudentT(df=5.0), "scale x": tunamh.Normal(scale=0.125)}
    further = {"scale": "~ x + (1 | g)"}
    model = tunamh.regression("y ~ x + (1 | g)", TABLE, family="gaussian", predictors=further, prior=prior)
    table = tunamh.prior_summary(model)["prior"]
    assert table["sigma_1|g_sigma"] == "half-normal, scale 0.25"
    assert table["1|g_sigma"] == "half-normal, scale 3"
    assert table["sigma_x"].endswith("0.125")
    assert [one.df for one in model.groupings] == [0.0, 5.0]


def test_what_has_no_predictor_is_refused():
    X, y = np.ones((len(TABLE), 1)), TABLE["y"].to_numpy()
    with pytest.raises(ValueError, match="has no columns: pass predictors="):
        MixedModel(X, y, tunamh.Gaussian(), [CODES, GroupEffects(CODES, predictor="scale")])
    with pytest.raises(ValueError, match="Poisson has no such predictor"):
        MixedModel(X, np.ones(len(y)), tunamh.Poisson(), [CODES, GroupEffects(CODES, predictor="scale")])
    with pytest.raises(ValueError, match="an intercept or a term"):
        tunamh.regression("y ~ x", TABLE, family="gaussian", predictors={"scale": "~ 0 + (1 | g)"})
    with pytest.raises(TypeError, match="name of a parameter"):
        GroupEffects(CODES, predictor=1)


# ------------------------------------------------------------------------------------------------- results


def test_densities_are_those_of_the_draws(posterior):
    tree = tunamh.replicate(posterior, TABLE, rows=30, rng=2)
    rows = TABLE.iloc[tree.log_likelihood["row"].values]
    eta, scale = mean_and_scale(posterior, rows)
    expected = stats.norm(eta, scale).logpdf(rows["y"].to_numpy())
    np.testing.assert_allclose(flat(tree.log_likelihood["y"]), expected, rtol=1e-8, atol=1e-10)
    assert np.isfinite(tunamh.loo(posterior, TABLE, rows=60, rng=1).elpd)


def test_simulated_responses_spread_as_their_group_does(posterior):
    rows = TABLE.groupby("g").head(1)
    found = tunamh.predict(posterior, rows, kind="response", quantiles=None, rng=1).values
    eta, scale = mean_and_scale(posterior, rows)
    z = (found - eta) / scale
    assert np.abs(z.mean()) < 4 / np.sqrt(z.size)
    assert z.std() == pytest.approx(1, abs=4 / np.sqrt(2 * z.size))
    assert np.ptp(found.std(axis=0)) > 0.3


def test_new_groups_have_effects_in_both_predictors(posterior):
    new = pd.DataFrame({"x": 0.0, "g": [f"new {k}" for k in range(2000)], "h": "a"})
    options = {"kind": "response", "quantiles": None, "draws": 30, "rng": 1}
    drawn, typical = (
        tunamh.predict(posterior, new, new_levels=how, **options).values for how in ("draw", "population")
    )
    draws = posterior.posterior
    picked = np.linspace(0, 399, 30).round().astype(int)
    effect, of_scale = (flat(draws[name])[picked] for name in ("1|g_sigma", "sigma_1|g_sigma"))
    base = np.exp(flat(draws["sigma_Intercept"])[picked])  # population: effects of h are left out of known levels, too
    base = base * np.exp(flat(draws["sigma_1|h"])[picked][:, 0])
    np.testing.assert_allclose(typical.std(axis=1), base, rtol=0.1)
    expected = np.sqrt(effect**2 + base**2 * np.exp(2 * of_scale**2))  # E e^2v = e^(2 s^2)
    assert np.median(drawn.std(axis=1) / expected) == pytest.approx(1, abs=0.06)


def test_means_over_new_groups_are_refused_with_the_way_out(posterior):
    options = {"conditional": {"x": [0.0, 1.0]}}
    with pytest.raises(tunamh.NotApplicable, match="in the predictor of scale"):
        tunamh.predictions(posterior, groups="new", **options)
    found = tunamh.predictions(posterior, groups="population", **options)
    draws = posterior.posterior
    assert float(found["mean"].iloc[1]) == pytest.approx(float((draws["Intercept"] + draws["x"]).mean()), abs=1e-6)


def test_tables_have_a_column_of_the_parameter(posterior, tmp_path):
    table = tunamh.group_effects(posterior, "g", coefficients=True)
    draws = posterior.posterior
    for parameter, names in (("", ("Intercept", "1|g")), ("scale", ("sigma_Intercept", "sigma_1|g"))):
        own = table.query(f"term == 'Intercept' and parameter == '{parameter}'")
        expected = (draws[names[0]] + draws[names[1]]).mean(["chain", "draw"])
        np.testing.assert_allclose(own["mean"], expected, rtol=1e-12)
    scales = tunamh.group_scales(posterior)
    own = scales.query("group == 'h' and parameter == 'scale' and quantity == 'sd'")
    assert float(own["mean"].iloc[0]) == pytest.approx(float(draws["sigma_1|h_sigma"].mean()))
    assert not (scales["quantity"] == "share").any()
    assert "scale differs between rows" in scales.attrs["notes"][0]
    tunamh.report(posterior, tmp_path / "r.html")
    assert "g: x of scale" in (tmp_path / "r.html").read_text()


def test_a_model_of_arrays_tells_the_same():
    X = np.column_stack([np.ones(len(TABLE)), TABLE["x"]])
    groups = [GroupEffects(CODES, name="g"), GroupEffects(CODES, X[:, 1:], name="s", predictor="scale")]
    model = MixedModel(X, TABLE["y"].to_numpy(), tunamh.Gaussian(), groups, predictors={"scale": X})
    posterior = tunamh.sample(model, draws=30, tune=30, chains=1, rng=1, progressbar=False)
    draws, new = posterior.posterior, X[:3]
    given = [GroupEffects(CODES[:3]), GroupEffects(CODES[:3], new[:, 1:])]
    options = {"groups": given, "predictors": {"scale": new}, "quantiles": None}
    eta = tunamh.predict(posterior, new, **options).values
    effects = draws["group_effect"].values[0].reshape(30, 2, 8)[:, :, CODES[:3]]
    np.testing.assert_allclose(eta, draws["theta"].values[0] @ new.T + effects[:, 0], rtol=1e-10)
    simulated = np.stack([tunamh.predict(posterior, new, kind="response", rng=k, **options).values for k in range(300)])
    scale = np.exp(draws["scale"].values[0] @ new.T + effects[:, 1] * new[:, 1])
    np.testing.assert_allclose(((simulated - eta) / scale).std(), 1.0, rtol=0.02)
    assert set(tunamh.group_effects(posterior)["parameter"]) == {"", "scale"}


def test_inflation_has_groups():
    rng = np.random.default_rng(1)
    codes = np.repeat(np.arange(10), 40)
    empty = rng.random(400) < np.where(codes < 5, 0.1, 0.7)
    table = pd.DataFrame({"g": [f"g{k}" for k in codes], "y": np.where(empty, 0, rng.poisson(3.0, 400))})
    family = tunamh.ZeroInflated(tunamh.Poisson())
    model = tunamh.regression("y ~ 1 + (1 | g)", table, family=family, predictors={"inflation": "~ 1 + (1 | g)"})
    posterior = tunamh.sample(model, draws=300, tune=300, chains=2, rng=1, progressbar=False)
    effects = flat(posterior.posterior["inflation_1|g"]).mean(axis=0)
    assert effects[:5].max() < effects[5:].min()
    assert tunamh.predict(posterior, table.iloc[[0, 399]])["mean"].values == pytest.approx([2.7, 0.9], abs=0.7)
