"""Groups of classes without an order: every class but the reference has effects and scales of its own."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

import tunamh


def _model():
    rng = np.random.default_rng(0)
    X, codes = np.column_stack([np.ones(60), rng.standard_normal(60)]), np.arange(60) % 5
    return tunamh.MixedModel(X, rng.integers(3, size=60), tunamh.Categorical(), codes, prior=tunamh.Normal(scale=1.0))


def test_each_class_has_scales_and_effects():
    found = dict(_model().variables)
    assert found["group_scale"] == ["group: 1", "group: 2"]
    assert found["group_effect"] == [f"group[{g}]: {k}" for k in (1, 2) for g in range(5)]


def test_predictions_are_those_of_the_draws():
    model = _model()
    posterior = tunamh.sample(model, draws=50, tune=50, chains=1, rng=1, progressbar=False)
    X, codes = np.array([[1.0, 0.3], [1.0, -2.0]]), np.array([4, 1])
    found = tunamh.predict(posterior, X, groups=codes, kind="mean", quantiles=None).values
    draws = posterior.posterior
    theta = draws["theta"].values[0].reshape(50, 2, 2)
    effects = draws["group_effect"].values[0].reshape(50, 2, 5)
    eta = np.einsum("skj,nj->snk", theta, X) + effects[:, :, codes].transpose(0, 2, 1)
    expected = softmax(np.concatenate([np.zeros((50, 2, 1)), eta], axis=2), axis=2)
    np.testing.assert_allclose(found, expected, rtol=1e-10)
