"""One factor's groups, given the rest: their Gaussian laws, and how far their rows can pull (spec 5q, 5r).

With ``b`` the displacement of the common parameters from the centre, ``k = kappa + h b`` the slope of a group's
quadratic and ``Q = Sigma^-1``, ``P = H + Q = C C'``, a group's effects are

    v = m + C'^-1 eps,     m = P^-1 (H v^ - k),

and what is known in closed form is ``k.d + d'Hd / 2 + v'Qv / 2 + log det C``, ``d = v - v^``, the last term the
Jacobian of ``eps``: nothing in it cancels as the scale goes to zero. ``C`` and ``m`` may be made with any ``H`` that is
not negative; that of the convex rows is. What a sweep holds of all groups, slopes and ``eps``, has shape ``(q, G)``.
Groups of one effect go through the loops of `.single`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..acceptance.grouped import CUBIC_PLACE
from ..compiled import helper
from ..compiled.triangular import back, cholesky, norm, solve
from ..compiled.vector import copy_into
from ..compiled.windows import window
from .layout import RADII, RUNGS, factor_of, over_groups, square
from .one_effect import centred_single, cubics_single, distances_single, follow_single, leans_single, stand_single

_STRETCH = 512  # groups at once: what is added up stays in the nearest cache


@helper
def _add_columns(hyper, at, b, p, groups, out):
    """``out[g] += sum_j array[j, g] b[j]``, four columns at a time."""
    for begins in range(0, groups, _STRETCH):
        n = min(_STRETCH, groups - begins)
        sums = window(out, begins, n)
        j = 0
        while j < p:
            first, more = over_groups(hyper, at + begins, j, groups), j + 3 < p
            if more:
                second = over_groups(hyper, at + begins, j + 1, groups)
                third, fourth = (
                    over_groups(hyper, at + begins, j + 2, groups),
                    over_groups(hyper, at + begins, j + 3, groups),
                )
                for g in range(n):
                    sums[g] += (first[g] * b[j] + second[g] * b[j + 1]) + (third[g] * b[j + 2] + fourth[g] * b[j + 3])
            else:
                for g in range(n):
                    sums[g] += first[g] * b[j]
            j += 4 if more else 1


class Given(NamedTuple):
    """Of all groups at one ``b``: ``k = kappa + h b`` and ``lean b``, ``(q, G)``, and ``t3 b``, ``(G,)``."""

    slopes: Any
    leans: Any
    turns: Any


@helper
def new_given(factor):
    q, G = factor.q, factor.groups
    return Given(np.empty((q, G)), np.empty((q, G)), np.empty(G))


@helper
def _leans_of_several(hyper, factor, turned, leans):
    q = factor.q
    for g in range(factor.groups):
        B = square(hyper, factor.tilt, g, q)
        for a in range(q):
            leans[a, g] = 0.0
            for c in range(q):
                leans[a, g] += B[a, c] * turned[c, g]


@helper
def fill_given(hyper, factor, kappa, b, p, out):
    """Leans are made of ``h b`` before ``kappa`` is added, which may be so large that nothing of ``h b`` is left."""
    q, G = factor.q, factor.groups
    for a in range(q):
        for g in range(G):
            out.slopes[a, g] = 0.0
        _add_columns(hyper, factor.cross + a * p * G, b, p, G, out.slopes[a])
    if q == 1:
        leans_single(hyper, factor, out.slopes[0], out.leans[0])
    else:
        _leans_of_several(hyper, factor, out.slopes, out.leans)
    for a in range(q):
        for g in range(G):
            out.slopes[a, g] += kappa[a, g]
    for g in range(G):
        out.turns[g] = 0.0
    if factor.place == CUBIC_PLACE:
        _add_columns(hyper, factor.cross_thirds, b, p, G, out.turns)


@helper
def copy_given(out, given):
    for a in range(given.slopes.shape[0]):
        copy_into(out.slopes[a], given.slopes[a])
        copy_into(out.leans[a], given.leans[a])
    copy_into(out.turns, given.turns)


@helper
def fill_cubics(hyper, factor, lean, turn, state, c_of_cells, cubics):
    """Of groups of one effect: every cell's ``c``, and what is known in closed form of the cubic parts, else zeros."""
    if factor.q > 1:
        return
    c = np.empty(factor.groups)
    centred_single(hyper, factor, lean[0], state, c)
    for k in range(factor.all_cells):
        c_of_cells[k] = c[int(hyper[factor.owner + k])]
    if factor.place == CUBIC_PLACE:
        cubics_single(hyper, factor, turn, c, state, cubics)
    else:
        for g in range(factor.groups):
            cubics[g] = 0.0


@helper
def place(hyper, factor, g, k, Q, C, mean):
    """Fill ``C`` and ``mean`` of group ``g``, whose slopes are ``k[:, g]``."""
    q = factor.q
    H = square(hyper, factor.convex, g, q)
    for a in range(q):
        mean[a] = -k[a, g]
        for c in range(q):
            mean[a] += H[a, c] * hyper[factor.mode + g * q + c]
            C[a, c] = H[a, c] + Q[a, c]
    cholesky(C, q)
    solve(C, q, mean)


@helper
def bent_beside(hyper, factor, g, effects, at):
    """``d'(true - H)d / 2``: what the curvature of all rows has beside that of the convex ones."""
    q, total = factor.q, 0.0
    true, H = square(hyper, factor.curvature, g, q), square(hyper, factor.convex, g, q)
    for a in range(q):
        d = effects[at + a] - hyper[factor.mode + g * q + a]
        for c in range(q):
            total += 0.5 * d * (true[a, c] - H[a, c]) * (effects[at + c] - hyper[factor.mode + g * q + c])
    return total


