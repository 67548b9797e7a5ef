"""Energies that are not known to be convex: the modes that one search from one start misses."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from test_several_modes import location, quietly

import tunamh
from conftest import quantile_scores
from tunamh import GLM, MixedModel, SeveralModes, StudentT


def cauchy(eta, y):
    return np.log1p((y - eta) ** 2)


def folded_normal(eta, y):
    return 0.5 * (y * y + eta * eta) - np.logaddexp(y * eta, -y * eta)


def clusters(share, at, n=2000):
    rng = np.random.default_rng(1)
    X = np.column_stack([np.ones(n), rng.normal(size=n)])
    return X, np.where(np.arange(n) < share * n, at, 0.0) + rng.normal(size=n)


@pytest.mark.parametrize(("share", "at"), [(0.8, 20.0), (0.7, 20.0), (0.55, 20.0), (0.8, 5.0)])
def test_an_own_energy_finds_the_main_mode(share, at):
    """The search began at 0 and stayed there, 6,930 nats above the mode that holds all of the posterior."""
    X, y = clusters(share, at)
    own, known = GLM(X, y, tunamh.family(cauchy)), GLM(X, y, StudentT(df=1, scale=1.0))
    assert len(own.modes) == len(known.modes) == 1
    assert own.modes[0].point == pytest.approx(known.modes[0].point, abs=0.01)
    assert own.modes[0].posterior.energy == pytest.approx(known.modes[0].posterior.energy, abs=0.1)


def test_an_own_energy_with_clusters_on_both_sides():
    """Its start lies on a hill, which was called a log likelihood. Against quadrature."""
    lump = np.random.default_rng(1).normal(size=30)
    y = np.r_[lump - 10, 10 - lump]
    target = GLM(np.ones((60, 1)), y, tunamh.family(cauchy))
    assert sorted(np.sign(mode.point[0]) for mode in target.modes) == [-1, 1]
    tree, heard = quietly(target, rng=1)
    assert SeveralModes in heard
    assert np.abs(quantile_scores(tree.posterior["theta"].values[:, :, 0], location(y, df=1.0))).max() < 4.5


def test_a_folded_normal_has_two_modes():
    y = np.abs(3 + np.random.default_rng(1).normal(size=100))
    modes = GLM(np.ones((100, 1)), y, tunamh.family(folded_normal)).modes
    assert sorted(round(mode.point[0], 1) for mode in modes) == pytest.approx([-y.mean(), y.mean()], abs=0.1)


@pytest.mark.parametrize("apart", [2.0, 4.0, 8.0, 16.0])
def test_both_wells_have_their_share(apart):
    """Masses .82 and .18; all draws were in one of them."""

    def wells(eta, y):
        return -np.logaddexp(np.log(0.82) - 0.5 * eta**2, np.log(0.18) - 0.5 * (eta - apart) ** 2) / 20 + 0 * y

    tree, heard = quietly(GLM(np.ones((20, 1)), np.zeros(20), tunamh.family(wells)), rng=1, draws=3000)
    assert (SeveralModes in heard) == (apart > 2)
    scores = quantile_scores(
        tree.posterior["theta"].values[:, :, 0], lambda x: 0.82 * norm.cdf(x) + 0.18 * norm.cdf(x - apart)
    )
    assert np.abs(scores).max() < 4.5


def test_convex_is_refused_where_it_is_not_true():
    X, y = clusters(0.8, 20.0)
    with pytest.raises(ValueError, match=r"convex=True is not true of family.* curves downwards at eta = .*, y = "):
        GLM(X, y, tunamh.family(cauchy, convex=True))

    def gumbel(eta, zeta, y):
        z = (y - eta) * np.exp(-zeta)
        return z + np.exp(-z) + zeta

    with pytest.raises(ValueError, match=r"convex=True is not true of .* at eta = .*, zeta = .*, y = "):
        GLM(X, y, tunamh.family(gumbel, convex=True))
    GLM(X, np.abs(y), tunamh.family(lambda eta, y: np.exp(eta) - y * eta, convex=True))
    GLM(X, (y > 0) * 1.0, tunamh.family(lambda eta, y: np.logaddexp(0, eta) - y * eta, convex=True))


def levers(n, bad, value):
    rng = np.random.default_rng(1)
    X = np.column_stack([np.ones(n), rng.normal(size=n)])
    y = X @ [1, 2] + rng.normal(size=n)
    X[:bad, 1] = value
    return X, y


UNKNOWN = {"scale": StudentT(), "scale and df": StudentT(df=None), "df": StudentT(df=None, scale=1.0)}


@pytest.mark.parametrize(("n", "bad", "value"), [(200, 1, 999), (5000, 6, 999), (200_000, 6, 999), (5000, 50, 99)])
@pytest.mark.parametrize("unknown", UNKNOWN)
def test_bad_rows_do_not_decide_where_scales_are_unknown(unknown, n, bad, value):
    """Least squares, pulled to 0 by six rows, led to a mode 2,886 nats above the one that holds all."""
    target = GLM(*levers(n, bad, value), UNKNOWN[unknown])
    assert len(target.modes) == 1
    assert target.to_user(target.modes[0].point)[:2] == pytest.approx([1, 2], abs=0.3)


def test_the_default_robust_regression_with_six_bad_rows():
    tree, heard = quietly(tunamh.RobustRegression(*levers(5000, 6, 999)), rng=1, draws=500)
    assert heard == []
    theta = tree.posterior["theta"].mean(("chain", "draw")).values
    assert theta == pytest.approx([1, 2], abs=0.08)


def test_formulas_and_groups_find_the_same():
    X, y = levers(2000, 6, 999)
    table = pd.DataFrame({"y": y, "x": X[:, 1]})
    target = tunamh.regression("y ~ x", table, family=StudentT())
    assert target.to_user(target.modes[0].point)[:2] == pytest.approx([1, 2], abs=0.3)
    mixed = MixedModel(X, y, StudentT(), groups=np.arange(2000) % 20)
    assert mixed.base.to_user(mixed.centre.at.common)[:2] == pytest.approx([1, 2], abs=0.3)
