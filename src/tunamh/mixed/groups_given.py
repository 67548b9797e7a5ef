"""One factor's groups, given the rest: their Gaussian laws, and how far their rows can pull (spec 5q, 5r).

With ``b`` the displacement of the common parameters from the centre, ``k = kappa + h b`` the slope of a group's
quadratic and ``Q = Sigma^-1``, ``P = H + Q = C C'``, a group's effects are

    v = m + C'^-1 eps,     m = P^-1 (H v^ - k),

and what is known in closed form is ``k.d + d'Hd / 2 + v'Qv / 2 + log det C``, ``d = v - v^``, the last term the
Jacobian of ``eps``: nothing in it cancels as the scale goes to zero. ``C`` and ``m`` may be made with any ``H`` that is
not negative; that of the convex rows is.
"""

from __future__ import annotations

import math

import numpy as np

from .._jit import helper
from .layout import RADII, RUNGS, factor_of, square, tall
from .small import back, cholesky, norm, solve


@helper(inline=True)
def place(hyper, factor, g, kappa, b, p, Q, C, mean, slope):
    """Fill ``C`` and ``mean`` of group ``g``, and its ``slope``, ``k``."""
    q = factor.q
    H, h = square(hyper, factor.convex, g, q), tall(hyper, factor.cross, g, q, p)
    for a in range(q):
        k = kappa[g, a]
        for j in range(p):
            k += h[a, j] * b[j]
        total = -k
        for c in range(q):
            total += H[a, c] * hyper[factor.mode + g * q + c]
            C[a, c] = H[a, c] + Q[a, c]
        slope[a] = k
        mean[a] = total
    cholesky(C, q)
    solve(C, q, mean)


@helper(inline=True)
def closed_energy(hyper, factor, g, Q, C, k, effects, at):
    """``k.d + d'Hd / 2 + v'Qv / 2 + log det C``: what is known of a group in closed form, in ``(b, lambda, eps)``."""
    q = factor.q
    H = square(hyper, factor.curvature, g, q)
    energy = 0.0
    for a in range(q):
        d, v = effects[at + a] - hyper[factor.mode + g * q + a], effects[at + a]
        energy += k[a] * d + math.log(C[a, a])
        for c in range(q):
            energy += 0.5 * (
                d * H[a, c] * (effects[at + c] - hyper[factor.mode + g * q + c]) + v * Q[a, c] * effects[at + c]
            )
    return energy


@helper(inline=True)
def bound_of_group(hyper, factor, g, before, after, before_length, after_length, step, sum_of, away, scratch):
    """``M_g`` on the ladder.

    Row ``i`` is displaced by ``e_i |b| + m |c| + away`` at most. With ``eps = e_i / e_g``, ``P_i = eps S + D`` and ``W_i =
    eps T + V``, its bound ``P_i (3 W_i^2 + P_i^2) / 24`` is a polynomial in ``eps`` with coefficients that are not
    negative; the rows' constants are ``L_i sum_k kappa_k eps^k``, and ``M_g`` is the largest of coefficients over kappas.

    ``before`` and ``after`` are ``c = lean b + d`` at either end, ``step`` and ``sum_of`` the lengths of ``b' - b`` and
    ``b' + b``, ``away`` how far the rows are displaced by what does not move.
    """
    q = factor.q
    H = square(hyper, factor.spread, g, q)
    e, m = hyper[factor.reach + g], hyper[factor.width + g]
    own = m * max(norm(H, q, before), norm(H, q, after)) + away
    for a in range(q):
        scratch[a] = after[a] - before[a]
    S, D = e * step, m * norm(H, q, scratch)
    for a in range(q):
        scratch[a] = after[a] + before[a]
    T, V = e * sum_of, m * norm(H, q, scratch) + 2.0 * away
    if S + D == 0.0:
        return 0.0
    common = max(before_length, after_length) / hyper[factor.common_radius]
    relative = max(common, own / hyper[factor.radius + g])
    still, crossed = 3.0 * V * V + D * D, 6.0 * T * V + 2.0 * S * D
    moving = 3.0 * T * T + S * S
    k = factor.kappa + 4 * g
    largest = max(
        max(D * still / hyper[k], (S * still + D * crossed) / hyper[k + 1]),
        max((S * crossed + D * moving) / hyper[k + 2], S * moving / hyper[k + 3]),
    )
    for r in range(RUNGS):
        if relative <= RADII[r]:
            return hyper[factor.rungs + g * RUNGS + r] * largest / 24.0
    return np.inf


@helper(inline=True)
def centred(hyper, factor, g, b, p, effects, at, out):
    """``c = lean b + v - v^`` of a group."""
    q = factor.q
    B = tall(hyper, factor.lean, g, q, p)
    for a in range(q):
        total = effects[at + a] - hyper[factor.mode + g * q + a]
        for j in range(p):
            total += B[a, j] * b[j]
        out[a] = total


@helper(inline=True)
def standardised(C, q, effects, at, mean, out, g):
    """``eps = C'(v - m)``, into row ``g`` of ``out``."""
    for a in range(q):
        total = 0.0
        for c in range(a, q):
            total += C[c, a] * (effects[at + c] - mean[c])
        out[g, a] = total


@helper(inline=True)
def unstandardised(C, q, eps, mean, effects, at):
    """``v = m + C'^-1 eps``; ``eps`` is overwritten."""
    back(C, q, eps)
    for a in range(q):
        effects[at + a] = mean[a] + eps[a]


@helper
def displacements(state, common, hyper, out):
    """``v - v^`` of all groups of all factors, one row of ``out`` each."""
    for f in range(common.factors):
        factor = factor_of(hyper, f)
        for g in range(factor.groups):
            for a in range(factor.q):
                out[factor.group_at + g, a] = (
                    state[factor.effects_at + g * factor.q + a] - hyper[factor.mode + g * factor.q + a]
                )


@helper
def slopes_given_others(hyper, factor, common, moved, lengths, kappa, away):
    """``kappa``, a group's slope, and ``away``, the most that other factors displace its rows' predictors.

    ``moved`` are the displacements of all groups, ``lengths`` the most that each moves a predictor.
    """
    q, most = factor.q, common.most
    for g in range(factor.groups):
        for a in range(q):
            kappa[g, a] = hyper[factor.gradient + g * q + a]
        start, end = int(hyper[factor.link + g]), int(hyper[factor.link + g + 1])
        largest, which, total = 0.0, -1.0, 0.0
        for k in range(start, end):
            other = int(hyper[factor.partner + 2 * k])
            for a in range(q):
                for c in range(most):
                    kappa[g, a] += hyper[factor.share + (k * q + a) * most + c] * moved[other, c]
            if (
                hyper[factor.partner + 2 * k + 1] != which
            ):  # partners come factor by factor: a row has one level of each
                which = hyper[factor.partner + 2 * k + 1]
                total += largest
                largest = 0.0
            largest = max(largest, lengths[other])
        away[g] = total + largest
