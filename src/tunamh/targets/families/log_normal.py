"""Positive responses whose logarithm is normal; some may be censored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._arguments import settle
from ...priors.positive import known_or_prior
from ..observations.observed import Observations
from .base import Responses
from .censored_normal import CensoredNormal
from .censoring import CensoredFamily
from .gaussian import Gaussian
from .likelihood import OnePredictorLikelihood
from .links import LOG
from .residuals import ErrorScale
from .responses import ResponseDistribution


@dataclass(frozen=True)
class LogNormal(ErrorScale, CensoredFamily):
    """Positive responses whose logarithm is normal with mean ``x.beta`` and standard deviation ``scale``."""

    scale: Any = None

    responses = Responses.POSITIVE
    word = "lognormal"
    link = LOG
    regresses_logarithm = True

    def __post_init__(self) -> None:
        settle(self, scale=known_or_prior("scale", self.scale))

    def likelihood(self, observations: Observations) -> OnePredictorLikelihood:
        return CensoredNormal() if observations.has_censoring else Gaussian(1.0)

    def response_distribution(self) -> ResponseDistribution:
        from .response_distributions import LogLocated, stats

        return LogLocated(lambda p: stats.norm(), lambda scale: np.exp(0.5 * np.square(scale)))
