"""Tables and pictures of group effects, beside the draws that they are made of and beside lme4."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import sleepstudy as lme4
import xarray
from scipy.special import ndtr, ndtri, polygamma

import tunamh

pytestmark = pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")  # runs are short on purpose


def flights(n: int = 1200) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    table = pd.DataFrame(
        {
            "x": rng.standard_normal(n),
            "kind": rng.choice(["jet", "prop", "old"], n),
            "airport": rng.choice(["JFK", "LGA", "EWR", "BOS", "ORD", "SFO"], n, p=[0.3, 0.25, 0.2, 0.1, 0.1, 0.05]),
            "carrier": rng.choice(list("ABCD"), n),
        }
    )
    effect = dict(zip(["JFK", "LGA", "EWR", "BOS", "ORD", "SFO"], rng.standard_normal(6), strict=True))
    eta = 0.5 + table["x"] + table["airport"].map(effect)
    table["y"] = eta + rng.standard_normal(n)
    table["late"] = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(int)
    table["count"] = rng.poisson(np.exp(0.3 * eta))
    return table


TABLE = flights()


def sampled(formula, family, draws=150, **settings):
    model = tunamh.regression(formula, TABLE, family=family, **settings)
    return tunamh.sample(model, draws=draws, tune=100, chains=2, rng=1)


@pytest.fixture(scope="module")
def slopes():
    return sampled("y ~ x + kind + (1 + x + kind | airport) + (1 | carrier)", tunamh.Gaussian())


def flat(values):
    return values.values.reshape(-1, *values.shape[2:])


# ------------------------------------------------------------------------------------------------- effects


def test_the_table_is_what_the_draws_say(slopes):
    table = tunamh.group_effects(slopes, "airport", term="x", ci_prob=0.8)
    draws = flat(slopes.posterior["x|airport"])
    assert list(table["level"]) == list(slopes.posterior["airport__factor_dim"].values)
    assert (table["group"] == "airport").all()
    assert (table["term"] == "x").all()
    np.testing.assert_array_equal(table["rows"], TABLE["airport"].value_counts()[table["level"]])
    np.testing.assert_allclose(table["mean"], draws.mean(axis=0))
    np.testing.assert_allclose(table["sd"], draws.std(axis=0))
    np.testing.assert_allclose(table[["eti80_lb", "eti80_ub"]], np.quantile(draws, [0.1, 0.9], axis=0).T)
    np.testing.assert_allclose(table["p_positive"], (draws > 0).mean(axis=0))
    ranks = (draws[:, None, :] >= draws[:, :, None]).sum(axis=2)  # how many are at least as large
    np.testing.assert_allclose(table["rank"], ranks.mean(axis=0))
    np.testing.assert_allclose(table["p_best"], (ranks == 1).mean(axis=0))
    np.testing.assert_array_equal(table["rank_lb"], np.quantile(ranks, 0.1, axis=0, method="inverted_cdf"))
    np.testing.assert_array_equal(table["rank_ub"], np.quantile(ranks, 0.9, axis=0, method="inverted_cdf"))
    assert table["p_best"].sum() == pytest.approx(1)
    assert table["rank"].sum() == pytest.approx(21)


def test_the_smallest_may_be_best(slopes):
    largest, smallest = (
        tunamh.group_effects(slopes, "airport", term="Intercept", best=best) for best in ("largest", "smallest")
    )
    np.testing.assert_allclose(largest["rank"] + smallest["rank"], 7)
    draws = flat(slopes.posterior["1|airport"])
    np.testing.assert_allclose(smallest["p_best"], (draws == draws.min(axis=1, keepdims=True)).mean(axis=0))


def test_all_factors_and_terms_are_in_one_table(slopes):
    table = tunamh.group_effects(slopes)
    assert list(table[["group", "term"]].drop_duplicates().itertuples(index=False, name=None)) == [
        ("airport", "Intercept"),
        ("airport", "x"),
        ("airport", "kind[old]"),
        ("airport", "kind[prop]"),
        ("carrier", "Intercept"),
    ]
    assert len(table) == 4 * 6 + 4
    prop = table.query("term == 'kind[prop]'")
    draws = flat(slopes.posterior["kind|airport"].sel(kind__expr_dim="prop"))
    np.testing.assert_allclose(prop["mean"], draws.mean(axis=0))


def test_the_interval_is_that_of_a_summary(slopes):
    table = tunamh.group_effects(slopes, "carrier")
    summary = tunamh.summary(slopes, var_names=["1|carrier"], round_to="none")
    np.testing.assert_allclose(table[["mean", "sd", "eti89_lb", "eti89_ub"]], summary.iloc[:, :4], rtol=1e-6)
    assert list(table.columns[4:8]) == list(summary.columns[:4])


def test_coefficients_are_common_plus_effect(slopes):
    """lme4's coef."""
    table = tunamh.group_effects(slopes, "airport", coefficients=True)
    posterior = slopes.posterior
    for term, common, effect in (
        ("Intercept", posterior["Intercept"], posterior["1|airport"]),
        ("x", posterior["x"], posterior["x|airport"]),
        ("kind[old]", posterior["kind"].sel(kind_dim="old"), posterior["kind|airport"].sel(kind__expr_dim="old")),
        ("kind[prop]", posterior["kind"].sel(kind_dim="prop"), posterior["kind|airport"].sel(kind__expr_dim="prop")),
    ):
        draws = flat(effect) + flat(common)[:, None]
        own = table[table["term"] == term]
        np.testing.assert_allclose(own["mean"], draws.mean(axis=0))
        np.testing.assert_allclose(own["sd"], draws.std(axis=0))


