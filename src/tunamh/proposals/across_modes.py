"""A proposal for posteriors with several modes: independent draws from the mixture of their Laplace laws.

    q = sum_k w_k t_5(m_k, L_k L_k'),      log q(here) - log q(there) is the Hastings factor,

with Student-t laws in the place of the Gaussian ones, whose tails would trap the chain; a share of steps are random
walks in the metric of a mode drawn at random, which does not depend on the state and so needs no factor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..compiled import Propose, fixed, helper, part
from ..compiled.layouts import NUMBER, WHOLE, Layout
from ..compiled.vector import copy_into
from ..errors import NotApplicable
from . import OPTIMAL_WALK, Proposal, ReadyProposal, Space

if TYPE_CHECKING:
    from ..targets.search.newton import Mode

_FREEDOM = 5
_WALK_SHARE = 0.3
_LEAST_WEIGHT = 0.02  # of a mode in the mixture, times the number of modes

_MODE = Layout("Mode", "d", share=NUMBER, log_weight=NUMBER, point=("d",), factor=("d", "d"), inverse=("d", "d"))
"""``w_k``, ``log w_k - log det L_k``, ``m_k``, ``L_k`` and its inverse."""

_KNOBS = Layout("Modes", "d", step=NUMBER, modes=WHOLE, length=NUMBER, records=("modes", "2 + d + 2 * d * d"))
"""1, the number of modes, the length of a walk's step, and a record of every mode."""

_mode_at, _knobs_at = _MODE.reader(), _KNOBS.reader()


@helper
def _log_density(theta, modes):
    """``log q(theta)`` up to a constant."""
    d = theta.size
    largest, total = -np.inf, 0.0
    for k in range(modes.shape[0]):
        mode = _mode_at(modes, k, d)
        point, inverse = mode.point, mode.inverse
        square = 0.0
        for i in range(d):
            z = 0.0
            for j in range(d):
                z += inverse[i, j] * (theta[j] - point[j])
            square += z * z
        term = mode.log_weight - 0.5 * (_FREEDOM + d) * math.log1p(square / _FREEDOM)
        if term > largest:
            total = total * math.exp(largest - term) + 1.0
            largest = term
        else:
            total += math.exp(term - largest)
    return largest + math.log(total)


@helper
def _move(rng, from_point, there, factor, length):
    """``there = from + length L xi``."""
    d = there.size
    copy_into(there, from_point)
    for k in range(d):
        xi = length * rng.standard_normal()
        for j in range(d):
            there[j] += factor[j, k] * xi


@part(Propose)
def _across_modes(rng, here, there, knobs):
    d = here.size
    own = _knobs_at(knobs, 0, d)
    modes = own.records
    u, k = rng.random(), 0
    while k < own.modes - 1 and u >= _mode_at(modes, k, d).share:
        u -= _mode_at(modes, k, d).share
        k += 1
    mode = _mode_at(modes, k, d)
    if rng.random() < _WALK_SHARE:
        _move(rng, here, there, mode.factor, own.length * rng.random())
        return 0.0
    square = 0.0
    for _ in range(_FREEDOM):
        square += rng.standard_normal() ** 2
    _move(rng, mode.point, there, mode.factor, math.sqrt(_FREEDOM / square))
    return _log_density(here, modes) - _log_density(there, modes)


@dataclass(frozen=True)
class AcrossModes(Proposal):
    """Proposal for a posterior with several modes: it proposes states near every mode.

    `sample` chooses this proposal if it finds several modes. A step chooses mode ``k`` with the probability
    ``shares[k]``. It proposes a draw from a Student-t distribution around this mode or, with probability 0.3, a random
    walk step from the current state with the covariance of this mode.

    Parameters
    ----------
    points : (k, d)
        The modes.
    factors : (k, d, d)
        A matrix ``L_k`` for each mode ``k``; ``L_k L_k'`` is the covariance of Laplace's approximation at this mode.
    shares : (k,)
        The probability with which a step chooses each mode.
    """

    points: np.ndarray = field(repr=False)
    factors: np.ndarray = field(repr=False)
    shares: np.ndarray = field(repr=False)

    @classmethod
    def of(cls, modes: list[Mode]) -> AcrossModes:
        """Return the proposal for ``modes``, a list of modes that the library has found.

        The share of a mode is its posterior probability by Laplace's approximation. A very small share is replaced by a
        larger one.
        """
        mass = np.exp([mode.log_mass - modes[0].log_mass for mode in modes])
        shares = np.maximum(mass / mass.sum(), _LEAST_WEIGHT / len(modes))
        metrics = [mode.posterior.metric() for mode in modes]
        points, factors = np.array([mode.point for mode in modes]), np.array([m.factor for m in metrics])
        return cls(points, factors, shares / shares.sum())

    def bind(self, space: Space) -> ReadyProposal:
        d = self.points.shape[1]
        if space.dim != d or space.states is not None:
            raise NotApplicable(f"these modes are points of {d} parameters, the target has {space.dim}")
        records = []
        for point, factor, share in zip(self.points, self.factors, self.shares, strict=True):
            inverse = np.linalg.inv(factor)
            weight = math.log(share) + float(np.linalg.slogdet(inverse)[1])
            records.append(_MODE.pack(share=share, log_weight=weight, point=point, factor=factor, inverse=inverse))
        knobs = _KNOBS.pack(d=d, step=1.0, length=2 * OPTIMAL_WALK / math.sqrt(d), records=np.array(records))
        return ReadyProposal(_across_modes, fixed(knobs), False, 0.25)

    def __repr__(self) -> str:
        return f"AcrossModes({len(self.points)} modes)"