@helper
def closed_energy(hyper, factor, g, Q, k, effects, at):
    """``k.d + d'Hd / 2 + v'Qv / 2``."""
    q = factor.q
    H = square(hyper, factor.curvature, g, q)
    energy = 0.0
    for a in range(q):
        d, v = effects[at + a] - hyper[factor.mode + g * q + a], effects[at + a]
        energy += k[a, g] * d
        for c in range(q):
            energy += 0.5 * (
                d * H[a, c] * (effects[at + c] - hyper[factor.mode + g * q + c]) + v * Q[a, c] * effects[at + c]
            )
    return energy


@helper(inline=True)
def _log_volume(C, q):
    total = 0.0
    for a in range(q):
        total += math.log(C[a, a])
    return total


@helper
def stand(hyper, factor, Q, k, state, eps):
    """Fill ``eps``; returns what is known in closed form of all groups."""
    q = factor.q
    if q == 1:
        return stand_single(hyper, factor, Q[0, 0], k[0], state, eps[0])
    C, mean, energy = np.empty((q, q)), np.empty(q), 0.0
    for g in range(factor.groups):
        if hyper[factor.free + g] > 0.0:
            at = factor.effects_at + g * q
            place(hyper, factor, g, k, Q, C, mean)
            energy += closed_energy(hyper, factor, g, Q, k, state, at) + _log_volume(C, q)
            standardised(C, q, state, at, mean, eps, g)
    return energy


@helper
def follow(hyper, factor, Q, k, eps, there):
    """Fill the effects at ``there`` from ``eps``; returns what is known in closed form of all groups."""
    q = factor.q
    if q == 1:
        return follow_single(hyper, factor, Q[0, 0], k[0], eps[0], there)
    C, mean, own, energy = np.empty((q, q)), np.empty(q), np.empty(q), 0.0
    for g in range(factor.groups):
        if hyper[factor.free + g] > 0.0:
            at = factor.effects_at + g * q
            place(hyper, factor, g, k, Q, C, mean)
            for a in range(q):
                own[a] = eps[a, g]
            unstandardised(C, q, own, mean, there, at)
            energy += closed_energy(hyper, factor, g, Q, k, there, at) + _log_volume(C, q)
    return energy


@helper(inline=True)
def standardised(C, q, effects, at, mean, out, g):
    """``eps = C'(v - m)``, into column ``g`` of ``out``."""
    for a in range(q):
        total = 0.0
        for c in range(a, q):
            total += C[c, a] * (effects[at + c] - mean[c])
        out[a, g] = total


@helper(inline=True)
def unstandardised(C, q, eps, mean, effects, at):
    """``v = m + C'^-1 eps``; ``eps`` is overwritten."""
    back(C, q, eps)
    for a in range(q):
        effects[at + a] = mean[a] + eps[a]


@helper
def fill_distances(hyper, factor, lean, lean_there, common, state, there, here_of, there_of, away, distances):
    """``M`` of every cell; ``common`` are the longer of ``b`` and ``b'``, ``|b' - b|`` and ``|b' + b|``.

    With ``c = lean b + v - v^`` a row of the cell is displaced by at most ``e |b| + m |c|``, and with ``P`` and ``W``
    the bounds of ``|x.p|`` and ``|x.w|``, ``M = P (3 W^2 + P^2) / 24`` on the ladder. ``away`` is how far the cell's
    rows are displaced by what does not move. Of groups of one effect ``here_of`` and ``there_of`` are the cells'
    ``c``.
    """
    q = factor.q
    if q == 1:
        distances_single(hyper, factor, here_of, there_of, common, away, distances)
        return
    before, after = np.empty(q), np.empty(q)
    for g in range(factor.groups):
        H, at = square(hyper, factor.spread, g, q), factor.effects_at + g * q
        for a in range(q):
            mode = hyper[factor.mode + g * q + a]
            before[a] = lean[a, g] + state[at + a] - mode
            after[a] = lean_there[a, g] + there[at + a] - mode
        farthest = max(norm(H, q, before), norm(H, q, after))
        for a in range(q):
            before[a], after[a] = after[a] - before[a], after[a] + before[a]
        change, sum_of = norm(H, q, before), norm(H, q, after)
        for c in range(int(hyper[factor.cells + g]), int(hyper[factor.cells + g + 1])):
            distances[c] = _bound_of_cell(hyper, factor, c, farthest, change, sum_of, common, away[c])


@helper
def _bound_of_cell(hyper, factor, c, farthest, change, sum_of, common, away):
    e, m = hyper[factor.reach + c], hyper[factor.width + c]
    P = e * common[1] + m * change
    if P == 0.0:
        return 0.0
    W = e * common[2] + m * sum_of + 2.0 * away
    relative = (e * common[0] + m * farthest + away) / hyper[factor.radius + c]
    for r in range(RUNGS):
        if relative <= RADII[r]:
            return hyper[factor.rungs + r * factor.all_cells + c] * P * (3.0 * W * W + P * P) / 24.0
    return np.inf


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
            kappa[a, g] = hyper[factor.gradient + g * q + a]
        for k in range(int(hyper[factor.link + g]), int(hyper[factor.link + g + 1])):
            other = int(hyper[factor.partner + k])
            for a in range(q):
                for c in range(most):
                    kappa[a, g] += hyper[factor.share + (k * q + a) * most + c] * moved[other, c]


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
