"""The scikit-learn estimators: the contract, the posterior behind it, and what strangers do with them."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("sklearn")

from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import BayesianRidge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import tunamh
from tunamh.estimators import BayesianGLM, BayesianLogisticRegression, BayesianRobustRegression
from tunamh.estimators.coefficient_prior import columns_of

QUICK = {"draws": 100, "tune": 100, "chains": 2, "random_state": 1}

_MONTE_CARLO = "equal posteriors are compared by their draws, to seven digits; see test_a_weight_is_a_count"


def _expected_failures(estimator):
    """Which checks ask what draws cannot give, and why."""
    if is_classifier(estimator):
        return {}
    return {f"check_sample_weight_equivalence_on_{kind}_data": _MONTE_CARLO for kind in ("dense", "sparse")}


@parametrize_with_checks(
    [BayesianGLM(**QUICK), BayesianRobustRegression(**QUICK), BayesianLogisticRegression(**QUICK)],
    expected_failed_checks=_expected_failures,
)
@pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning", "ignore:the columns explain every response")
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def _rows(n: int = 300, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(5, 2, n), rng.random(n) < 0.1, rng.normal(-100, 30, n)]).astype(float)
    return X, X @ [1, 2, 0.1], rng


@pytest.mark.parametrize("kind", ["real", "robust", "two", "three"])
def test_a_weight_is_a_count(kind):
    X, eta, rng = _rows()
    counts = rng.integers(0, 4, len(X))
    y = eta + rng.standard_normal(len(X))
    if kind in ("two", "three"):
        cuts = np.quantile(y, [0.5] if kind == "two" else [0.3, 0.7])
        estimator, y = BayesianLogisticRegression(random_state=1), np.array(["a", "b", "c"])[np.digitize(y, cuts)]
    else:
        estimator = {"real": BayesianGLM, "robust": BayesianRobustRegression}[kind](random_state=1)
    weighted = clone(estimator).fit(X, y, sample_weight=counts)
    repeated = clone(estimator).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    ignored = clone(estimator).fit(X, y)
    spread = repeated.posterior_.posterior["theta"].values.std(axis=(0, 1))

    def apart(one, other):
        means = [e.posterior_.posterior["theta"].values.mean(axis=(0, 1)) for e in (one, other)]
        return np.abs((means[0] - means[1]) / spread).max()

    assert apart(weighted, repeated) < 0.15  # Monte Carlo error is 0.02 to 0.04 for each
    assert apart(ignored, repeated) > 0.3


def test_predictions_agree_with_bayesian_ridge():
    X, y = load_diabetes(return_X_y=True)
    ours, theirs = BayesianGLM(random_state=1).fit(X, y), BayesianRidge().fit(X, y)
    mean, std = ours.predict(X, return_std=True)
    mean_ridge, std_ridge = theirs.predict(X, return_std=True)
    assert np.corrcoef(mean, mean_ridge)[0, 1] > 0.99
    assert np.abs(std / std_ridge - 1).max() < 0.05
    assert np.allclose(mean, ours.predict(X))
    inside = ours.interval(X, 0.8, kind="response", random_state=1)
    assert 0.74 < np.mean((inside[:, 0] < y) & (y < inside[:, 1])) < 0.86
    narrow = ours.interval(X, 0.8)
    assert (narrow[:, 1] - narrow[:, 0] < 0.6 * (inside[:, 1] - inside[:, 0])).all()
    assert ((ours.coef_interval()[:, 0] < ours.coef_) & (ours.coef_ < ours.coef_interval()[:, 1])).all()


def test_probabilities_are_posterior_means_and_labels_of_any_kind():
    X, codes = load_iris(return_X_y=True)
    labels = np.array(["setosa", "versicolor", "virginica"], dtype=object)[codes]
    model = BayesianLogisticRegression(random_state=1).fit(X, labels)
    assert model.score(X, labels) > 0.95
    p, deviation = model.predict_proba(X[:5], return_std=True)
    drawn = model.sample_posterior(X[:5], 400)
    assert np.allclose(p, drawn.mean(axis=2))
    assert np.allclose(deviation, drawn.std(axis=2))
    assert model.coef_.shape == (3, 4)
    assert (model.coef_[0] == 0).all()
    assert model.interval(X[:5]).shape == (5, 3, 2)
    assert set(model.sample_posterior(X[:5], 50, kind="response").ravel()) <= set(model.classes_)
    assert "theta[x0[virginica]]" in tunamh.summary(model.posterior_).index
    with pytest.raises(ValueError, match="there are no intervals of labels"):
        model.interval(X, kind="response")
    binary = BayesianLogisticRegression(**QUICK).fit(X[:100], codes[:100] == 1)
    assert binary.classes_.tolist() == [False, True]
    assert binary.coef_.shape == (1, 4)


def test_a_pipeline_with_text_columns_is_searched_scored_and_pickled():
    _, _, rng = _rows()
    n = 600
    table = pd.DataFrame({"age": rng.normal(40, 12, n), "city": rng.choice(["a", "b", "<b>Zürich</b>"], n)})
    late = np.where(rng.random(n) < 1 / (1 + np.exp(-(table["age"] - 40) / 10 - 2 * (table["city"] == "a"))), "y", "n")
    columns = make_column_transformer((StandardScaler(), ["age"]), (OneHotEncoder(sparse_output=False), ["city"]))
    columns.set_output(transform="pandas")
    pipeline = make_pipeline(columns, BayesianLogisticRegression(**QUICK))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tunamh.ConvergenceWarning)
        assert cross_val_score(pipeline, table, late, cv=3).mean() > 0.65
        priors = {"bayesianlogisticregression__prior": [None, tunamh.Normal(scale=0.01)]}
        search = GridSearchCV(pipeline, priors, scoring="neg_log_loss", cv=3).fit(table, late)
    assert search.best_params_ == {"bayesianlogisticregression__prior": None}
    best = search.best_estimator_
    assert np.array_equal(pickle.loads(pickle.dumps(best)).predict_proba(table), best.predict_proba(table))
    assert "theta[onehotencoder__city_<b>Zürich</b>]" in tunamh.summary(best[-1].posterior_).index


def test_warnings_point_at_the_line_of_the_user(monkeypatch):
    """Also through scikit-learn's own functions."""
    X, _, rng = _rows()
    complaint = tunamh.ConvergenceWarning("as if")
    monkeypatch.setattr(
        "tunamh.sampling.session._assembled", _with_complaint(sys.modules["tunamh.sampling.session"], complaint)
    )
    model, y = BayesianLogisticRegression(**QUICK), rng.random(len(X)) < 0.5
    for asks in (lambda: model.fit(X, y), lambda: cross_val_score(model, X, y, cv=2)):
        with pytest.warns(tunamh.ConvergenceWarning, match="as if") as caught:
            asks()
        assert {one.filename for one in caught if "as if" in str(one.message)} == {__file__}


