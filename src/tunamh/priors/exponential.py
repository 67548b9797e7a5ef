"""Exponential priors."""

from __future__ import annotations

from dataclasses import dataclass

from .._arguments import settle
from .laws import LAPLACE, Laws
from .positive import SCALES, PositivePrior, limited, one_law


@dataclass(frozen=True)
class Exponential(PositivePrior):
    """Exponential prior of a positive parameter: density proportional to ``exp(-x / mean)``, ``x > 0``.

    Parameters
    ----------
    mean : float
        The mean of the prior: 1 divided by the rate.
    """

    mean: float

    falls_fast = True

    def __post_init__(self) -> None:
        settle(self, mean=limited("mean", self.mean, SCALES))

    def law(self) -> Laws:
        return one_law(LAPLACE, 0.0, self.mean)
