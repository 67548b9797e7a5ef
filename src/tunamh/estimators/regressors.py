"""Regressors: the mean of a response, with its uncertainty."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..errors import ImproperPosterior
from ..priors import InverseGamma
from ..targets.families import BaseFamily, Gaussian, StudentT
from ..targets.families.base import Responses
from .base import MOST_DRAWS, PosteriorEstimator, grows, tails_of
from .responses import by_word, distribution_of, has_positive_responses

if TYPE_CHECKING:
    from ..targets.families.responses import ResponseDistribution

_SMALLEST_ERRORS = 1e-3  # of the unit of linear predictors


def _has_labels(estimator: Any) -> bool:
    family = estimator._family()
    return isinstance(family, BaseFamily) and family.of_labels


def _grows(estimator: Any) -> bool:
    return grows(estimator._family())


class _Regressor(RegressorMixin, PosteriorEstimator):
    """``fit``, ``predict`` and what follows from them, for one linear predictor per row."""

    family: Any = None

    @abstractmethod
    def _family(self) -> BaseFamily:
        """What the estimator's arguments say of the responses."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Sample the posterior of the coefficients and other parameters, and return the fitted estimator.

        Parameters
        ----------
        X : (N, features)
            The rows: an array, a data frame or a sparse matrix.
        y : (N,)
            The responses.
        sample_weight : (N,), optional
            Weights of the rows. A weight of 2 has the same effect as two copies of the row.
        """
        family = self._family()
        distribution_of(family)
        X, y, weights = self._checked(X, y, sample_weight, y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
        family.check(y)
        location = family.location(y, weights)
        try:
            self._sampled(X, y, weights, family, location)
        except ImproperPosterior as exact_fit:
            self._sampled(X, y, weights, _with_proper_scale(family, location.unit, exact_fit), location)
        self._of_parts = False
        return self._summed_up()

    def _summed_up(self) -> Self:
        mean, first = self._theta().mean(axis=0), int(bool(self.fit_intercept))
        self.coef_, self.intercept_ = mean[first:], float(mean[0]) if first else 0.0
        return self

    @available_if(_grows)
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Sample the posterior given the rows of all calls so far, without reading the rows of earlier calls again.

        The result is the exact posterior given all rows, not an approximate update. The default prior is computed from
        the rows of the first call. A call of `fit` removes the rows of all earlier calls. Only families without further
        unknown parameters have this method, such as `Poisson()` and ``Gaussian(scale=1.5)``.

        Parameters
        ----------
        X, y, sample_weight
            The new rows, in the same form as for `fit`.
        """
        first_call = not self._of_parts
        X, y, weights = self._checked(X, y, sample_weight, first_call=first_call, y_numeric=True)
        family, y = self._family(), np.asarray(y, dtype=np.float64)
        distribution_of(family)
        family.check(y)
        if first_call:
            self._begun(X, y, weights, family, family.location(y, weights))
        else:
            self._grown(X, y, weights)
        self._of_parts = True
        return self._summed_up()

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return the posterior mean of the mean response of every row, an array (N,).

        With ``return_std=True`` the method also returns an array (N,) of standard deviations: those of a new response.
        They include the uncertainty of the parameters and the noise of the response, as in scikit-learn's
        BayesianRidge.
        """
        X = self._read(X)
        mean = self._linear_means(X) if self._family().responses is Responses.REALS else None
        if mean is not None and not return_std:
            return mean
        responses, theta, numbers = self._drawn_parameters(MOST_DRAWS)

        def moments(rows: Any) -> np.ndarray:
            eta = self._eta(rows, theta)
            means = responses.mean(eta, numbers)
            spread = (
                responses.variance(eta, numbers).mean(axis=1) + means.var(axis=1) if return_std else np.zeros(len(eta))
            )
            return np.column_stack([means.mean(axis=1), np.sqrt(spread)])

        found = self._in_chunks(X, len(theta), moments)
        mean = found[:, 0] if mean is None else mean
        return (mean, found[:, 1]) if return_std else mean

    def _linear_means(self, X: Any) -> np.ndarray:
        return np.asarray(X @ self.coef_, dtype=np.float64) + self.intercept_

    def _drawn_parameters(self, most: int) -> tuple[ResponseDistribution, np.ndarray, dict[str, Any]]:
        """The distribution of responses, and draws of coefficients and of its other parameters."""
        family = self._family()
        return distribution_of(family), self._theta(most), {**family.known_parameters(), **self._others(most)}

    @available_if(_has_labels)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the posterior means of the probabilities of 0 and 1, an array (N, 2).

        Only families with responses 0 and 1 have this method.
        """
        p = self.predict(X)
        return np.column_stack([1 - p, p])

    def coef_interval(self, level: float = 0.9) -> np.ndarray:
        """Return central posterior intervals of the coefficients, an array (features, 2).

        ``level`` is the probability of the intervals. The last axis has the lower and the upper end.
        """
        check_is_fitted(self)
        tails = tails_of(level)
        theta = self._theta()[:, int(bool(self.fit_intercept)) :]
        return np.quantile(theta, tails, axis=0).T

    def _drawn(self, X: Any, theta: np.ndarray, others: dict[str, np.ndarray], kind: str, rng: Any) -> np.ndarray:
        family, eta = self._family(), self._eta(X, theta)
        if kind == "linear":
            return eta
        responses, numbers = distribution_of(family), {**family.known_parameters(), **others}
        return responses.mean(eta, numbers) if kind == "mean" else responses.draw(rng, eta, numbers)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = has_positive_responses(self._family())
        return tags