def _with_complaint(module, complaint):
    honest = module._assembled

    def assembled(*args):
        posterior, complaints = honest(*args)
        return posterior, [*complaints, complaint]

    return assembled


def test_sparse_and_dense_columns_give_the_same_posterior_and_names():
    X, eta, rng = _rows()
    y = eta + rng.standard_normal(len(X))
    few = np.where(np.abs(X) > 6, X, 0.0)
    prior = tunamh.priors.ByName({"x1": tunamh.Normal(scale=0.01)}, others=tunamh.Normal(scale=10))
    dense, thin = (BayesianGLM(random_state=1, prior=prior).fit(M, y) for M in (few, sparse.csr_array(few)))
    assert np.allclose(dense.coef_, thin.coef_, rtol=0.02, atol=0.02)
    assert abs(thin.coef_[1]) < 0.05
    assert thin.posterior_.posterior["parameter"].values.tolist() == ["Intercept", "x0", "x1", "x2"]
    for ours, theirs in zip(
        columns_of(few, np.ones(300)), columns_of(sparse.csr_array(few), np.ones(300)), strict=True
    ):
        assert np.allclose(ours, theirs)


def test_the_default_prior_knows_rare_levels_and_units():
    X, _, _ = _rows()
    size = columns_of(X, np.ones(len(X))).size
    assert np.allclose(size, [X[:, 0].std(), 1.0, X[:, 2].std()])
    assert columns_of(np.full((5, 1), 7.0), np.ones(5)).size.tolist() == [7.0]
    separable = BayesianLogisticRegression(random_state=1, draws=300).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    assert 0.5 < separable.coef_[0, 0] < 10
    y = np.random.default_rng(1).poisson(1000, 50)
    counts = BayesianGLM(tunamh.Poisson(), **QUICK).fit(1e6 * X[:50], y)  # neither units nor large counts matter
    assert abs(counts.predict(1e6 * X[:50]).mean() / y.mean() - 1) < 0.02


