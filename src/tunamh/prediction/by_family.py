"""The law of every family, by its name, and the links of parameters that columns describe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special, stats

from .response_distributions import (
    Classes,
    Distribution,
    HuberLaw,
    HurdleLaw,
    Labels,
    Law,
    Located,
    LogLogisticLaw,
    LogNormalLaw,
    Parameters,
    WeibullLaw,
    ZeroInflatedLaw,
)


def _softmax(eta: np.ndarray, p: Parameters) -> np.ndarray:
    return special.softmax(np.concatenate([np.zeros((*eta.shape[:-1], 1)), eta], axis=-1), axis=-1)


def _ordered(eta: np.ndarray, p: Parameters) -> np.ndarray:
    """``P(y <= k) = 1 / (1 + e^(eta - c_k))``, cutpoints (draws, 1, J - 1)."""
    below = special.expit(p["cutpoint"] - eta[..., None])
    ends = np.zeros((*eta.shape, 1)), np.ones((*eta.shape, 1))
    return np.diff(np.concatenate([ends[0], below, ends[1]], axis=-1), axis=-1)


def _negative_binomial(m: np.ndarray, p: Parameters) -> Any:
    r = np.asarray(p["dispersion"])
    return stats.nbinom(r, r / (r + m))


def _softplus(eta: np.ndarray) -> np.ndarray:
    return np.logaddexp(0.0, eta)


def _beta(m: np.ndarray, p: Parameters) -> Any:
    return stats.beta(m * p["precision"], (1 - m) * p["precision"])


_POISSON = Distribution(np.exp, lambda m, p: stats.poisson(m))
_NEGATIVE_BINOMIAL = Distribution(np.exp, _negative_binomial)

LAWS: dict[str, Law] = {
    "Logistic": Labels(special.expit),
    "Probit": Labels(special.ndtr),
    "Cloglog": Labels(lambda eta: -np.expm1(-np.exp(eta))),
    "Gaussian": Located(lambda p: stats.norm()),
    "StudentT": Located(lambda p: stats.t(p["df"])),
    "Huber": HuberLaw(),
    "LogisticErrors": Located(lambda p: stats.logistic()),
    "LogNormal": LogNormalLaw(),
    "LogLogistic": LogLogisticLaw(),
    "Weibull": WeibullLaw(),
    "Exponential": Distribution(np.exp, lambda m, p: stats.expon(scale=m)),
    "Gamma": Distribution(np.exp, lambda m, p: stats.gamma(p["shape"], scale=m / p["shape"])),
    "Poisson": _POISSON,
    "NegativeBinomial": _NEGATIVE_BINOMIAL,
    "SoftplusPoisson": Distribution(_softplus, lambda m, p: stats.poisson(m)),
    "Beta": Distribution(special.expit, _beta),
    "Hurdle": HurdleLaw(),
    "Categorical": Classes(_softmax),
    "Ordinal": Classes(_ordered),
}
"""By the family's name; `ZeroInflated` is made of its counts."""

LINKED: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "scale": np.exp,
    "precision": np.exp,
    "inflation": special.expit,
    "positive": special.expit,
}
"""From the linear predictor of a parameter that columns describe to the parameter."""


def law_of(family: dict[str, Any]) -> Law | None:
    """Of a family as results describe it; None of one of a user's own."""
    if family.get("name") == "ZeroInflated":
        counts = law_of(family.get("counts", {}))
        return None if counts is None else ZeroInflatedLaw(counts)
    return LAWS.get(str(family.get("name")))
