"""Simulation-based calibration (Talts et al. 2018): over 200 data sets, the truth's rank among the draws is uniform."""

import numpy as np
import pytest
from scipy import stats

from tunamh import GLM, Logistic, Normal, StudentT, sample

DATA_SETS, DRAWS, BINS = 200, 99, 10
N_ROWS, DIM = 150, 3
DESIGN = np.random.default_rng(21).standard_normal((N_ROWS, DIM)) * [1.0, 0.5, 2.0]


def simulated(family, theta, rng):
    eta = DESIGN @ theta
    if isinstance(family, Logistic):
        return (rng.random(N_ROWS) < 1 / (1 + np.exp(-eta))).astype(float)
    return eta + rng.standard_t(family.df, N_ROWS)


def ranks(family, prior_scale):
    """Ranks of the true parameters and of their log density among thinned draws by the automatic choice."""
    rng = np.random.default_rng(22)
    found, minibatches = np.empty((DATA_SETS, DIM + 1)), 0
    for row in found:
        theta = rng.standard_normal(DIM)
        target = GLM(DESIGN, simulated(family, theta, rng), family, prior=Normal(scale=prior_scale))
        tree = sample(target, draws=DRAWS, tune=200, chains=1, cores=1, thin=4, rng=rng.integers(1 << 30))
        minibatches += float(tree.sample_stats["batch_size"].mean()) < 0.5 * N_ROWS
        draws = tree.posterior["theta"].values[0]
        row[:DIM] = (draws < theta).sum(axis=0)
        row[DIM] = ((draws**2).sum(axis=1) < (theta**2).sum()).sum()
    assert minibatches == DATA_SETS
    return found


def least_p_value(found):
    counts = [np.bincount((column * BINS / (DRAWS + 1)).astype(int), minlength=BINS) for column in found.T]
    return min(stats.chisquare(count).pvalue for count in counts)


@pytest.mark.parametrize("family", [Logistic(), StudentT(4.0, scale=1.0)], ids=["logistic", "Student-t"])
def test_ranks_are_uniform(family):
    assert least_p_value(ranks(family, 1.0)) > 1e-3


def test_a_wrong_prior_shows():
    """Negative control: the draws of a posterior that believes in smaller parameters."""
    assert least_p_value(ranks(Logistic(), 0.4)) < 1e-6