def test_a_term_without_a_common_coefficient_is_its_effect():
    posterior = sampled("y ~ 1 + (0 + x | airport)", tunamh.Gaussian())
    table = tunamh.group_effects(posterior, "airport", coefficients=True)
    np.testing.assert_allclose(table["mean"], flat(posterior.posterior["x|airport"]).mean(axis=0))


def test_terms_of_one_factor_stand_together():
    posterior = sampled("y ~ x + (1 + x || airport) + (1 | carrier)", tunamh.Gaussian())
    table = tunamh.group_effects(posterior, "airport")
    assert list(dict.fromkeys(table["term"])) == ["Intercept", "x"]
    np.testing.assert_allclose(table["mean"][6:], flat(posterior.posterior["x|airport"]).mean(axis=0))
    scales = tunamh.group_scales(posterior)
    assert "correlation" not in set(scales["quantity"])


def test_nested_factors_have_the_names_of_the_formula():
    posterior = sampled("y ~ x + (1 | airport/carrier)", tunamh.Gaussian())
    assert set(tunamh.group_effects(posterior)["group"]) == {"airport", "airport:carrier"}
    table = tunamh.group_effects(posterior, "airport:carrier")
    assert "JFK:A" in set(table["level"])
    np.testing.assert_array_equal(
        table["rows"], (TABLE["airport"] + ":" + TABLE["carrier"]).value_counts()[table["level"]]
    )


def mixed(**settings):
    groups = [
        tunamh.GroupEffects(TABLE["airport"], TABLE[["x"]].assign(ones=1.0)),
        tunamh.GroupEffects(TABLE["carrier"]),
    ]
    model = tunamh.MixedModel(TABLE[["x"]].assign(ones=1.0), TABLE["y"], tunamh.Gaussian(), groups, **settings)
    return tunamh.sample(model, draws=150, tune=100, chains=2, rng=1)


def test_a_mixed_model_has_the_same_tables():
    posterior = mixed()
    for term in ("x", "ones"):
        table = tunamh.group_effects(posterior, "airport", term=term)
        named = [f"airport[{level}]: {term}" for level in table["level"]]
        draws = flat(posterior.posterior["group_effect"].sel(group_effect_parameter=named))
        np.testing.assert_allclose(table["mean"], draws.mean(axis=0))
    np.testing.assert_array_equal(table["rows"], TABLE["airport"].value_counts()[table["level"]])
    carriers = tunamh.group_effects(posterior, "carrier")
    assert list(carriers["level"]) == list("ABCD")
    assert set(carriers["term"]) == {"Intercept"}
    draws = flat(posterior.posterior["group_effect"].sel(group_effect_parameter=[f"carrier[{c}]" for c in "ABCD"]))
    np.testing.assert_allclose(carriers["sd"], draws.std(axis=0))
    scales = tunamh.group_scales(posterior)
    of_x = posterior.posterior["group_scale"].sel(group_scale_parameter="airport: x")
    np.testing.assert_allclose(scales["mean"][0], float(of_x.mean()))
    related = scales[scales["quantity"] == "correlation"]
    assert related["term"].item() == "x, ones"
    assert related["mean"].item() == pytest.approx(float(posterior.posterior["group_correlation"].mean()))


