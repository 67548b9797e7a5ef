"""Long runs against quadrature and against the paper's printed figures."""

from functools import cache

import arviz_stats
import numpy as np
import pytest

from conftest import logistic_data
from tunamh import (
    MH,
    MHSS,
    Autoregressive,
    FactorizedMH,
    FlyMC,
    GaussianMixture,
    LogisticRegression,
    Normal,
    PoissonMH,
    RandomWalk,
    RobustRegression,
    Taylor,
    TunaMH,
    sample,
)
from tunamh.cli.demo.paper_mixture import mixture_data
from tunamh.targets.search.newton import find_mode


def estimates(tree, functions):
    """Means of functions of theta, and their Monte Carlo errors."""
    theta = tree.posterior["theta"].values
    values = [function(theta) for function in functions]
    errors = [float(one.std() / np.sqrt(arviz_stats.ess(one))) for one in values]
    return np.array([one.mean() for one in values]), np.array(errors)


def standard_scores(tree, functions, truths):
    """(estimate - truth) / Monte Carlo error for functions of theta."""
    means, errors = estimates(tree, functions)
    return (means - truths) / errors


FUNCTIONS = [
    lambda t: t[..., 0],
    lambda t: t[..., 1],
    lambda t: t[..., 0] ** 2,
    lambda t: t[..., 1] ** 2,
    lambda t: t[..., 0] * t[..., 1],
    lambda t: (t[..., 1] > 0.5).astype(float),  # 0.5 is an edge of the grid's cells
]


def quadrature(log_density, low, high, points=400):
    """Expectations of FUNCTIONS by the midpoint rule."""
    edges = (np.linspace(*ends, points + 1) for ends in zip(low, high, strict=True))
    a, b = (0.5 * (e[1:] + e[:-1]) for e in edges)
    grid = np.stack(np.meshgrid(a, b, indexing="ij"), axis=-1)
    value = log_density(grid)
    weight = np.exp(value - value.max())
    weight /= weight.sum()
    return [float((weight * function(grid)).sum()) for function in FUNCTIONS]


X, Y = logistic_data(40, 2, seed=4)
Z = X @ [0.5, 0.2] + np.random.default_rng(5).standard_t(4, 40)


def logistic_density(grid):
    eta = grid @ X.T
    return -(np.logaddexp(0, eta) - Y * eta).sum(axis=-1) - 0.5 * (grid**2).sum(axis=-1)


def robust_density(grid):
    return -2.5 * np.log1p((Z - grid @ X.T) ** 2 / 4).sum(axis=-1) - 0.5 * (grid**2).sum(axis=-1)


CASES = {
    "logistic": (LogisticRegression(X, Y, prior=Normal(scale=1.0)), logistic_density),
    "robust": (RobustRegression(X, Z, scale=1.0, prior=Normal(scale=1.0)), robust_density),
}


WAYS = {
    "MH": (MH(), None),
    "TunaMH": (TunaMH(full_share=np.inf), None),
    "TunaMH, chi": (TunaMH(chi=0.02, full_share=np.inf), None),
    "MHSS": (MHSS(full_share=np.inf, delayed=False, floor=5.0), None),
    "TFMH": (FactorizedMH(truncation=3.0), None),
    "FlyMC": (FlyMC(), None),
    "FlyMC-MAP": (FlyMC(tuned=True, q=0.05), None),
    "SMH-1": (FactorizedMH(truncation=np.inf), Taylor(order=1)),
    "SMH-2": (FactorizedMH(truncation=np.inf), Taylor(order=2)),
    "MHSS, order 1": (MHSS(full_share=np.inf), Taylor(order=1)),
    "MHSS, order 2": (MHSS(full_share=np.inf), Taylor(order=2)),
    "MHSS, order 2, off the mode": (MHSS(full_share=np.inf), Taylor(order=2, centre=[0.0, 0.3])),
    "TunaMH, order 2": (TunaMH(full_share=np.inf), Taylor(order=2, whiten=False)),
}


@cache
def truths_of(case):
    return np.array(quadrature(CASES[case][1], (-4, -4), (4, 4)))


def slow_ones_later(ways, *slow):
    """The ways, of which `make test-long` runs the slow ones."""
    return [pytest.param(way, marks=pytest.mark.long) if way in slow else way for way in ways]


LAPLACE_WAYS = {
    "independent": (MHSS(delayed=False, floor=2.0, full_share=np.inf), Autoregressive(rho=0.0), None),
    "rho 0.5": (MHSS(delayed=False, floor=2.0, full_share=np.inf), Autoregressive(rho=0.5), None),
    "rho -0.3, TunaMH": (TunaMH(full_share=np.inf), Autoregressive(rho=-0.3), None),
    "rho 0.5, MH": (MH(), Autoregressive(rho=0.5), None),
    "off the mode": (MHSS(delayed=False, full_share=np.inf), Autoregressive(rho=0.3), [0.15, -0.1]),
}


