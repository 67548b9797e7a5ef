"""Priors by term, their defaults in the units of the data, and the posterior that they make."""

import numpy as np
import pandas as pd
import pytest

import tunamh
from conftest import draws_of
from tunamh.formula import FormulaError
from tunamh.priors.laws import FLAT, NORMAL

RNG = np.random.default_rng(1)
N = 2000
TABLE = pd.DataFrame(
    {
        "year": 2000 + RNG.integers(0, 10, N),
        "income": 1e6 * RNG.lognormal(0, 0.5, N),
        "size": RNG.normal(0, 1e-4, N),
        "g": RNG.choice(["p", "q", "r"], N),
    }
)
ETA = 0.1 * (TABLE["year"] - 2004) + 5e-7 * (TABLE["income"] - 1e6) + 5e3 * TABLE["size"] + 0.5 * (TABLE["g"] == "q")
TABLE["late"] = RNG.random(N) < 1 / (1 + np.exp(-ETA))
TABLE["delay"] = 30 * ETA + 10 * RNG.standard_normal(N)


def laws(target):
    return target._prior.laws if hasattr(target._prior, "laws") else target.coefficient_prior.laws


def test_defaults_are_in_the_units_of_the_data():
    target = tunamh.regression("late ~ year + income + g + year:g", TABLE, family=tunamh.Logistic())
    found = laws(target)
    assert target.names[:3] == ["Intercept", "year", "income"]
    assert found.kind.tolist() == [NORMAL] * 7
    wanted = [2.5 / np.std(TABLE["year"]), 2.5 / np.std(TABLE["income"]), 2.5, 2.5]
    np.testing.assert_allclose(found.scale[1:5], wanted, rtol=0.005)
    np.testing.assert_allclose(found.scale[5:], 2.5 / np.std(TABLE["year"]), rtol=0.005)
    real = tunamh.regression("delay ~ size", TABLE, family=tunamh.Gaussian(10.0))
    np.testing.assert_allclose(laws(real).scale[1], 2.5 * np.std(TABLE["delay"]) / np.std(TABLE["size"]), rtol=0.005)
    np.testing.assert_allclose(laws(real).scale[0], 10 * np.std(TABLE["delay"]), rtol=0.005)
    np.testing.assert_allclose(laws(real).mean[0], np.mean(TABLE["delay"]), atol=0.01 * np.std(TABLE["delay"]))


def test_the_intercept_is_as_wide_as_the_coefficients_are_where_columns_are_zero():
    far = tunamh.regression("late ~ year", TABLE, family=tunamh.Logistic())
    slope = 2.5 / np.std(TABLE["year"])
    np.testing.assert_allclose(laws(far).scale[0], np.hypot(10, slope * TABLE["year"].mean()), rtol=0.01)
    near = tunamh.regression("late ~ center(year) + g", TABLE, family=tunamh.Logistic())
    assert laws(near).scale[0] == 10.0
    flat = tunamh.regression("late ~ year + g", TABLE, family=tunamh.Logistic(), prior=tunamh.Flat())
    assert (laws(flat).kind == FLAT).all()


def test_a_family_of_ones_own_has_a_flat_intercept():
    """Nothing is known of its link: a prior about the responses' mean could be far from all predictors."""
    poisson = tunamh.family(lambda eta, y: np.exp(eta) - y * eta, convex=True)
    table = TABLE.assign(n=RNG.poisson(1000, N))
    found = laws(tunamh.regression("n ~ size", table, family=poisson))
    assert found.kind.tolist() == [FLAT, NORMAL]


def test_a_column_of_two_values_has_their_distance_for_its_size():
    """As an estimator takes it, and as a factor of two levels is taken."""
    table = TABLE.assign(rare=1000.0 + (np.arange(N) % 50 == 0), text=np.where(np.arange(N) % 50 == 0, "yes", "no"))
    number = laws(tunamh.regression("late ~ rare", table, family=tunamh.Logistic()))
    level = laws(tunamh.regression("late ~ text", table, family=tunamh.Logistic()))
    assert number.scale[1] == level.scale[1] == 2.5
    assert (number.scale[0], level.scale[0]) == (2500.0, 10.0)
    three = laws(tunamh.regression("late ~ rare", table.assign(rare=np.arange(N) % 3), family=tunamh.Logistic()))
    assert three.scale[1] == pytest.approx(2.5 / np.sqrt(2 / 3), rel=0.005)


@pytest.mark.parametrize("family", [tunamh.Gaussian(), tunamh.StudentT(4.0), tunamh.Huber()])
def test_formulas_and_estimators_have_one_rule(family):
    pytest.importorskip("sklearn")
    from tunamh.estimators.coefficient_prior import columns_of, prior_of

    names = ["year", "income"]
    formula = tunamh.regression("delay ~ year + income", TABLE, family=family)
    columns = columns_of(TABLE[names].to_numpy(), np.ones(N))
    fitted = prior_of(None, names, columns, family.location(TABLE["delay"].to_numpy(), np.ones(N)), ["Intercept"])
    for one, other in zip(formula.prior.laws(3), fitted.laws(3), strict=True):
        np.testing.assert_array_equal(one, other)


