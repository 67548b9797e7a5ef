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
    """A link. ``mean(eta)`` is the inverse link; ``centre(mean)`` is the predictor that default priors expect.

    For a log link the centre is the predictor of the mean response; if means have two limits, as probabilities have, it
    is 0. A link for probabilities is the distribution function of a latent error: ``y = 1`` if ``eta + error > 0``, and
    ``variance`` is the variance of this error.
    """

    name: str
    mean: Inverse
    centre: Callable[[float], float] = _zero
    variance: float | None = None


IDENTITY = Link("identity", _same, float)
LOG = Link("log", np.exp, _log)
LOGIT = Link("logit", _expit, variance=math.pi**2 / 3)
PROBIT = Link("probit", _normal_cdf, variance=1.0)
CLOGLOG = Link("cloglog", _first_event, variance=math.pi**2 / 6)
SOFTPLUS = Link("softplus", _softplus)
