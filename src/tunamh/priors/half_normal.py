"""Half-normal priors."""

from __future__ import annotations

from dataclasses import dataclass

from .._arguments import settle
from .laws import NORMAL, Laws
from .positive import SCALES, PositivePrior, limited, one_law


@dataclass(frozen=True)
class HalfNormal(PositivePrior):
    """Half-normal prior of a positive parameter: density proportional to ``exp(-x^2 / (2 scale^2))``, ``x > 0``.

    It is a normal distribution with mean 0 and standard deviation ``scale``, limited to ``x > 0``.

    Parameters
    ----------
    scale : float
        The standard deviation of this normal distribution. 95 % of the prior probability is below ``1.96 scale``.

    Examples
    --------
    >>> tunamh.Gaussian(scale=tunamh.HalfNormal(2.5))
    """

    scale: float

    word = "half_normal"
    word_numbers = ("scale",)
    falls_fast = True

    def __post_init__(self) -> None:
        settle(self, scale=limited("scale", self.scale, SCALES))

    def law(self) -> Laws:
        return one_law(NORMAL, 0.0, self.scale)
