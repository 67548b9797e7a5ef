"""A random walk from one parameter to the next, for parameters that stand in an order: log hazards over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._arguments import moderate_number, settle, shown
from .independent import IndependentPrior
from .registry import independent_names


@dataclass(frozen=True)
class RandomWalk:
    """Parameters ``a_1, a_2, ...`` in an order, each normal about the one before: ``a_{j+1} ~ N(a_j, scale^2)``.

    ``start`` is the prior of the first; None means the default of the model that has the parameters. A small ``scale``
    makes neighbours alike. It is a known number.
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
