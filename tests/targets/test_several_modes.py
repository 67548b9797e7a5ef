"""Energies that are not convex: all modes that matter are found, visited and reported, against quadrature."""

import warnings

import numpy as np
import pytest

from conftest import quantile_scores
from tunamh import (
    MH,
    AcrossModes,
    ConvergenceWarning,
    LogisticRegression,
    RandomWalk,
    RobustRegression,
    SeveralModes,
    sample,
)


def energy(eta, y, df):
    return 0.5 * (df + 1) * np.log1p((y - eta) ** 2 / df)


def location(y, df=4.0):
    """The cdf of the posterior of an intercept, by quadrature."""
    grid = np.linspace(y.min() - 15, y.max() + 15, 40_001)
    total = np.zeros(len(grid))
    for value in y:
        total += energy(grid, value, df)
    cdf = np.cumsum(np.exp(total.min() - total))
    return lambda theta: np.interp(theta, grid, cdf / cdf[-1])


def quietly(target, **settings):
    """Draws, and the warnings that came with them."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        return sample(target, **settings), [w.category for w in heard]


def test_one_bad_row_does_not_decide():
    """A lever of 1e5 pulls least squares to -1/2; there is a mode, of energy 6567 where the other has 3563."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((5000, 2))
    y = X @ [1, 2] + rng.standard_t(4, 5000)
    X[0], y[0] = [1e5, 0], -5e4
    theta = sample(RobustRegression(X, y, scale=1.0), draws=500, rng=1).posterior["theta"]
    assert theta.mean(("chain", "draw")).values == pytest.approx([1, 2], abs=0.08)
    assert theta.std(("chain", "draw")).values == pytest.approx([0.017, 0.017], rel=0.2)


def test_twenty_rows_far_apart():
    y = 1 + 18 * np.random.default_rng(2001).normal(size=20)
    tree, _ = quietly(RobustRegression(np.ones((20, 1)), y, scale=1.0), rng=1)
    assert np.abs(quantile_scores(tree.posterior["theta"].values[:, :, 0], location(y))).max() < 4.5


def two_lumps(n=100):
    """Mirror images, so that both hold half of the posterior."""
    lump = np.random.default_rng(1).normal(size=n)
    return np.r_[lump, 20 - lump]


def test_two_lumps_are_both_seen():
    y = two_lumps()
    target = RobustRegression(np.ones((200, 1)), y, df=2, scale=1.0)
    assert len(target.modes) == 2
    tree, heard = quietly(target, rng=1)
    assert SeveralModes in heard
    assert np.abs(quantile_scores(tree.posterior["theta"].values[:, :, 0], location(y, df=2.0))).max() < 4.5
    assert tree.sample_stats["acceptance_rate"].mean() > 0.3


def test_the_warning_does_not_depend_on_luck_or_on_the_test():
    """Under MH with a random walk no chain changes its lump; chains start in both, and two warnings say so."""
    target = RobustRegression(np.ones((200, 1)), two_lumps(), df=2, scale=1.0)
    for seed in range(6):
        tree, heard = quietly(target, test=MH(), rng=seed, draws=300)
        assert SeveralModes in heard
        assert any(issubclass(category, ConvergenceWarning) for category in heard)
        ends = tree.posterior["theta"].values[:, -1, 0]
        assert ends.min() < 5 < 15 < ends.max()
    with pytest.warns(SeveralModes, match="the posterior has 2 modes"):
        sample(target, test=MH(), proposal=RandomWalk(0.1), init=[0.0], draws=10, tune=0, chains=1)


def mixture_of_t(x, proposal):
    """The proposal's density, by SciPy."""
    from scipy.stats import multivariate_t

    parts = zip(proposal.shares, proposal.points, proposal.factors, strict=True)
    return sum(w * multivariate_t(m, L @ L.T, df=5).pdf(x) for w, m, L in parts)


