"""Half-Cauchy priors."""

from __future__ import annotations

from dataclasses import dataclass

from .._arguments import settle
from .laws import STUDENT_T, Laws
from .positive import SCALES, PositivePrior, limited, one_law


@dataclass(frozen=True)
class HalfCauchy(PositivePrior):
    """Half-Cauchy prior of a positive parameter: density proportional to ``1 / (1 + (x / scale)^2)``, ``x > 0``.

    It is the half-Student-t prior with one degree of freedom.

    Parameters
    ----------
    scale : float
        The median of the prior.
    """

    scale: float

    word = "half_cauchy"
    word_numbers = ("scale",)

    def __post_init__(self) -> None:
        settle(self, scale=limited("scale", self.scale, SCALES))

    def law(self) -> Laws:
        return one_law(STUDENT_T, 0.0, self.scale, 1.0)
