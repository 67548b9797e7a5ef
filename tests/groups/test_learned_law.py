"""The law of common parameters that the groups have told: its mean and width, the gradients it is made of."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

import tunamh
from tunamh.groups import common_gaussian
from tunamh.groups.layout import SCALE_TABLE
from tunamh.groups.learned_law import At, FactorOfGroups, Groups
from tunamh.groups.scale_table import no_table
from tunamh.groups.sums import Point

NODES, WEIGHTS = np.polynomial.hermite.hermgauss(30)
PRIOR = tunamh.priors.Normal(mean=0, scale=3)


def thin(groups=250, rows=3, seed=0):
    rng = np.random.default_rng(seed)
    g = np.repeat(np.arange(groups), rows)
    y = rng.random(g.size) < 1 / (1 + np.exp(0.5 - 1.5 * rng.standard_normal(groups)[g]))
    return np.ones((g.size, 1)), y.astype(float), g


def model(**kwargs):
    X, y, g = thin(**kwargs)
    scale = tunamh.priors.HalfNormal(scale=2.0)
    return tunamh.MixedModel(X, y, tunamh.Logistic(), tunamh.GroupEffects(g, scale=scale), prior=PRIOR)


def moments_by_quadrature(groups=250, rows=3):
    """Mean and standard deviation of (intercept, log scale), every group's effect integrated out by 30 nodes."""
    _, y, g = thin(groups, rows)
    positive = np.bincount(g, y, groups)
    counts = np.bincount(positive.astype(int), minlength=rows + 1)
    b, lam = np.meshgrid(np.linspace(-1.6, 0.6, 81), np.linspace(-0.8, 1.2, 81), indexing="ij")
    eta = b[..., None] + np.sqrt(2) * np.exp(lam)[..., None] * NODES
    log_posterior = -0.5 * (b / 3.0) ** 2 - 0.5 * (np.exp(lam) / 2.0) ** 2 + lam
    for k, number in enumerate(counts):
        likelihood = k * eta - rows * np.logaddexp(0, eta)
        log_posterior += number * logsumexp(likelihood + np.log(WEIGHTS), axis=-1)
    weight = np.exp(log_posterior - log_posterior.max())
    weight /= weight.sum()
    means = [(weight * x).sum() for x in (b, lam)]
    return np.array(means), np.sqrt([(weight * (x - m) ** 2).sum() for x, m in zip((b, lam), means, strict=True)])


def test_the_law_has_the_posterior_s_mean_and_width_where_laplace_s_has_not(monkeypatch):
    monkeypatch.setattr(common_gaussian, "scale_law", lambda marginal, scales, width: no_table(marginal.p))
    mean, sd = moments_by_quadrature()
    target = model()
    assert target.learned is not None
    learned = np.concatenate([target.centre.at.common, target.centre.scales[0]])
    by_laplace = np.concatenate([target.laplace_centre.at.common, target.laplace_centre.scales[0]])
    assert np.abs((learned - mean) / sd).max() < 0.5
    assert np.abs((by_laplace - mean) / sd).max() > 1.0
    assert np.linalg.norm(target.factors[0].root, axis=1) == pytest.approx(sd, rel=0.35)


def crossed():
    rng = np.random.default_rng(3)
    n = 600
    g, h = rng.integers(120, size=n), rng.integers(15, size=n)
    x = rng.standard_normal(n)
    eta = 0.3 + 0.5 * x + rng.standard_normal(120)[g] + 0.7 * rng.standard_normal(15)[h]
    y = rng.poisson(np.exp(eta - 1))
    groups = [tunamh.GroupEffects(g, x[:, None]), tunamh.GroupEffects(h)]
    return tunamh.MixedModel(np.c_[np.ones(n), x], y, tunamh.Poisson(), groups, prior=PRIOR)


def energy(factor: FactorOfGroups, at: At, effects, eps) -> float:
    """``E(theta, eps)``, with all rows read."""
    f, m = factor.f, factor.model
    v = factor.effects_at(at, factor.kappa(effects), eps)
    rows = m.grouped.energy(Point(at.common, [*effects[:f], v, *effects[f + 1 :]]))
    return rows + m.scale_priors.common_energy(at.common) + factor._closed(at, v)


