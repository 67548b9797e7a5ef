"""Formulas and priors as users of lme4, brms and mgcv type them: the error says how they are written here."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tunamh

TABLE = pd.DataFrame(
    {
        "y": np.arange(12.0) ** 1.5,
        "x": np.cos(np.arange(12.0)),
        "Height (cm)": np.sin(np.arange(12.0)),
        "sign-up": np.arange(12.0),
        "g": list("abc") * 4,
    }
)


@pytest.mark.parametrize(
    ("formula", "told"),
    [
        ("y ~ Height (cm)", "the column `Height (cm)`: write its name in backticks"),
        ("y ~ sign-up", "the column `sign-up`: write its name in backticks"),
        ("y ~ x + 1 | g", "group effects are written in parentheses"),
        ("bf(y ~ x, sigma ~ x)", 'predictors={"scale": "~ x"}'),
        ("y ~ x + (1 | gr(g, cov = A))", 'prior={"covariance (1 | group)": table}'),
        ("y ~ (1 | interaction(g, h))", "(1 | a:b)"),
        ("y ~ ifelse(x > 0, 1, 0)", "(x > 2), which is 1 or 0"),
        ("y | rate(x) ~ 1", "offset(log(x)), on the right side"),
        ("y ~ s(x, bs='cc')", "s(x, cyclic=True)"),
        ("y ~ poly(x, 2, raw=1)", "I(x**2)"),
        ("y ~ log(sqrt(x), 2)", "log2(x)"),
        ("y ~ x + (poly(x, 2) | g)", "(x + I(x**2) | group)"),
    ],
)
def test_formulas(formula, told):
    with pytest.raises(tunamh.FormulaError) as error:
        tunamh.regression(formula, TABLE)
    assert told in str(error.value)


def test_no_hint_at_backticks_where_they_are_or_where_they_do_not_help():
    for formula in ("y ~ `Height (cm)` + weight", "y ~ x +"):
        with pytest.raises(tunamh.FormulaError) as error:
            tunamh.regression(formula, TABLE)
        assert "backticks" not in str(error.value)


@pytest.mark.parametrize("formula", ["y ~ (1 | g)", "y ~ x + (1 + x || g)"])
def test_bars_in_parentheses(formula):
    assert tunamh.regression(formula, TABLE).formula.groups


@pytest.mark.parametrize(
    ("prior", "told"),
    [
        ({"b": tunamh.Normal(scale=1)}, "prior=tunamh.Normal(scale=1)"),
        ({"sd": tunamh.HalfNormal(1)}, '"(1 | group)"'),
        ({"cor": 2}, '"correlation (x | group)"'),
    ],
)
def test_priors(prior, told):
    with pytest.raises(tunamh.FormulaError) as error:
        tunamh.regression("y ~ x + (x | g)", TABLE, prior=prior)
    assert told in str(error.value)


@pytest.mark.parametrize("name", ["(x | g)", "1|g_sigma"])
def test_priors_of_scales_that_are_cut_at_zero(name):
    with pytest.raises(TypeError) as error:
        tunamh.regression("y ~ x + (x | g)", TABLE, prior={name: tunamh.Normal(scale=1)})
    assert f"{name} is a standard deviation" in str(error.value)


@pytest.mark.parametrize(("name", "told"), [("offset", "offset(log(x))"), ("random", "(1 | group)")])
def test_arguments(name, told):
    with pytest.raises(TypeError) as error:
        tunamh.regression("y ~ x", TABLE, **{name: "x"})
    assert f"Write {told} in the formula" in str(error.value)
