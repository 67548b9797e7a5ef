"""What estimators need of a family: the law of its responses, and where linear predictors may be expected."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..targets.description import family_as_json
from ..targets.families import Categorical

if TYPE_CHECKING:
    from ..prediction.response_distributions import Law

REAL = ("Gaussian", "StudentT", "Huber", "LogisticErrors")
"""Families whose responses are their predictors and an error: the mean is the predictor."""

LABELS = ("Logistic", "Probit", "Cloglog")

_LOG_RESPONSES = ("LogNormal", "LogLogistic", "Weibull")
_LOG_MEANS = ("Poisson", "NegativeBinomial", "Gamma", "Exponential", "ZeroInflated", "Hurdle")


def name_of(family: Any) -> str:
    return type(family).__name__


def law_of_responses(family: Any) -> Law:
    """Raises a TypeError for families of which an estimator cannot predict."""
    from ..prediction.by_family import law_of  # SciPy's distributions take their time

    if isinstance(family, type):
        raise TypeError(f"family must be a value such as tunamh.{family.__name__}(), got the class.")
    if isinstance(family, Categorical):
        raise TypeError("Categorical() describes classes: use BayesianLogisticRegression, which takes any labels.")
    law = law_of(family_as_json(family))
    if law is None or law.of_classes:
        raise TypeError(
            f"family must be one of tunamh whose responses have a mean, such as tunamh.Poisson(), got {family!r}; "
            "tunamh.GLM and tunamh.sample take every family."
        )
    return law


def has_positive_responses(family: Any) -> bool:
    """Whether responses must not be negative; what is no family is none such."""
    return name_of(family) in (*_LOG_RESPONSES, *_LOG_MEANS, "SoftplusPoisson")


def known_numbers(family: Any) -> dict[str, Any]:
    """Parameters beside the coefficients that a family knows; of counts within it, too."""
    about = family_as_json(family)
    return {**about.get("counts", {}).get("known", {}), **about["known"]}


def centre_and_unit(family: Any, y: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Where linear predictors are, and how widely they may be spread, from the responses alone."""
    predictor = _predictor(name_of(family))
    if predictor is None:
        mean = float(np.average(y, weights=weights))
        return (float(np.log(mean)) if name_of(family) in _LOG_MEANS and mean > 0 else 0.0), 1.0
    values = predictor(y)
    centre = float(np.average(values, weights=weights))
    unit = float(np.sqrt(np.average(np.square(values - centre), weights=weights)))
    return centre, unit if unit > 1e-12 * abs(centre) else max(abs(centre), 1.0)


def _predictor(name: str) -> Callable[[np.ndarray], np.ndarray] | None:
    """From responses to predictors, where these are of a kind."""
    return np.asarray if name in REAL else np.log if name in _LOG_RESPONSES else None