@pytest.mark.parametrize("way", slow_ones_later(LAPLACE_WAYS, "rho -0.3, TunaMH"))
@pytest.mark.parametrize("case", CASES)
def test_laplace_reversible_proposals_agree_with_quadrature(case, way):
    """Forty rows: the posterior is visibly not Gaussian, and the draws follow it all the same."""
    target, truths = CASES[case][0], truths_of(case)
    test, proposal, centre = LAPLACE_WAYS[way]
    control = Taylor(order=2, centre=None if centre is None else find_mode(target).point + centre)
    tree = sample(target, test=test, proposal=proposal, control=control, draws=5000, tune=100, chains=4, rng=13)
    means, errors = estimates(tree, FUNCTIONS)
    assert np.abs((means - truths) / errors).max() < 4
    assert np.abs((means - truths - 0.05) / errors).max() > 10  # negative control
    if centre is None and proposal.rho == 0:
        assert tree.sample_stats["acceptance_rate"].mean() > 0.8


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", CASES)
def test_agreement_with_quadrature(case, way):
    target, truths = CASES[case][0], truths_of(case)
    test, control = WAYS[way]
    tree = sample(target, test=test, control=control, draws=10_000, thin=10, tune=2000, chains=4, rng=11)
    means, errors = estimates(tree, FUNCTIONS)
    assert np.abs((means - truths) / errors).max() < 4
    assert np.abs((means - truths - 0.05) / errors).max() > 4  # negative control: small errors would show


MIXTURE_WAYS = {
    "MH": (MH(), None),
    "TunaMH": (TunaMH(), None),
    "MHSS": (MHSS(full_share=np.inf, delayed=False), None),
    "TFMH": (FactorizedMH(), None),
    "SMH-1": (FactorizedMH(truncation=np.inf), Taylor(order=1)),
    "PoissonMH": (PoissonMH(100.0), None),
    "FlyMC": (FlyMC(), None),
    "FlyMC-MAP": (FlyMC(tuned=True), None),
}


MIXED, TEMPER = mixture_data(400, seed=2), 10 / 400


@cache
def truths_of_the_mixture():
    def density(grid):
        t1, t2 = grid[..., 0, None], grid[..., 1, None]
        return TEMPER * np.logaddexp(-((MIXED - t1) ** 2) / 4, -((MIXED - t1 - t2) ** 2) / 4).sum(axis=-1)

    return np.array(quadrature(density, (-3, -3), (3, 3), points=120))  # 0.5 is an edge


@pytest.mark.parametrize("way", slow_ones_later(MIXTURE_WAYS, "FlyMC-MAP"))
def test_mixture_agrees_with_quadrature(way):
    test, control = MIXTURE_WAYS[way]
    target = GaussianMixture(MIXED, temper=TEMPER)
    thin = 50 if "FlyMC" in way else 20
    tree = sample(target, test=test, control=control, draws=5000, thin=thin, chains=4, rng=12)
    (means, errors), truths = estimates(tree, FUNCTIONS), truths_of_the_mixture()
    assert np.abs((means - truths) / errors).max() < 4
    assert np.abs((means - truths - 0.1) / errors).max() > 5  # negative control


def test_batch_of_the_papers_mnist_run():
    """N = 12214, d = 50, C = 71312, step 1e-3, chi = 1e-5: 504.07 rows per step in the paper, 504.28 expected."""
    rng = np.random.default_rng(6)
    X = rng.standard_normal((12214, 50))
    X *= 71312 / np.linalg.norm(X, axis=1).sum()
    target = LogisticRegression(X, rng.integers(0, 2, 12214))
    assert target.total_bound == pytest.approx(71312)
    tree = sample(target, test=TunaMH(chi=1e-5), proposal=RandomWalk(1e-3), draws=5000, tune=0, chains=2, rng=1)
    assert tree.sample_stats["batch_size"].mean() == pytest.approx(504.28, rel=0.01)


def test_the_papers_mixture():
    """A million rows, temper 1e-4, step 0.1, chi 1e-4: 86.45 rows and about 60 % acceptance in the paper."""
    target = GaussianMixture(mixture_data(1_000_000, seed=1), temper=1e-4, paper_bounds=True)
    assert target.total_bound == pytest.approx(681.5, rel=0.005)
    tree = sample(target, test=TunaMH(chi=1e-4), proposal=RandomWalk(0.1), draws=60_000, tune=0, chains=2, rng=1)
    assert tree.sample_stats["batch_size"].mean() == pytest.approx(86.4, abs=0.5)
    assert tree.sample_stats["acceptance_rate"].mean() == pytest.approx(0.62, abs=0.02)
