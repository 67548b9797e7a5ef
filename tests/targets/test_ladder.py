"""Constants within two radii: the compiled loop beside its formula."""

import numpy as np

from tunamh.targets.expansion.one_predictor import Ladder
from tunamh.targets.layouts import RUNGS


def test_own_constants_and_factors_are_those_of_the_formula():
    """``L_i = max(L_i(r_0), L_i(2 r_0) / 10)``, none above that for all radii; 0 / 0 needs no factor."""
    rng, radii = np.random.default_rng(1), 2.0 ** np.arange(RUNGS)
    near, everywhere = rng.gamma(0.3, size=500), rng.gamma(3.0, size=500)
    far = near + rng.gamma(2.0, size=500)
    far[3], near[:2], far[0], everywhere[0] = np.inf, 0.0, 0.0, 0.0
    own, factors = Ladder(radii).constants(lambda radius: near if radius == 1 else far, everywhere)
    first, second = np.minimum(near, everywhere), np.minimum(far, everywhere)
    np.testing.assert_array_equal(own, np.maximum(first, 0.1 * second))
    with np.errstate(invalid="ignore"):
        expected = [1.0, *(max(1.0, np.nanmax(one / own)) for one in (second, *[everywhere] * (RUNGS - 1)))]
    np.testing.assert_array_equal(factors, expected)