def test_levels_with_brackets_keep_their_names():
    town = np.array(["a]: x", "b[c]", "d"])[np.arange(300) % 3]
    rng = np.random.default_rng(0)
    model = tunamh.MixedModel(np.ones((300, 1)), rng.standard_normal(300), tunamh.Gaussian(), town)
    posterior = tunamh.sample(model, draws=50, tune=50, chains=1, rng=1)
    assert list(tunamh.group_effects(posterior)["level"]) == ["a]: x", "b[c]", "d"]


def test_rows_of_trials_are_those_of_the_user():
    """A row of trials may become two, for successes and for failures."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"town": np.repeat(["a", "b", "c"], [5, 7, 9]), "n": 10, "k": rng.binomial(10, 0.4, 21)})
    model = tunamh.regression("k ~ 1 + (1 | town)", table, family=tunamh.Probit(), trials="n")
    posterior = tunamh.sample(model, draws=50, tune=50, chains=1, rng=1)
    assert list(tunamh.group_effects(posterior)["rows"]) == [5, 7, 9]


# ------------------------------------------------------------------------------------------------- only summaries


@pytest.mark.parametrize("of_formula", [True, False])
def test_without_draws_there_are_intervals_but_no_ranks(of_formula):
    if of_formula:
        posterior = sampled("y ~ x + (1 + x | airport) + (1 | carrier)", tunamh.Gaussian(), keep_effects=False)
        group = posterior["group_effects"]["x|airport"]
        mean, sd = group.sel(statistic="mean").values, group.sel(statistic="sd").values
    else:
        posterior = mixed(keep_effects=False)
        group = posterior["group_effects"].isel(group_effect_parameter=slice(0, 12, 2))
        assert str(group["group_effect_parameter"].values[0]) == "airport[BOS]: x"
        mean, sd = group["mean"].values, group["sd"].values
    table = tunamh.group_effects(posterior, "airport", term="x")
    assert list(table["level"]) == ["BOS", "EWR", "JFK", "LGA", "ORD", "SFO"]
    spread = np.sqrt((sd**2).mean(axis=0) + mean.var(axis=0))
    np.testing.assert_allclose(table["mean"], mean.mean(axis=0))
    np.testing.assert_allclose(table["sd"], spread)
    np.testing.assert_allclose(table["eti89_ub"], mean.mean(axis=0) + ndtri(0.945) * spread)
    np.testing.assert_allclose(table["p_positive"], ndtr(mean.mean(axis=0) / spread))
    np.testing.assert_array_equal(table["rows"], TABLE["airport"].value_counts()[table["level"]])
    assert table[["rank", "rank_lb", "rank_ub", "p_best"]].isna().all(axis=None)
    assert "keep_effects=True keeps the draws" in repr(table)
    reason = "keep_effects=True" if of_formula else "needs the result of a formula"
    with pytest.raises(tunamh.NotApplicable, match=reason):
        tunamh.group_effects(posterior, "airport", coefficients=True)
    assert "share" in set(tunamh.group_scales(posterior)["quantity"])


def test_files_have_the_same_tables(slopes, tmp_path):
    slopes.to_netcdf(tmp_path / "run.nc")
    with xarray.open_datatree(tmp_path / "run.nc") as found:
        pd.testing.assert_frame_equal(tunamh.group_effects(found), tunamh.group_effects(slopes))
        pd.testing.assert_frame_equal(tunamh.group_scales(found), tunamh.group_scales(slopes))


def test_a_part_of_the_levels_has_a_table_without_rows(slopes):
    some = xarray.DataTree.from_dict(
        {"posterior": slopes.posterior.to_dataset().sel(airport__factor_dim=["JFK", "LGA"])}
    )
    table = tunamh.group_effects(some, "airport", term="x")
    assert list(table["level"]) == ["JFK", "LGA"]
    assert table["rows"].isna().all()
    plain = mixed()
    plain["posterior"] = xarray.DataTree(plain.posterior.to_dataset().isel(group_effect_parameter=slice(5)))
    with pytest.raises(tunamh.NotApplicable, match="has 5 group effects, but its model has another number"):
        tunamh.group_effects(plain)


def test_many_levels_are_ranked_on_fewer_draws(monkeypatch, slopes):
    monkeypatch.setattr("tunamh.results.group_effects._MOST_RANKED", 0)
    monkeypatch.setattr("tunamh.results.group_effects._VALUES_AT_ONCE", 600)  # two levels at once
    table = tunamh.group_effects(slopes, "airport", term="x")
    draws = flat(slopes.posterior["x|airport"])
    np.testing.assert_allclose(table["mean"], draws.mean(axis=0))
    some = draws[np.linspace(0, 299, 200).round().astype(int)]
    np.testing.assert_allclose(table["p_best"], (some.argmax(axis=1)[:, None] == np.arange(6)).mean(axis=0))


# ------------------------------------------------------------------------------------------------- what is shown


def test_numbers_are_rounded_for_the_eye_only(slopes):
    table = tunamh.group_effects(slopes, "airport")
    assert len(repr(table["mean"].iloc[0]).rstrip(")").split(".")[1]) > 6
    assert max(len(word.split(".")[1]) for word in repr(table).split() if "." in word) <= 4
    assert "JFK" in table._repr_html_()
    best = table.sort_values("rank").query("term == 'x'").head(2)  # as readable as the table: all columns, few digits
    assert "..." not in repr(best)
    assert max(len(word.split(".")[1]) for word in repr(best).split() if "." in word) <= 4


def test_names_that_are_not_there_are_listed(slopes):
    with pytest.raises(ValueError, match="no groups 'airports': it has 'airport', 'carrier'"):
        tunamh.group_effects(slopes, "airports")
    with pytest.raises(ValueError, match=r"effects of carrier have no term 'x': they have 'Intercept'"):
        tunamh.group_effects(slopes, "carrier", term="x")
    with pytest.raises(ValueError, match="best must be one of 'largest', 'smallest', got 'highest'"):
        tunamh.group_effects(slopes, "carrier", best="highest")
    with pytest.raises(TypeError, match=r"group_effects has no argument interval=\. Here it is ci_prob="):
        tunamh.group_effects(slopes, "carrier", interval=0.9)
    with pytest.raises(ValueError, match="ci_prob"):
        tunamh.group_scales(slopes, ci_prob=1.5)


def test_results_without_groups_say_how_to_get_some():
    posterior = tunamh.sample(tunamh.regression("y ~ x", TABLE, family=tunamh.Gaussian()), draws=20, tune=20, rng=1)
    for ask in (tunamh.group_effects, tunamh.group_scales, tunamh.plot_group_effects):
        with pytest.raises(tunamh.NotApplicable, match=r"no group effects: write \(1 \| airport\)"):
            ask(posterior)
        with pytest.raises(tunamh.NotApplicable, match=r"result of tunamh\.sample"):
            ask({"posterior": 3})


# ------------------------------------------------------------------------------------------------- scales


def line(table, group, quantity, term=""):
    found = table[(table["group"] == group) & (table["quantity"] == quantity) & (table["term"] == term)]
    assert len(found) == 1
    return found.iloc[0]


def test_scales_and_correlations_are_those_of_the_draws(slopes):
    table = tunamh.group_scales(slopes, ci_prob=0.9)
    posterior = slopes.posterior
    for group, term, quantity, values in (
        ("airport", "Intercept", "sd", posterior["1|airport_sigma"]),
        ("airport", "x", "sd", posterior["x|airport_sigma"]),
        ("airport", "kind[prop]", "sd", posterior["kind|airport_sigma"].sel(kind__expr_dim="prop")),
        ("airport", "Intercept, x", "correlation", posterior["1,x|airport_corr"]),
        ("airport", "x, kind[old]", "correlation", posterior["x,kind|airport_corr"].sel(kind__expr_dim="old")),
        ("airport", "kind[old], kind[prop]", "correlation", posterior["kind,kind|airport_corr"].isel(kind__pair_dim=0)),
        ("carrier", "Intercept", "sd", posterior["1|carrier_sigma"]),
        ("Residual", "", "sd", posterior["sigma"]),
    ):
        own, draws = line(table, group, quantity, term), flat(values)
        assert own["mean"] == pytest.approx(draws.mean())
        assert own["sd"] == pytest.approx(draws.std())
        np.testing.assert_allclose(own[["eti90_lb", "eti90_ub"]].astype(float), np.quantile(draws, [0.05, 0.95]))
    assert (table["quantity"] == "correlation").sum() == 6


def test_shares_are_computed_for_every_draw(slopes):
    """``z' Sigma z``, on average over the rows, where effects are slopes."""
    table, posterior = tunamh.group_scales(slopes), slopes.posterior
    Z = np.column_stack([np.ones(len(TABLE)), TABLE["x"], TABLE["kind"] == "old", TABLE["kind"] == "prop"])
    sd = np.column_stack(
        [flat(posterior["1|airport_sigma"]), flat(posterior["x|airport_sigma"]), flat(posterior["kind|airport_sigma"])]
    )
    related = np.tile(np.eye(4), (len(sd), 1, 1))
    for i, j, values in (
        (0, 1, posterior["1,x|airport_corr"]),
        (0, 2, posterior["1,kind|airport_corr"].sel(kind__expr_dim="old")),
        (0, 3, posterior["1,kind|airport_corr"].sel(kind__expr_dim="prop")),
        (1, 2, posterior["x,kind|airport_corr"].sel(kind__expr_dim="old")),
        (1, 3, posterior["x,kind|airport_corr"].sel(kind__expr_dim="prop")),
        (2, 3, posterior["kind,kind|airport_corr"].isel(kind__pair_dim=0)),
    ):
        related[:, i, j] = related[:, j, i] = flat(values)
    covariance = sd[:, :, None] * related * sd[:, None, :]
    airport = np.einsum("na,sab,nb->s", Z, covariance, Z, optimize=True) / len(Z)
    carrier, row = flat(posterior["1|carrier_sigma"]) ** 2, flat(posterior["sigma"]) ** 2
    whole = airport + carrier + row
    assert line(table, "airport", "share")["mean"] == pytest.approx((airport / whole).mean(), rel=1e-6)
    assert line(table, "carrier", "share")["eti89_ub"] == pytest.approx(np.quantile(carrier / whole, 0.945), rel=1e-6)
    assert line(table, "all groups", "share")["sd"] == pytest.approx(((airport + carrier) / whole).std(), rel=1e-6)


