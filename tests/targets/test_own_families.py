"""What is said of users' own energies that leave no posterior, or have the wrong sign."""

import numpy as np
import pytest

import tunamh
from tunamh import GLM, sample

N = 300
RNG = np.random.default_rng(1)
X = np.column_stack([np.ones(N), RNG.normal(size=N)])


def logit(eta, y):
    return np.logaddexp(0, eta) - y * eta


def counts(eta, y):
    return np.exp(eta) - y * eta


def cauchy(eta, y):
    return np.log1p((y - eta) ** 2)


def gumbel(eta, zeta, y):
    z = (y - eta) * np.exp(-zeta)
    return z + np.exp(-z) + zeta


def log_counts(eta, y):
    return y * eta - np.exp(eta)


def log_normal_density(eta, y):
    return -0.5 * (y - eta) ** 2


def log_gumbel(eta, zeta, y):
    z = (y - eta) * np.exp(-zeta)
    return -(z + np.exp(-z) + zeta)


SEPARATED = (X[:, 1] > 0).astype(float)
NO_POSTERIOR = {"separated": (logit, SEPARATED, "column 1"), "no counts": (counts, np.zeros(N), "column 0")}


@pytest.mark.parametrize("convex", [None, True])
@pytest.mark.parametrize("name", NO_POSTERIOR)
def test_an_energy_that_does_not_rise_is_told_of_under_a_flat_prior(name, convex):
    energy, y, along = NO_POSTERIOR[name]
    family = tunamh.family(energy, convex=convex)
    with pytest.warns(
        UserWarning, match=f"does not increase along {along} .* there may be no posterior. Set a proper prior"
    ):
        sample(GLM(X, y, family), draws=100, tune=10, rng=1, progressbar=False)
    assert GLM(X, y, family, prior=tunamh.Normal(scale=2.0)).model_warnings() == []


FINE = {
    "labels": (logit, (RNG.random(N) < 0.5).astype(float)),
    "counts": (counts, RNG.poisson(2.0, N).astype(float)),
    "one count": (counts, np.eye(1, N)[0]),
    "heavy tails": (cauchy, RNG.standard_cauchy(N)),
    "far away": (cauchy, 1e4 + RNG.standard_cauchy(N)),
    "two predictors": (gumbel, RNG.gumbel(size=N)),
}


@pytest.mark.parametrize("name", FINE)
def test_a_posterior_that_is_there_is_not_doubted(name):
    """Negative control: an energy far from its data may curve downwards, too."""
    energy, y = FINE[name]
    assert GLM(X[:, :1], y, tunamh.family(energy)).model_warnings() == []
    few = GLM(X[:3, :1], np.array([0.0, 1.0, 0.0]), tunamh.family(energy))
    assert [said for said in few.model_warnings() if "does not increase" in said] == []


WRONG_SIGN = {
    "counts": (log_counts, RNG.poisson(2.0, N).astype(float)),
    "normal": (log_normal_density, RNG.normal(size=N)),
    "two predictors": (log_gumbel, RNG.gumbel(size=N)),
}


@pytest.mark.parametrize("prior", [None, tunamh.Normal(scale=3.0)], ids=["flat", "normal"])
@pytest.mark.parametrize("name", WRONG_SIGN)
def test_a_log_likelihood_in_the_place_of_an_energy_is_called_one(name, prior):
    energy, y = WRONG_SIGN[name]
    with pytest.raises(ValueError, match="looks like a log likelihood: return its negative"):
        sample(GLM(X, y, tunamh.family(energy), prior=prior), rng=1, progressbar=False)


TOO_LARGE = {
    "a constant": lambda eta, y: 1e16 + 0.5 * (y - eta) ** 2,
    "a constant inside": lambda eta, y: -np.logaddexp(1e16 - 0.5 * (y - eta) ** 2, 1e16 - 2.0 * (y - eta) ** 2),
    "what cancels": lambda eta, y: (1e8 + eta - y) ** 2 - 1e16 - 2e8 * (eta - y),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_an_energy_that_loses_its_digits_is_refused(name):
    """Its differences are rounding, and the Hessian of the second is 0."""
    with pytest.raises(ValueError, match=r"is rounded by .* leave that out"):
        GLM(X, RNG.normal(size=N), tunamh.family(TOO_LARGE[name]))
    GLM(X, 1e9 + RNG.normal(size=N), tunamh.family(log_normal_density))  # large responses are no large constants
