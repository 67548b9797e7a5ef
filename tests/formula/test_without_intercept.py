"""A formula without an intercept: the default priors and what is told of reference levels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tunamh

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame({"g": RNG.choice(list("abc"), 300), "h": RNG.choice(list("uv"), 300)})
TABLE["y"] = 1000 + RNG.standard_normal(300)
TABLE["count"] = RNG.poisson(10_000, 300)


def test_means_far_from_zero_are_not_drawn_to_zero():
    target = tunamh.regression("y ~ 0 + g", TABLE)
    posterior = tunamh.sample(target, draws=500, rng=1, progressbar=False).posterior
    means = TABLE.groupby("g")["y"].mean()
    assert np.allclose(posterior["g"].mean(("chain", "draw")), means, atol=0.05)
    assert 0.8 < float(posterior["sigma"].mean()) < 1.2


@pytest.mark.parametrize(
    ("formula", "family", "name", "told"),
    [
        ("y ~ 0 + g", "gaussian", "g[a]", "standard deviation 2500"),
        ("count ~ 0 + g", "poisson", "g[a]", f"standard deviation {2.5 * np.hypot(1, np.log(10_000)):.3g}"),
        ("h ~ 0 + g", "logistic", "g[a]", "standard deviation 2.5"),
        ("y ~ g", "gaussian", "g[b]", "standard deviation 2.42"),
    ],
)
def test_the_unit_has_the_centre_in_it(formula, family, name, told):
    target = tunamh.regression(formula, TABLE, family=family)
    assert tunamh.prior_summary(target).loc[name, "prior"].endswith(told)


def test_scales_without_an_intercept():
    target = tunamh.regression("big ~ g", TABLE.assign(big=1e6 * TABLE["y"]), predictors={"scale": "~ 0 + h"})
    words = tunamh.prior_summary(target).loc["sigma_h[u]", "prior"]
    assert float(words.split()[-1]) > 30  # the logarithm of the scale is 13.8


def test_estimators_without_an_intercept():
    columns = pd.get_dummies(TABLE["g"]).astype(float)
    model = tunamh.BayesianGLM("gaussian", fit_intercept=False, random_state=1, draws=500).fit(columns, TABLE["y"])
    assert np.allclose(model.coef_, TABLE.groupby("g")["y"].mean(), atol=0.05)


def test_a_factor_whose_levels_all_have_coefficients_has_no_reference():
    told = [str(tunamh.regression(f"y ~ {right}", TABLE)) for right in ("0 + g", "0 + g + h", "g + h")]
    lines = [[line for line in one.splitlines() if line.startswith("Reference")] for one in told]
    assert lines == [[], ["Reference levels: h: u"], ["Reference levels: g: a, h: u"]]