_LABELS = {"late": (tunamh.Logistic(), math.pi**2 / 3), "probit": (tunamh.Probit(), 1.0)}
_LABELS["cloglog"] = (tunamh.Cloglog(), math.pi**2 / 6)


@pytest.mark.parametrize("name", list(_LABELS))
def test_labels_have_the_variance_of_their_latent_errors(name):
    family, variance = _LABELS[name]
    posterior = sampled("late ~ x + (1 | airport)", family)
    table = tunamh.group_scales(posterior)
    assert line(table, "Residual", "sd")["mean"] == pytest.approx(math.sqrt(variance))
    own = flat(posterior.posterior["1|airport_sigma"]) ** 2
    assert line(table, "airport", "share")["mean"] == pytest.approx((own / (own + variance)).mean())
    assert "latent error of the " in repr(table)


def test_counts_are_approximated_at_their_mean():
    """Nakagawa, Johnson and Schielzeth 2017, table 1."""
    m = TABLE["count"].mean()
    poisson = sampled("count ~ x + (1 | airport)", tunamh.Poisson())
    table = tunamh.group_scales(poisson)
    assert line(table, "Residual", "sd")["mean"] == pytest.approx(math.sqrt(math.log(1 + 1 / m)))
    assert f"{m:.4g} (Nakagawa et al. 2017)" in repr(table)
    dispersed = sampled("count ~ x + (1 | airport)", tunamh.NegativeBinomial())
    r = flat(dispersed.posterior["alpha"])
    row = line(tunamh.group_scales(dispersed), "Residual", "sd")
    assert row["mean"] == pytest.approx(np.sqrt(np.log(1 + 1 / m + 1 / r)).mean())