def _with_proper_scale(family: Any, unit: float, reason: ImproperPosterior) -> Any:
    """Where the columns explain every response: the family with a prior under which the scale has a posterior.

    Whatever that prior, it decides then how small the errors are, so this is said.
    """
    scale = InverseGamma(1.0, float(f"{_SMALLEST_ERRORS * unit:.3g}"))
    found = family.with_default_scale(scale)
    if found is None:
        raise reason
    warnings.warn(
        f"the columns explain every response exactly: the scale of the errors has the prior {scale!r}, which keeps "
        "them from vanishing. Look for a column that holds the response, or give the family a known scale.",
        stacklevel=3,
    )
    return found


class BayesianGLM(_Regressor):
    """Bayesian regression with any family that has a mean: a scikit-learn estimator.

    Parameters
    ----------
    family : family of `tunamh` or its name, optional
        Default `tunamh.Gaussian()`; also `Poisson()` or ``"poisson"``, `NegativeBinomial()`, `Gamma()`, `StudentT()`,
        `LogNormal()`, ... With `Logistic()`, `Probit()` or `Cloglog()` responses are 0 or 1 and predictions are
        probabilities. For labels of any type use the classifier `BayesianLogisticRegression`.
    prior : prior of `tunamh.priors`, optional
        Prior of the coefficients, such as ``Normal(scale=1)``; its numbers can be in the order of the columns or by
        their names. By default the coefficient of a column has the prior ``Normal(scale=2.5 u / s)``. ``s`` is the
        standard deviation of the column or, if the column has only two values, the distance of these values. ``u`` is
        the standard deviation of a real response, and 1 for families with a link (docs/priors.md). The intercept has a
        wide normal prior.
    fit_intercept : bool
        True: the model has an intercept.
    draws, tune, chains, thin, cores, progressbar
        The same arguments as for `tunamh.sample`.
    random_state : int, RandomState or None
        An int is the seed of `tunamh.sample`. With a RandomState, or with None (NumPy's global random state), the seed
        is drawn from this random state; then two fits have different draws.

    Attributes
    ----------
    posterior_ : xarray.DataTree
        The result of `tunamh.sample`; ``theta`` has the labels ``Intercept`` and the names of the features.
    coef_, intercept_ : (features,) and float
        The posterior means of the coefficients and of the intercept.
    n_features_in_, feature_names_in_
        The number and the names of the columns, as in scikit-learn.

    Examples
    --------
    >>> model = BayesianGLM("poisson", random_state=1).fit(X, y)
    >>> mean, sd = model.predict(X_new, return_std=True)
    """

    def __init__(
        self,
        family: Any = None,
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
        self.family, self.prior, self.fit_intercept = family, prior, fit_intercept
        self.draws, self.tune, self.chains, self.thin = draws, tune, chains, thin
        self.cores, self.random_state, self.progressbar = cores, random_state, progressbar

    def _family(self) -> Any:
        return Gaussian() if self.family is None else by_word(self.family)


class BayesianRobustRegression(_Regressor):
    """Bayesian linear regression with Student-t errors, robust to outliers.

    The methods and attributes are those of `BayesianGLM`.

    Parameters
    ----------
    df : float, prior of a positive parameter, or None
        The degrees of freedom. A number: they are known. A prior, or None (the default prior of `StudentT`): they are
        unknown.
    scale : float, prior of a positive parameter, or None
        The scale of the errors. A number: it is known. A prior, or None (the default prior of `StudentT`): it is
        unknown.
    prior, fit_intercept, draws, tune, chains, thin, cores, random_state, progressbar
        The same arguments as for `BayesianGLM`.
    """

    def __init__(
        self,
        df: Any = 4.0,
        scale: Any = None,
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
        self.df, self.scale, self.prior, self.fit_intercept = df, scale, prior, fit_intercept
        self.draws, self.tune, self.chains, self.thin = draws, tune, chains, thin
        self.cores, self.random_state, self.progressbar = cores, random_state, progressbar

    def _family(self) -> Any:
        return StudentT(self.df, self.scale)
