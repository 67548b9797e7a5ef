"""Uniform priors between two numbers."""

from __future__ import annotations

from dataclasses import dataclass

from .._arguments import moderate_number, not_negative, settle, shown
from .laws import UNIFORM, Laws
from .positive import SCALES, PositivePrior, one_law


@dataclass(frozen=True)
class Uniform(PositivePrior):
    """Uniform prior of a positive parameter: a constant density between ``low`` and ``high``.

    Parameters
    ----------
    low, high : float
        The limits, with ``0 <= low < high``.
    """

    low: float
    high: float

    falls_fast = True

    def __post_init__(self) -> None:
        low = not_negative("low of the prior", self.low, infinite=False)
        settle(self, low=low, high=moderate_number("high of the prior", self.high, *SCALES))
        if not low < self.high:
            raise ValueError(f"low of the prior must lie below high, got {shown(self)}.")

    def law(self) -> Laws:
        return one_law(UNIFORM, self.low, self.high)

    def inside(self, value: float) -> float:
        margin = 0.01 * (self.high - self.low)
        return min(max(value, self.low + margin), self.high - margin)