LATENT = [
    (tunamh.LogNormal(0.5), {}, 0.25),
    (tunamh.LogLogistic(2.0), {}, 4 * math.pi**2 / 3),
    (tunamh.LogisticErrors(2.0), {}, 4 * math.pi**2 / 3),
    (tunamh.Weibull(2.0), {}, math.pi**2 / 24),
    (tunamh.Exponential(), {}, math.pi**2 / 6),
    (tunamh.Gamma(3.0), {}, float(polygamma(1, 3.0))),
    (tunamh.StudentT(df=4.0, scale=2.0), {}, 8.0),
    (tunamh.Gaussian(3.0), {}, 9.0),
    (tunamh.Ordinal(), {}, math.pi**2 / 3),
]


@pytest.mark.parametrize(("family", "known", "variance"), LATENT, ids=lambda one: type(one).__name__)
def test_a_familys_variance_on_the_scale_of_its_predictor(family, known, variance):
    p = {**family.known_parameters(), **known}
    assert family.latent_variance(p, None) == pytest.approx(variance)
    simulated = family.response_distribution()
    if family.of_classes:
        return
    eta = np.full((1, 200_000), 0.3)
    drawn = simulated.draw(np.random.default_rng(1), eta, p)
    errors = (np.log(drawn) if (drawn > 0).all() else drawn) - eta
    if not isinstance(family, tunamh.StudentT):  # whose fourth moment is infinite
        assert errors.var() == pytest.approx(variance, rel=0.02)


