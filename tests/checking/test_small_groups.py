"""Checks of models with many small groups, whose effects are learned from the rows that are looked at."""

import numpy as np
import pandas as pd
import pytest
from own_data import sampled

import tunamh
from tunamh.checking.statistics import strength, trend

pytestmark = pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")
GROUPS, EACH = 400, 6
FAMILIES = ("logistic", "poisson", "gaussian")
LEARNED = {"Calibration", "Mean along the linear predictor", "Spread along the linear predictor"}


def small_groups(family, bend=0.0):
    """Rows of a model that is right, but for the bend."""
    rng = np.random.default_rng(5)
    g, x = np.repeat(np.arange(GROUPS), EACH), rng.normal(size=GROUPS * EACH)
    eta = -0.3 + 0.5 * x + rng.normal(size=GROUPS)[g] + bend * x * x
    y = {
        "logistic": rng.random(len(g)) < 1 / (1 + np.exp(-eta)),
        "poisson": rng.poisson(np.exp(eta)),
        "gaussian": eta + rng.normal(size=len(g)),
    }[family]
    return pd.DataFrame({"x": x, "y": y.astype(float if family == "gaussian" else int), "g": [f"g{k}" for k in g]})


def of_all_rows(table, family):
    posterior = sampled("y ~ x + (1 | g)", table, family, draws=50)
    return tunamh.check(posterior, table, rows=len(table))


@pytest.mark.parametrize("family", FAMILIES)
def test_effects_that_are_learned_from_the_rows_raise_no_alarm(family):
    """At the posterior means of the predictor, of which each has seen the row's own response, they would."""
    found = of_all_rows(small_groups(family), family)
    assert found.ok, str(found)
    assert {one.name for one in found.findings} & LEARNED
    assert "Means of levels" in {one.name for one in found.findings}
    rows = found.residuals
    assert strength(trend(rows.predictor, rows.location[0].wider(), constant=True)) > 5  # the negative control


@pytest.mark.parametrize("family", FAMILIES)
def test_a_curve_is_found_beside_small_groups(family):
    found = of_all_rows(small_groups(family, 0.3), family)
    assert "Mean along a column" in {one.name for one in found.wrong}, str(found)
