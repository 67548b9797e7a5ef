"""Terms of group effects that a formula may not have."""

import warnings

import numpy as np
import pandas as pd
import pytest

import tunamh
from tunamh import FormulaError


@pytest.mark.parametrize(
    "right", ["(1 | g) + (x | g)", "(x | g) + (0 + x | g)", "(1 | g) + (1 | g/h)", "(1 | g) + (1 + x || g)"]
)
def test_an_effect_of_the_same_groups_twice_is_refused(right):
    table = pd.DataFrame({"y": [0.1, 1.2, 0.3, 2.0], "x": [1.0, 2.0, 0.0, 1.5], "g": list("aabb"), "h": list("cdcd")})
    with pytest.raises(FormulaError, match=r"of g is in the formula twice"):
        tunamh.regression(f"y ~ x + {right}", table)


def test_levels_without_correlations_are_refused_with_the_way_out():
    """As in lme4, they would be correlated, and the intercept would be in there twice."""
    table = pd.DataFrame({"y": [0.1, 1.2, 0.3, 2.0], "g": list("aabb"), "h": list("cdcd")})
    with pytest.raises(FormulaError, match=r"h has 2 levels.*write \(h \| g\), or \(1 \| g\) \+ \(1 \| g:h\)"):
        tunamh.regression("y ~ (h || g)", table)
    assert "4 groups of g:h" in repr(tunamh.regression("y ~ (1 | g) + (1 | g:h)", table))


def test_groups_by_a_number_that_is_not_whole_are_asked_about():
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"y": rng.normal(size=300), "hour": rng.uniform(0, 24, 300).round(2)})
    with pytest.warns(
        UserWarning, match=r"hour is a number with \d+ different values.*write hour or s\(hour\)"
    ) as caught:
        tunamh.regression("y ~ 1 + (1 | hour)", table)
    assert {one.filename for one in caught if "is a number" in str(one.message)} == {__file__}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tunamh.regression("y ~ 1 + (1 | day)", table.assign(day=np.arange(300) % 60))