def test_proportions_have_the_variance_of_their_logit():
    family, p = tunamh.Beta(), {"precision": 6.0}
    drawn = np.random.default_rng(1).beta(0.3 * 6, 0.7 * 6, 200_000)
    assert family.latent_variance(p, 0.3) == pytest.approx(np.log(drawn / (1 - drawn)).var(), rel=0.02)


def test_families_without_a_latent_variance_have_no_shares():
    posterior = sampled("count ~ x + (1 | airport)", tunamh.ZeroInflated(tunamh.Poisson()), draws=50)
    table = tunamh.group_scales(posterior)
    assert set(table["quantity"]) == {"sd"}
    assert set(table["group"]) == {"airport"}
    assert "no shares of variance: the residual variance of ZeroInflated" in repr(table)


@pytest.mark.parametrize(("family", "row"), [(tunamh.Gaussian, 4.0), (tunamh.LogisticErrors, 4 * math.pi**2 / 3)])
def test_known_scales_are_in_the_table(family, row):
    """The columns of effects are divided by a known scale of `LogisticErrors` before they are sampled."""
    groups = tunamh.GroupEffects(TABLE["airport"], scale=0.7)
    model = tunamh.MixedModel(TABLE[["x"]], TABLE["y"], family(2.0), groups)
    table = tunamh.group_scales(tunamh.sample(model, draws=50, tune=50, chains=1, rng=1))
    assert list(line(table, "airport", "sd", "Intercept")[["mean", "sd"]]) == pytest.approx([0.7, 0.0])
    assert line(table, "airport", "share")["mean"] == pytest.approx(0.49 / (0.49 + row))


# ------------------------------------------------------------------------------------------------- lme4


