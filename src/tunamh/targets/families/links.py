"""Links: from a linear predictor to the mean of a response, or to another parameter."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

Inverse = Callable[[np.ndarray], np.ndarray]


def _same(eta: np.ndarray) -> np.ndarray:
    return eta


def _expit(eta: np.ndarray) -> np.ndarray:
    from scipy.special import expit

    return expit(eta)


def _normal_cdf(eta: np.ndarray) -> np.ndarray:
    from scipy.special import ndtr

    return ndtr(eta)


def _first_event(eta: np.ndarray) -> np.ndarray:
    return -np.expm1(-np.exp(eta))


def _softplus(eta: np.ndarray) -> np.ndarray:
    return np.logaddexp(0.0, eta)


def _zero(mean: float) -> float:
    return 0.0


def _log(mean: float) -> float:
    return math.log(mean) if mean > 0 else 0.0


class Link(NamedTuple):
    """``mean(eta)`` is the inverse link; ``centre(mean)`` is where default priors expect predictors.

    The centre is the predictor of the responses' mean behind a log link, and 0 where means have two ends.
    """

    name: str
    mean: Inverse
    centre: Callable[[float], float] = _zero


IDENTITY = Link("identity", _same, float)
LOG = Link("log", np.exp, _log)
LOGIT = Link("logit", _expit)
PROBIT = Link("probit", _normal_cdf)
CLOGLOG = Link("cloglog", _first_event)
SOFTPLUS = Link("softplus", _softplus)