def test_proposals_across_modes_have_the_stated_law_and_ratio():
    """Independent steps: the Hastings factor is that of the mixture, and so is the law. Walks: symmetric, no factor."""
    points, shares = np.array([[0.0, 1.0], [4.0, -2.0]]), np.array([0.3, 0.7])
    factors = np.array([[[0.5, 0.0], [0.2, 1.0]], [[1.0, 0.3], [0.0, 0.4]]])
    proposal = AcrossModes(points, factors, shares)
    bound = proposal.bind(RobustRegression(np.eye(2), np.ones(2), scale=1.0))
    rng, here, there = np.random.default_rng(1), np.array([0.5, 0.5]), np.empty(2)
    independent, walks = [], []
    for _ in range(20_000):
        log_q = bound.propose(rng, here, there, bound.knobs)
        (walks if log_q == 0.0 else independent).append([*there, log_q])
    independent, walks = np.array(independent), np.array(walks)
    assert len(walks) / 20_000 == pytest.approx(0.3, abs=0.015)
    expected = np.log(mixture_of_t(here, proposal) / mixture_of_t(independent[:500, :2], proposal))
    assert independent[:500, 2] == pytest.approx(expected)
    near_second = (independent[:, 0] - 0.5 * independent[:, 1] > 2.5).mean()
    z = rng.standard_normal((50_000, 2)) / np.sqrt(rng.chisquare(5, (50_000, 1)) / 5)
    draws = [m + z @ L.T for m, L in zip(points, factors, strict=True)]
    truth = [np.mean(d[:, 0] - 0.5 * d[:, 1] > 2.5) for d in draws]
    assert near_second == pytest.approx(shares @ truth, abs=0.02)
    assert walks[:, :2].mean(axis=0) == pytest.approx(here, abs=0.06)


def test_convex_families_are_not_searched_for_modes():
    rng = np.random.default_rng(1)
    target = LogisticRegression(rng.standard_normal((500, 2)), np.arange(500) % 2)
    assert len(target.candidates()) == 0
    assert len(target.modes) == 1


DATA_SETS = 60


@pytest.mark.parametrize("part", range(6))
def test_no_quiet_wrong_answer(part):
    """Residuals of sd 3 to 18 under a scale of 1, 20 to 200 rows: sixty data sets, one seed here, six in the long run.

    Every posterior, bumpy or not, is held to quadrature.
    """
    for number in range(part, DATA_SETS, 6):
        rng = np.random.default_rng([number, 60])
        y = 1 + rng.uniform(3, 18) * rng.normal(size=rng.integers(20, 201))
        tree, _ = quietly(RobustRegression(np.ones((len(y), 1)), y, scale=1.0), rng=number)
        scores = quantile_scores(tree.posterior["theta"].values[:, :, 0], location(y))
        assert np.abs(scores).max() < 4.5, (number, scores)


def test_no_quiet_wrong_answer_with_a_slope():
    for number in range(8):
        rng = np.random.default_rng([number, 2])
        sd, n = rng.uniform(3, 18), rng.integers(20, 201)
        X = np.column_stack([np.ones(n), rng.normal(size=n)])
        y = X @ [1, 1] + sd * rng.normal(size=n)
        grid = np.linspace(1 - 3 * sd, 1 + 3 * sd, 401)
        total = sum(energy(grid[:, None] * x[0] + grid * x[1], value, 4.0) for x, value in zip(X, y, strict=True))
        mass = np.exp(total.min() - total)
        tree, _ = quietly(RobustRegression(X, y, scale=1.0), rng=number)
        for j in range(2):
            cdf = np.cumsum(mass.sum(axis=1 - j))
            draws = tree.posterior["theta"].values[:, :, j]
            below = np.interp(draws, grid + 0.5 * (grid[1] - grid[0]), cdf / cdf[-1])
            assert np.abs(quantile_scores(below, lambda share: share)).max() < 4.5
