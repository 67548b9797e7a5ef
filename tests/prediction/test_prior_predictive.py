"""Draws from the prior, against the laws that they are from."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from scipy import stats

import tunamh
from tunamh.errors import NotApplicable

RNG = np.random.default_rng(5)
N = 200
TABLE = pd.DataFrame({"x": RNG.normal(size=N), "a": RNG.choice(["p", "q"], N), "g": RNG.integers(5, size=N)})
TABLE["y"] = TABLE["x"] + RNG.normal(size=N)
TABLE["count"] = RNG.poisson(2, N)
TABLE["step"] = RNG.integers(3, size=N)
DRAWS = 4000


def drawn(formula, draws=DRAWS, rows=20, **given):
    return tunamh.prior_predictive(tunamh.regression(formula, TABLE, **given), TABLE, draws=draws, rows=rows, rng=1)


def hold(values, law):
    """Kolmogorov's distance at level 1e-5."""
    assert stats.kstest(np.ravel(values), law.cdf).pvalue > 1e-5


def test_every_kind_of_law():
    priors = {
        "Intercept": tunamh.Normal(mean=2.0, scale=3.0),
        "x": tunamh.priors.StudentT(df=4, scale=2.0),
        "a": tunamh.priors.Laplace(scale=0.5),
    }
    prior = drawn("y ~ x + a", prior=priors, family=tunamh.Gaussian(tunamh.HalfNormal(2.0)))["prior"]
    hold(prior["Intercept"], stats.norm(2, 3))
    hold(prior["x"], stats.t(4, scale=2))
    hold(prior["a"], stats.laplace(scale=0.5))
    hold(prior["sigma"], stats.halfnorm(scale=2))


@pytest.mark.parametrize(
    ("prior", "law"),
    [
        (tunamh.priors.Gamma(2.0, 3.0), stats.gamma(2, scale=3)),
        (tunamh.priors.InverseGamma(3.0, 2.0), stats.invgamma(3, scale=2)),
        (tunamh.priors.LogNormal(0.5, 0.7), stats.lognorm(0.7, scale=np.exp(0.5))),
        (tunamh.priors.Uniform(0.5, 2.0), stats.uniform(0.5, 1.5)),
        (tunamh.HalfCauchy(1.5), stats.halfcauchy(scale=1.5)),
    ],
)
def test_laws_of_a_scale(prior, law):
    hold(drawn("y ~ x", family=tunamh.Gaussian(prior))["prior"]["sigma"], law)


def test_a_law_of_the_variance():
    prior = tunamh.priors.OnVariance(tunamh.priors.InverseGamma(3.0, 2.0))
    hold(drawn("y ~ x", family=tunamh.Gaussian(prior))["prior"]["sigma"] ** 2, stats.invgamma(3, scale=2))


def test_a_probability_is_uniform():
    family, narrow = tunamh.ZeroInflated(tunamh.Poisson()), tunamh.Normal(scale=0.5)
    prior = drawn("count ~ x", family=family, prior={"Intercept": narrow, "x": narrow})["prior"]
    hold(prior["inflation"], stats.uniform())
    with pytest.raises(NotApplicable, match=r"no response can be simulated .*: set narrower priors"):
        drawn("count ~ x", family=family, prior={"Intercept": tunamh.Normal(scale=100.0)})


def test_laws_of_other_parameters():
    narrow = {"Intercept": tunamh.Normal(scale=0.5), "x": tunamh.Normal(scale=0.5)}
    family = tunamh.NegativeBinomial(tunamh.priors.LogNormal(0.2, 0.4))
    hold(drawn("count ~ x", family=family, prior=narrow)["prior"]["alpha"], stats.lognorm(0.4, scale=np.exp(0.2)))
    student = drawn("y ~ x", family=tunamh.StudentT(None))["prior"]
    hold(student["nu"], stats.gamma(2, scale=10))


def test_groups():
    """Under LKJ(1) a correlation of two is uniform; effects have the drawn scales and correlations."""
    prior = drawn("y ~ x + (1 + x | g)", prior={"(1 + x | g)": tunamh.HalfNormal(0.5)})["prior"].to_dataset()
    hold(prior["1,x|g_corr"], stats.uniform(-1, 2))
    hold(prior["x|g_sigma"], stats.halfnorm(scale=0.5))
    first, second = prior["1|g"] / prior["1|g_sigma"], prior["x|g"] / prior["x|g_sigma"]
    hold(first.isel(g__factor_dim=2), stats.norm())
    rest = (second - prior["1,x|g_corr"] * first) / np.sqrt(1 - prior["1,x|g_corr"] ** 2)
    hold(rest.isel(g__factor_dim=2), stats.norm())
    assert abs(np.corrcoef(rest.values.ravel(), first.transpose(*rest.dims).values.ravel())[0, 1]) < 0.03


