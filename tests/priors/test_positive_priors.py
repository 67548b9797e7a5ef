"""Flat and uniform priors of positive parameters, and priors of a variance or a precision."""

import numpy as np
import pytest
from scipy import stats

import tunamh
from tunamh import GLM, GroupEffects, MixedModel, priors, sample
from tunamh.groups.scale_priors import ScalePriors
from tunamh.priors.laws import RECORD, laws_at, records

_rng = np.random.default_rng(2)
N = 30
X = np.column_stack([np.ones(N), _rng.standard_normal(N)])
Y = X @ [1.0, 0.5] + 2.0 * _rng.standard_normal(N)
RSS = float(np.sum((Y - X @ np.linalg.lstsq(X, Y, rcond=None)[0]) ** 2))
G = np.arange(N) % 6

LAWS = {
    "uniform": (priors.Uniform(0.5, 4), stats.uniform(0.5, 3.5).pdf),
    "inverse gamma variance": (
        priors.OnVariance(priors.InverseGamma(2, 3)),
        lambda x: 2 * x * stats.invgamma(2, scale=3).pdf(x**2),
    ),
    "gamma precision": (
        priors.OnPrecision(priors.Gamma(2, 0.5)),
        lambda x: 2 * x**-3.0 * stats.gamma(2, scale=0.5).pdf(x**-2.0),
    ),
    "half-normal variance": (priors.OnVariance(tunamh.HalfNormal(3)), lambda x: 2 * x * stats.halfnorm(0, 3).pdf(x**2)),
    "uniform variance": (priors.OnVariance(priors.Uniform(0, 9)), lambda x: 2 * x * stats.uniform(0, 9).pdf(x**2)),
    "small shape": (priors.Gamma(1e-3, 1000), stats.gamma(1e-3, scale=1000).pdf),
    "flat": (priors.FlatPositive(), lambda x: np.where(x > 0, 1.0, 0.0)),
}


@pytest.mark.parametrize("name", LAWS)
def test_laws_are_their_densities(name):
    prior, density = LAWS[name]
    law, zero = prior.law(), np.zeros(1)
    numbers = records(law, law.kind > 0, zero, zero, zero).reshape(-1, RECORD)
    at = np.array([0.7, 0.9, 1.7, 2.9])
    found = np.array([laws_at(np.array([x]), numbers) for x in at])
    np.testing.assert_allclose(np.diff(found), np.diff(np.log(density(at))), atol=1e-10)
    for x in (0.0, -1.0, -1e-300):
        assert laws_at(np.array([x]), numbers) == -np.inf
    for x in (1e-200, 1e200):  # a square that overflows or vanishes is no fault
        value = laws_at(np.array([x]), numbers)
        assert not np.isnan(value)
        assert value < np.inf


def square(name):
    """The posterior law of the variance of `Y`, coefficients flat."""
    n = N - 2
    return {
        "flat": stats.invgamma((n - 1) / 2, scale=RSS / 2),
        "inverse gamma variance": stats.invgamma(2 + n / 2, scale=3 + RSS / 2),
        "gamma precision": stats.invgamma(2 + n / 2, scale=2 + RSS / 2),
    }[name]


@pytest.mark.parametrize("name", ["flat", "inverse gamma variance", "gamma precision"])
def test_a_variance_has_its_conjugate_posterior(name):
    tree = sample(GLM(X, Y, tunamh.Gaussian(LAWS[name][0])), draws=2000, rng=1, progressbar=False)
    scale = tree.posterior["scale"].values
    assert stats.kstest(scale[:, ::2].ravel() ** 2, square(name).cdf).pvalue > 1e-3


def test_a_uniform_prior_cuts_the_flat_one_off():
    law = square("flat")
    end = float(np.sqrt(law.ppf(0.95)))
    tree = sample(GLM(X, Y, tunamh.Gaussian(priors.Uniform(0, end))), draws=4000, rng=1, progressbar=False)
    scale = tree.posterior["scale"].values
    assert scale.max() < end
    assert stats.kstest(scale[:, ::8].ravel() ** 2, lambda v: law.cdf(v) / law.cdf(end**2)).pvalue > 1e-3


def test_scales_of_groups_have_these_priors():
    for prior, density in (LAWS["gamma precision"], LAWS["uniform"], LAWS["flat"]):
        model = MixedModel(X, Y, tunamh.Gaussian(2.0), GroupEffects(G, scale=prior))
        assert isinstance(model.scale_priors, ScalePriors)
        energies = [model.scale_priors.energy(0, np.log([x]), np.zeros(2)) + np.log(x) for x in (0.9, 1.7)]
        assert energies[0] - energies[1] == pytest.approx(float(np.log(density(1.7) / density(0.9))))


def test_draws_of_a_group_scale_keep_to_a_uniform_prior():
    """Far from where the search for scales begins."""
    for low, high in ((3.0, 5.0), (0.0, 0.1)):
        groups = GroupEffects(G, scale=priors.Uniform(low, high))
        tree = sample(MixedModel(X, Y, tunamh.Gaussian(2.0), groups), draws=1000, rng=1, progressbar=False)
        scale = tree.posterior["group_scale"].values
        assert low < scale.min() < scale.max() < high
        assert np.ptp(scale) > 0.8 * (high - low)


def test_flat_is_no_prior_of_a_positive_parameter():
    for refused in (
        lambda: tunamh.Gaussian(scale=tunamh.Flat()),
        lambda: tunamh.StudentT(4, scale=tunamh.Flat()),
        lambda: tunamh.Beta(tunamh.Flat()),
        lambda: tunamh.NegativeBinomial(tunamh.Flat()),
        lambda: GroupEffects(G, scale=tunamh.Flat()),
    ):
        with pytest.raises(TypeError, match=r"FlatPositive\(\).*Uniform\(0, 100\)"):
            refused()
    with pytest.raises(TypeError, match="proper prior"):
        priors.OnVariance(priors.FlatPositive())
    with pytest.raises(ValueError, match="below high"):
        priors.Uniform(3, 2)


FLAT = priors.FlatPositive()
UNPROVED = {
    "dispersion": lambda: GLM(X, np.round(np.abs(Y)), tunamh.NegativeBinomial(FLAT)),
    "df": lambda: GLM(X, Y, tunamh.StudentT(FLAT)),
    "shape": lambda: GLM(X, np.exp(Y), tunamh.Weibull(FLAT)),
    "few rows": lambda: GLM(X[:3], Y[:3], tunamh.Gaussian(FLAT)),
    "few groups": lambda: MixedModel(X, Y, tunamh.Gaussian(), GroupEffects(G % 3, scale=FLAT)),
    "labels": lambda: MixedModel(X, (Y > 0).astype(float), tunamh.Logistic(), GroupEffects(G, scale=FLAT)),
    "two factors": lambda: MixedModel(X, Y, tunamh.Gaussian(), [GroupEffects(G, scale=FLAT), GroupEffects(G % 2)]),
}


@pytest.mark.parametrize("name", UNPROVED)
def test_a_flat_prior_is_refused_where_no_posterior_is_proved(name):
    with pytest.raises(tunamh.ImproperPosterior, match=r"FlatPositive\(\) for .*Uniform\(0, 100\)"):
        UNPROVED[name]()


def test_a_proper_prior_of_coefficients_leaves_more_room():
    proper = tunamh.Normal(scale=10)
    GLM(X[:3], Y[:3], tunamh.Gaussian(FLAT), prior=proper)
    MixedModel(X, Y, tunamh.Gaussian(), GroupEffects(G % 3, scale=FLAT), prior=proper)
