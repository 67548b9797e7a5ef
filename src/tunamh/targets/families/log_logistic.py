"""Positive responses whose logarithm is logistic; some may be censored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._arguments import settle
from ...priors.positive import known_or_prior
from ..observations.observed import Observations
from .base import Responses
from .censored_logistic import MEDIAN_SIZE, CensoredLogistic
from .censoring import CensoredFamily
from .likelihood import OnePredictorLikelihood
from .links import LOG
from .residuals import ErrorScale
from .responses import ResponseDistribution


@dataclass(frozen=True)
class LogLogistic(ErrorScale, CensoredFamily):
    """Positive responses whose logarithm is logistic with centre ``x.beta`` and scale ``scale`` (see `Gaussian`)."""

    scale: Any = None

    responses = Responses.POSITIVE
    word = "loglogistic"
    link = LOG
    regresses_logarithm = True
    median_size = MEDIAN_SIZE

    def __post_init__(self) -> None:
        settle(self, scale=known_or_prior("scale", self.scale))

    def likelihood(self, observations: Observations) -> OnePredictorLikelihood:
        return CensoredLogistic()

    def response_distribution(self) -> ResponseDistribution:
        from .response_distributions import LogLocated, stats

        return LogLocated(lambda p: stats.logistic(), _mean_of_exponential)


def _mean_of_exponential(scale: Any) -> np.ndarray:
    """Of ``e^(scale eps)``: infinite from a scale of 1 on."""
    a = np.pi * np.asarray(scale)
    return np.where(a < np.pi, a / np.sin(np.minimum(a, 3.14)), np.inf)
