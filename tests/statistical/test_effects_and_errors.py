"""One row per group: effects may take all of the errors, whose scale is then known by its prior alone.

The truth is a quadrature: given both scales, responses are normal with one variance.
"""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import tunamh
from tunamh import HalfNormal, Normal, priors

OF_EFFECTS = {
    "exponential": (priors.Exponential(mean=3.0), stats.expon(scale=3.0)),
    "half-normal": (HalfNormal(3.0), stats.halfnorm(scale=3.0)),
}
OF_ERRORS = stats.halfnorm(scale=2.0)
PLACES = 0.01, 0.05, 0.25, 0.5, 0.95


def responses():
    y = np.random.default_rng(11).standard_normal(14)
    y[-2:] = 9, -7
    return y


def log_density(y, s, sigma):
    """Of responses whose mean is N(0, 5^2), given both scales: arrays of one shape."""
    n, v = len(y), s**2 + sigma**2
    within = ((y - y.mean()) ** 2).sum()
    return -0.5 * ((n - 1) * np.log(v) + within / v) + stats.norm.logpdf(y.mean(), scale=np.sqrt(25.0 + v / n))


def quantiles_of_errors(y, of_effects):
    """Of the scale of the errors, from a grid of the logarithms of both."""
    s, sigma = np.exp(np.linspace(-14, 6, 2001)), np.exp(np.linspace(-14, 6, 2001))
    log = log_density(y, *np.meshgrid(s, sigma, indexing="ij"))
    log += (of_effects.logpdf(s) + np.log(s))[:, None] + OF_ERRORS.logpdf(sigma) + np.log(sigma)
    mass = np.exp(log - log.max()).sum(axis=0)
    return np.interp(PLACES, np.cumsum(mass) / mass.sum(), sigma)


@pytest.mark.parametrize("name", OF_EFFECTS)
def test_the_errors_scale_goes_to_zero_as_often_as_its_posterior_says(name):
    y, (given, density) = responses(), OF_EFFECTS[name]
    table = pd.DataFrame({"y": y, "row": np.arange(len(y))})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # every row has its own level
        target = tunamh.regression(
            "y ~ 1 + (1 | row)",
            table,
            family=tunamh.Gaussian(scale=HalfNormal(2.0)),
            prior={"(1 | row)": given, "Intercept": Normal(scale=5.0)},
        )
    sigma = tunamh.sample(target, draws=10_000, tune=1000, rng=1, progressbar=False).posterior["sigma"].values
    for place, quantile in zip(PLACES, quantiles_of_errors(y, density), strict=True):
        below = (sigma < quantile).reshape(-1, 500).mean(axis=1)  # batches of a chain
        error = max(below.std(ddof=1) / np.sqrt(len(below)), 1e-4)
        assert abs(below.mean() - place) < 4 * error, (place, below.mean(), error)
