"""Draws from the prior, against the laws that they are from."""

import numpy as np
import pandas as pd
import pytest
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
    with pytest.raises(NotApplicable, match=r"no response can be simulated .*: give narrower priors"):
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
        ("step ~ x", {"family": tunamh.Ordinal()}, "draws from the prior of cutpoint are not offered"),
        ("y ~ x", {"predictors": {"scale": "~ x"}}, "draws from the prior of scale are not offered"),
        ("y ~ x", {"prior": tunamh.priors.Horseshoe(0.1)}, "not offered"),
        ("y ~ x + (1 | g)", {"keep_effects": False}, "keep_effects=True"),
    ],
)
def test_what_cannot_be_drawn_is_refused(formula, given, said):
    with pytest.raises((NotApplicable, TypeError), match=said):
        drawn(formula, draws=5, **given)


def test_other_targets_are_refused():
    with pytest.raises(NotApplicable, match=r"made by tunamh\.regression"):
        tunamh.prior_predictive(tunamh.GLM(TABLE[["x"]], TABLE["y"], "gaussian"), TABLE)
