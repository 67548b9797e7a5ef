"""A random walk from one parameter to the next, for parameters that stand in an order: log hazards over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._arguments import moderate_number, settle, shown
from .independent import IndependentPrior
from .registry import independent_names


@dataclass(frozen=True)
class RandomWalk:
    """Prior for parameters in an order, such as the log hazards of `PiecewiseExponential`: neighbours are similar.

    The parameter ``a_{j+1}`` is normal around the parameter before it: ``a_{j+1} ~ N(a_j, scale^2)`` for ``j = 1, 2,
    ...``

    Parameters
    ----------
    scale : float
        The standard deviation of the difference of two neighbouring parameters, a known number.
    start : prior of coefficients, optional
        The prior of ``a_1``, such as ``Normal(mean=-5, scale=2)``. By default ``a_1`` has the prior that
        `PiecewiseExponential` describes.
    """

    scale: float = 1.0
    start: IndependentPrior | Any = None

    def __post_init__(self) -> None:
        settle(self, scale=moderate_number("scale of the random walk", self.scale, 1e-6, 1e6))
        if self.start is not None and (isinstance(self.start, type) or not isinstance(self.start, IndependentPrior)):
            raise TypeError(
                f"start of the random walk must be {independent_names()} of tunamh.priors, such as "
                f"tunamh.Normal(scale=5), got {shown(self.start)}."
            )
