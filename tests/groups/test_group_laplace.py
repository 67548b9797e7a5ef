"""Laplace's approximation of models with groups: of what groups share, and of thin levels."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tunamh
from tunamh import GroupEffects, MixedModel, Normal
from tunamh.groups.laplace import law_of_shared


def data(n=3000, groups=60, others=5, seed=1):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.standard_normal(n)])
    g, h = rng.integers(groups, size=n), rng.integers(others, size=n)
    eta = X @ [0.3, 0.5] + 0.7 * rng.standard_normal(groups)[g] + 0.4 * rng.standard_normal(others)[h]
    return X, eta, g, h, rng


def test_results_say_how_far_laplace_is_from_what_groups_share():
    X, eta, g, _, rng = data()
    y = rng.random(len(eta)) < 1 / (1 + np.exp(-eta))
    model = MixedModel(X, y, tunamh.Logistic(), GroupEffects(g, name="city"), prior=Normal(scale=3))
    tree = tunamh.sample(model, draws=2000, chains=2, rng=1)
    shift = json.loads(tree.posterior.attrs["laplace_mean_shift"])
    assert list(shift) == ["theta[0]", "theta[1]", "group_scale[city]"]
    assert max(map(abs, shift.values())) < 0.6
    assert "Laplace's approximation" in tunamh.summary(tree, var_names=["theta"]).attrs["laplace"]
    approximation = tunamh.laplace(model, check=False)
    own = tree.posterior["group_scale"].values
    assert approximation.sd[2] == pytest.approx(own.std(), rel=0.3)
    assert approximation.mean[2] == pytest.approx(own.mean(), abs=own.std())
    assert approximation.sample(100, rng=1).posterior["group_scale"].shape == (4, 100, 1)


def test_of_crossed_factors_the_common_parameters_are_those_of_the_dense_hessian():
    X, eta, g, h, rng = data(n=800, groups=20)
    groups = [GroupEffects(g, name="g"), GroupEffects(h, name="h")]
    model = MixedModel(X, rng.poisson(np.exp(eta)).astype(float), tunamh.Poisson(), groups, prior=Normal(scale=3))
    centre = model.centre
    columns = np.column_stack([X, np.eye(20)[g], np.eye(5)[h]])
    at = np.concatenate([centre.at.common, *(effects.ravel() for effects in centre.at.effects)])
    bend = columns.T @ (np.exp(columns @ at)[:, None] * columns)
    precision = [
        np.full(2, 3.0**-2),
        *(np.full(n, np.exp(-2 * s[0])) for n, s in zip((20, 5), centre.scales, strict=True)),
    ]
    dense = np.linalg.inv(bend + np.diag(np.concatenate(precision)))[:2, :2]
    law = law_of_shared(model)
    assert np.allclose(law.factor @ law.factor.T, dense, rtol=1e-4)


def test_a_pure_level_is_where_laplace_is_off():
    rng = np.random.default_rng(3)
    n, rows = 20_000, 200
    X = np.column_stack([np.ones(n), rng.standard_normal((n, 3)), np.zeros(n)])
    X[:rows, -1] = 1
    y = (rng.random(n) < 1 / (1 + np.exp(-X[:, :4] @ [-1, 0.3, -0.3, 0.2]))).astype(float)
    y[:rows] = 0
    target = tunamh.LogisticRegression(X, y, prior=Normal(scale=2.5))
    with pytest.warns(tunamh.LaplaceOff, match=r"the mean of theta\[4\]"):
        approximation = tunamh.laplace(target)
    assert approximation.distance.shift[4] < -0.2
    assert np.abs(approximation.distance.shift[:4]).max() < 0.15
