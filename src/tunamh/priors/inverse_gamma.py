"""Inverse gamma priors."""

from __future__ import annotations

from dataclasses import dataclass

from .laws import INVERSE_GAMMA, Laws
from .positive import SCALES, SHAPES, PositivePrior, one_law


@dataclass(frozen=True)
class InverseGamma(PositivePrior):
    """Density ``x^(-shape - 1) exp(-scale / x)``, ``x > 0``."""

    shape: float
    scale: float

    vanishes_at_zero = True

    def __post_init__(self) -> None:
        self.check_numbers(shape=SHAPES, scale=SCALES)

    def law(self) -> Laws:
        return one_law(INVERSE_GAMMA, 0.0, self.scale, self.shape)
