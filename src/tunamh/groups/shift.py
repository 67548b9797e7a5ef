"""Where proposals of the common parameters and scales sit, given the groups' ``eps`` (spec 5q).

The Laplace law of ``(b, lambda)`` knows nothing of the rows' third and fourth derivatives, which the groups' effects,
each with few rows, feel. With ``d_g(b, lambda; eps)`` a group's displacement, the gradient at the centre of

    closed energy + sum_g [T3_g d_g^3 / 6 + t3_g.b d_g^2 / 2 + T4_g d_g^4 / 24]

says where the law of ``(b, lambda)`` given ``eps`` has its middle. ``eps`` is kept by the move, so that any function of
it may define the proposal. Without the shift a move is accepted in 1 of 4 cases with 1000 groups and hardly ever with
10,000.
"""

from __future__ import annotations

import math

import numpy as np

from ..compiled import helper
from ..compiled.triangular import back, norm, solve
from ..compiled.vector import copy_into, dot
from ..compiled.windows import window
from .conditionals import closed_energy, log_volume, place
from .one_effect import away_single, energy_single, lowest_single, push_single
from .related import add_related


@helper
def _cubic(thirds, d, slope):
    """``T3 d^3 / 6`` of several effects, and its gradient."""
    q = d.size
    total = 0.0
    for a in range(q):
        slope[a] = 0.0
        for b in range(q):
            for c in range(q):
                slope[a] += 0.5 * thirds[a, b, c] * d[b] * d[c]
        total += slope[a] * d[a] / 3.0
    return total


@helper
def _add_single(factor, moved, kappa, eps, gradient, of_scales):
    """What groups of one effect add; ``of_scales`` are the slopes in ``moved`` coordinates of the scales."""
    along, bent = np.empty(factor.groups), np.empty(factor.groups)
    push_single(factor, kappa, eps, along, bent)
    cross, cross_thirds, sides, steps = factor.cross[0], factor.cross_thirds[0, 0], factor.side_precisions, factor.steps
    for j in range(factor.p):
        gradient[j] += dot(cross[j], along)
        gradient[j] += dot(cross_thirds[j], bent)
    for k in range(moved):
        energies = np.empty(2)
        for v in range(2):
            energies[v] = energy_single(factor, sides[k, v, 0, 0], kappa, eps)
        of_scales[k] += (energies[0] - energies[1]) / (2.0 * steps[k])


