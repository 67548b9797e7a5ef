"""Estimators that are fitted part by part: the posterior of all rows, and what cannot grow is refused."""

import numpy as np
import pytest
from sklearn.base import clone

from tunamh import Gaussian, Poisson
from tunamh.estimators import BayesianGLM, BayesianLogisticRegression
from tunamh.priors import Normal

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3000, 3))
LABELS = np.where(RNG.random(3000) < 1 / (1 + np.exp(-X @ [0.5, -0.3, 0.2])), "yes", "no")
COUNTS = RNG.poisson(np.exp(0.3 * X[:, 0]))
DAYS = [slice(0, 2000), slice(2000, 2400), slice(2400, 3000)]


def settings(seed):
    return {"prior": Normal(scale=1.0), "draws": 600, "tune": 300, "random_state": seed}


def errors(estimator):
    return np.concatenate([[0.0], estimator.coef_interval().std(axis=-1).ravel()]).max()


def test_a_classifier_by_parts_is_one_of_all_rows():
    parts, whole = BayesianLogisticRegression(**settings(1)), BayesianLogisticRegression(**settings(2))
    for day in DAYS:
        parts.partial_fit(X[day], LABELS[day], classes=["no", "yes"])
    whole.fit(X, LABELS)
    assert parts._target.n_rows == 3000
    off = np.abs(parts.coef_ - whole.coef_)
    assert off.max() < 0.2 * errors(whole)
    np.testing.assert_allclose(parts.predict_proba(X[:9]), whole.predict_proba(X[:9]), atol=0.01)


def test_a_regressor_by_parts_is_one_of_all_rows():
    parts, whole = BayesianGLM(Poisson(), **settings(1)), BayesianGLM(Poisson(), **settings(2))
    for day in DAYS:
        parts.partial_fit(X[day], COUNTS[day])
    whole.fit(X, COUNTS)
    assert np.abs(parts.coef_ - whole.coef_).max() < 0.2 * errors(whole)
    n_rows = parts.fit(X[:500], COUNTS[:500]).partial_fit(X[:300], COUNTS[:300])._target.n_rows
    assert n_rows == 300  # fit begins anew, and so does what comes after it


def test_what_cannot_be_fitted_by_parts_says_why():
    assert not hasattr(BayesianGLM(), "partial_fit")
    with pytest.raises(AttributeError) as refused:
        _ = BayesianGLM().partial_fit
    assert "unknown scale" in str(refused.value.__cause__)
    assert hasattr(BayesianGLM(Gaussian(scale=1.0)), "partial_fit")
    two = clone(BayesianLogisticRegression(**settings(1)))
    two.partial_fit(X, LABELS, classes=["no", "yes"])
    with pytest.raises(ValueError, match="features"):
        two.partial_fit(X[:, :2], LABELS)
    with pytest.raises(ValueError, match="label 'maybe', which is none of"):
        two.partial_fit(X[:2], ["maybe", "no"])


def test_three_classes_are_fitted_anew():
    labels = np.where(X[:, 0] + RNG.standard_normal(3000) > 1, "much", LABELS)
    few = slice(0, 600), slice(600, 900)
    parts, whole = BayesianLogisticRegression(**settings(1)), BayesianLogisticRegression(**settings(1))
    for day in few:
        parts.partial_fit(X[day], labels[day], classes=["much", "no", "yes"])
    np.testing.assert_array_equal(parts.coef_, whole.fit(X[:900], labels[:900]).coef_)
