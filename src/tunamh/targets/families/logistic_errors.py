"""Real responses with logistic errors; some may be censored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..._arguments import settle
from ...priors.positive import known_or_prior
from ..observations.observed import Observations
from .base import Responses
from .censored_logistic import MEDIAN_SIZE, CensoredLogistic
from .censoring import CensoredFamily
from .likelihood import OnePredictorLikelihood
from .residuals import ErrorScale
from .responses import ResponseDistribution


@dataclass(frozen=True)
class LogisticErrors(ErrorScale, CensoredFamily):
    """Real responses ``y = x.beta + scale eps`` with logistic ``eps``: tails between normal and Student-t."""

    scale: Any = None

    responses = Responses.REALS
    word = "logistic-errors"
    median_size = MEDIAN_SIZE

    def __post_init__(self) -> None:
        settle(self, scale=known_or_prior("scale", self.scale))

    def likelihood(self, observations: Observations) -> OnePredictorLikelihood:
        return CensoredLogistic()

    def response_distribution(self) -> ResponseDistribution:
        from .response_distributions import Located, stats

        return Located(lambda p: stats.logistic())
