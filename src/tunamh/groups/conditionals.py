"""One factor's groups, given the rest: their Gaussian laws, and how far their rows can pull (spec 5q, 5r).

With ``b`` the displacement of the common parameters from the centre, ``k = kappa + h b`` the slope of a group's
quadratic and ``Q = Sigma^-1``, ``P = H + Q = C C'``, a group's effects are

    v = m + C'^-1 eps,     m = P^-1 (H v^ - k),

and what is known in closed form is ``k.d + d'Hd / 2 + v'Qv / 2 + log det C``, ``d = v - v^``, the last term the
Jacobian of ``eps``: nothing in it cancels as the scale goes to zero. ``C`` and ``m`` may be made with any ``H`` that is
not negative; that of the convex rows is. What a sweep holds of all groups, slopes and ``eps``, has shape ``(q, G)``.
Groups of one effect go through the loops of `.one_effect`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..acceptance.grouped import CUBIC_PLACE
from ..compiled import helper
from ..compiled.triangular import back, cholesky, norm, solve
from ..compiled.vector import copy_into
from ..compiled.windows import flat, window
from .kernel_common import effects_of
from .layout import RADII, RUNGS, factor_of
from .one_effect import (
    centred_single,
    cubics_single,
    distances_single,
    follow_single,
    leans_single,
    slopes_single,
    stand_single,
)
from .related import follow_related, stand_related

_STRETCH = 512  # groups at once: what is added up stays in the nearest cache


@helper
def _add_columns(columns, b, out):
    """``out[g] += sum_j columns[j, g] b[j]``, four columns at a time."""
    p, groups = columns.shape
    for begins in range(0, groups, _STRETCH):
        n = min(_STRETCH, groups - begins)
        sums = window(out, begins, n)
        j = 0
        while j < p:
            first, more = window(columns[j], begins, n), j + 3 < p
            if more:
                second, third = window(columns[j + 1], begins, n), window(columns[j + 2], begins, n)
                fourth = window(columns[j + 3], begins, n)
                for g in range(n):
                    sums[g] += (first[g] * b[j] + second[g] * b[j + 1]) + (third[g] * b[j + 2] + fourth[g] * b[j + 3])
            else:
                for g in range(n):
                    sums[g] += first[g] * b[j]
            j += 4 if more else 1


class Given(NamedTuple):
    """Quantities of all groups at one ``b``.

    These are ``k = kappa + h b`` and ``lean b``, arrays (q, G), and ``t3 b``, an array (G,).
    """

    slopes: Any
    leans: Any
    turns: Any


class End(NamedTuple):
    """One end of a move: the state, ``lean b`` of all groups, and ``c`` of cells of groups with one effect."""

    state: Any
    leans: Any
    centred: Any


@helper
def new_given(factor):
    q, G = factor.n_effects, factor.groups
    return Given(np.empty((q, G)), np.empty((q, G)), np.empty(G))


@helper
def _leans_of_several(factor, turned, leans):
    q, regression = factor.n_effects, factor.regress_x_on_z
    for g in range(factor.groups):
        B = regression[g]
        for a in range(q):
            leans[a, g] = 0.0
            for c in range(q):
                leans[a, g] += B[a, c] * turned[c, g]


@helper
def fill_given(factor, kappa, b, out):
    """Fill the slopes and leans of all groups at ``b``.

    Leans are made from ``h b`` before ``kappa`` is added, because ``kappa`` may be so large that all digits of ``h b``
    are lost.
    """
    q, G, cross = factor.n_effects, factor.groups, factor.cross
    for a in range(q):
        for g in range(G):
            out.slopes[a, g] = 0.0
        _add_columns(cross[a], b, out.slopes[a])
    if q == 1:
        leans_single(factor, out.slopes[0], out.leans[0])
    else:
        _leans_of_several(factor, out.slopes, out.leans)
    for a in range(q):
        for g in range(G):
            out.slopes[a, g] += kappa[a, g]
    for g in range(G):
        out.turns[g] = 0.0
    if factor.record_size == CUBIC_PLACE:
        _add_columns(factor.cross_thirds[0, 0], b, out.turns)


@helper
def copy_given(out, given):
    for a in range(given.slopes.shape[0]):
        copy_into(out.slopes[a], given.slopes[a])
        copy_into(out.leans[a], given.leans[a])
    copy_into(out.turns, given.turns)


@helper
def fill_cubics(factor, given, state, c_of_cells, cubics):
    """For groups with one effect, fill ``c`` of every cell and the closed form of the cubic parts.

    For other groups fill zeros.
    """
    if factor.n_effects > 1:
        return
    c, group = np.empty(factor.groups), factor.cell_group
    centred_single(factor, given.leans[0], state, c)
    for k in range(factor.n_cells):
        c_of_cells[k] = c[int(group[k])]
    if factor.record_size == CUBIC_PLACE:
        cubics_single(factor, given.turns, c, state, cubics)
    else:
        for g in range(factor.groups):
            cubics[g] = 0.0


@helper
def place(factor, g, k, weight, Q, C, mean):
    """Fill ``C`` and ``mean`` of group ``g``, which has the slopes ``k[:, g]`` and the prior precision ``weight Q``."""
    q, H, mode = factor.n_effects, factor.convex[g], factor.mode[g]
    for a in range(q):
        mean[a] = -k[a, g]
        for c in range(q):
            mean[a] += H[a, c] * mode[c]
            C[a, c] = H[a, c] + weight * Q[a, c]
    cholesky(C, q)
    solve(C, q, mean)


@helper(inline=True)
def own_effects(factor, state, g):
    """Return the effects of group ``g``."""
    return window(effects_of(factor, state), g * factor.n_effects, factor.n_effects)


@helper
def bent_beside(factor, g, v):
    """Return ``d'(true - H)d / 2``: the energy from the curvature of rows that are not convex."""
    q, total = factor.n_effects, 0.0
    true, H, mode = factor.curvature[g], factor.convex[g], factor.mode[g]
    for a in range(q):
        d = v[a] - mode[a]
        for c in range(q):
            total += 0.5 * d * (true[a, c] - H[a, c]) * (v[c] - mode[c])
    return total