def test_priors_by_term_and_by_level():
    by_term = tunamh.regression(
        "late ~ year + g",
        TABLE,
        family=tunamh.Logistic(),
        prior={"Intercept": tunamh.Normal(scale=100), "g": tunamh.Normal(mean=1, scale=0.5)},
    )
    assert laws(by_term).scale[[0, 2, 3]].tolist() == [100, 0.5, 0.5]
    assert laws(by_term).mean.tolist() == [0, 0, 1, 1]
    by_level = tunamh.regression(
        "late ~ year + g", TABLE, family=tunamh.Logistic(), prior={"g": tunamh.Flat(), "g[q]": tunamh.Normal(scale=3)}
    )
    assert laws(by_level).kind.tolist() == [NORMAL, NORMAL, NORMAL, FLAT]
    everything = tunamh.regression("late ~ year + g", TABLE, family=tunamh.Logistic(), prior=tunamh.Normal(scale=7))
    assert laws(everything).kind.tolist() == [NORMAL, NORMAL, NORMAL, NORMAL]
    assert laws(everything).scale[1:].tolist() == [7, 7, 7]
    with pytest.raises(FormulaError, match=r"names 'hour', which is not a term.*Intercept, year, g"):
        tunamh.regression("late ~ year + g", TABLE, family=tunamh.Logistic(), prior={"hour": tunamh.Flat()})
    with pytest.raises(TypeError, match="prior of year must be"):
        tunamh.regression("late ~ year", TABLE, family=tunamh.Logistic(), prior={"year": 3})


def test_scales_of_groups_are_named_as_they_are_written():
    half = tunamh.HalfNormal(0.25)
    target = tunamh.regression("delay ~ 1 + (1 | g)", TABLE, family=tunamh.Gaussian(10.0), prior={"(1|g)": half})
    wanted = tunamh.MixedModel(
        np.ones((N, 1)), TABLE["delay"], tunamh.Gaussian(10.0), tunamh.GroupEffects(TABLE["g"], scale=half)
    )
    np.testing.assert_array_equal(target.groupings[0].laws.scale, wanted.groupings[0].laws.scale)


def test_badly_scaled_columns_need_no_standardising():
    """The same draws of the predictors, whatever units columns have: the posterior is that of the model as stated.

    Standardised by hand, with the priors translated, the coefficients must agree within Monte Carlo error.
    """
    formula = "late ~ year + income + size + g"
    raw = tunamh.regression(formula, TABLE, family=tunamh.Logistic())
    units = {name: (float(TABLE[name].mean()), float(TABLE[name].std())) for name in ("year", "income", "size")}
    scaled = TABLE.assign(**{name: (TABLE[name] - mean) / sd for name, (mean, sd) in units.items()})
    own = laws(raw).scale
    priors = {name: tunamh.Normal(scale=float(own[j + 1]) * units[name][1]) for j, name in enumerate(units)}
    by_hand = tunamh.regression(formula, scaled, family=tunamh.Logistic(), prior=priors)
    found = tunamh.sample(raw, draws=1000, rng=1, progressbar=False)
    wanted = tunamh.sample(by_hand, draws=1000, rng=2, progressbar=False)
    theta, other = (draws_of(tree).reshape(4000, -1) for tree in (found, wanted))
    for j, (_, sd) in enumerate(units.values(), start=1):
        np.testing.assert_allclose(theta[:, j].mean() * sd, other[:, j].mean(), atol=6 * other[:, j].std() / 60)
        np.testing.assert_allclose(theta[:, j].std() * sd, other[:, j].std(), rtol=0.1)
    centred = theta[:, 0] + sum(theta[:, j] * mean for j, (mean, _) in enumerate(units.values(), start=1))
    np.testing.assert_allclose(centred.mean(), other[:, 0].mean(), atol=6 * other[:, 0].std() / 60)
    assert float(tunamh.summary(found)["r_hat"].max()) < 1.02
    assert float(tunamh.summary(found)["ess_bulk"].min()) > 1500


def test_the_posterior_is_that_of_the_matrix():
    """A formula is a GLM of its columns: the same numbers, hence the same draws."""
    target = tunamh.regression("late ~ year + size", TABLE, family=tunamh.Logistic(), prior=tunamh.Flat())
    X = np.column_stack([np.ones(N), TABLE["year"], TABLE["size"]])
    plain = tunamh.LogisticRegression(X, TABLE["late"])
    draws = [tunamh.sample(one, draws=50, rng=3, progressbar=False) for one in (target, plain)]
    np.testing.assert_array_equal(*map(draws_of, draws))
    assert list(draws[0].posterior.data_vars) == ["Intercept", "year", "size"]


def test_a_horseshoe_leaves_intercepts_alone():
    table = TABLE.head(500)
    one = tunamh.regression("late ~ size + g", table, family=tunamh.Logistic(), prior=tunamh.priors.Horseshoe())
    assert one.prior.priors == {"Intercept": tunamh.Normal(mean=0.0, scale=10.0)}
    several = tunamh.regression("g ~ size", table, family=tunamh.Categorical(), prior=tunamh.priors.Horseshoe())
    assert set(several.prior.priors) == {"Intercept[q]", "Intercept[r]"}