@pytest.mark.slow
def test_sleepstudy_is_as_lme4_has_it():
    """lme4's estimates lie in the middle of the posterior.

    Its profile intervals end sooner above: after 18 people, large standard deviations are still possible.
    """
    model = tunamh.regression("Reaction ~ Days + (1 + Days | Subject)", lme4.sleepstudy(), family=tunamh.Gaussian())
    posterior = tunamh.sample(model, draws=2000, tune=1000, rng=1)
    scales = tunamh.group_scales(posterior, ci_prob=0.95)
    for term, (low, high) in lme4.SCALES_95.items():
        residual = term == "Residual"
        own = line(scales, "Residual" if residual else "Subject", "sd", "" if residual else term)
        assert abs(own["mean"] - lme4.SCALES[term]) < 0.6 * own["sd"]
        assert own["eti95_lb"] == pytest.approx(low, abs=0.15 * (high - low))
        assert high - 0.05 * (high - low) < own["eti95_ub"] < high + 0.35 * (high - low)
    related = line(scales, "Subject", "correlation", "Intercept, Days")
    assert abs(related["mean"] - lme4.CORRELATION) < 0.3 * related["sd"]
    assert line(scales, "Subject", "share")["mean"] == pytest.approx(lme4.SHARE, abs=0.03)
    for term, known in lme4.EFFECTS.items():
        own = tunamh.group_effects(posterior, "Subject", term=term)
        assert list(own["level"][[0, 17]]) == ["308", "372"]
        assert set(own["rows"]) == {10}
        assert np.abs(own["mean"] - known).max() < 0.12 * lme4.CONDITIONAL_SD[term]
        coefficients = tunamh.group_effects(posterior, "Subject", term=term, coefficients=True)
        whole = np.array(known) + lme4.COMMON[term]
        assert np.abs(coefficients["mean"] - whole).max() < 0.12 * lme4.CONDITIONAL_SD[term]
        assert np.corrcoef(own["rank"], known)[0, 1] < -0.97


# ------------------------------------------------------------------------------------------------- the picture


def test_the_picture_has_a_row_for_each_level(slopes):
    import matplotlib.pyplot as plt

    axes = tunamh.plot_group_effects(slopes, "airport")
    assert len(axes) == 4
    assert [ax.get_title() for ax in axes] == ["Intercept", "x", "kind[old]", "kind[prop]"]
    table = tunamh.group_effects(slopes, "airport", term="Intercept").sort_values("mean")
    assert [text.get_text() for text in axes[0].get_yticklabels()] == list(table["level"])
    points = axes[0].collections[-1].get_offsets()
    np.testing.assert_allclose(points[:, 0], table["mean"])
    segments = np.array(axes[0].collections[0].get_segments())
    np.testing.assert_allclose(segments[:, :, 0], table[["eti89_lb", "eti89_ub"]])
    plt.close("all")


def test_the_picture_of_coefficients_is_about_the_common_one(slopes):
    import matplotlib.pyplot as plt

    _, given = plt.subplots()
    ax = tunamh.plot_group_effects(slopes, "airport", term="x", coefficients=True, ax=given)
    assert ax is given
    assert ax.lines[0].get_xdata()[0] == pytest.approx(float(slopes.posterior["x"].mean()))
    with pytest.raises(ValueError, match="set term= to one of 'Intercept', 'x'"):
        tunamh.plot_group_effects(slopes, "airport", ax=given)
    with pytest.raises(ValueError, match="several factors: set group= to one of 'airport', 'carrier'"):
        tunamh.plot_group_effects(slopes)
    plt.close("all")


@pytest.mark.parametrize("drawn", [3000, 50])
def test_many_levels_lie_side_by_side(drawn, monkeypatch):
    import matplotlib.pyplot as plt

    monkeypatch.setattr("tunamh.results.caterpillar._MOST_DRAWN", drawn)
    rng = np.random.default_rng(0)
    plane = rng.integers(0, 200, 4000)
    table = pd.DataFrame({"y": rng.standard_normal(4000) + rng.standard_normal(200)[plane], "plane": plane})
    model = tunamh.regression("y ~ 1 + (1 | plane)", table, family=tunamh.Gaussian())
    posterior = tunamh.sample(model, draws=100, tune=100, chains=1, rng=1)
    ax = tunamh.plot_group_effects(posterior)
    found = tunamh.group_effects(posterior).sort_values("mean")
    at = np.linspace(0, 199, min(200, drawn)).round().astype(int)
    np.testing.assert_array_equal(ax.lines[-1].get_xdata(), at)
    np.testing.assert_allclose(ax.lines[-1].get_ydata(), found["mean"].iloc[at])
    assert ax.texts[0].get_text() == f"highest: {', '.join(found['level'].iloc[::-1][:4])}"
    assert ax.texts[1].get_text() == f"lowest: {', '.join(found['level'].iloc[:4])}"
    clear = ((found["eti89_lb"] > 0) | (found["eti89_ub"] < 0)).sum()
    assert f"{clear} of 200 intervals" in ax.get_xlabel()
    plt.close("all")
