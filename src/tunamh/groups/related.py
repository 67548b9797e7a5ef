"""Effects of related levels in a sweep: ``v = T w``, in which prior and quadratic are diagonal (spec 5q, `.relation`).

These are the formulas of `.conditionals` and `.shift` for ``w``. Rows know ``v``; what is said of them stays in it.
"""

from __future__ import annotations

import math

import numpy as np

from ..compiled import helper
from ..compiled.windows import flat
from .kernel_common import effects_of, into_basis


@helper
def times(matrix, x, out):
    """Compute ``matrix x``."""
    for i in range(matrix.shape[0]):
        row, total = matrix[i], 0.0
        for j in range(x.size):
            total += row[j] * x[j]
        out[i] = total


@helper
def times_transposed(matrix, x, out):
    """Compute ``matrix' x``."""
    for j in range(out.size):
        out[j] = 0.0
    for i in range(x.size):
        row, value = matrix[i], x[i]
        for j in range(out.size):
            out[j] += row[j] * value


@helper
def stand_related(factor, Q, k, state, eps):
    """Fill the standardised effects ``eps``. Return the part of the energy of all levels that is in closed form."""
    n = factor.groups
    w, slopes = np.empty(n), np.empty(n)
    effects = effects_of(factor, state)
    into_basis(factor, effects, w)
    times_transposed(factor.basis, k, slopes)
    curvature, mode, energy = factor.basis_curvature, factor.basis_mode, 0.0
    for j in range(n):
        P = curvature[j] + Q
        eps[j] = math.sqrt(P) * (w[j] - (curvature[j] * mode[j] - slopes[j]) / P)
        energy += 0.5 * (Q * w[j] * w[j] + math.log(P))
    return energy + _quadratic_of_rows(factor, k, effects)


@helper
def follow_related(factor, Q, k, eps, there):
    """Fill the effects at ``there`` from ``eps``.

    Return the part of the energy of all levels that is in closed form.
    """
    n = factor.groups
    w, slopes = np.empty(n), np.empty(n)
    times_transposed(factor.basis, k, slopes)
    curvature, mode, energy = factor.basis_curvature, factor.basis_mode, 0.0
    for j in range(n):
        P = curvature[j] + Q
        w[j] = (curvature[j] * mode[j] - slopes[j]) / P + eps[j] / math.sqrt(P)
        energy += 0.5 * (Q * w[j] * w[j] + math.log(P))
    effects = effects_of(factor, there)
    times(factor.basis, w, effects)
    return energy + _quadratic_of_rows(factor, k, effects)


@helper
def _quadratic_of_rows(factor, k, effects):
    """``k.d + d'Hd / 2`` of all levels."""
    true, mode, energy = flat(factor.curvature), flat(factor.mode), 0.0
    for g in range(factor.groups):
        d = effects[g] - mode[g]
        energy += d * (k[g] + 0.5 * true[g] * d)
    return energy


@helper
def _displaced(factor, Q, slopes, eps, w, away):
    """``w`` and ``v - v^`` at ``b = 0`` and a precision ``Q``, ``slopes`` being ``T' kappa``."""
    curvature, mode, own = factor.basis_curvature, factor.basis_mode, flat(factor.mode)
    for j in range(factor.groups):
        P = curvature[j] + Q
        w[j] = (curvature[j] * mode[j] - slopes[j]) / P + eps[j] / math.sqrt(P)
    times(factor.basis, w, away)
    for g in range(factor.groups):
        away[g] -= own[g]


@helper
def _energy_of(factor, Q, kappa, w, away):
    """`tunamh.groups.one_effect.energy_single` for related levels."""
    true, third, fourth = flat(factor.curvature), flat(factor.thirds), factor.fourths
    metric, radius, energy = flat(factor.effect_metric), factor.polynomial_radius, 0.0
    for g in range(factor.groups):
        far = math.sqrt(metric[g]) * abs(away[g])
        d = away[g] * (radius[g] / far if far > radius[g] else 1.0)
        energy += kappa[g] * away[g] + 0.5 * (true[g] * away[g] * away[g] + Q * w[g] * w[g])
        energy += (third[g] / 6.0 + fourth[g] * d / 24.0) * d * d * d
    return energy


@helper
def add_related(factor, moved, kappa, eps, gradient, of_scales):
    """Add the terms of related levels to the slope at the centre (see `.shift`)."""
    n = factor.groups
    slopes, w, away, push, turned = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    times_transposed(factor.basis, kappa, slopes)
    Q = factor.centre_precision[0, 0]
    _displaced(factor, Q, slopes, eps, w, away)
    true, third, fourth = flat(factor.curvature), flat(factor.thirds), factor.fourths
    metric, radius, bent = flat(factor.effect_metric), factor.polynomial_radius, np.empty(n)
    for g in range(n):
        far = math.sqrt(metric[g]) * abs(away[g])
        d = away[g] * (radius[g] / far if far > radius[g] else 1.0)
        push[g] = (0.5 * third[g] + fourth[g] * d / 6.0) * d * d + kappa[g] + true[g] * away[g]
        bent[g] = 0.5 * d * d
    times_transposed(factor.basis, push, turned)
    for j in range(n):
        turned[j] = (turned[j] + Q * w[j]) / (factor.basis_curvature[j] + Q)
    times(factor.basis, turned, push)
    cross, cross_thirds = factor.cross[0], factor.cross_thirds[0, 0]
    for j in range(factor.p):
        of_row, of_third, total = cross[j], cross_thirds[j], 0.0
        for g in range(n):
            total += of_row[g] * (away[g] - push[g]) + of_third[g] * bent[g]
        gradient[j] += total
    for k in range(moved):
        for v in range(2):
            Q = factor.side_precisions[k, v, 0, 0]
            _displaced(factor, Q, slopes, eps, w, away)
            sign = 1.0 if v == 0 else -1.0
            of_scales[k] += sign * _energy_of(factor, Q, kappa, w, away) / (2.0 * factor.steps[k])


@helper
def add_given_scales(factor, kappa, Q, gradient, S):
    """Add the terms of related levels to gradient and Hessian in ``b``, with their effects integrated out at these
    scales.
    """
    n, p, cross = factor.groups, factor.p, factor.basis_cross
    slopes = np.empty(n)
    times_transposed(factor.basis, kappa, slopes)
    curvature, mode = factor.basis_curvature, factor.basis_mode
    for k in range(n):
        P = curvature[k] + Q
        away = (curvature[k] * mode[k] - slopes[k]) / P - mode[k]
        for j in range(p):
            gradient[j] += cross[j, k] * away
            for i in range(p):
                S[i, j] -= cross[i, k] * cross[j, k] / P


@helper
def draw_pulls(rng, factor, Q, state, slopes, weights):
    """Draw auxiliary numbers given which the levels are independent. Fill their ``weights`` and slopes (spec 5q).

    ``z ~ N(B v, s^2 B)`` with ``B = D - K^-1 = R R'`` makes ``v_g ~ N(z_g / D_g, s^2 / D_g)``: ``D_g`` is the weight of
    level g, and ``-z_g / s^2`` is added to its slope. The numbers are drawn again before every use and are no part of
    the state.
    """
    n, root = factor.groups, factor.excess_root
    turned, z, spread = np.empty(n), np.empty(n), 1.0 / math.sqrt(Q)
    times_transposed(root, effects_of(factor, state), turned)
    for j in range(n):
        turned[j] += spread * rng.standard_normal()
    times(root, turned, z)
    dominating = factor.dominating
    for g in range(n):
        weights[g] = dominating[g]
        slopes[g] -= Q * z[g]