@helper
def closed_energy(factor, g, weight, Q, k, v):
    """Return ``k.d + d'Hd / 2 + v'Qv / 2``, where ``weight Q`` replaces ``Q``."""
    q, H, mode = factor.n_effects, factor.curvature[g], factor.mode[g]
    energy = 0.0
    for a in range(q):
        d = v[a] - mode[a]
        energy += k[a, g] * d
        for c in range(q):
            energy += 0.5 * (d * H[a, c] * (v[c] - mode[c]) + weight * v[a] * Q[a, c] * v[c])
    return energy


@helper(inline=True)
def log_volume(C, q):
    total = 0.0
    for a in range(q):
        total += math.log(C[a, a])
    return total


@helper
def stand(factor, weights, Q, k, state, eps):
    """Fill the standardised effects ``eps``. Return the part of the energy of all groups that is in closed form."""
    if factor.n_related > 0:
        return stand_related(factor, Q[0, 0], k[0], state, eps[0])
    if factor.n_effects == 1 and factor.df == 0.0:
        return stand_single(factor, Q[0, 0], k[0], state, eps[0])
    return stand_several(factor, weights, Q, k, state, eps)


@helper
def stand_several(factor, weights, Q, k, state, eps):
    """Do what `stand` does, for any number of effects. For one effect `stand_single` is faster; tests compare both."""
    q = factor.n_effects
    C, mean, energy, free = np.empty((q, q)), np.empty(q), 0.0, factor.free
    for g in range(factor.groups):
        if free[g] > 0.0:
            v = own_effects(factor, state, g)
            place(factor, g, k, weights[g], Q, C, mean)
            energy += closed_energy(factor, g, weights[g], Q, k, v) + log_volume(C, q)
            standardised(C, q, v, mean, eps, g)
    return energy


@helper
def follow(factor, weights, Q, k, eps, there):
    """Fill the effects at ``there`` from ``eps``.

    Return the part of the energy of all groups that is in closed form.
    """
    if factor.n_related > 0:
        return follow_related(factor, Q[0, 0], k[0], eps[0], there)
    if factor.n_effects == 1 and factor.df == 0.0:
        return follow_single(factor, Q[0, 0], k[0], eps[0], there)
    return follow_several(factor, weights, Q, k, eps, there)


@helper
def follow_several(factor, weights, Q, k, eps, there):
    """Do what `follow` does, for any number of effects."""
    q = factor.n_effects
    C, mean, own, energy, free = np.empty((q, q)), np.empty(q), np.empty(q), 0.0, factor.free
    for g in range(factor.groups):
        if free[g] > 0.0:
            v = own_effects(factor, there, g)
            place(factor, g, k, weights[g], Q, C, mean)
            for a in range(q):
                own[a] = eps[a, g]
            unstandardised(C, q, own, mean, v)
            energy += closed_energy(factor, g, weights[g], Q, k, v) + log_volume(C, q)
    return energy


@helper(inline=True)
def standardised(C, q, v, mean, out, g):
    """Write ``eps = C'(v - m)`` into column ``g`` of ``out``."""
    for a in range(q):
        total = 0.0
        for c in range(a, q):
            total += C[c, a] * (v[c] - mean[c])
        out[a, g] = total


