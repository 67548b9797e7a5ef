"""A Taylor target in coordinates ``z``, ``theta = m + L z``, in which its Laplace law is standard normal (spec 5b)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...compiled import REASSOCIATE, Locate, Offset, part
from ..layouts import WHITE, pack_hyper, white_of
from .taylor import TaylorTarget


@part(Locate, fastmath=REASSOCIATE)
def _unwhiten(state, theta, hyper):
    """``theta = m + L z``."""
    d = state.size
    at = white_of(hyper, d)
    for j in range(d):
        total = at.origin[j]
        for k in range(d):
            total += at.factor[j, k] * state[k]
        theta[j] = total


@part(Offset, fastmath=REASSOCIATE)
def _white_offset(here, there, hyper):
    """Minus the rise of ``slope.z + sum_j curvature_j z_j^2 / 2``."""
    d = here.size
    at = white_of(hyper, d)
    total = 0.0
    for j in range(d):
        middle = 0.5 * (there[j] + here[j])
        total -= (there[j] - here[j]) * (at.slope[j] + at.curvature[j] * middle)
    return total


class Whitened(TaylorTarget):
    """A Taylor target whose chain walks in the coordinates in which the Laplace law is standard normal (spec 5b)."""

    spread = 1.25  # most starts lie within the trust radius, beyond which distances count up to tenfold

    def __init__(self, plain: TaylorTarget, distance: Any):
        plain.metric, plain.reference  # noqa: B018  (shared with the plain target, whose prior is still whole)
        vars(self).update(vars(plain))
        factor, kept, centre = self.metric.factor, self.metric.kept, self.state_at(self.centre)
        if self.order == 2:
            slope, curvature = factor.T @ self.centre_gradient - kept * centre, kept
            self._prior = self._prior.without(self.centre, self.prior_at_centre)
        else:
            slope, curvature = factor.T @ self.gradient, np.zeros(self.dim)
        white = WHITE.pack(
            order=self.order,
            **self.trust._asdict(),
            centre=self.centre,
            centre_state=centre,
            slope=slope,
            curvature=curvature,
            origin=self.reference,
            factor=factor,
        )
        self._hyper = pack_hyper(self.own_numbers, white)
        self.parts = self.parts._replace(locate=_unwhiten, distance=distance, offset=_white_offset)

    def state_at(self, theta: np.ndarray) -> np.ndarray:
        return self.metric.inverse @ (theta - self.reference)

    def whitened(self) -> TaylorTarget:
        return self
