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
    """What a proposal may know about a target: the argument of `Proposal.bind`.

    ``dim`` is the number of coordinates of a state. ``states`` is the number of states of a finite target; None: the
    target is continuous.
    """

    dim: int
    states: int | None

    @property
    def precision_trace(self) -> float:
        """Return a rough value of the trace of the posterior precision matrix. It gives the size of a first step."""

    @property
    def non_gaussianity(self) -> float:
        """Return a rough measure of how far the posterior is from a normal distribution.

        It is near 0 if the posterior is nearly normal, and 1 if nothing is known. It can exceed 1.
        """

    @property
    def walk_spread(self) -> float:
        """Return the standard deviation of the logarithm of the length of a random walk step.

        It is 0 if all steps should have about the same length.
        """


class ReadyProposal(NamedTuple):
    """A proposal that is compiled and bound to a target.

    Parameters
    ----------
    propose : Part
        The compiled function, in the role `Propose`.
    knobs : array
        The tuning parameters of the proposal; ``knobs[0]`` is the step size.
    tuned : bool
        True: warm-up tunes the step size so that the acceptance rate is about ``acceptance``.
    acceptance : float
        The target acceptance rate.
    largest : float
        The largest step size that warm-up may choose. Default: no limit.
    learn : function ``learn(knobs, draws, done, total)``, optional
        A function that tunes further knobs in warm-up. It gets the ``draws`` of a window of warm-up; ``done`` of the
        ``total`` warm-up steps have been made. It changes ``knobs`` in place and returns a new step size, or None to
        keep the step size.
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
    """Base class of proposals. A proposal is an immutable object, and ``bind`` compiles it for a target."""

    def bind(self, space: Space) -> ReadyProposal:
        """Return the proposal, compiled for this target. Raises `NotApplicable` if it does not fit the target."""
        raise NotApplicable(
            f"{type(self).__name__} has no bind(space), by which a proposal is made ready for a target."
        )