@helper(inline=True)
def unstandardised(C, q, eps, mean, v):
    """Compute ``v = m + C'^-1 eps``; ``eps`` is overwritten."""
    back(C, q, eps)
    for a in range(q):
        v[a] = mean[a] + eps[a]


@helper
def fill_distances(factor, here, there, lengths, away, distances):
    """Fill the distance ``M`` of every cell.

    ``lengths`` are the larger of ``|b|`` and ``|b'|``, then ``|b' - b|`` and ``|b' + b|``. With ``c = lean b + v -
    v^``, the predictor of a row of the cell moves by at most ``e |b| + m |c|``. With the bounds ``P`` and ``W`` of
    ``|x.p|`` and ``|x.w|``, ``M = P (3 W^2 + P^2) / 24``, multiplied by the factor of its radius. ``away`` is how far
    other parameters, which do not move, displace the cell's rows. ``here`` and ``there`` are the `End`s of the move.
    """
    q = factor.n_effects
    if q == 1:
        distances_single(factor, here.centred, there.centred, lengths, away, distances)
        return
    before, after = np.empty(q), np.empty(q)
    metric, modes, start = factor.effect_metric, factor.mode, factor.cell_start
    for g in range(factor.groups):
        H, mode = metric[g], modes[g]
        v, v_there = own_effects(factor, here.state, g), own_effects(factor, there.state, g)
        for a in range(q):
            before[a] = here.leans[a, g] + v[a] - mode[a]
            after[a] = there.leans[a, g] + v_there[a] - mode[a]
        farthest = max(norm(H, q, before), norm(H, q, after))
        for a in range(q):
            before[a], after[a] = after[a] - before[a], after[a] + before[a]
        sizes = farthest, norm(H, q, before), norm(H, q, after)
        for c in range(int(start[g]), int(start[g + 1])):
            distances[c] = _bound_of_cell(factor, c, sizes, lengths, away[c])


@helper
def _bound_of_cell(factor, c, sizes, lengths, away):
    """``sizes`` are to the group's effects what ``lengths`` are to the common parameters."""
    e, m = factor.common_reach[c], factor.effect_reach[c]
    farthest, change, sum_of = sizes
    P = e * lengths[1] + m * change
    if P == 0.0:
        return 0.0
    W = e * lengths[2] + m * sum_of + 2.0 * away
    relative = (e * lengths[0] + m * farthest + away) / factor.radius[c]
    for r in range(RUNGS):
        if relative <= RADII[r]:
            return factor.rungs[r, c] * P * (3.0 * W * W + P * P) / 24.0
    return np.inf


@helper
def displacements(state, common, hyper, out):
    """Write ``v - v^`` of all groups of all factors, one row of ``out`` for each group."""
    for f in range(common.factors):
        factor = factor_of(hyper, f)
        mode = factor.mode
        for g in range(factor.groups):
            v = own_effects(factor, state, g)
            for a in range(factor.n_effects):
                out[factor.group_at + g, a] = v[a] - mode[g, a]


@helper
def slopes_given_others(factor, moved, kappa):
    """Compute ``kappa``, the slopes of the groups, given the displacement ``moved`` of other factors."""
    if factor.n_effects == 1 and factor.most_effects == 1:
        slopes_single(factor, flat(moved), kappa[0])
        return
    q, gradient, start = factor.n_effects, factor.gradient, factor.partner_start
    partner, shared = factor.partner, factor.cross_curvature
    for g in range(factor.groups):
        for a in range(q):
            kappa[a, g] = gradient[g, a]
        for k in range(int(start[g]), int(start[g + 1])):
            other = int(partner[k])
            for a in range(q):
                for c in range(factor.most_effects):
                    kappa[a, g] += shared[k, a, c] * moved[other, c]


@helper
def displaced_by_others(factor, factors, lengths, away):
    """Compute how far other factors displace the rows of each cell at most.

    ``lengths`` is how far each group moves a predictor at most.
    """
    start, neighbour, of_factor = factor.neighbour_start, factor.neighbour, factor.neighbour_factor
    for c in range(factor.n_cells):
        first, end = int(start[c]), int(start[c + 1])
        largest, total = 0.0, 0.0
        if factors == 2:
            for k in range(first, end):
                largest = max(largest, lengths[int(neighbour[k])])
        else:
            for k in range(first, end):
                if k > first and of_factor[k] != of_factor[k - 1]:  # a row has one level of each factor
                    total += largest
                    largest = 0.0
                largest = max(largest, lengths[int(neighbour[k])])
        away[c] = total + largest