@helper
def _add_several(factor, moved, weights, kappa, eps, gradient, of_scales):
    """What groups of several effects add; of Student-t effects also their volumes, which depend on the weights."""
    p, q, free = factor.p, factor.n_effects, factor.free
    C, mean, d = np.empty((q, q)), np.empty(q), np.empty(q)
    push, at_centre = np.empty(q), np.empty(q)
    cross, cross_thirds, steps = factor.cross, factor.cross_thirds, factor.steps
    for g in range(factor.groups):
        if free[g] == 0.0:
            continue
        H, true, mode, thirds = factor.effect_metric[g], factor.curvature[g], factor.mode[g], factor.thirds[g]
        for v in range(-1, 2 * moved):
            side = v % 2
            Q = factor.centre_precision if v < 0 else factor.side_precisions[v // 2, side]
            place(factor, g, kappa, weights[g], Q, C, mean)
            for a in range(q):
                d[a] = eps[a, g]
            back(C, q, d)
            for a in range(q):
                d[a] += mean[a]
            energy = closed_energy(factor, g, weights[g], Q, kappa, d)
            if factor.df > 0.0:
                energy += log_volume(C, q)
            for a in range(q):
                d[a] -= mode[a]
                at_centre[a] = d[a]
            far, limit = norm(H, q, d), factor.polynomial_radius[g]
            if far > limit:
                for a in range(q):
                    d[a] *= limit / far
            energy += _cubic(thirds, d, push)
            if v >= 0:
                sign = 1.0 if side == 0 else -1.0
                of_scales[v // 2] += sign * energy / (2.0 * steps[v // 2])
                continue
            for a in range(q):  # the closed energy's own slope in v, zero without eps where all rows are convex
                push[a] += kappa[a, g]
                for c in range(q):
                    push[a] += true[a, c] * at_centre[c] + weights[g] * Q[a, c] * (at_centre[c] + mode[c])
            solve(C, q, push)
            for a in range(q):
                for j in range(p):
                    gradient[j] += cross[a, j, g] * (at_centre[a] - push[a])
                    for c in range(q):
                        gradient[j] += 0.5 * cross_thirds[a, c, j, g] * d[a] * d[c]


@helper
def fill_shift(turn, eps, gradient, shift):
    """Compute ``-L'J``, the shift in standardised coordinates; ``J`` is the ``gradient`` at the centre.

    Known scales have no coordinates. If the scale of the errors is unknown, they move with ``tau``.
    """
    factor, common, kappa, slope = turn.factor, turn.common, turn.kappa, turn.slope
    p, n = factor.p, gradient.size
    moved, first = (1 if common.tau_at >= 0 else 0, common.tau_at) if factor.known else (factor.n_scales, p)
    prior, root = factor.prior_gradient, factor.root
    for j in range(n):
        gradient[j] = prior[j] + (slope[j] if j < p else 0.0)
    of_scales = window(gradient, first, moved)
    if factor.n_related > 0:
        add_related(factor, moved, kappa[0], eps[0], gradient, of_scales)
    elif factor.n_effects == 1 and factor.df == 0.0:
        _add_single(factor, moved, kappa[0], eps[0], gradient, of_scales)
    else:
        _add_several(factor, moved, turn.weights, kappa, eps, gradient, of_scales)
    for i in range(n):
        total = 0.0
        for j in range(i, n):
            total += root[j, i] * gradient[j]
        shift[i] = -total if math.isfinite(total) else 0.0  # of ``eps`` so far out that no polynomial knows it


@helper
def _follow_others_single(factor, kappa, away, of_scales):
    """`_follow_others` of groups of one effect."""
    away_single(factor, factor.centre_precision[0, 0], kappa, away)
    sides, steps = factor.side_precisions, factor.steps
    for k in range(of_scales.size):
        above = lowest_single(factor, sides[k, 0, 0, 0], kappa)
        of_scales[k] += (above - lowest_single(factor, sides[k, 1, 0, 0], kappa)) / (2.0 * steps[k])


@helper
def _follow_others(factor, kappa, away, of_scales):
    """With effects integrated out of the quadratic: where they are from the mode, and slopes in the scales."""
    q, modes, free, steps = factor.n_effects, factor.mode, factor.free, factor.steps
    C, mean = np.empty((q, q)), np.empty(q)
    for v in range(-1, 2 * of_scales.size):
        side = v % 2
        Q = factor.centre_precision if v < 0 else factor.side_precisions[v // 2, side]
        energy = 0.0
        for g in range(factor.groups):
            if free[g] == 0.0:
                continue
            place(factor, g, kappa, 1.0, Q, C, mean)
            if v < 0:
                for a in range(q):
                    away[a, g] = mean[a] - modes[g, a]
                continue
            H, mode = factor.convex[g], modes[g]
            for a in range(q):
                d = mean[a] - mode[a]
                energy += kappa[a, g] * d
                for c in range(q):
                    energy += 0.5 * (d * H[a, c] * (mean[c] - mode[c]) + mean[a] * Q[a, c] * mean[c])
        if v >= 0:
            of_scales[v // 2] += (1.0 if side == 0 else -1.0) * energy / (2.0 * steps[v // 2])


@helper
def fill_learned_shift(turn, shift):
    """Compute the standardised mean of a learned law (`.learned_law`). It depends on other factors, but not on ``eps``.

    Other factors add ``-L' J0``; ``J0`` is the gradient of the quadratic at the centre with the effects integrated out.
    """
    factor, kappa, slope = turn.factor, turn.kappa, turn.slope
    p, q, n = factor.p, factor.n_effects, shift.size
    copy_into(shift, factor.offset)
    if turn.common.factors == 1:
        return
    gradient, prior, root = np.empty(n), factor.prior_gradient, factor.root
    for j in range(n):
        gradient[j] = prior[j] + (slope[j] if j < p else 0.0)
    away, of_scales = np.zeros((q, factor.groups)), window(gradient, p, n - p)
    if q == 1:
        _follow_others_single(factor, kappa[0], away[0], of_scales)
    else:
        _follow_others(factor, kappa, away, of_scales)
    cross = factor.cross
    for a in range(q):
        for j in range(p):
            gradient[j] += dot(cross[a, j], away[a])
    for i in range(n):
        total = 0.0
        for j in range(i, n):
            total += root[j, i] * gradient[j]
        shift[i] -= total if math.isfinite(total) else 0.0
