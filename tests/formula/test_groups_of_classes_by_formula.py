"""Group effects of classes without an order, by formula: every class but the reference has effects of its own."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp, softmax

import tunamh

pytestmark = pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")  # runs are short on purpose

CLASSES, CARRIERS = ["early", "late", "on time"], list("ABCDEF")


def flights(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    table = pd.DataFrame(
        {
            "x": rng.standard_normal(n),
            "carrier": rng.choice(CARRIERS, n),
            "airport": rng.choice(["BOS", "JFK", "LGA"], n, p=[0.6, 0.3, 0.1]),
        }
    )
    effects = rng.standard_normal((6, 2))[table["carrier"].map(CARRIERS.index)]
    eta = np.column_stack([np.zeros(n), effects + table[["x"]].to_numpy() * [0.5, -0.5]])
    table["how"] = np.array(CLASSES)[(eta + rng.gumbel(size=(n, 3))).argmax(axis=1)]
    return table


TABLE = flights()
FORMULA = "how ~ x + (1 + x | carrier) + (1 | airport)"


@pytest.fixture(scope="module")
def model():
    return tunamh.regression(FORMULA, TABLE, family="categorical")


@pytest.fixture(scope="module")
def posterior(model):
    return tunamh.sample(model, draws=60, tune=60, chains=2, rng=1, progressbar=False)


def flat(values) -> np.ndarray:
    found = values.transpose("chain", "draw", ...).values
    return found.reshape(-1, *found.shape[2:])


def predictors_of(posterior, table) -> np.ndarray:
    """(draws, rows, classes), of rows of known groups, written down once more."""
    draws, codes = posterior.posterior, table["carrier"].map(CARRIERS.index).to_numpy()
    places = table["airport"].map(["BOS", "JFK", "LGA"].index).to_numpy()
    x = table["x"].to_numpy()[None, :, None]
    eta = flat(draws["Intercept"])[:, None] + flat(draws["x"])[:, None] * x
    eta = eta + flat(draws["1|carrier"])[:, codes] + flat(draws["x|carrier"])[:, codes] * x
    eta = eta + flat(draws["1|airport"])[:, places]
    return np.concatenate([np.zeros((*eta.shape[:2], 1)), eta], axis=2)


# ------------------------------------------------------------------------------------------------- results


def test_results_have_a_dimension_of_classes(posterior):
    sizes = {name: values.dims[2:] for name, values in posterior.posterior.data_vars.items()}
    assert sizes["1|carrier"] == sizes["x|carrier"] == ("carrier__factor_dim", "how_dim")
    assert sizes["1|carrier_sigma"] == sizes["1,x|carrier_corr"] == ("how_dim",)
    assert list(posterior.posterior["how_dim"].values) == ["late", "on time"]


def test_numbers_have_the_names_of_the_target(model):
    """The target numbers factor by factor, class by class, level by level."""
    layout = model.formula.layout(model.variables, model.groupings)
    plain = [name for _, labels in model.variables for name in labels]
    told = dict(zip(layout.names, plain, strict=True))
    assert told["1|carrier[B, on time]"] == "carrier[B]: Intercept[on time]"
    assert told["x|carrier[F, late]"] == "carrier[F]: x[late]"
    assert told["1|airport[LGA, on time]"] == "airport[LGA]: on time"
    assert told["x|carrier_sigma[on time]"] == "carrier: x[on time]"
    assert told["1|airport_sigma[late]"] == "airport: late"
    assert told["1,x|carrier_corr[on time]"] == "carrier: x[on time], Intercept[on time]"


def test_slopes_of_a_factor_have_all_three_dimensions():
    table = TABLE.assign(kind=np.where(np.arange(len(TABLE)) % 2, "jet", "prop"))
    model = tunamh.regression("how ~ x + (0 + kind | carrier)", table, family="categorical")
    layout = model.formula.layout(model.variables, model.groupings)
    plain = [name for _, labels in model.variables for name in labels]
    told = dict(zip(layout.names, plain, strict=True))
    assert told["kind|carrier[prop, C, late]"] == "carrier[C]: kind[prop][late]"
    assert told["kind|carrier_sigma[jet, on time]"] == "carrier: kind[jet][on time]"


def test_known_scales_are_those_of_every_class():
    prior = {"1 | airport": 0.5}
    model = tunamh.regression("how ~ x + (1 | airport) + (1 | carrier)", TABLE, family="categorical", prior=prior)
    names = [one.name for one in model.formula.layout(model.variables, model.groupings).variables]
    assert "1|airport_sigma" not in names
    assert "1|carrier_sigma" in names


# ------------------------------------------------------------------------------------------------- predictions


def test_predictions_are_those_of_the_draws(posterior):
    new = TABLE.head(5)
    found = tunamh.predict(posterior, new, quantiles=None)
    np.testing.assert_allclose(found.values, softmax(predictors_of(posterior, new), axis=2), rtol=1e-10)
    assert list(found["class"].values) == CLASSES


def test_a_typical_group_has_no_effects(posterior):
    new = pd.DataFrame({"x": [0.0, 1.0], "carrier": ["new", "new"], "airport": ["none", "none"]})
    found = tunamh.predict(posterior, new, kind="linear", new_levels="population", quantiles=None).values
    draws = posterior.posterior
    expected = flat(draws["Intercept"])[:, None] + flat(draws["x"])[:, None] * np.array([0.0, 1.0])[None, :, None]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_new_groups_have_effects_of_the_scales_of_their_class(posterior):
    """Of 3,000 new groups, for each draw; a class's scale is not the other's."""
    n = 3000
    new = pd.DataFrame({"x": 0.0, "carrier": [f"new {k}" for k in range(n)], "airport": "BOS"})
    options = {"kind": "linear", "quantiles": None, "draws": 4, "rng": 1}
    found = tunamh.predict(posterior, new, new_levels="draw", **options).values
    picked = np.linspace(0, 119, 4).round().astype(int)
    scales = flat(posterior.posterior["1|carrier_sigma"])[picked]
    assert np.abs(np.log(scales[:, 0] / scales[:, 1])).max() > 0.3  # else a mistake would not be seen
    np.testing.assert_allclose(found.std(axis=1), scales, rtol=5 / np.sqrt(2 * n))


def test_comparisons_are_those_of_every_class(posterior):
    conditional = {"x": 0.0, "airport": "BOS"}
    table = tunamh.comparisons(posterior, contrast={"carrier": [("C", "A")]}, conditional=conditional, groups="known")
    eta = predictors_of(posterior, pd.DataFrame({"x": [0.0, 0.0], "carrier": ["A", "C"], "airport": ["BOS", "BOS"]}))
    p = softmax(eta, axis=2)
    expected = (p[:, 0] - p[:, 1]).mean(axis=0)
    np.testing.assert_allclose(table["mean"], expected, atol=1e-6)


def test_an_unknown_group_is_refused(posterior):
    with pytest.raises(ValueError, match="carrier has the level 'Z'"):
        tunamh.predict(posterior, TABLE.head(1).assign(carrier="Z"))


def test_rows_are_left_out_by_the_density_of_their_class(posterior):
    tree = tunamh.replicate(posterior, TABLE, rows=40, rng=3)
    rows = TABLE.iloc[tree.log_likelihood["row"].values]
    eta = predictors_of(posterior, rows)
    own = rows["how"].map(CLASSES.index).to_numpy()
    expected = eta[:, np.arange(40), own] - logsumexp(eta, axis=2)
    np.testing.assert_allclose(flat(tree.log_likelihood["how"]), expected, rtol=1e-9, atol=1e-12)
    simulated, p = flat(tree.posterior_predictive["how"]), softmax(eta, axis=2)
    for k in range(3):
        share, mean = (simulated == k).mean(), p[..., k].mean()
        assert abs(share - mean) < 5 * np.sqrt((p[..., k] * (1 - p[..., k])).sum()) / p[..., k].size


@pytest.mark.filterwarnings("ignore:Estimated shape parameter")
def test_rows_are_left_out_one_at_a_time(posterior):
    """Importance sampling without smoothing: ``-log E[1 / p(y_i)]``; of 300 rows the mean is close to that of PSIS."""
    found = tunamh.loo(posterior, TABLE, rows=len(TABLE))
    eta, own = predictors_of(posterior, TABLE), TABLE["how"].map(CLASSES.index).to_numpy()
    densities = eta[:, np.arange(len(TABLE)), own] - logsumexp(eta, axis=2)
    plain = np.log(len(densities)) - logsumexp(-densities, axis=0)
    assert (found.pareto_k > 0.7).sum() < 0.03 * len(TABLE)  # there are 120 draws
    light = found.pareto_k < 0.4
    assert light.sum() > 250
    np.testing.assert_allclose(found.pointwise[light], plain[light], atol=0.05)


# ------------------------------------------------------------------------------------------------- tables


def test_effects_have_a_column_of_classes(posterior):
    table = tunamh.group_effects(posterior, "carrier", term="x")
    assert list(table.columns[:4]) == ["group", "level", "term", "class"]
    draws = posterior.posterior["x|carrier"].mean(["chain", "draw"])
    for name in CLASSES[1:]:
        own = table[table["class"] == name]
        np.testing.assert_allclose(own["mean"], draws.sel(how_dim=name), rtol=1e-12)
        assert own["p_best"].sum() == pytest.approx(1)
        assert list(own["rows"]) == [int((TABLE["carrier"] == level).sum()) for level in CARRIERS]


def test_coefficients_are_those_of_the_same_class(posterior):
    table = tunamh.group_effects(posterior, "carrier", coefficients=True)
    draws = posterior.posterior
    for term, effect in (("Intercept", "1|carrier"), ("x", "x|carrier")):
        mean = (draws[term] + draws[effect]).mean(["chain", "draw"])
        for name in CLASSES[1:]:
            own = table[(table["term"] == term) & (table["class"] == name)]
            np.testing.assert_allclose(own["mean"], mean.sel(how_dim=name), rtol=1e-12)


def test_shares_are_those_of_the_predictor_of_a_class(posterior):
    table, draws = tunamh.group_scales(posterior).set_index(["group", "class", "quantity", "term"]), posterior.posterior
    x = TABLE["x"].to_numpy()
    for name in CLASSES[1:]:
        one, slope, related, place = (
            draws[variable].sel(how_dim=name)
            for variable in ("1|carrier_sigma", "x|carrier_sigma", "1,x|carrier_corr", "1|airport_sigma")
        )
        added = one**2 + slope**2 * np.mean(x**2) + 2 * related * one * slope * x.mean()
        share = added / (added + place**2 + np.pi**2 / 3)
        assert table.loc["carrier", name, "share", ""]["mean"] == pytest.approx(float(share.mean()), rel=1e-6)
        assert table.loc["carrier", name, "sd", "x"]["mean"] == pytest.approx(float(slope.mean()), rel=1e-12)
    assert table.loc["Residual", "", "sd", ""]["mean"] == pytest.approx(np.pi / np.sqrt(3))


def test_a_model_of_arrays_tells_the_same():
    """`MixedModel` names one variable by factor and class, and its tables have the same columns."""
    codes = TABLE["carrier"].map(CARRIERS.index).to_numpy()
    X = np.column_stack([np.ones(len(TABLE)), TABLE["x"]])
    groups = [tunamh.GroupEffects(codes, X[:, 1], name="carrier")]
    model = tunamh.MixedModel(X, TABLE["how"].map(CLASSES.index).to_numpy(), tunamh.Categorical(), groups)
    posterior = tunamh.sample(model, draws=20, tune=20, chains=1, rng=1, progressbar=False)
    table = tunamh.group_effects(posterior)
    assert list(table["class"].unique()) == ["1", "2"]
    assert table["term"].nunique() == 1
    effects = posterior.posterior["group_effect"].values[0].mean(axis=0)
    np.testing.assert_allclose(table["mean"], effects, rtol=1e-12)
    assert set(tunamh.group_scales(posterior)["class"]) == {"1", "2", ""}
    with pytest.raises(tunamh.NotApplicable, match="coefficients=True needs the result of a formula"):
        tunamh.group_effects(posterior, coefficients=True)
    with pytest.raises(tunamh.NotApplicable, match="coefficients=True needs the result of a formula"):
        tunamh.plot_group_effects(posterior, coefficients=True)


def test_effects_that_are_not_kept_have_classes(model):
    model = tunamh.regression("how ~ x + (1 | carrier)", TABLE, family="categorical", keep_effects=False)
    posterior = tunamh.sample(model, draws=30, tune=30, chains=1, rng=1, progressbar=False)
    table = tunamh.group_effects(posterior)
    means = posterior["group_effects"]["1|carrier"].sel(statistic="mean", chain=0)
    for name in CLASSES[1:]:
        np.testing.assert_allclose(table[table["class"] == name]["mean"], means.sel(how_dim=name))
    with pytest.raises(tunamh.NotApplicable, match="has no draws of the effects"):
        tunamh.predict(posterior, TABLE.head(2))
    assert tunamh.predict(posterior, TABLE.head(2), new_levels="draw", rng=1).sizes["class"] == 3


def test_the_report_and_the_picture_name_classes(posterior, tmp_path):
    pytest.importorskip("matplotlib")
    tunamh.report(posterior, tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "carrier: x, class on time" in page
    axes = tunamh.plot_group_effects(posterior, "carrier", term="x")
    assert [ax.get_title() for ax in axes] == ["x, class late", "x, class on time"]


def test_the_prior_simulates_classes(model):
    prior = tunamh.prior_predictive(model, TABLE, draws=20, rng=1)
    assert prior["prior"]["1|carrier"].dims == ("chain", "draw", "carrier__factor_dim", "how_dim")