def test_correlations_of_three_columns():
    """Under LKJ(1) of q = 3 a correlation is 2 Beta(3/2, 3/2) - 1, each of them."""
    table = TABLE.assign(z=RNG.normal(size=N))
    model = tunamh.regression("y ~ x + (1 + x + z | g)", table)
    prior = tunamh.prior_predictive(model, table, draws=DRAWS, rows=5, rng=1)["prior"]
    for name in ("1,x|g_corr", "1,z|g_corr", "x,z|g_corr"):
        hold(prior[name], stats.beta(1.5, 1.5, -1, 2))


def test_responses_are_those_of_the_draws():
    given = {"prior": {"Intercept": tunamh.Normal(scale=1.0), "x": tunamh.Normal(scale=2.0)}}
    tree = drawn("y ~ x", rows=3, family=tunamh.Gaussian(0.5), **given)
    assert set(tree.children) == {"prior", "prior_predictive", "observed_data", "constant_data"}
    for k, x in enumerate(tree["constant_data"]["x"].values):
        hold(tree["prior_predictive"]["y"].isel(row=k), stats.norm(0, np.sqrt(1 + 4 * x * x + 0.25)))
    np.testing.assert_array_equal(tree["observed_data"]["y"], TABLE["y"][tree["observed_data"]["row"].values])
    assert tree["prior_predictive"].attrs["rows"] == "3 of 200 rows, drawn at random"


@pytest.mark.parametrize(
    ("formula", "given", "said"),
    [
        ("y ~ x", {"prior": tunamh.Flat()}, "the prior of x is flat|the prior of Intercept is flat"),
        (
            "y ~ x",
            {"prior": tunamh.priors.ByName({"Intercept": tunamh.Flat()}, others=tunamh.priors.Horseshoe(0.1))},
            "the prior of Intercept is flat",
        ),
        ("y ~ x + (1 | g)", {"keep_effects": False}, "keep_effects=True"),
    ],
)
def test_what_cannot_be_drawn_is_refused(formula, given, said):
    with pytest.raises((NotApplicable, TypeError), match=said):
        drawn(formula, draws=5, **given)


def test_other_targets_are_refused():
    with pytest.raises(NotApplicable, match=r"made by tunamh\.regression"):
        tunamh.prior_predictive(tunamh.GLM(TABLE[["x"]], TABLE["y"], "gaussian"), TABLE)


# ------------------------------------------------------------------------- cutpoints, predictors=, unknown scales, own


def test_cutpoints_are_ordered_and_have_their_law_at_a_typical_row():
    """Of two equal laws the smaller and the larger one, for ``c - o.theta``."""
    tree = drawn("step ~ x", family=tunamh.Ordinal())
    prior = tree["prior"].to_dataset()
    (name,) = (one for one in prior.data_vars if one != "x")
    away = prior[name].values[0] - TABLE["x"].mean() * prior["x"].values[0][:, None]
    assert (np.diff(away, axis=1) > 0).all()
    law = stats.t(3, scale=2.5)
    assert stats.kstest(away[:, 0], lambda c: 1 - law.sf(c) ** 2).pvalue > 1e-5
    assert stats.kstest(away[:, 1], lambda c: law.cdf(c) ** 2).pvalue > 1e-5
    assert set(np.unique(tree["prior_predictive"]["step"])) <= {0, 1, 2}


def test_predictors_of_a_scale_have_their_prior_at_a_typical_row():
    tree = drawn("y ~ x", predictors={"scale": "~ x"}, prior={"scale x": tunamh.Normal(scale=0.7)})
    prior = tree["prior"].to_dataset()
    hold(prior["sigma_x"], stats.norm(scale=0.7))
    typical = prior["sigma_Intercept"] + TABLE["x"].mean() * prior["sigma_x"]
    level = float(typical.mean())
    assert abs(level - np.log(TABLE["y"].std())) < 0.5
    hold(typical - round(level, 1), stats.norm(scale=2.5))