def test_a_family_by_its_word():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2))
    y = rng.poisson(np.exp(X[:, 0]))
    named, given = BayesianGLM("poisson", random_state=1), BayesianGLM(tunamh.Poisson(), random_state=1)
    np.testing.assert_array_equal(named.fit(X, y).coef_, given.fit(X, y).coef_)
    assert clone(named).family == "poisson"
    assert named.__sklearn_tags__().target_tags.positive_only
    assert hasattr(BayesianGLM("logistic"), "predict_proba")
    wrong = BayesianGLM("poison")
    assert not hasattr(wrong, "predict_proba")
    with pytest.raises(ValueError, match=r"there is no family 'poison'. Is poisson meant"):
        wrong.fit(X, y)


def test_what_is_wrong_is_said():
    X, y = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 3.0, 5.0])
    with pytest.warns(UserWarning, match="the columns explain every response exactly"):
        exact = BayesianGLM(**QUICK).fit(X, y)
    assert abs(exact.predict([[3.0]])[0] - 7) < 0.1
    with pytest.raises(TypeError, match="use BayesianLogisticRegression"):
        BayesianGLM(tunamh.Categorical()).fit(X, y)
    with pytest.raises(TypeError, match="whose responses have a mean"):
        BayesianGLM(tunamh.Ordinal()).fit(X, y)
    with pytest.raises(TypeError, match="got the class"):
        BayesianGLM(tunamh.Poisson).fit(X, y)
    with pytest.raises(ValueError, match="zero"):
        BayesianGLM().fit(X, y, sample_weight=np.zeros(3))
    with pytest.raises(ValueError, match="one of mean, linear, response"):
        exact.sample_posterior(X, kind="median")
    with pytest.raises(ValueError, match="n_samples must be 1 to 200"):
        exact.sample_posterior(X, 1000)
    assert not hasattr(BayesianGLM(), "predict_proba")
    assert hasattr(BayesianGLM(tunamh.Probit()), "predict_proba")
    assert is_regressor(BayesianGLM())


def test_the_library_does_not_import_scikit_learn():
    code = (
        "import sys, tunamh; assert 'sklearn' not in sys.modules; tunamh.BayesianGLM; assert 'sklearn' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_indices_outside_a_sparse_matrix_are_refused():
    X = sparse.csr_matrix(np.eye(6))
    y = [0, 1, 0, 1, 0, 1]
    model = BayesianLogisticRegression(draws=20, tune=20, chains=1, progressbar=False, random_state=1).fit(X, y)
    for form, index in (("csr", "column"), ("csc", "row")):
        wrong = X.asformat(form, copy=True)
        wrong.indices = wrong.indices + 10**6
        with pytest.raises(ValueError, match=f"{index} index 100000"):
            model.fit(wrong, y)
        with pytest.raises(ValueError, match=f"{index} index 100000"):
            model.predict(wrong)
