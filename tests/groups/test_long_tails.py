"""Groups of labels that (nearly) all are 0: the intercept and the scale have long tails, to which chains must go."""

import numpy as np
import pytest
from scipy import special
from test_mixed_model import effective

import tunamh
from tunamh import GroupEffects, MixedModel, priors

GROUPS, ROWS = 30, 3


def grid_posterior(successes, log_prior, log_prior_of_scale):
    """The posterior of the intercept and of the log scale on a grid, effects integrated out by a sum."""
    b, log_s = np.linspace(-60.0, 8.0, 273), np.linspace(-8.0, 6.0, 113)
    z = np.linspace(-9.0, 9.0, 801)
    weight, density = -0.5 * z * z, np.empty((len(b), len(log_s)))
    for k, one in enumerate(log_s):
        eta = b[:, None] + np.exp(one) * z
        no, yes = -np.logaddexp(0.0, eta), -np.logaddexp(0.0, -eta)
        without = special.logsumexp(ROWS * no + weight, axis=1)
        with_one = special.logsumexp((ROWS - 1) * no + yes + weight, axis=1)
        rows = (GROUPS - successes) * without + successes * with_one
        density[:, k] = rows + log_prior(b) + log_prior_of_scale(np.exp(one)) + one
    mass = np.exp(density - density.max())
    return (b, mass.sum(axis=1) / mass.sum()), (log_s, mass.sum(axis=0) / mass.sum())


def quantile(grid, mass, share):
    return np.interp(share, np.cumsum(mass) - 0.5 * mass, grid)


def score_below(below, share):
    """Of the share of draws below a quantile."""
    return (below.mean() - share) / np.sqrt(share * (1 - share) / effective(below))


LAWS = {
    "normal, half-Cauchy": (
        (priors.Normal(scale=2.5), lambda b: -0.5 * (b / 2.5) ** 2),
        (priors.HalfCauchy(2.5), lambda s: -np.log1p((s / 2.5) ** 2)),
    ),
    "Student-t, half-normal": (
        (priors.StudentT(df=3, scale=2.5), lambda b: -2.0 * np.log1p((b / 2.5) ** 2 / 3)),
        (priors.HalfNormal(1.0), lambda s: -0.5 * s * s),
    ),
}


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("successes", [0, 1])
def test_chains_go_to_the_tails(name, successes):
    (prior, log_prior), (of_scale, log_prior_of_scale) = LAWS[name]
    y, codes = np.zeros((GROUPS, ROWS)), np.repeat(np.arange(GROUPS), ROWS)
    y[:successes, 0] = 1.0
    effects = GroupEffects(codes, scale=of_scale)
    model = MixedModel(np.ones((GROUPS * ROWS, 1)), y.ravel(), tunamh.Logistic(), effects, prior=prior)
    posterior = tunamh.sample(model, draws=4000, tune=1000, rng=5, progressbar=False).posterior
    of_b, of_s = grid_posterior(successes, log_prior, log_prior_of_scale)
    b, log_s = posterior["theta"].values[..., 0], np.log(posterior["group_scale"].values[..., 0])
    for draws, (grid, mass), shares in ((b, of_b, (0.02, 0.1, 0.5, 0.9)), (log_s, of_s, (0.1, 0.5, 0.9, 0.98))):
        for share in shares:
            below = (draws <= quantile(grid, mass, share)).astype(float)
            assert effective(below) > 700
            assert abs(score_below(below, share)) < 4.0