def test_priors_with_unknown_scales():
    horseshoe = tunamh.priors.ByName({"Intercept": tunamh.Normal(scale=1.0)}, others=tunamh.priors.Horseshoe(0.5))
    prior = drawn("y ~ x", prior=horseshoe)["prior"]
    hold(prior["Intercept"], stats.norm())
    rng = np.random.default_rng(2)
    wanted = rng.standard_normal(DRAWS) * np.abs(rng.standard_cauchy(DRAWS) * 0.5 * rng.standard_cauchy(DRAWS))
    assert stats.ks_2samp(prior["x"].values.ravel(), wanted).pvalue > 1e-5
    curve = drawn("y ~ s(x, k=6)", draws=400)
    assert np.isfinite(curve["prior_predictive"]["y"]).all()


def test_a_covariance():
    together = tunamh.Normal(covariance=[[1.0, 0.6], [0.6, 2.0]])
    prior = drawn("y ~ x", prior=together)["prior"].to_dataset()
    found = np.cov(prior["Intercept"].values.ravel(), prior["x"].values.ravel())
    np.testing.assert_allclose(found, [[1.0, 0.6], [0.6, 2.0]], atol=0.15)


def test_classes_and_censored_times():
    table = TABLE.assign(
        kind=RNG.choice(["bus", "car", "foot"], N), t=RNG.exponential(size=N), c=RNG.integers(2, size=N)
    )
    classes = tunamh.prior_predictive(
        tunamh.regression("kind ~ x", table, family="categorical"), table, draws=50, rng=1
    )
    assert set(np.unique(classes["prior_predictive"]["kind"])) == {0, 1, 2}
    model = tunamh.regression("t | cens(c) ~ x", table, family="weibull")
    assert (tunamh.prior_predictive(model, table, draws=50, rng=1)["prior_predictive"]["t"] >= 0).all()
    walk = tunamh.regression("Surv(t, c) ~ x", table, family=tunamh.PiecewiseExponential(pieces=3))
    with pytest.raises(NotApplicable, match="random walk of log hazards"):
        tunamh.prior_predictive(walk, table)


def of_own(eta, log_scale, y):
    return 0.5 * ((y - eta) * np.exp(-log_scale)) ** 2 + log_scale


def test_a_family_of_ones_own():
    def draw(rng, eta, log_scale):
        return rng.normal(eta, np.exp(log_scale))

    family = tunamh.family(of_own, draw=draw, shared={"log_scale": tunamh.Normal(scale=0.3)})
    tree = drawn("y ~ x", family=family, prior=dict.fromkeys(["Intercept", "x"], tunamh.Normal(scale=1.0)), draws=500)
    hold(tree["prior"]["log_scale"], stats.norm(scale=0.3))
    assert np.isfinite(tree["prior_predictive"]["y"]).all()


def test_the_picture():
    mpl.use("Agg")
    ax = tunamh.plot_prior_predictive(drawn("y ~ x", draws=50))
    assert ax.get_ylabel() == "quantile of y"
    wide = {"Intercept": tunamh.Normal(scale=6.0), "x": tunamh.Normal(scale=1.0)}
    assert (
        tunamh.plot_prior_predictive(drawn("count ~ x", draws=50, family=tunamh.Poisson(), prior=wide)).get_yscale()
        == "symlog"
    )
    shares = tunamh.plot_prior_predictive(drawn("step ~ x", family=tunamh.Ordinal(), draws=50))
    assert shares.get_ylabel() == "share of rows"
    with pytest.raises(TypeError, match=r"result of tunamh\.prior_predictive"):
        tunamh.plot_prior_predictive(TABLE)
    plt.close("all")


def test_scales_of_groups_have_their_places_beside_curves():
    rng = np.random.default_rng(1)
    columns = {"x": rng.uniform(0, 9, 100), "g": rng.choice(list("abcd"), 100), "y": rng.integers(0, 2, 100)}
    data, prior = pd.DataFrame(columns), {"1 | g": tunamh.HalfNormal(0.01), "s(x)": tunamh.HalfStudentT(3, 50)}
    model = tunamh.regression("y ~ s(x, k=6) + (1 | g)", data, family="logistic", prior=prior)
    found = tunamh.prior_predictive(model, data, draws=200, rng=1)["prior"]
    assert float(found["1|g_sigma"].max()) < 0.06
    assert float(abs(found["1|g"]).max()) < 0.2
    assert 15 < float(found["s(x)_sigma"].median()) < 100
    assert float(found["s(x)_sigma"].min()) > 0
