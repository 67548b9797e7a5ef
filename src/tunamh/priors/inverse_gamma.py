"""Inverse gamma priors."""

from __future__ import annotations

from dataclasses import dataclass

from .._arguments import settle
from .laws import INVERSE_GAMMA, Laws
from .positive import SCALES, SHAPES, PositivePrior, limited, one_law


@dataclass(frozen=True)
class InverseGamma(PositivePrior):
    """Inverse gamma prior of a positive parameter ``x``.

    The density is proportional to ``x^(-shape - 1) exp(-scale / x)`` for ``x > 0``. So ``1 / x`` has a gamma
    distribution.

    Parameters
    ----------
    shape, scale : float
        The shape and the scale of the inverse gamma distribution. The mean is ``scale / (shape - 1)`` if ``shape > 1``.
    """

    shape: float
    scale: float

    vanishes_at_zero = True

    def __post_init__(self) -> None:
        settle(self, shape=limited("shape", self.shape, SHAPES), scale=limited("scale", self.scale, SCALES))

    def law(self) -> Laws:
        return one_law(INVERSE_GAMMA, 0.0, self.scale, self.shape)
