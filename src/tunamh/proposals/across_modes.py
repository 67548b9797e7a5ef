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
from ..compiled.vector import copy_into
from ..errors import NotApplicable
from . import OPTIMAL_WALK, Proposal, ReadyProposal, Space

if TYPE_CHECKING:
    from ..targets.search.newton import Mode

_FREEDOM = 5
_WALK_SHARE = 0.3
_LEAST_WEIGHT = 0.02  # of a mode in the mixture, times the number of modes

# knobs: 1, number of modes, length of a walk's step; then for each mode its share w_k, log w_k - log det L_k, the
# point m_k (d), L_k (d x d) and its inverse (d x d).
_MODES = 3


@helper
def _log_density(theta, knobs):
    """``log q(theta)`` up to a constant."""
    d = theta.size
    size = 2 + d + 2 * d * d
    largest, total = -np.inf, 0.0
    for k in range(int(knobs[1])):
        at = _MODES + k * size
        point, inverse = at + 2, at + 2 + d + d * d
        square = 0.0
        for i in range(d):
            z = 0.0
            for j in range(d):
                z += knobs[inverse + i * d + j] * (theta[j] - knobs[point + j])
            square += z * z
        term = knobs[at + 1] - 0.5 * (_FREEDOM + d) * math.log1p(square / _FREEDOM)
        if term > largest:
            total = total * math.exp(largest - term) + 1.0
            largest = term
        else:
            total += math.exp(term - largest)
    return largest + math.log(total)


@helper
def _move(rng, from_point, there, knobs, factor, length):
    """``there = from + length L xi``."""
    d = there.size
    copy_into(there, from_point)
    for k in range(d):
        xi = length * rng.standard_normal()
        for j in range(d):
            there[j] += knobs[factor + j * d + k] * xi


@part(Propose)
def _across_modes(rng, here, there, knobs):
    d, modes = here.size, int(knobs[1])
    size = 2 + d + 2 * d * d
    u, k = rng.random(), 0
    while k < modes - 1 and u >= knobs[_MODES + k * size]:
        u -= knobs[_MODES + k * size]
        k += 1
    point = _MODES + k * size + 2
    if rng.random() < _WALK_SHARE:
        _move(rng, here, there, knobs, point + d, knobs[2] * rng.random())
        return 0.0
    square = 0.0
    for _ in range(_FREEDOM):
        square += rng.standard_normal() ** 2
    _move(rng, knobs[point : point + d], there, knobs, point + d, math.sqrt(_FREEDOM / square))
    return _log_density(here, knobs) - _log_density(there, knobs)


@dataclass(frozen=True)
class AcrossModes(Proposal):
    """Proposals between the modes of a posterior. `sample` chooses it if it finds several modes.

    Parameters
    ----------
    points : (k, d)
        The modes.
    factors : (k, d, d)
        ``L_k``: ``L_k L_k'`` is the covariance of the Laplace approximation at mode ``k``.
    shares : (k,)
        The probability of proposing from each mode.
    """

    points: np.ndarray = field(repr=False)
    factors: np.ndarray = field(repr=False)
    shares: np.ndarray = field(repr=False)

    @classmethod
    def of(cls, modes: list[Mode]) -> AcrossModes:
        """Compute the shares from the Laplace estimates of the modes' masses; no share is too small to be visited."""
        mass = np.exp([mode.log_mass - modes[0].log_mass for mode in modes])
        shares = np.maximum(mass / mass.sum(), _LEAST_WEIGHT / len(modes))
        metrics = [mode.posterior.metric() for mode in modes]
        points, factors = np.array([mode.point for mode in modes]), np.array([m.factor for m in metrics])
        return cls(points, factors, shares / shares.sum())

    def bind(self, space: Space) -> ReadyProposal:
        k, d = self.points.shape
        if space.dim != d or space.states is not None:
            raise NotApplicable(f"these modes are points of {d} parameters, the target has {space.dim}")
        knobs = [np.array([1.0, k, 2 * OPTIMAL_WALK / math.sqrt(d)])]
        for point, factor, share in zip(self.points, self.factors, self.shares, strict=True):
            inverse = np.linalg.inv(factor)
            log_share = math.log(share) + float(np.linalg.slogdet(inverse)[1])
            knobs += [np.array([share, log_share]), point, factor.ravel(), inverse.ravel()]
        return ReadyProposal(_across_modes, fixed(np.concatenate(knobs)), False, 0.25)

    def __repr__(self) -> str:
        return f"AcrossModes({len(self.points)} modes)"