@pytest.mark.parametrize("f", [0, 1])
def test_gradients_and_hessians_are_those_of_the_energy(f):
    groups = Groups(crossed()._by_laplace)
    groups.move(5)
    factor, at, effects = groups.factors[f], groups.at, groups.effects
    eps = factor.standardised(at, effects)
    gradient = factor.gradient(at, effects, eps)
    hessian = factor.hessian(at, effects, eps)
    p, h = factor.model.p, 1e-4

    def moved(k: int, step: float) -> At:
        unit = step * np.eye(len(gradient))[k]
        return At(at.common + unit[:p], at.scales).with_scales(f, at.scales[f] + unit[p:])

    for k in range(len(gradient)):
        rise = energy(factor, moved(k, h), effects, eps) - energy(factor, moved(k, -h), effects, eps)
        assert gradient[k] == pytest.approx(rise / (2 * h), rel=2e-3, abs=0.02)
        slope = factor.gradient(moved(k, h), effects, eps) - factor.gradient(moved(k, -h), effects, eps)
        assert hessian[k] == pytest.approx(slope / (2 * h), rel=0.05, abs=0.02 * np.abs(hessian).max())


def test_effects_alone_are_moved_at_fixed_common_parameters():
    target = crossed()._by_laplace
    groups = Groups(target)
    before = groups.state
    groups.move(3)
    fixed = target.p + target.m
    assert (groups.state[:fixed] == before[:fixed]).all()
    assert (groups.state[fixed:] != before[fixed:]).mean() > 0.9


def test_what_follows_other_factors_is_the_slope_of_the_quadratic():
    """J0 of a Gaussian model is the whole gradient at the centre: there is no remainder."""
    rng = np.random.default_rng(1)
    n = 300
    g, h = rng.integers(20, size=n), rng.integers(9, size=n)
    X, y = np.c_[np.ones(n), rng.standard_normal(n)], rng.standard_normal(n) + rng.standard_normal(20)[g]
    groups = [tunamh.GroupEffects(g), tunamh.GroupEffects(h)]
    target = tunamh.MixedModel(X, y, tunamh.Gaussian(scale=1.0), groups, prior=PRIOR)
    factor = FactorOfGroups(target, 0)
    at = At(target.centre.at.common, list(target.centre.scales))
    for _ in range(3):
        effects = [v + 0.3 * rng.standard_normal(v.shape) for v in target.centre.at.effects]
        eps = factor.standardised(at, effects)
        gradient = factor.gradient(at, effects, eps)
        assert factor.followed(effects) == pytest.approx(gradient, rel=1e-3, abs=5e-3)


def test_a_law_is_learned_beside_a_table_and_draws_are_those_of_quadrature():
    """The scale of few thin groups is known badly: draws by its table and by the learned law take turns."""
    target = model(groups=120)
    by_laplace, tables = (SCALE_TABLE.views(each.factors[0].scale_table, p=1) for each in (target._by_laplace, target))
    assert target.learned is not None
    assert min(by_laplace.cells, tables.cells) > 0
    assert not by_laplace.slope_in_b.any()
    centre, one = target.centre, FactorOfGroups(target, 0)  # of the learned law: there the cells know of a slope
    d = (one.placed(At(centre.at.common, list(centre.scales)), one.of.gradient)[1] - one.factor.mode)[:, 0]
    slope = centre.sums.gradient + target.scale_priors.common_expansion(centre.at.common, centre.sums.hessian)[0]
    assert tables.slope_in_b == pytest.approx(slope + one.of.cross[:, 0].T @ d)
    assert abs(tables.slope_in_b[0]) > 1
    draws = tunamh.sample(target, chains=2, draws=6000, rng=1, progressbar=False).posterior
    found = np.stack([draws["theta"].values, np.log(draws["group_scale"].values)]).reshape(2, -1)
    mean, sd = moments_by_quadrature(groups=120)
    error = 4 / np.sqrt(1500)  # of fewer effective draws than there are
    assert np.abs((found.mean(axis=1) - mean) / sd).max() < error
    assert found.std(axis=1) == pytest.approx(sd, rel=2 * error)


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_beside_a_table_the_law_that_moves_further_is_taken(seed):
    """Laplace's law follows what is kept: it is accepted as often or more often, and mixes six times as slowly."""
    rng = np.random.default_rng(seed)
    g = np.repeat(np.arange(300), 3)
    X = np.column_stack([np.ones(g.size), rng.standard_normal((g.size, 2))])
    eta = X @ [0.3, 0.5, -0.4] + 0.7 * rng.standard_normal(300)[g]
    y = (rng.random(g.size) < 1 / (1 + np.exp(-eta))).astype(float)
    target = tunamh.MixedModel(X, y, tunamh.Logistic(), tunamh.GroupEffects(g), prior=PRIOR)
    assert target.learned is not None
