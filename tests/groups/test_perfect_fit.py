"""Columns and effects that explain every response: an unknown scale of the errors has no posterior."""

import numpy as np
import pytest

import tunamh
from tunamh import GroupEffects, MixedModel
from tunamh.priors import Gamma, InverseGamma

CODES = np.repeat(np.arange(10), 2)
X = np.column_stack([np.ones(20), np.arange(20) % 2])
LEVELS = np.random.default_rng(1).standard_normal(10)[CODES]
CROSSED = LEVELS + 0.3 * X[:, 1] + np.array([0.0, 1.0, -0.4])[np.arange(20) % 3]
FACTORS = [GroupEffects(CODES, name="a"), GroupEffects(np.arange(20) % 3, name="b")]
REFUSED = {
    "equal rows": (LEVELS, tunamh.Gaussian(), GroupEffects(CODES), None),
    "Student-t errors": (LEVELS, tunamh.StudentT(df=4), GroupEffects(CODES), None),
    "logarithms": (np.exp(LEVELS), tunamh.LogNormal(), GroupEffects(CODES), None),
    "a shape": (np.exp(LEVELS), tunamh.Weibull(), GroupEffects(CODES), None),
    "a known scale of groups": (LEVELS, tunamh.Gaussian(), GroupEffects(CODES, scale=1.0), None),
    "two factors": (CROSSED, tunamh.Gaussian(), FACTORS, None),
    "weights": (np.arange(20.0) ** 1.5, tunamh.Gaussian(), GroupEffects(np.arange(20)), np.full(20, 2.0)),
    "a prior that is linear at zero": (LEVELS, tunamh.Gaussian(scale=Gamma(2, 1)), GroupEffects(CODES), None),
}


def of(y, family, groups, weights):
    return MixedModel(X, y, family, groups, prior=tunamh.Normal(scale=3.0), weights=weights)


@pytest.mark.parametrize("case", REFUSED)
def test_there_is_no_posterior(case):
    """Chains went to scales of 1e-6, with a warning about convergence, or ended in a LinAlgError."""
    with pytest.raises(tunamh.ImproperPosterior, match="the columns and the group effects explain every response"):
        of(*REFUSED[case])


def off(y):
    return y + 1e-3 * (np.arange(20) == 7)


POSTERIORS = {
    "one row is off": (off(LEVELS), tunamh.Gaussian(), GroupEffects(CODES), None),
    "two factors, one row is off": (off(CROSSED), tunamh.Gaussian(), FACTORS, None),
    "a row in each group": (np.arange(20.0) ** 1.5, tunamh.Gaussian(), GroupEffects(np.arange(20)), None),
    "a prior that is zero at zero": (LEVELS, tunamh.Gaussian(scale=InverseGamma(2, 1)), GroupEffects(CODES), None),
    "a shape that is not large": (
        np.exp(LEVELS),
        tunamh.Weibull(shape=tunamh.HalfNormal(5)),
        GroupEffects(CODES),
        None,
    ),
    "a known scale": (LEVELS, tunamh.Gaussian(scale=1.0), GroupEffects(CODES), None),
}


@pytest.mark.filterwarnings("ignore:every row has its own level")
@pytest.mark.parametrize("case", POSTERIORS)
def test_there_is_one(case):
    of(*POSTERIORS[case])


def test_a_power_of_the_prior_at_zero_counts():
    """11 rows, 9 effects and a slope: ``s^-11 s^10 s^k`` has an integral for ``k = 1``, not for ``k = 0``."""
    y, groups = np.sin(np.arange(11.0)), GroupEffects(np.append(np.arange(9), [8, 8]))
    y[9:] = y[8]
    design = np.arange(11.0)[:, None]
    for power, scale in ((1, Gamma(2, 1)), (0, tunamh.HalfNormal(1))):
        if power:
            MixedModel(design, y, tunamh.Gaussian(scale=scale), groups)
            continue
        with pytest.raises(tunamh.ImproperPosterior, match="explain every response"):
            MixedModel(design, y, tunamh.Gaussian(scale=scale), groups)
