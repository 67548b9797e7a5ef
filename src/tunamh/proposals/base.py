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
    """The facts about a target that a proposal may use.

    ``dim`` is the number of coordinates of a state, ``states`` the number of states of a finite target (None if it is
    continuous). `Target` describes the other members.
    """

    dim: int
    states: int | None

    @property
    def precision_trace(self) -> float: ...
    @property
    def non_gaussianity(self) -> float: ...
    @property
    def walk_spread(self) -> float: ...


class ReadyProposal(NamedTuple):
    """A proposal that is compiled and bound to a target.

    ``propose`` is the compiled function. ``knobs`` are its tuning parameters; ``knobs[0]`` is the step size. If
    ``tuned`` is True, warm-up tunes the step size to reach the acceptance rate ``acceptance``; the step size is at most
    ``largest``. ``learn`` is an optional function that tunes further knobs in warm-up.
    """

    propose: Part
    knobs: np.ndarray
    tuned: bool
    acceptance: float
    largest: float = math.inf
    learn: Callable[[np.ndarray, np.ndarray, int, int], float | None] | None = None
    """``learn(knobs, draws, done, total)`` tunes knobs in place after a window of warm-up.

    It returns a new step size, or None.
    """


class Proposal:
    """Base class of all proposals. A proposal is an immutable object; ``bind`` compiles it for a target."""

    def bind(self, space: Space) -> ReadyProposal:
        """Return the proposal, compiled for this target. Raises `NotApplicable` if it does not fit the target."""
        raise NotApplicable(
            f"{type(self).__name__} has no bind(space), by which a proposal is made ready for a target."
        )
