"""Independent draws from one Gaussian law, whatever the coordinates in which the chain walks."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..compiled import REASSOCIATE, Propose, fixed, helper, part
from ..compiled.layouts import NUMBER, Layout
from ..errors import NotApplicable
from .base import Proposal, ReadyProposal, Space

_KNOBS = Layout("IndependentGaussian", "d", step=NUMBER, mean=("d",), factor=("d", "d"), inverse=("d", "d"))
"""1, m, L and its inverse."""

_knobs_at = _KNOBS.reader()


@helper(fastmath=REASSOCIATE)
def _square(state, knobs):
    """``|L^-1 (state - m)|^2``."""
    d = state.size
    own = _knobs_at(knobs, 0, d)
    mean, inverse, total = own.mean, own.inverse, 0.0
    for i in range(d):
        z = 0.0
        for j in range(d):
            z += inverse[i, j] * (state[j] - mean[j])
        total += z * z
    return total


@part(Propose)
def _independent(rng, here, there, knobs):
    """``there = m + L xi``; log q(here) - log q(there) = (|L^-1 (there - m)|^2 - |L^-1 (here - m)|^2) / 2."""
    d = here.size
    own = _knobs_at(knobs, 0, d)
    mean, factor = own.mean, own.factor
    for j in range(d):
        there[j] = mean[j]
    for k in range(d):
        xi = rng.standard_normal()
        for j in range(d):
            there[j] += factor[j, k] * xi
    return 0.5 * (_square(there, knobs) - _square(here, knobs))


@dataclass(frozen=True)
class IndependentGaussian(Proposal):
    """Proposal of independent draws from the normal distribution ``N(mean, factor factor')``.

    The draws do not depend on the current state. ``mean`` and ``factor`` are in the coordinates of the chain. The
    closer the posterior is to this distribution, the more proposals are accepted.

    Parameters
    ----------
    mean : (d,)
        The mean of the distribution.
    factor : (d, d)
        A matrix whose product with its transpose is the covariance.
    """

    mean: np.ndarray = field(repr=False)
    factor: np.ndarray = field(repr=False)

    def bind(self, space: Space) -> ReadyProposal:
        if space.dim != len(self.mean) or space.states is not None:
            raise NotApplicable(f"this Gaussian law has {len(self.mean)} parameters, the target has {space.dim}")
        inverse = np.linalg.inv(self.factor)
        knobs = _KNOBS.pack(step=1.0, mean=self.mean, factor=self.factor, inverse=inverse)
        return ReadyProposal(_independent, fixed(knobs), False, 1.0)
