"""How far a remainder can move: distances ``M`` with ``|R_i(prop) - R_i(theta)| <= c_i M`` (spec 5a, 5d).

With ``u`` and ``v`` the displacements of the two points from the centre, ``p = v - u`` and ``w = v + u``, every
distance is a function of ``|p|^2``, ``|w|^2`` and ``p.w``, in the parameters' own coordinates or in whitened ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...compiled import REASSOCIATE, Distance, Part, helper, part
from ..layouts import RUNGS, Trust, expanded_of, white_of
from ..parts import euclidean


@helper
def on_ladder(distance, pp, ww, pw, trust):
    """Return the distance multiplied by a factor that is needed outside the innermost radius (spec 5m).

    Local bounds hold within a radius; beyond it the larger factor makes the bound valid. The function is symmetric in
    the two points.
    """
    farthest = 0.25 * (pp + ww) + 0.5 * abs(pw)  # the larger of |u|^2 and |v|^2
    if distance == 0.0:
        return 0.0
    for k in range(RUNGS):
        if farthest <= trust.radii_squared[k]:
            return distance * trust.factors[k]
    return distance * trust.factors[RUNGS]


@helper
def first_order(pp, ww, pw):
    """Return the sharp distance M1 of spec 5a for energies of a linear predictor. ``u.v >= 0`` means ``|w| >= |p|``."""
    if ww >= pp:
        return (abs(pw) + np.sqrt(pp * ww)) / 4.0
    return (0.5 * (pp + ww) + np.sqrt(pw * pw + 0.25 * (ww - pp) ** 2)) / 4.0


@helper
def second_order(pp, ww, pw):
    """Return the distance M2 of spec 5a, ``|p| (3 |w|^2 D2 + |p|^2) / 24``.

    ``D2`` is the largest ``|x.p^| (x.w^)^2`` of a unit vector ``x``; ``p^`` and ``w^`` are ``p`` and ``w`` divided by
    their lengths.
    """
    if pp == 0.0:
        return 0.0
    cosine = min(1.0, abs(pw) / np.sqrt(pp * ww)) if ww > 0.0 else 0.0
    k = np.sqrt(2.0 + 0.25 * cosine * cosine) - 0.5 * cosine
    largest = (2.0 + cosine * k) ** 1.5 / (3.0**1.5 * k)
    return np.sqrt(pp) * (3.0 * ww * largest + pp) / 24.0


@helper
def first_order_general(pp, ww, pw):
    """Return ``min(|p| (|u| + |v|), |u|^2 + |v|^2) / 2``, the distance for Hessians with a bounded norm."""
    uu, vv = max(0.25 * (pp + ww - 2.0 * pw), 0.0), max(0.25 * (pp + ww + 2.0 * pw), 0.0)
    return 0.5 * min(np.sqrt(pp) * (np.sqrt(uu) + np.sqrt(vv)), uu + vv)


@helper
def second_order_general(pp, ww, pw):
    """Return the distance for any energy with a Lipschitz Hessian.

    It is ``|p| (|u|^2 + u.v + |v|^2) / 6 = |p| (3 |w|^2 + |p|^2) / 24``.
    """
    return np.sqrt(pp) * (3.0 * ww + pp) / 24.0


@helper(fastmath=REASSOCIATE)
def products(here, there, centre, root):
    """Return ``|p|^2``, ``|w|^2`` and ``p.w`` after ``p`` and ``w`` are multiplied by ``root``."""
    d = centre.size
    pp, ww, pw = 0.0, 0.0, 0.0
    for j in range(d):
        p, w = 0.0, 0.0
        for k in range(d):
            p += root[j, k] * (there[k] - here[k])
            w += root[j, k] * (there[k] + here[k] - 2.0 * centre[k])
        pp += p * p
        ww += w * w
        pw += p * w
    return pp, ww, pw


@helper(fastmath=REASSOCIATE)
def _plain_products(here, there, centre):
    """``|p|^2, |w|^2, p.w``, where the metric is the identity."""
    d = here.size
    pp, ww, pw = 0.0, 0.0, 0.0
    for j in range(d):
        p, w = there[j] - here[j], there[j] + here[j] - 2.0 * centre[j]
        pp += p * p
        ww += w * w
        pw += p * w
    return pp, ww, pw


@part(Distance)
def _first(theta, prop, hyper):
    at = expanded_of(hyper, theta.size)
    pp, ww, pw = products(theta, prop, at.centre, at.root)
    return on_ladder(first_order(pp, ww, pw), pp, ww, pw, at)


@part(Distance)
def _second(theta, prop, hyper):
    at = expanded_of(hyper, theta.size)
    pp, ww, pw = products(theta, prop, at.centre, at.root)
    return on_ladder(second_order(pp, ww, pw), pp, ww, pw, at)


@part(Distance)
def _first_general(theta, prop, hyper):
    at = expanded_of(hyper, theta.size)
    pp, ww, pw = products(theta, prop, at.centre, at.root)
    return first_order_general(pp, ww, pw)


@part(Distance)
def _second_general(theta, prop, hyper):
    at = expanded_of(hyper, theta.size)
    pp, ww, pw = products(theta, prop, at.centre, at.root)
    return second_order_general(pp, ww, pw)


@part(Distance)
def _white_first(here, there, hyper):
    at = white_of(hyper, here.size)
    pp, ww, pw = _plain_products(here, there, at.centre_state)
    return on_ladder(first_order(pp, ww, pw), pp, ww, pw, at)


@part(Distance)
def _white_second(here, there, hyper):
    at = white_of(hyper, here.size)
    pp, ww, pw = _plain_products(here, there, at.centre_state)
    return on_ladder(second_order(pp, ww, pw), pp, ww, pw, at)


@part(Distance)
def _second_multi_predictor(theta, prop, hyper):
    at = expanded_of(hyper, theta.size)
    pp, ww, pw = products(theta, prop, at.centre, at.root)
    return on_ladder(second_order_general(pp, ww, pw), pp, ww, pw, at)


@part(Distance)
def _white_second_multi_predictor(here, there, hyper):
    at = white_of(hyper, here.size)
    pp, ww, pw = _plain_products(here, there, at.centre_state)
    return on_ladder(second_order_general(pp, ww, pw), pp, ww, pw, at)


@part(Distance)
def _white_first_general(here, there, hyper):
    at = white_of(hyper, here.size)
    pp, ww, pw = products(here, there, at.centre_state, at.factor)
    return first_order_general(pp, ww, pw)


@part(Distance)
def _white_second_general(here, there, hyper):
    at = white_of(hyper, here.size)
    pp, ww, pw = products(here, there, at.centre_state, at.factor)
    return second_order_general(pp, ww, pw)


@part(Distance)
def _original(theta, prop, hyper):
    """SMH's own bound, ``(|u|_1^{k+1} + |v|_1^{k+1}) / (k+1)!`` (spec 2.6)."""
    at = expanded_of(hyper, theta.size)
    u, v = 0.0, 0.0
    for j in range(theta.size):
        u += abs(theta[j] - at.centre[j])
        v += abs(prop[j] - at.centre[j])
    return (u ** (at.order + 1.0) + v ** (at.order + 1.0)) / (2.0 if at.order == 1.0 else 6.0)


