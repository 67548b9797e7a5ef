"""Positive responses whose logarithm is logistic; some may be censored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..observations.base import Observations
from .base import Responses
from .censored_logistic import MEDIAN_SIZE, CensoredLogistic
from .censoring import CensoredErrors
from .likelihood import OnePredictorLikelihood
from .links import LOG
from .responses import ResponseDistribution


@dataclass(frozen=True)
class LogLogistic(CensoredErrors):
    """Regression of positive responses whose logarithms have logistic errors.

    The logarithm of a response has a logistic distribution with centre ``x.theta`` and scale ``scale``. ``x`` are the
    columns of a row, and ``theta`` are the coefficients.

    Parameters
    ----------
    scale : float or prior of a positive parameter, optional
        A number: the scale is known. A prior: the scale is unknown. By default the scale is unknown, with the default
        prior of `Gaussian` for the logarithms of the responses.
    """

    responses = Responses.POSITIVE
    word = "loglogistic"
    link = LOG
    regresses_logarithm = True
    median_size = MEDIAN_SIZE

    def likelihood(self, observations: Observations) -> OnePredictorLikelihood:
        return CensoredLogistic()

    def response_distribution(self) -> ResponseDistribution:
        from .response_distributions import LogLocated, stats

        return LogLocated(lambda p: stats.logistic(), _mean_of_exponential)


def _mean_of_exponential(scale: Any) -> np.ndarray:
    """Of ``e^(scale eps)``: infinite from a scale of 1 on."""
    a = np.pi * np.asarray(scale)
    return np.where(a < np.pi, a / np.sin(np.minimum(a, 3.14)), np.inf)
