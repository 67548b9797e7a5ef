"""(A) of a sweep: coefficients, scales and effects of a factor times one number (spec 5q).

If nearly all responses are equal, rows say little more than the sign of their predictors. Then the coefficients
``beta``, the scales ``s`` and the effects ``v`` have a long common tail. A dilation by ``c = e^z``,

    beta' = c beta,     s' = c s,     v' = c v     (correlations stay),

moves along this tail: without an offset and other factors, it multiplies every predictor by ``c``. The decision reads
rows of all groups, as for the other proposals of (A).
"""

from __future__ import annotations

import math

import numpy as np

from ..compiled import helper
from ..compiled.triangular import cholesky
from ..compiled.windows import window
from .conditionals import log_volume
from .kernel_common import effects_of, length_of

_WITH_COEFFICIENTS = 0.5  # share of the dilations
_SHORTEST, _LONGEST = -2.0, 1.5  # logarithms of the lengths of z


@helper
def _log_volumes(factor, weights, Q):
    """``sum_g log det C_g`` with ``C_g C_g' = H_g + w_g Q``, the logarithm of the Jacobian of ``v`` to ``eps``."""
    q, free, total = factor.n_effects, factor.free, 0.0
    if factor.n_related > 0:
        curvature = factor.basis_curvature
        for g in range(factor.groups):
            total += 0.5 * math.log(curvature[g] + Q[0, 0])
        return total
    C = np.empty((q, q))
    for g in range(factor.groups):
        if free[g] > 0.0:
            H = factor.convex[g]
            for a in range(q):
                for c in range(q):
                    C[a, c] = H[a, c] + weights[g] * Q[a, c]
            cholesky(C, q)
            total += log_volume(C, q)
    return total


@helper
def _usual(factor, common):
    """The standard deviation of the coefficients in units of their length at the centre, at most 1."""
    at, nowhere = np.zeros(factor.p), np.zeros(factor.p)
    for j in range(common.shared_at):
        at[j] = common.centre[j]
    return 1.0 / max(length_of(factor.metric, at, nowhere, 0.0), 1.0)


@helper
def dilate(rng, turn, Q):
    """Fill ``there``; half of the dilations keep the coefficients. ``Q`` is the precision of effects at the state.

    Returns the logarithm of the Jacobian in the coordinates ``(b, lambda, eps)`` of (A). With ``d`` coefficients (0 if
    they are kept), and ``n`` effects, as ``v' = c v``:

        (d + n) z + sum log det C_g(there) - sum log det C_g(here),     Q(there) = e^{-2 z} Q.

    The step of lambda is a shift. ``z`` has a symmetric law, which does not depend on the state.
    """
    factor, common, there, q = turn.factor, turn.common, turn.there, turn.factor.n_effects
    z = math.exp(_SHORTEST + (_LONGEST - _SHORTEST) * rng.random()) * rng.standard_normal()
    coefficients = common.shared_at if rng.random() < _WITH_COEFFICIENTS else 0
    if coefficients > 0:
        z *= _usual(factor, common)
    by, narrower = math.exp(z), np.empty_like(Q)
    for j in range(coefficients):
        there[j] *= by
    scales, effects = window(there, factor.scales_at, factor.n_scales), effects_of(factor, there)
    for a in range(q):
        scales[a] += z
        for c in range(q):
            narrower[a, c] = Q[a, c] / (by * by)
    for k in range(effects.size):
        effects[k] *= by
    changed = _log_volumes(factor, turn.weights, narrower) - _log_volumes(factor, turn.weights, Q)
    return (coefficients + q * factor.free_groups) * z + changed
