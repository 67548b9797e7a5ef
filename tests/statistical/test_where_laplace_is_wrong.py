"""Twenty-five rows, flat prior: a skewed posterior, far from its Laplace law, and the draws follow it all the same."""

import numpy as np
import pytest
import test_against_truth
from test_against_truth import standard_scores

from tunamh import (
    GLM,
    MH,
    MHSS,
    Autoregressive,
    Huber,
    LogisticRegression,
    Probit,
    RobustRegression,
    Taylor,
    TunaMH,
    sample,
)

RNG = np.random.default_rng(24)
X = RNG.standard_normal((25, 2)) * [1.0, 1.5]
Y = (RNG.random(25) < 1 / (1 + np.exp(-X @ [1.5, -1.0]))).astype(float)
Z = X @ [0.5, 0.2] + RNG.standard_t(2, 25)
LOGISTIC = LogisticRegression(X, Y)


def logistic_density(grid):
    eta = grid @ X.T
    return -(np.logaddexp(0, eta) - Y * eta).sum(axis=-1)


def robust_density(grid):
    return -1.5 * np.log1p((Z - grid @ X.T) ** 2 / 2).sum(axis=-1)


def probit_density(grid):
    from scipy.special import log_ndtr

    return log_ndtr((2 * Y - 1) * (grid @ X.T)).sum(axis=-1)


def huber_density(grid):
    r = np.abs(Z - grid @ X.T)
    return -np.where(r <= 1.345, 0.5 * r * r, 1.345 * r - 0.5 * 1.345**2).sum(axis=-1)


MOMENTS = test_against_truth.FUNCTIONS[:5]


def quadrature(density):
    return test_against_truth.quadrature(density, (-4.0, -9.0), (12.0, 3.0), points=480)[:5]


TRUTHS = quadrature(logistic_density)
MINIBATCH = MHSS(floor=2.0, delayed=False, full_share=np.inf)
WAYS = {
    "automatic": {},
    "minibatch": {"test": MINIBATCH, "proposal": Autoregressive()},
    "minibatch, independent": {"test": MINIBATCH, "proposal": Autoregressive(rho=0.0, robust_share=0.2)},
    "minibatch, order 1": {"test": MINIBATCH, "proposal": Autoregressive(), "control": Taylor(order=1)},
    "all rows": {"test": MH(), "proposal": Autoregressive(rho=0.3)},
    "TunaMH": {"test": TunaMH(chi=0.5), "proposal": Autoregressive()},
}


def test_the_posterior_is_skewed():
    """The mean lies half a standard deviation and more from the mode, and the Laplace law is too narrow."""
    from tunamh.targets.search.newton import find_mode

    mode = find_mode(LOGISTIC, tolerance=1e-10)
    laplace = np.sqrt(np.diag(np.linalg.inv(mode.expansion.hessian)))
    mean, spread = np.array(TRUTHS[:2]), np.sqrt(np.array(TRUTHS[2:4]) - np.square(TRUTHS[:2]))
    assert np.abs((mean - mode.point) / laplace).max() > 0.5
    assert (spread / laplace).max() > 1.2


def test_proposals_sit_near_the_mean():
    """The first-order shift goes most of the way from the mode to the mean that quadrature finds."""
    target = Taylor(order=2)(LOGISTIC)
    mean = np.array(TRUTHS[:2])
    off = [np.linalg.norm(target.metric.inverse @ (point - mean)) for point in (target.centre, target.reference)]
    assert off[1] < 0.4 * off[0]
    assert target.non_gaussianity > 0.5


@pytest.mark.parametrize("way", WAYS)
def test_agreement_with_quadrature(way):
    tree = sample(LOGISTIC, draws=40_000, tune=1000, chains=4, rng=7, **WAYS[way])
    assert np.abs(standard_scores(tree, MOMENTS, TRUTHS)).max() < 4


def test_the_laplace_law_itself_would_not_agree():
    """Negative control: draws from the Gaussian by which proposals are made."""
    target = Taylor(order=2)(LOGISTIC)
    draws = target.reference + np.random.default_rng(1).standard_normal((1, 10_000, 2)) @ target.metric.factor.T
    scores = [
        (values.mean() - truth) / (values.std() / np.sqrt(values.size))
        for values, truth in ((function(draws), truth) for function, truth in zip(MOMENTS, TRUTHS, strict=True))
    ]
    assert np.abs(scores).max() > 10


@pytest.mark.parametrize(
    ("target", "density"),
    [
        (RobustRegression(X, Z, df=2.0, scale=1.0), robust_density),
        (GLM(X, Y, Probit()), probit_density),
        (GLM(X, Z, Huber(scale=1.0)), huber_density),
    ],
    ids=["Student-t", "probit", "Huber"],
)
@pytest.mark.parametrize("test", [None, MINIBATCH], ids=["automatic", "minibatch"])
def test_other_families_agree_with_quadrature(target, density, test):
    order = 1 if isinstance(target.family, Huber) else 2
    given = {} if test is None else {"test": test, "proposal": Autoregressive(), "control": Taylor(order=order)}
    tree = sample(target, draws=20_000, tune=1000, chains=4, rng=8, **given)
    assert np.abs(standard_scores(tree, MOMENTS, quadrature(density))).max() < 4
