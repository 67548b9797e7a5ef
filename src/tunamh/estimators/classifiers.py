"""A classifier: two classes by the logistic function, more by softmax."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ..targets.families import Categorical, Logistic
from ..targets.families.base import Location
from .base import MOST_DRAWS, PosteriorEstimator, tails_of


class BayesianLogisticRegression(ClassifierMixin, PosteriorEstimator):
    """Bayesian logistic regression for labels of any type: a scikit-learn estimator.

    With three classes or more the model is a softmax regression.

    Parameters
    ----------
    prior : prior of `tunamh.priors`, optional
        Prior of the coefficients, such as ``Normal(scale=1)``. By default the coefficient of a column has the prior
        ``Normal(scale=2.5 / s)``. ``s`` is the standard deviation of the column or, if the column has only two values,
        the distance of these values. The intercept has a wide normal prior (docs/priors.md). These priors are proper,
        so separable data have a posterior.
    fit_intercept : bool
        True: the model has an intercept.
    draws, tune, chains, thin, cores, progressbar
        The same arguments as for `tunamh.sample`.
    random_state : int, RandomState or None
        An int is the seed of `tunamh.sample`. With a RandomState, or with None (NumPy's global random state), the seed
        is drawn from this random state; then two fits have different draws.

    Attributes
    ----------
    classes_ : (classes,)
        The labels, sorted.
    posterior_ : xarray.DataTree
        The result of `tunamh.sample`.
    coef_ : (1, features) or (classes, features)
        Posterior means of the coefficients. With two classes, they are the log odds ratios of the second class. With
        more classes, there is one row for each class, which compares this class with the first class; the row of the
        first class is zero.
    intercept_ : (1,) or (classes,)
        Posterior means of the intercepts, as for ``coef_``.
    n_features_in_, feature_names_in_
        The number and the names of the columns, as in scikit-learn.

    Examples
    --------
    >>> model = BayesianLogisticRegression(random_state=1).fit(X, y)
    >>> model.predict_proba(X_new)
    >>> model.interval(X_new, level=0.9)
    """

    _parts: list[Any]
    """Rows of `partial_fit` with three classes or more."""

    def __init__(
        self,
        *,
        prior: Any = None,
        fit_intercept: bool = True,
        draws: int = 1000,
        tune: int = 1000,
        chains: int = 4,
        thin: int = 1,
        cores: int | None = None,
        random_state: Any = None,
        progressbar: bool = False,
    ):
        self.prior, self.fit_intercept = prior, fit_intercept
        self.draws, self.tune, self.chains, self.thin = draws, tune, chains, thin
        self.cores, self.random_state, self.progressbar = cores, random_state, progressbar

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Sample the posterior of the coefficients and other parameters, and return the fitted estimator.

        Parameters
        ----------
        X : (N, features)
            The rows: an array, a data frame or a sparse matrix.
        y : (N,)
            The labels, of any type.
        sample_weight : (N,), optional
            Weights of the rows. A weight of 2 has the same effect as two copies of the row.
        """
        X, y, weights = self._checked(X, y, sample_weight)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y has one class only, {self.classes_[0]}: a classifier needs samples of at least 2 classes."
            )
        self._of_parts = False
        return self._fit_all(X, codes, weights)

    def _fit_all(self, X: Any, codes: np.ndarray, weights: np.ndarray) -> Self:
        import pandas as pd

        several = len(self.classes_) > 2
        labels = pd.Categorical.from_codes(codes, [str(label) for label in self.classes_])
        family, responses = (Categorical(), labels) if several else (Logistic(), codes.astype(np.float64))
        named = [str(label) for label in self.classes_[1:]] if several else []
        self._sampled(X, responses, weights, family, Location(0.0, 1.0), named)
        return self._summed_up()

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Sample the exact posterior given the rows of all calls so far, and return the fitted estimator.

        With two classes, the rows of earlier calls are not read again, and the default prior is computed from the rows
        of the first call. With more classes, every call fits all rows again. A call of `fit` removes the rows of all
        earlier calls.

        Parameters
        ----------
        X : (N, features)
            The new rows.
        y : (N,)
            Their labels.
        classes : sequence, optional
            All labels, for the first call. Default: the labels in ``y`` of the first call.
        sample_weight : (N,), optional
            Weights of the new rows. A weight of 2 has the same effect as two copies of the row.
        """
        first_call = not self._of_parts
        X, y, weights = self._checked(X, y, sample_weight, first_call=first_call)
        check_classification_targets(y)
        if first_call:
            self.classes_ = np.unique(y if classes is None else classes)
        if len(self.classes_) < 2:
            raise ValueError(f"there is one class only, {self.classes_[0]}: pass all classes, classes=.")
        codes = np.searchsorted(self.classes_, y)
        wrong = self.classes_[np.minimum(codes, len(self.classes_) - 1)] != y
        if wrong.any():
            known = ", ".join(map(str, self.classes_))
            raise ValueError(f"y has the label {str(y[np.argmax(wrong)])!r}, which is none of {known}.")
        self._of_parts = True
        if len(self.classes_) > 2:
            self._parts = [*([] if first_call else self._parts), (X, codes, weights)]
            return self._fit_all(*_stacked(self._parts))
        if first_call:
            self._begun(X, codes.astype(np.float64), weights, Logistic(), Location(0.0, 1.0))
        else:
            self._grown(X, codes.astype(np.float64), weights)
        return self._summed_up()

    def _summed_up(self) -> Self:
        several = len(self.classes_) > 2
        of_classes = self._by_class(self._theta().mean(axis=0)[None])[0]
        first = int(bool(self.fit_intercept))
        kept = of_classes if several else of_classes[1:]
        self.coef_ = kept[:, first:]
        self.intercept_ = kept[:, 0] if first else np.zeros(len(kept))
        return self

    def _by_class(self, theta: np.ndarray) -> np.ndarray:
        """Draws (draw, class, parameter); those of the first class are zero."""
        own = theta.reshape(len(theta), len(self.classes_) - 1, -1)
        return np.concatenate([np.zeros_like(own[:, :1]), own], axis=1)

    def _probabilities(self, X: Any, theta: np.ndarray) -> np.ndarray:
        """(row, class, draw)."""
        if len(self.classes_) == 2:
            p = expit(self._eta(X, theta))
            return np.stack([1 - p, p], axis=1)
        eta = self._predictors(X, theta)
        weight = np.exp(eta - eta.max(axis=1, keepdims=True))
        return weight / weight.sum(axis=1, keepdims=True)

    def _predictors(self, X: Any, theta: np.ndarray) -> np.ndarray:
        of_classes = self._by_class(theta)
        return np.stack([self._eta(X, of_classes[:, k]) for k in range(len(self.classes_))], axis=1)

    def predict_proba(self, X: Any, return_std: bool = False) -> Any:
        """Return the posterior means of the class probabilities, an array (N, classes).

        With ``return_std=True`` the method also returns the posterior standard deviations of the probabilities, an
        array of the same shape.
        """
        X = self._read(X)
        theta = self._theta(MOST_DRAWS)

        def moments(rows: Any) -> np.ndarray:
            p = self._probabilities(rows, theta)
            return np.stack([p.mean(axis=2), p.std(axis=2)], axis=2)

        found = self._in_chunks(X, len(theta) * len(self.classes_), moments)
        return (found[:, :, 0], found[:, :, 1]) if return_std else found[:, :, 0]

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of the probabilities that `predict_proba` returns, an array (N, classes)."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of every row, an array (N,)."""
        most_probable = self.predict_proba(X).argmax(axis=1)
        return self.classes_[most_probable]

    def coef_interval(self, level: float = 0.9) -> np.ndarray:
        """Return central posterior intervals of the coefficients.

        The result is an array with the shape of ``coef_`` and a last axis of length 2: the lower and the upper end.
        ``level`` is the probability of the intervals.
        """
        check_is_fitted(self)
        tails = tails_of(level)
        of_classes = self._by_class(self._theta())[:, :, int(bool(self.fit_intercept)) :]
        ends = np.moveaxis(np.quantile(of_classes, tails, axis=0), 0, -1)
        return ends if len(self.classes_) > 2 else ends[1:]

    def _drawn(self, X: Any, theta: np.ndarray, others: dict[str, np.ndarray], kind: str, rng: Any) -> np.ndarray:
        if kind == "linear":
            return self._predictors(X, theta)
        p = self._probabilities(X, theta)
        if kind == "mean":
            return p
        before = np.cumsum(p, axis=1)[:, :-1] < rng.random((p.shape[0], 1, p.shape[2]))
        return self.classes_[before.sum(axis=1)]

    def interval(self, X: Any, level: float = 0.9, *, kind: str = "mean", random_state: Any = None) -> np.ndarray:
        """Return central posterior intervals, of class probabilities or of linear predictors.

        Parameters
        ----------
        X : (N, features)
            The rows.
        level : float
            The probability of the intervals.
        kind : "mean" or "linear"
            ``"mean"``: intervals of the class probabilities. ``"linear"``: intervals of the linear predictors.
        random_state : int, RandomState or None
            Not used, because these intervals need no random numbers.

        Returns
        -------
        array (row, class, 2)
            The lower and the upper ends. The linear predictors of the first class are zero.
        """
        if kind == "response":
            raise ValueError("there are no intervals of labels: leave kind= out to get intervals of the probabilities.")
        return super().interval(X, level, kind=kind, random_state=random_state)


def _stacked(parts: list[tuple[Any, np.ndarray, np.ndarray]]) -> tuple[Any, np.ndarray, np.ndarray]:
    """Rows, codes and weights of all parts."""
    from scipy import sparse

    X, codes, weights = zip(*parts, strict=True)
    rows = sparse.vstack(X, format="csr") if any(map(sparse.issparse, X)) else np.concatenate(X)
    return rows, np.concatenate(codes), np.concatenate(weights)
