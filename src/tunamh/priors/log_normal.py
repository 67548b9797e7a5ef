"""Log-normal priors."""

from __future__ import annotations

from dataclasses import dataclass

from .._arguments import number, settle
from .laws import LOG_NORMAL, Laws
from .positive import PositivePrior, limited, one_law


@dataclass(frozen=True)
class LogNormal(PositivePrior):
    """Log-normal prior of a positive parameter ``x``: ``log x`` has a normal distribution.

    Parameters
    ----------
    mean, scale : float
        The mean and the standard deviation of ``log x``. The median of ``x`` is ``exp(mean)``.
    """

    mean: float
    scale: float

    vanishes_at_zero = True

    def __post_init__(self) -> None:
        scale = limited("scale", self.scale, (1e-6, 1e6))
        settle(self, mean=number("mean of the prior", self.mean), scale=scale)

    def law(self) -> Laws:
        return one_law(LOG_NORMAL, self.mean, self.scale)
