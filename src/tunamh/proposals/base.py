"""What a proposal is, and what it may ask of a target."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from ..compiled import Part
from ..errors import NotApplicable

OPTIMAL_WALK = 2.38
"""Length of the optimal random-walk step in posterior standard deviations, over sqrt(d) (Roberts et al. 1997)."""


class Space(Protocol):
    """What a proposal may ask of a target."""

    dim: int
    states: int | None

    @property
    def precision_trace(self) -> float: ...
    @property
    def non_gaussianity(self) -> float: ...
    @property
    def walk_spread(self) -> float: ...


class ReadyProposal(NamedTuple):
    """A proposal made ready for a target.

    ``knobs[0]`` is the step size, tuned in warm-up for the wanted acceptance, up to ``largest``, when ``tuned``.
    """

    propose: Part
    knobs: np.ndarray
    tuned: bool
    acceptance: float
    largest: float = math.inf
    learn: Callable[[np.ndarray, np.ndarray, int, int], float | None] | None = None
    """``learn(knobs, draws, done, total)``: turns knobs, in place, after a window of warm-up; a new step size, or None.
    """


class Proposal:
    """What every proposal is: a frozen value that says what it needs."""

    def bind(self, space: Space) -> ReadyProposal:
        """The proposal made ready for a target; raises `NotApplicable` where it does not fit."""
        raise NotApplicable(
            f"{type(self).__name__} has no bind(space), by which a proposal is made ready for a target."
        )
