"""Regressions with errors of a scale, some of whose responses may be known only to be larger or smaller (spec 5l).

``y_i = x_i.beta + scale eps_i``, or the logarithm of a positive response is. Rows whose response is censored count by
the probability of that. A row's predictor ``z = x.eta - tau e`` is minus the standardised residual ``q``; its response
is a code: 0 if the event was observed, +1 if it came later than seen (right-censored), -1 if it came earlier
(left-censored). What an observed row says of the scale, ``-log tau``, is not part of its energy.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..._arguments import settle
from ...priors.positive import known_or_prior
from ..observations.base import Observations
from ..observations.row_layout import RowLayout, known_scale
from .base import BaseFamily, Responses
from .likelihood import OnePredictorLikelihood
from .residuals import ErrorScale
from .response_checks import first_wrong
from .unknown_scale import with_unknown_scale


class CensoredLikelihood(OnePredictorLikelihood):
    """Base class of likelihoods of errors that may be censored. The codes are 0, +1 and -1."""

    convex = True

    def check(self, y: np.ndarray) -> None:
        wrong = (y != 0) & (y != 1) & (y != -1)
        if wrong.any():
            raise first_wrong(wrong, y, "be 0 (observed), 1 (right-censored) or -1 (left-censored)", kind="codes")

    def guess(self, y: np.ndarray) -> np.ndarray:
        """Return a rough residual for each row, an array (n,): 0 if it was observed, -1 or 1 if it is censored."""
        return y.astype(float)

    def rises(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return two boolean arrays (n,): does the energy of a row grow without limit as ``eta`` goes to +/- infinity?

        ``eta`` is the linear predictor. The first array is for +infinity, the second for -infinity. If the response was
        observed, both values are True; a right-censored row has False and True, a left-censored row True and False.
        """
        return y <= 0, y >= 0


class CensoredFamily(BaseFamily):
    """A family of responses that may be censored.

    ``parameters`` has the name of the unknown parameter beside the coefficients.
    """

    takes_censoring = True
    parameters: ClassVar[tuple[str, ...]] = ("scale",)

    @abstractmethod
    def likelihood(self, observations: Observations) -> OnePredictorLikelihood:
        """Return the likelihood of a row as a function of its standardised residual.

        The standardised residual is the response minus the linear predictor, divided by the scale. If the responses
        are positive, it is computed with their logarithms. The likelihood depends on which responses of
        ``observations`` are censored.
        """

    def check(self, y: np.ndarray) -> None:
        if self.responses is Responses.POSITIVE and (y <= 0).any():
            row = int(np.argmax(y <= 0))
            raise ValueError(f"{type(self).__name__} is for positive responses, but row {row} has {y[row]:g}.")

    def arrange(self, observations: Observations, temper: float) -> RowLayout:
        (name,) = self.parameters
        given, likelihood = self.settings()[name], self.likelihood(observations)
        if isinstance(given, float):
            scale = 1 / given if name == "shape" else given
            return known_scale(observations, scale, self.response, likelihood)
        return with_unknown_scale(observations, temper, given, likelihood, name=name, response=self.response)


@dataclass(frozen=True)
class CensoredErrors(ErrorScale, CensoredFamily):
    """A family of responses that may be censored and whose errors have a ``scale``."""

    scale: Any = None

    def __post_init__(self) -> None:
        settle(self, scale=known_or_prior("scale", self.scale))
