"""Random walks: Gaussian steps in continuous space, neighbours on a line of states; steps along a ray from a point."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arguments import flag, number_between, numbers, settle, shown
from ..compiled import Propose, fixed, helper, part
from ..compiled.layouts import NUMBER, Layout
from ..compiled.vector import copy_into
from ..errors import NotApplicable
from ..tables.matrices import has_row_labels
from .base import OPTIMAL_WALK, Proposal, ReadyProposal, Space
from .learned_shape import MOST_CORRELATED, learn_shape, unshaped


@part(Propose)
def _isotropic(rng, theta, prop, knobs):
    for j in range(theta.size):
        prop[j] = theta[j] + knobs[0] * rng.standard_normal()
    return 0.0


_LENGTHS = Layout("Lengths", "d", step=NUMBER, lengths=("d",))
_FACTOR = Layout("StepFactor", "d", step=NUMBER, factor=("d", "d"))
_lengths_at, _factor_at = _LENGTHS.reader(), _FACTOR.reader()


@part(Propose)
def _by_coordinate(rng, theta, prop, knobs):
    own = _lengths_at(knobs, 0, theta.size)
    step, lengths = own.step, own.lengths
    for j in range(theta.size):
        prop[j] = theta[j] + step * lengths[j] * rng.standard_normal()
    return 0.0


@part(Propose)
def _correlated(rng, theta, prop, knobs):
    """``prop = theta + step * F xi``; column by column, so that each normal is used as it is drawn."""
    d = theta.size
    own = _factor_at(knobs, 0, d)
    step, factor = own.step, own.factor
    copy_into(prop, theta)
    for k in range(d):
        length = step * rng.standard_normal()
        for j in range(d):
            prop[j] += length * factor[j, k]
    return 0.0


@dataclass(frozen=True)
class RandomWalk(Proposal):
    """Proposal of a Gaussian random walk: the current state plus a normal step with mean zero.

    Parameters
    ----------
    scale : float, vector or matrix, optional
        The standard deviation of a step: one number for all coordinates, one number for each coordinate, or a matrix
        ``F`` such that ``F F'`` is the covariance of a step. Default: one number, which warm-up tunes (by the algorithm
        of Robbins and Monro).
    acceptance : float
        The target acceptance rate of the tuning. The efficiency is nearly the same between 0.2 and 0.35.
    learn_shape : bool
        With ``scale=None``, warm-up also estimates the standard deviation of each coordinate and, for at most 20
        coordinates, their correlations. This is the default for `EnergyTarget`.

    Examples
    --------
    >>> tunamh.sample(target, proposal=tunamh.RandomWalk(learn_shape=True))
    """

    scale: Any = None
    acceptance: float = 0.25
    learn_shape: bool = False

    def __post_init__(self) -> None:
        settle(self, acceptance=number_between("acceptance", self.acceptance, 0, 1))
        settle(self, learn_shape=flag("learn_shape", self.learn_shape))
        if self.scale is not None and self.learn_shape:
            raise ValueError("learn_shape=True estimates the scale: leave scale= out.")
        if self.scale is None:
            return
        if has_row_labels(self.scale):
            raise TypeError("scale has row labels, which a random walk does not read: pass scale.to_numpy().")
        scale = numbers("scale", self.scale)
        if scale.ndim > 2 or (scale.ndim == 2 and scale.shape[0] != scale.shape[1]):
            raise ValueError(f"scale must be a number, one per coordinate or a square matrix, got shape {scale.shape}.")
        if scale.ndim < 2 and not (scale > 0).all():
            raise ValueError(f"scale must be positive, got {shown(self.scale)}.")
        if scale.ndim == 2 and _is_singular(scale):
            raise ValueError("scale is a singular matrix: the walk would stay in a subspace.")
        settle(self, scale=float(scale) if scale.ndim == 0 else self.scale)

    def __repr__(self) -> str:
        learned = ", learn_shape=True" if self.learn_shape else ""
        return f"RandomWalk(scale={self.scale!r}, acceptance={self.acceptance!r}{learned})"

    def bind(self, space: Space) -> ReadyProposal:
        if space.states is not None:
            raise NotApplicable("RandomWalk steps in continuous space, but this target has states: use NeighbourWalk()")
        if self.scale is None:
            guess, d = OPTIMAL_WALK / math.sqrt(space.precision_trace), space.dim
            if self.learn_shape and d > 1:
                walk = _correlated if d <= MOST_CORRELATED else _by_coordinate
                return ReadyProposal(walk, fixed(unshaped(guess, d)), True, self.acceptance, learn=learn_shape)
            return ReadyProposal(_isotropic, fixed([guess]), True, self.acceptance)
        scale = np.asarray(self.scale, dtype=np.float64)
        if scale.ndim == 0:
            return ReadyProposal(_isotropic, fixed([scale]), False, self.acceptance)
        if scale.shape == (space.dim,):
            return ReadyProposal(_by_coordinate, fixed(_LENGTHS.pack(step=1.0, lengths=scale)), False, self.acceptance)
        if scale.shape == (space.dim, space.dim):
            return ReadyProposal(_correlated, fixed(_FACTOR.pack(step=1.0, factor=scale)), False, self.acceptance)
        d = space.dim
        raise ValueError(f"scale must be a number, {d} numbers or a {d} x {d} matrix, got shape {scale.shape}.")


def _is_singular(factor: np.ndarray) -> bool:
    """Whether some coordinates of a step depend on the others, whatever unit each is measured in."""
    units = np.abs(factor).max(axis=1, keepdims=True)
    return not units.all() or np.linalg.matrix_rank(factor / units) < len(factor)


@part(Propose)
def _neighbour(rng, theta, prop, knobs):
    """Stay with probability 1/2, else a neighbour; an end has one neighbour only, hence the Hastings factor."""
    last = knobs[1] - 1.0
    state = theta[0]
    prop[0] = state
    u = rng.random()
    if u < 0.5:
        return 0.0
    if state == 0.0:
        prop[0] = 1.0
    elif state == last:
        prop[0] = last - 1.0
    else:
        prop[0] = state + 1.0 if u < 0.75 else state - 1.0
    leaves_end = state == 0.0 or state == last
    enters_end = prop[0] == 0.0 or prop[0] == last
    if leaves_end == enters_end:
        return 0.0
    return math.log(2.0) if enters_end else -math.log(2.0)


@dataclass(frozen=True)
class NeighbourWalk(Proposal):
    """Proposal for a finite target with the states ``0 .. K-1``: a lazy random walk (Zhang, Cooper and De Sa 2020).

    With probability 1/2 the walk stays in its state. Otherwise it goes to one of the two neighbours, to each with
    probability 1/4. The states 0 and K-1 have only one neighbour; from these states, the walk goes to this neighbour
    with probability 1/2.
    """

    def bind(self, space: Space) -> ReadyProposal:
        if space.states is None:
            raise NotApplicable("NeighbourWalk steps between states; this target is continuous: use RandomWalk()")
        return ReadyProposal(_neighbour, fixed([1.0, space.states]), False, 0.5)


# ------------------------------------ along the ray from a fixed point, in tails that fall as a power does (spec 5g)

_LONGEST = 4.0  # of the logarithm of a factor: farther at once, sums over rows would lose their digits


@helper
def log_dilation(rng):
    """Draw the logarithm ``s`` of a dilation ``x' = c + e^s (x - c)``. It is symmetric and has very different lengths.

    A step of k numbers has the Hastings factor ``e^(k s)``. *Proof.* The step back has ``-s``, whose density is the
    same, and ``|dx'/dx| = e^(k s)``.
    """
    s = math.exp(0.7 * rng.standard_normal()) * rng.standard_normal()
    return min(max(s, -_LONGEST), _LONGEST)