class Bounds(NamedTuple):
    """The distance of remainders: as a function of parameters, and of whitened states if there is one.

    ``trust`` says within which radii it is valid. If ``needs_white_root`` is True, the distance for whitened states is
    right only if the parameters' distance is whitened, too.
    """

    distance: Part
    white_distance: Part | None
    trust: Trust = Trust()
    needs_white_root: bool = False


def bounds_of_regression(order: int, trust: Trust) -> Bounds:
    """Return the distances ``M`` of remainders for energies of one linear predictor."""
    return Bounds(*((_first, _white_first), (_second, _white_second))[order - 1], trust, needs_white_root=True)


def bounds_of_multi_predictor(trust: Trust) -> Bounds:
    """Return the distances ``M`` of remainders for several linear predictors, expanded to order 2 (spec 5n)."""
    return Bounds(_second_multi_predictor, _white_second_multi_predictor, trust, needs_white_root=True)


def bounds_in_general(order: int) -> Bounds:
    """Return the distances for any energy.

    They are Euclidean in the parameters, whatever the coordinates of the chain.
    """
    return Bounds(*((_first_general, _white_first_general), (_second_general, _white_second_general))[order - 1])


ORIGINAL = Bounds(_original, None)
NO_BOUNDS = Bounds(euclidean, euclidean)
"""Of firefly targets, whose test asks for no distance."""
