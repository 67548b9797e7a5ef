"""Positive responses whose logarithm is normal; some may be censored."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..observations.base import Observations
from .base import Responses
from .censored_normal import CensoredNormal
from .censoring import CensoredErrors
from .gaussian import Gaussian
from .likelihood import OnePredictorLikelihood
from .links import LOG
from .responses import ResponseDistribution


@dataclass(frozen=True)
class LogNormal(CensoredErrors):
    """Regression of positive responses whose logarithms have normal errors.

    The logarithm of a response is normal with mean ``x.theta`` and standard deviation ``scale``. ``x`` are the columns
    of a row, and ``theta`` are the coefficients.

    Parameters
    ----------
    scale : float or prior of a positive parameter, optional
        A number: the scale is known. A prior: the scale is unknown. By default the scale is unknown, with the default
        prior of `Gaussian` for the logarithms of the responses.
    """

    responses = Responses.POSITIVE
    word = "lognormal"
    link = LOG
    regresses_logarithm = True

    def likelihood(self, observations: Observations) -> OnePredictorLikelihood:
        return CensoredNormal() if observations.has_censoring else Gaussian(1.0)

    def response_distribution(self) -> ResponseDistribution:
        from .response_distributions import LogLocated, stats

        return LogLocated(lambda p: stats.norm(), lambda scale: np.exp(0.5 * np.square(scale)))
