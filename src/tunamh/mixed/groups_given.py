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
from typing import NamedTuple

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


class Way(NamedTuple):
    """How a move displaces the rows of a group: ``c = lean b + d``, in the group's metric, and ``b`` itself."""

    farthest: float  # the longer of c and c'
    change: float  # |c' - c|
    sum_of: float  # |c' + c|
    common: float  # the longer of b and b'
    common_change: float
    common_sum: float


@helper(inline=True)
def way_of(hyper, factor, g, before, after, common, common_change, common_sum, scratch):
    q = factor.q
    H = square(hyper, factor.spread, g, q)
    farthest = max(norm(H, q, before), norm(H, q, after))
    for a in range(q):
        scratch[a] = after[a] - before[a]
    change = norm(H, q, scratch)
    for a in range(q):
        scratch[a] = after[a] + before[a]
    return Way(farthest, change, norm(H, q, scratch), common, common_change, common_sum)


@helper(inline=True)
def bound_of_cell(hyper, factor, c, way, away):
    """``M``: with ``P`` and ``W`` bounds of the rows' ``|x.p|`` and ``|x.w|``, ``P (3 W^2 + P^2) / 24`` on the ladder.

    ``away`` is how far the cell's rows are displaced by what does not move.
    """
    e, m = hyper[factor.reach + c], hyper[factor.width + c]
    P = e * way.common_change + m * way.change
    if P == 0.0:
        return 0.0
    W = e * way.common_sum + m * way.sum_of + 2.0 * away
    relative = (e * way.common + m * way.farthest + away) / hyper[factor.radius + c]
    for r in range(RUNGS):
        if relative <= RADII[r]:
            return hyper[factor.rungs + c * RUNGS + r] * P * (3.0 * W * W + P * P) / 24.0
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
def slopes_given_others(hyper, factor, common, moved, kappa):
    """``kappa``, the groups' slopes, other factors being displaced by ``moved``."""
    q, most = factor.q, common.most
    for g in range(factor.groups):
        for a in range(q):
            kappa[g, a] = hyper[factor.gradient + g * q + a]
        for k in range(int(hyper[factor.link + g]), int(hyper[factor.link + g + 1])):
            other = int(hyper[factor.partner + k])
            for a in range(q):
                for c in range(most):
                    kappa[g, a] += hyper[factor.share + (k * q + a) * most + c] * moved[other, c]


@helper
def displaced_by_others(hyper, factor, lengths, away):
    """The most that other factors displace a cell's rows; ``lengths`` is the most that each group moves a predictor."""
    for c in range(factor.all_cells):
        largest, which, total = 0.0, -1.0, 0.0
        for k in range(int(hyper[factor.beside + c]), int(hyper[factor.beside + c + 1])):
            if hyper[factor.neighbour + 2 * k + 1] != which:  # factor by factor: a row has one level of each
                which = hyper[factor.neighbour + 2 * k + 1]
                total += largest
                largest = 0.0
            largest = max(largest, lengths[int(hyper[factor.neighbour + 2 * k])])
        away[c] = total + largest
