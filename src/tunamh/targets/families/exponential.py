"""Exponential waiting times with a log link; some may be censored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...rows.source import Rows
from ..observations.base import Observations
from ..observations.row_layout import RowLayout, known_scale
from .base import Family, Responses
from .gamma import GammaLikelihood
from .links import LOG
from .responses import Parameters, ResponseDistribution
from .weibull import CensoredWeibull


def time_at_risk(rows: Rows) -> np.ndarray:
    """Return the time between the entry of each row and its response."""
    return rows.y if rows.entry is None else rows.y - rows.entry


@dataclass(frozen=True)
class Exponential(GammaLikelihood, Family):
    """Regression of exponential waiting times with mean ``e^eta``.

    ``eta`` is the linear predictor ``x.theta`` of a row, plus its offset. The energy (negative log-likelihood) of a row
    is ``f = y e^-eta + eta``. Times can be right-censored or left-censored (see ``censored=`` of `GLM`); they are
    Weibull times of shape 1. The observation of a row can begin after time 0 (``entry=`` of `GLM`). The likelihood then
    uses the time since the entry, because the hazard is constant.
    """

    shape: ClassVar[float] = 1.0  # type: ignore[misc]
    responses = Responses.POSITIVE
    word = "exponential"
    link = LOG
    takes_censoring = True
    takes_entry = True

    def arrange(self, observations: Observations, temper: float) -> RowLayout:
        if not observations.has_censoring and not observations.has_entry:
            return super().arrange(observations, temper)
        return known_scale(observations, 1.0, lambda rows: np.log(time_at_risk(rows)), CensoredWeibull())

    def response_distribution(self) -> ResponseDistribution:
        from .response_distributions import OfMean, stats

        return OfMean(self.link.mean, lambda m, p: stats.expon(scale=m))

    def latent_variance(self, p: Parameters, mean: float | None) -> Any:
        """Return the variance of ``log y`` given the linear predictor.

        ``log y`` minus the linear predictor has a Gumbel distribution with variance ``pi^2 / 6``.
        """
        return np.pi**2 / 6
