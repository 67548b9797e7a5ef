"""Taylor targets in whitened coordinates: the chain walks in ``z``, ``theta = m + L z`` with ``L L' = A^-1`` (spec 5b).

There the Laplace law is standard normal, and distance and offset cost O(d); the rows stay as they are.
"""

from __future__ import annotations

import numpy as np

from .._jit import REASSOCIATE, Distance, Locate, Offset, fixed, helper, part
from ..errors import NotApplicable
from .base import euclidean
from .taylor import (
    CENTRE,
    TaylorTarget,
    first_order,
    first_order_distance,
    first_order_distance_general,
    first_order_general,
    matrix_at,
    penalised_outside,
    polynomial_offset,
    products,
    second_order,
    second_order_distance,
    second_order_distance_general,
    second_order_general,
)

# hyper, up to the centre as in `taylor`, then the centre's state (d), slope (d) and curvature (d) of the offset, the
# origin m (d) and the factor L (d x d).


@part(Locate, fastmath=REASSOCIATE)
def _unwhiten(state, theta, hyper):
    """``theta = m + L z``."""
    d = state.size
    origin, factor = CENTRE + 4 * d, matrix_at(hyper, CENTRE + 5 * d, d)
    for j in range(d):
        total = hyper[origin + j]
        for k in range(d):
            total += factor[j, k] * state[k]
        theta[j] = total


@part(Offset, fastmath=REASSOCIATE)
def _white_offset(here, there, hyper):
    """Minus the rise of ``slope.z + sum_j bend_j z_j^2 / 2``."""
    d = here.size
    slope, curvature = CENTRE + 2 * d, CENTRE + 3 * d
    total = 0.0
    for j in range(d):
        middle = 0.5 * (there[j] + here[j])
        total -= (there[j] - here[j]) * (hyper[slope + j] + hyper[curvature + j] * middle)
    return total


@helper(fastmath=REASSOCIATE)
def _white_products(here, there, hyper):
    """``|p|^2, |w|^2, p.w`` in coordinates in which the metric is the identity."""
    d = here.size
    centre = CENTRE + d
    pp, ww, pw = 0.0, 0.0, 0.0
    for j in range(d):
        p, w = there[j] - here[j], there[j] + here[j] - 2.0 * hyper[centre + j]
        pp += p * p
        ww += w * w
        pw += p * w
    return pp, ww, pw


@helper
def _unwhitened_products(here, there, hyper):
    """``|p|^2, |w|^2, p.w`` of the parameters."""
    d = here.size
    return products(here, there, hyper[CENTRE + d : CENTRE + 2 * d], matrix_at(hyper, CENTRE + 5 * d, d))


@part(Distance)
def _white_first_order(here, there, hyper):
    pp, ww, pw = _white_products(here, there, hyper)
    return penalised_outside(first_order(pp, ww, pw), pp, ww, pw, hyper)


@part(Distance)
def _white_second_order(here, there, hyper):
    pp, ww, pw = _white_products(here, there, hyper)
    return penalised_outside(second_order(pp, ww, pw), pp, ww, pw, hyper)


@part(Distance)
def _white_first_order_general(here, there, hyper):
    pp, ww, pw = _unwhitened_products(here, there, hyper)
    return first_order_general(pp, ww, pw)


@part(Distance)
def _white_second_order_general(here, there, hyper):
    pp, ww, pw = _unwhitened_products(here, there, hyper)
    return second_order_general(pp, ww, pw)


_WHITENED = {
    first_order_distance: _white_first_order,
    second_order_distance: _white_second_order,
    first_order_distance_general: _white_first_order_general,
    second_order_distance_general: _white_second_order_general,
    euclidean: euclidean,  # of firefly targets, whose test asks for no distance
}
"""The same distances as functions of the chain's states, where these are whitened."""


class WhitenedTarget(TaylorTarget):
    """A Taylor target in the coordinates in which its Laplace law is standard normal (spec 5b).

    With ``u = L (z - z_c)`` the Taylor part of order 2 and a Gaussian prior are, whatever the metric lifted,
    ``L'G.(z - z_c) + sum_j kept_j (z - z_c)_j^2 / 2``, so the prior goes into the offset too; of order 1, ``L'g.z``.
    """

    spread = 1.25  # most starts lie within the tier's radius, beyond which distances count up to tenfold

    def __init__(self, plain: TaylorTarget):
        self.__dict__.update(plain.__dict__)  # rows, tables and the metric are shared, whose precision stays the same
        parts = plain.parts
        unfit = parts.distance in (first_order_distance, second_order_distance) and not plain.white
        if unfit or parts.distance not in _WHITENED or parts.offset is not polynomial_offset:
            raise NotApplicable("Autoregressive needs whitened distances: control=Taylor(order=2) of a regression")
        factor, d = self.metric.factor, self.dim
        centre = self.state_at(self.centre)
        if self.order == 2:
            slope, curvature = factor.T @ self.centre_gradient - self.metric.kept * centre, self.metric.kept
            self._prior = self._prior.without(self.centre, self.prior_at_centre)
        else:
            slope, curvature = factor.T @ self.gradient, np.zeros(d)
        state = [centre, slope, curvature, self.reference, factor.ravel()]
        self._hyper = fixed(np.concatenate([self._shared_hyper, *state]))
        self.parts = parts._replace(locate=_unwhiten, distance=_WHITENED[parts.distance], offset=_white_offset)

    def state_at(self, theta: np.ndarray) -> np.ndarray:
        return self.metric.inverse @ (theta - self.reference)

    def whitened(self) -> TaylorTarget:
        return self
