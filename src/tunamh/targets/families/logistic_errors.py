"""Real responses with logistic errors; some may be censored."""

from __future__ import annotations

from dataclasses import dataclass

from ..observations.base import Observations
from .base import Responses
from .censored_logistic import MEDIAN_SIZE, CensoredLogistic
from .censoring import CensoredErrors
from .likelihood import OnePredictorLikelihood
from .responses import ResponseDistribution


@dataclass(frozen=True)
class LogisticErrors(CensoredErrors):
    """Regression of real responses with logistic errors: ``y = x.theta + scale eps``.

    ``x`` are the columns of a row, and ``theta`` are the coefficients. The errors ``eps`` have the standard logistic
    distribution. Its tails are heavier than normal tails and lighter than Student-t tails.

    Parameters
    ----------
    scale : float or prior of a positive parameter, optional
        A number: the scale is known. A prior: the scale is unknown. By default the scale is unknown, with the default
        prior of `Gaussian`.
    """

    responses = Responses.REALS
    word = "logistic-errors"
    median_size = MEDIAN_SIZE

    def likelihood(self, observations: Observations) -> OnePredictorLikelihood:
        return CensoredLogistic()

    def response_distribution(self) -> ResponseDistribution:
        from .response_distributions import Located, stats

        return Located(lambda p: stats.logistic())
