"""Linear regressions of logarithms of positive responses, and of responses with logistic errors; some may be censored.

``log t_i = x_i.beta + scale eps_i`` with normal, logistic or smallest-extreme-value ``eps``. Rows whose response is
known only to be larger (or smaller) count by the probability of that (spec 5l).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..._arguments import settle
from ...priors.positive import known_or_prior
from ...rows.source import Rows
from ..observations.observed import Observations
from ..observations.row_layout import Arrangement, known_scale
from .gaussian import Gaussian
from .survival import LogisticRows, NormalRows, WeibullRows
from .unknown_scale import with_unknown_scale

_LOGISTIC = float(np.log(3.0))
"""The median of the absolute value of a standard logistic error."""


def _as_given(rows: Rows) -> np.ndarray:
    return rows.y


def _logarithm(rows: Rows) -> np.ndarray:
    return np.log(rows.y)


class _Censored(ABC):
    """``parameter`` names what is unknown beside the coefficients, ``response`` is what is regressed."""

    knows_censoring = True
    parameter: ClassVar[str] = "scale"
    response: ClassVar[Any] = staticmethod(_logarithm)
    scale: Any

    @abstractmethod
    def rows_of(self, observations: Observations) -> Any:
        """The family of the standardised residuals of these observations."""

    def check(self, y: np.ndarray) -> None:
        if (y <= 0).any():
            row = int(np.argmax(y <= 0))
            raise ValueError(f"{type(self).__name__} is for positive responses, but row {row} has {y[row]:g}.")

    def arrange(self, observations: Observations, temper: float) -> Arrangement:
        given = getattr(self, self.parameter)
        family = self.rows_of(observations)
        if isinstance(given, float):
            scale = 1 / given if self.parameter == "shape" else given
            return known_scale(observations, scale, self.response, family)
        return with_unknown_scale(observations, temper, given, family, name=self.parameter, response=self.response)


@dataclass(frozen=True)
class LogNormal(_Censored):
    """Positive responses whose logarithm is normal with mean ``x.beta`` and standard deviation ``scale``."""

    scale: Any = None

    def __post_init__(self) -> None:
        settle(self, scale=known_or_prior("scale", self.scale))

    def rows_of(self, observations: Observations) -> Any:
        return NormalRows() if getattr(observations, "censored", None) is not None else Gaussian(1.0)


@dataclass(frozen=True)
class LogLogistic(_Censored):
    """Positive responses whose logarithm is logistic with centre ``x.beta`` and scale ``scale`` (see `Gaussian`)."""

    scale: Any = None

    median_size = _LOGISTIC

    def __post_init__(self) -> None:
        settle(self, scale=known_or_prior("scale", self.scale))

    def rows_of(self, observations: Observations) -> Any:
        return LogisticRows()


@dataclass(frozen=True)
class Weibull(_Censored):
    """Survival ``P(T > t) = exp(-(t e^{-x.beta})^shape)``: accelerated failure times; ``shape = 1`` is exponential.

    ``shape`` is a number (known) or a prior. By default it is unknown, with a half-Student-t prior of 3 degrees of
    freedom; the scale of this prior is 2.5 times 0.6745 divided by the median absolute deviation of ``log y``.
    """

    shape: Any = None

    parameter = "shape"

    def __post_init__(self) -> None:
        settle(self, shape=known_or_prior("shape", self.shape))

    def rows_of(self, observations: Observations) -> Any:
        return WeibullRows()


@dataclass(frozen=True)
class LogisticErrors(_Censored):
    """Real responses ``y = x.beta + scale eps`` with logistic ``eps``: tails between normal and Student-t."""

    scale: Any = None

    response = staticmethod(_as_given)
    median_size = _LOGISTIC

    def __post_init__(self) -> None:
        settle(self, scale=known_or_prior("scale", self.scale))

    def check(self, y: np.ndarray) -> None:
        """Accept all real numbers."""

    def rows_of(self, observations: Observations) -> Any:
        return LogisticRows()
