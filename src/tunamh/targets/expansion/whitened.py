"""A Taylor target in coordinates ``z``, ``theta = m + L z``, in which its Laplace law is standard normal (spec 5b)."""

from __future__ import annotations

from functools import cached_property
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
    """A Taylor target in coordinates in which its Laplace law is standard normal (spec 5b)."""

    spread = 1.25  # most starts lie within the trust radius, beyond which distances count up to tenfold

    def __init__(self, plain: TaylorTarget, distance: Any):
        whole = plain._prior
        self._settle_like(
            plain,
            prior_at_centre=plain.prior_at_centre,
            metric=plain.metric,
            reference=plain.reference,
            total_bound=plain.total_bound,
            parts=plain.parts._replace(locate=_unwhiten, distance=distance, offset=_white_offset),
            _prior=whole.without(plain.centre, plain.prior_at_centre) if plain.order == 2 else whole,
        )

    @cached_property
    def _hyper(self) -> np.ndarray:
        factor, kept, centre = self.metric.factor, self.metric.kept, self.state_at(self.centre)
        if self.order == 2:
            slope, curvature = factor.T @ self.centre_gradient - kept * centre, kept
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
        return pack_hyper(self.own_numbers, white)

    def state_at(self, theta: np.ndarray) -> np.ndarray:
        return self.metric.inverse @ (theta - self.reference)

    def whitened(self) -> TaylorTarget:
        return self
