"""Regressors: the mean of a response, with its uncertainty."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..errors import ImproperPosterior
from ..priors import InverseGamma
from ..targets.families import Gaussian, StudentT
from .base import MOST_DRAWS, PosteriorEstimator, tails_of
from .responses import LABELS, REAL, centre_and_unit, has_positive_responses, known_numbers, law_of_responses, name_of

if TYPE_CHECKING:
    from ..prediction.response_distributions import Law

_SMALLEST_ERRORS = 1e-3  # of the unit of linear predictors


def _has_labels(estimator: Any) -> bool:
    return name_of(estimator._family()) in LABELS


class _Regressor(RegressorMixin, PosteriorEstimator):
    """``fit``, ``predict`` and what follows from them, for one linear predictor per row."""

    @abstractmethod
    def _family(self) -> Any:
        """What the estimator's arguments say of the responses."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Sample the posterior; a ``sample_weight`` of 2 is a row given twice."""
        family = self._family()
        law_of_responses(family)
        X, y, weights = self._checked(X, y, sample_weight, y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
        if hasattr(family, "check"):
            family.check(y)
        centre, unit = centre_and_unit(family, y, weights)
        try:
            self._sampled(X, y, weights, family, centre, unit)
        except ImproperPosterior as exact_fit:
            self._sampled(X, y, weights, _with_proper_scale(family, unit, exact_fit), centre, unit)
        mean, first = self._theta().mean(axis=0), int(bool(self.fit_intercept))
        self.coef_, self.intercept_ = mean[first:], float(mean[0]) if first else 0.0
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The posterior mean of the mean response of every row.

        With ``return_std`` also the standard deviation of a new response, from the uncertainty of the parameters and
        that of a response given these, as scikit-learn's BayesianRidge has it.
        """
        X = self._read(X)
        mean = self._linear_means(X) if name_of(self._family()) in REAL else None
        if mean is not None and not return_std:
            return mean
        law, theta, numbers = self._drawn_parameters(MOST_DRAWS)

        def moments(rows: Any) -> np.ndarray:
            eta = self._eta(rows, theta)
            means = law.mean(eta, numbers)
            spread = law.variance(eta, numbers).mean(axis=1) + means.var(axis=1) if return_std else np.zeros(len(eta))
            return np.column_stack([means.mean(axis=1), np.sqrt(spread)])

        found = self._in_chunks(X, len(theta), moments)
        mean = found[:, 0] if mean is None else mean
        return (mean, found[:, 1]) if return_std else mean

    def _linear_means(self, X: Any) -> np.ndarray:
        return np.asarray(X @ self.coef_, dtype=np.float64) + self.intercept_

    def _drawn_parameters(self, most: int) -> tuple[Law, np.ndarray, dict[str, Any]]:
        """The law of responses, and draws of coefficients and of its other parameters."""
        family = self._family()
        return law_of_responses(family), self._theta(most), {**known_numbers(family), **self._others(most)}

    @available_if(_has_labels)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Of a family of labels 0 and 1: the posterior means of their probabilities, (row, 2)."""
        p = self.predict(X)
        return np.column_stack([1 - p, p])

    def coef_interval(self, level: float = 0.9) -> np.ndarray:
        """Central posterior intervals of the coefficients, (feature, 2)."""
        check_is_fitted(self)
        tails = tails_of(level)
        theta = self._theta()[:, int(bool(self.fit_intercept)) :]
        return np.quantile(theta, tails, axis=0).T

    def _drawn(self, X: Any, theta: np.ndarray, others: dict[str, np.ndarray], kind: str, rng: Any) -> np.ndarray:
        family, eta = self._family(), self._eta(X, theta)
        if kind == "linear":
            return eta
        law, numbers = law_of_responses(family), {**known_numbers(family), **others}
        return law.mean(eta, numbers) if kind == "mean" else law.draw(rng, eta, numbers)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = has_positive_responses(vars(self).get("family"))
        return tags


def _with_proper_scale(family: Any, unit: float, reason: ImproperPosterior) -> Any:
    """Where the columns explain every response: the family with a prior under which the scale has a posterior.

    Whatever that prior, it decides then how small the errors are, so this is said.
    """
    if getattr(family, "scale", 0.0) is not None:
        raise reason
    scale = InverseGamma(1.0, float(f"{_SMALLEST_ERRORS * unit:.3g}"))
    warnings.warn(
        f"the columns explain every response exactly: the scale of the errors has the prior {scale!r}, which keeps "
        "them from vanishing. Look for a column that holds the response, or give the family a known scale.",
        stacklevel=3,
    )
    return replace(family, scale=scale)


class BayesianGLM(_Regressor):
    """Bayesian regression of any family that has a mean; `posterior_` holds exact draws.

    Parameters
    ----------
    family : family of `tunamh`, optional
        `tunamh.Gaussian()` by default; `Poisson()`, `NegativeBinomial()`, `Gamma()`, `StudentT()`, `LogNormal()`, ...
        With `Logistic()`, `Probit()` or `Cloglog()` responses are 0 or 1 and predictions are probabilities; a
        classifier for labels of any kind is `BayesianLogisticRegression`.
    prior : prior of `tunamh.priors`, optional
        Of the coefficients, in the order of the columns or by their names. By default ``Normal(0, 2.5 u / s)`` in units
        ``u`` of the predictors and ``s`` of each column (docs/sklearn.md). The intercept keeps a wide normal prior.
    fit_intercept : bool
    draws, tune, chains, thin, cores, progressbar
        As of `tunamh.sample`.
    random_state : int, RandomState or None
        An int is the seed of `tunamh.sample`.

    Attributes
    ----------
    posterior_ : xarray.DataTree
        As `tunamh.sample` returns it; ``theta`` is labelled ``Intercept`` and by the features' names.
    coef_, intercept_ : posterior means
    n_features_in_, feature_names_in_
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
        return Gaussian() if self.family is None else self.family


class BayesianRobustRegression(_Regressor):
    """Bayesian linear regression with Student-t errors, which outliers hardly move; see `BayesianGLM`.

    Parameters
    ----------
    df : float, prior of a positive parameter, or None
        Degrees of freedom; None: unknown, with a default prior.
    scale : float, prior of a positive parameter, or None
        Of the errors; None: unknown, with a default prior.
    prior, fit_intercept, draws, tune, chains, thin, cores, random_state, progressbar
        As of `BayesianGLM`.
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
