"""What a family says of a response, given its linear predictor: its law, and where predictors may be expected."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..targets.families import (
    Beta,
    Categorical,
    Cloglog,
    Exponential,
    Gamma,
    Gaussian,
    Huber,
    Logistic,
    LogisticErrors,
    LogLogistic,
    LogNormal,
    NegativeBinomial,
    Ordinal,
    Poisson,
    Probit,
    StudentT,
    Weibull,
)

Number = Callable[[str], Any]
"""A parameter of a family by its name: the number that is known, or draws of it."""


class Response(NamedTuple):
    """Of a family: the law of responses as one of `scipy.stats` at predictors ``eta``, and what a predictor is like."""

    law: Callable[[np.ndarray, Number], Any] | None
    linear: bool = False  # whether the mean of a response is its predictor
    predictor: Callable[[np.ndarray], np.ndarray] | None = None  # of responses whose predictors are theirs, transformed
    log_of_mean: bool = False
    labels: bool = False  # 0 or 1
    positive: bool = False


def response_of(family: Any) -> Response:
    """Raises a TypeError for families of which an estimator cannot predict."""
    found = _table().get(type(family))
    if found is not None:
        return found
    if isinstance(family, Categorical):
        raise TypeError("Categorical() describes classes: use BayesianLogisticRegression, which takes any labels.")
    if isinstance(family, type):
        raise TypeError(f"family must be a value such as tunamh.{family.__name__}(), got the class.")
    more = " Ordered classes have no mean." if isinstance(family, Ordinal) else ""
    raise TypeError(
        f"BayesianGLM predicts means of responses, which it knows for {', '.join(t.__name__ for t in _table())}; got "
        f"{family!r}.{more} tunamh.GLM and tunamh.sample take every family."
    )


def has_positive_responses(family: Any) -> bool:
    """Whether responses must not be negative; what is no family is none such."""
    found = _table().get(type(family))
    return found is not None and found.positive


def numbers_of(family: Any, draws: Mapping[str, np.ndarray]) -> Number:
    """Parameters beside the coefficients: drawn ones first, then those that the family knows."""
    return lambda name: draws[name] if name in draws else getattr(family, name)


def centre_and_unit(response: Response, y: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Where linear predictors are, and how widely they may be spread, from the responses alone."""
    if response.predictor is None:
        mean = float(np.average(y, weights=weights))
        return (float(np.log(mean)) if response.log_of_mean and mean > 0 else 0.0), 1.0
    values = response.predictor(y)
    centre = float(np.average(values, weights=weights))
    unit = float(np.sqrt(np.average(np.square(values - centre), weights=weights)))
    return centre, unit if unit > 1e-12 * abs(centre) else max(abs(centre), 1.0)


def _table() -> dict[type, Response]:
    """scipy.stats takes its time to be imported."""
    from scipy import stats
    from scipy.special import expit, ndtr

    def gamma(eta: np.ndarray, number: Number) -> Any:
        shape = number("shape")
        return stats.gamma(shape, scale=np.exp(eta) / shape)

    def negative_binomial(eta: np.ndarray, number: Number) -> Any:
        r = number("dispersion")
        return stats.nbinom(r, r / (r + np.exp(eta)))

    def beta(eta: np.ndarray, number: Number) -> Any:
        p, precision = expit(eta), number("precision")
        return stats.beta(p * precision, (1 - p) * precision)

    def real(law: Callable[[np.ndarray, Number], Any] | None) -> Response:
        return Response(law, linear=True, predictor=lambda y: y)

    def lifetimes(law: Callable[[np.ndarray, Number], Any]) -> Response:
        return Response(law, predictor=np.log, positive=True)

    return {
        Gaussian: real(lambda eta, number: stats.norm(eta, number("scale"))),
        StudentT: real(lambda eta, number: stats.t(number("df"), eta, number("scale"))),
        Huber: real(None),
        LogisticErrors: real(lambda eta, number: stats.logistic(eta, number("scale"))),
        Logistic: Response(lambda eta, number: stats.bernoulli(expit(eta)), labels=True),
        Probit: Response(lambda eta, number: stats.bernoulli(ndtr(eta)), labels=True),
        Cloglog: Response(lambda eta, number: stats.bernoulli(-np.expm1(-np.exp(eta))), labels=True),
        Poisson: Response(lambda eta, number: stats.poisson(np.exp(eta)), log_of_mean=True, positive=True),
        NegativeBinomial: Response(negative_binomial, log_of_mean=True, positive=True),
        Gamma: Response(gamma, log_of_mean=True, positive=True),
        Exponential: Response(lambda eta, number: stats.expon(scale=np.exp(eta)), log_of_mean=True, positive=True),
        LogNormal: lifetimes(lambda eta, number: stats.lognorm(number("scale"), scale=np.exp(eta))),
        LogLogistic: lifetimes(lambda eta, number: stats.fisk(1 / number("scale"), scale=np.exp(eta))),
        Weibull: lifetimes(lambda eta, number: stats.weibull_min(number("shape"), scale=np.exp(eta))),
        Beta: Response(beta),
    }
