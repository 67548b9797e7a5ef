"""Gamma priors."""

from __future__ import annotations

from dataclasses import dataclass

from .._arguments import settle
from .laws import GAMMA, Laws
from .positive import SCALES, SHAPES, PositivePrior, limited, one_law


@dataclass(frozen=True)
class Gamma(PositivePrior):
    """Gamma prior of a positive parameter: density proportional to ``x^(shape - 1) exp(-x / scale)``, ``x > 0``.

    The mean is ``shape * scale``.

    Parameters
    ----------
    shape, scale : float
        The shape and the scale of the gamma distribution. The scale is 1 divided by the rate.
    """

    shape: float
    scale: float

    falls_fast = True

    def __post_init__(self) -> None:
        settle(self, shape=limited("shape", self.shape, SHAPES), scale=limited("scale", self.scale, SCALES))

    def law(self) -> Laws:
        return one_law(GAMMA, 0.0, self.scale, self.shape)
