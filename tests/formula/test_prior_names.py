"""How the terms of a formula are named in ``prior=``."""

import numpy as np
import pandas as pd
import pytest

import tunamh
from tunamh.formula.errors import FormulaError

_rng = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "y": _rng.normal(size=60),
        "a": _rng.normal(size=60),
        "x": _rng.normal(size=60),
        "Intercept": _rng.normal(size=60),
        "ones": np.ones(60),
        "g": np.arange(60) % 6,
        "h": np.arange(60) % 4,
    }
)
NARROW, SMALL = tunamh.Normal(scale=0.01), tunamh.HalfNormal(0.01)


def made(formula, prior=None, table=TABLE):
    return tunamh.regression(formula, table, family=tunamh.Gaussian(), prior=prior)


@pytest.mark.parametrize(
    ("formula", "name"),
    [
        ("y ~ I(a-0.5) + x", "I(a-0.5)"),
        ("y ~ I(a - 0.5) + x", "I( a -0.5 )"),
        ("y ~ a:x", "x:a"),
        ("y ~ C(g, ref='2') + x", "C(g, ref='2')"),
        ("y ~ (a > 0.5) + x", "(a>0.5)"),
    ],
)
def test_terms_are_found_as_they_were_typed(formula, name):
    found = made(formula, {name: NARROW}).prior.priors
    assert [prior for prior in found.values() if prior == NARROW] == [NARROW]


@pytest.mark.parametrize(
    ("formula", "name", "narrow"),
    [
        ("y ~ a + (1 + x || g)", "(1 + x || g)", ["Intercept | g", "x | g"]),
        ("y ~ a + (1 + x || g)", "(x||g)", ["Intercept | g", "x | g"]),
        ("y ~ a + (1 + x || g)", "(0 + x | g)", ["x | g"]),
        ("y ~ a + (1 + x || g)", "(1 | g)", ["Intercept | g"]),
        ("y ~ a + (0 + x | g)", "(0 + x | g)", ["g"]),
        ("y ~ a + (0+x|g) + (1|h)", "0 + x | g", ["g"]),
        ("y ~ a + (x | g)", "(1 + x | g)", ["g"]),
        ("y ~ a + (1 | g/h)", "(1 | g/h)", ["g", "g:h"]),
        ("y ~ a + (1 | g:h)", "(1 | h:g)", ["g:h"]),
        ("y ~ a + (1 | g)", "g", ["g"]),
    ],
)
def test_scales_of_groups_are_named_as_the_formula_does(formula, name, narrow):
    groupings = made(formula, {name: SMALL}).groupings
    assert [one.name for one in groupings if (one.laws.scale == 0.01).all()] == narrow


def test_other_group_terms_are_refused_as_such():
    with pytest.raises(FormulaError, match=r"not a group term of the formula; its group terms are \(1 \| g\)"):
        made("y ~ a + (1 | g)", {"(1 | h)": SMALL})
    with pytest.raises(TypeError, match="its prior must be of a positive parameter"):
        made("y ~ a + (1 | g)", {"(1 | g)": NARROW})
    with pytest.raises(TypeError, match=r"the prior of '1,x\|g_corr' is eta of the LKJ prior, which must be a number"):
        made("y ~ a + (x | g)", {"1,x|g_corr": SMALL})


def test_priors_of_the_family_belong_to_the_family():
    with pytest.raises(FormulaError, match=r"'sigma', which is not a term .* argument of the family"):
        made("y ~ a", {"sigma": SMALL})
    with pytest.raises(
        FormulaError, match=r"'b', which is not a term of the formula; its terms are Intercept, a\. One prior of all"
    ):
        made("y ~ a", {"b": SMALL})
    with pytest.raises(FormulaError, match=r"'hous', which is not a term .* Is hour meant\?"):
        made("y ~ hour", {"hous": SMALL}, TABLE.assign(hour=TABLE["x"]))


def test_a_column_called_intercept_is_refused_beside_the_intercept():
    words = TABLE.assign(Intercept=np.where(np.arange(60) % 2, "p", "q"))
    for formula, table in (
        ("y ~ Intercept + x", TABLE),
        ("y ~ 0 + Intercept + x", TABLE),
        ("y ~ .", TABLE),
        ("y ~ x + Intercept", words),
        ("y ~ a + (Intercept | g)", TABLE),
    ):
        with pytest.raises(FormulaError, match=r"a column has the name Intercept.*rename"):
            made(formula, table=table)
    kept = made("y ~ 0 + Intercept + x", table=TABLE.assign(Intercept=1.0))
    assert kept.formula.side.names == ["Intercept", "x"]


def test_a_feature_called_intercept_is_refused():
    X = TABLE[["a", "Intercept"]]
    with pytest.raises(ValueError, match="a feature has the name Intercept"):
        tunamh.BayesianLogisticRegression(draws=20, tune=20).fit(X, TABLE["y"] > 0)


@pytest.mark.parametrize(
    ("formula", "name", "etas"),
    [
        ("y ~ a + (x | g)", "correlation (x | g)", {"g": 2.0}),
        ("y ~ a + (x | g) + (a | h)", "correlation (1+a|h)", {"g": 1.0, "h": 2.0}),
        ("y ~ a + (x | g/h)", "correlation (x | g/h)", {"g": 2.0, "g:h": 2.0}),
        ("y ~ a + (x | g)", "(x | g)", {"g": 1.0}),
    ],
)
def test_the_lkj_prior_of_correlations(formula, name, etas):
    given = {name: 2} if name.startswith("correlation") else {name: SMALL}
    assert {one.name: one.correlation for one in made(formula, given).groupings} == etas


def test_correlations_that_are_none_are_refused():
    with pytest.raises(FormulaError, match=r"but \(1 \| g\) has one effect for each group, and no correlation"):
        made("y ~ a + (1 | g)", {"correlation (1 | g)": 2})
    with pytest.raises(
        FormulaError, match=r"not a group term of the formula; its group terms are \(1 \+ x \| g\).*correlation"
    ):
        made("y ~ a + (x | g)", {"correlation (x | h)": 2})
    with pytest.raises(TypeError, match=r"eta of the LKJ prior, which must be a number"):
        made("y ~ a + (x | g)", {"correlation (x | g)": SMALL})
    with pytest.raises(ValueError, match=r"eta of the LKJ prior, which must be positive"):
        made("y ~ a + (x | g)", {"correlation (x | g)": 0})


def test_a_wide_eta_pulls_correlations_to_zero():
    """Checked by draws from the prior: the standard deviation of one LKJ(eta) correlation is 1 / sqrt(2 eta + 1)."""
    target = made("y ~ a + (x | g)", {"correlation (x | g)": 20})
    found = tunamh.prior_predictive(target, TABLE, draws=4000, rng=1)["prior"]["1,x|g_corr"]
    assert abs(float(found.std()) * np.sqrt(41) - 1) < 0.05
