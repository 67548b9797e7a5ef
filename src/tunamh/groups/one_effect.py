"""Groups of one effect: the formulas of `.groups_given` in plain numbers, in loops over all groups (spec 5q, 5r).

A thousand random intercepts are a thousand times the same few sums. Written group by group, with matrices of one
number, they took half a microsecond each; these loops have no calls and no branches, so that the compiler makes eight
groups at a time.
"""

from __future__ import annotations

import math

import numpy as np

from ..compiled import REASSOCIATE, helper
from ..compiled.vector import log_quotient
from ..compiled.windows import window
from .layout import RADII, RUNGS, over_groups


@helper(fastmath=REASSOCIATE)
def stand_single(hyper, factor, Q, k, state, eps):
    """Fill ``eps``; returns what is known in closed form of all groups."""
    G = factor.groups
    H, true = window(hyper, factor.convex, G), window(hyper, factor.curvature, G)
    mode, free, effects = (
        window(hyper, factor.mode, G),
        window(hyper, factor.free, G),
        window(state, factor.effects_at, G),
    )
    energy = 0.0
    for g in range(G):
        P, v = H[g] + Q, effects[g]
        d = v - mode[g]
        eps[g] = math.sqrt(P) * (v - (H[g] * mode[g] - k[g]) / P)
        energy += free[g] * (k[g] * d + 0.5 * (true[g] * d * d + Q * v * v + log_quotient(P, 1.0)))
    return energy


@helper(fastmath=REASSOCIATE)
def follow_single(hyper, factor, Q, k, eps, there):
    """Fill the effects at ``there`` from ``eps``; returns what is known in closed form of all groups."""
    G = factor.groups
    H, true = window(hyper, factor.convex, G), window(hyper, factor.curvature, G)
    mode, free, effects = (
        window(hyper, factor.mode, G),
        window(hyper, factor.free, G),
        window(there, factor.effects_at, G),
    )
    energy = 0.0
    for g in range(G):
        P = H[g] + Q
        v = free[g] * ((H[g] * mode[g] - k[g]) / P + eps[g] / math.sqrt(P))
        d = v - mode[g]
        effects[g] = v
        energy += free[g] * (k[g] * d + 0.5 * (true[g] * d * d + Q * v * v + log_quotient(P, 1.0)))
    return energy


@helper
def leans_single(hyper, factor, turned, leans):
    """``lean b = tilt h b``, ``turned`` being ``h b``."""
    tilt = window(hyper, factor.tilt, factor.groups)
    for g in range(factor.groups):
        leans[g] = tilt[g] * turned[g]


@helper
def centred_single(hyper, factor, lean, state, c):
    """``c = lean b + v - v^`` of all groups."""
    mode, effects = window(hyper, factor.mode, factor.groups), window(state, factor.effects_at, factor.groups)
    for g in range(factor.groups):
        c[g] = lean[g] + effects[g] - mode[g]


@helper
def cubics_single(hyper, factor, turn, c, state, out):
    """``sum f''' z^2 c^2 (3 t - 2 z c) / 6`` over the rows of every group, ``turn`` being ``t3 b``."""
    G = factor.groups
    mode, effects, third = (
        window(hyper, factor.mode, G),
        window(state, factor.effects_at, G),
        window(hyper, factor.thirds, G),
    )
    cubic = window(hyper, factor.cubic, G)
    for g in range(G):
        displaced = turn[g] + third[g] * (effects[g] - mode[g])
        out[g] = cubic[g] * c[g] * c[g] * (3.0 * displaced - 2.0 * third[g] * c[g]) / 6.0


@helper
def distances_single(hyper, factor, here, there, common, away, distances):
    """``M`` of every cell, whose group is displaced by ``here`` and ``there``; see `.groups_given.fill_distances`.

    Without the cubic part of a row's energy, what is left is of the fourth order, by ``int |z|^3 dz`` from one end to
    the other, and what the common parameters turn rows by beside their group's ``c``, ``3 z c r^2 + r^3`` (spec 5r).
    """
    cells, owner = factor.all_cells, window(hyper, factor.owner, factor.all_cells)
    reach, width, radius = (
        window(hyper, factor.reach, cells),
        window(hyper, factor.width, cells),
        window(hyper, factor.radius, cells),
    )
    rungs, cubic = window(hyper, factor.rungs, RUNGS * cells), window(hyper, factor.cubic, factor.groups)
    farthest, step, sum_of = common
    squares = 0.25 * (step * step + sum_of * sum_of)  # (|b|^2 + |b'|^2) / 2
    turned = step * (3.0 * sum_of * sum_of + step * step) / 24.0
    for c in range(cells):
        e, m = reach[c], width[c]
        change, total = m * abs(there[c] - here[c]), m * abs(there[c] + here[c])
        P, W = e * step + change, e * sum_of + total + 2.0 * away[c]
        if P == 0.0:
            distances[c] = 0.0
            continue
        far, r = e * farthest + 0.5 * (change + total) + away[c], 0  # max(|c|, |c'|) = (|c' - c| + |c' + c|) / 2
        while r < RUNGS and far > RADII[r] * radius[c]:
            r += 1
        if r == RUNGS:
            distances[c] = np.inf
        elif cubic[int(owner[c])] > 0.0:
            squared = P * P + W * W
            fourth = P * W * squared / 48.0 if W > P else (squared * squared + 4.0 * P * P * W * W) / 192.0
            left = e * e * (0.5 * change * squares + 0.25 * total * step * sum_of + e * turned)
            distances[c] = rungs[r * cells + c] * fourth + left
        else:
            distances[c] = rungs[r * cells + c] * P * (3.0 * W * W + P * P) / 24.0


@helper
def push_single(hyper, factor, kappa, eps, along, bent):
    """At the centre's scales: what multiplies ``h`` and ``t3`` in the gradient in ``b`` of what `.shift` adds up."""
    G, Q = factor.groups, hyper[factor.variants]
    H, true, mode = window(hyper, factor.convex, G), window(hyper, factor.curvature, G), window(hyper, factor.mode, G)
    third, fourth = window(hyper, factor.thirds, G), window(hyper, factor.fourths, G)
    spread, limit, free = (
        window(hyper, factor.spread, G),
        window(hyper, factor.limit, G),
        window(hyper, factor.free, G),
    )
    for g in range(G):
        P = H[g] + Q
        away = (H[g] * mode[g] - kappa[g]) / P + eps[g] / math.sqrt(P) - mode[g]
        far = math.sqrt(spread[g]) * abs(away)
        d = away * (limit[g] / far if far > limit[g] else 1.0)
        push = (0.5 * third[g] + fourth[g] * d / 6.0) * d * d + kappa[g] + true[g] * away + Q * (away + mode[g])
        along[g] = free[g] * (away - push / P)
        bent[g] = free[g] * 0.5 * d * d


@helper(fastmath=REASSOCIATE)
def energy_single(hyper, factor, Q, kappa, eps):
    """At ``b = 0`` and a precision ``Q``: the closed energy of all groups, without volumes, and the polynomials'."""
    G = factor.groups
    H, true, mode = window(hyper, factor.convex, G), window(hyper, factor.curvature, G), window(hyper, factor.mode, G)
    third, fourth = window(hyper, factor.thirds, G), window(hyper, factor.fourths, G)
    spread, limit, free = (
        window(hyper, factor.spread, G),
        window(hyper, factor.limit, G),
        window(hyper, factor.free, G),
    )
    energy = 0.0
    for g in range(G):
        P = H[g] + Q
        v = (H[g] * mode[g] - kappa[g]) / P + eps[g] / math.sqrt(P)
        away = v - mode[g]
        far = math.sqrt(spread[g]) * abs(away)
        d = away * (limit[g] / far if far > limit[g] else 1.0)
        rise = kappa[g] * away + 0.5 * (true[g] * away * away + Q * v * v)
        energy += free[g] * (rise + (third[g] / 6.0 + fourth[g] * d / 24.0) * d * d * d)
    return energy


@helper(fastmath=REASSOCIATE)
def squares_single(factor, state):
    effects, total = window(state, factor.effects_at, factor.groups), 0.0
    for g in range(factor.groups):
        total += effects[g] * effects[g]
    return total


@helper(fastmath=REASSOCIATE)
def sum_over_groups(values):
    total = 0.0
    for g in range(values.size):
        total += values[g]
    return total


@helper(fastmath=REASSOCIATE)
def dot_over_groups(hyper, at, k, groups, values):
    """``sum_g array[k, g] values[g]``."""
    row, total = over_groups(hyper, at, k, groups), 0.0
    for g in range(groups):
        total += row[g] * values[g]
    return total


@helper
def propose_single(rng, hyper, factor, Q, k, u, width, moving, state, there, log_ratios, rounds):
    """A draw of every group that is ``moving``, or a walk where ``u`` is below its share; see `.move_effects`.

    Proposals know the curvature ``H`` of the convex rows, the posterior that of all: ``-(true - H)(d'^2 - d^2) / 2``.
    """
    G = factor.groups
    normal = np.zeros(G)
    for g in range(G):
        if moving[g]:
            normal[g] = rng.standard_normal()
    H, true = window(hyper, factor.convex, G), window(hyper, factor.curvature, G)
    mode, third = window(hyper, factor.mode, G), window(hyper, factor.thirds, G)
    here, prop = window(state, factor.effects_at, G), window(there, factor.effects_at, G)
    for g in range(G):
        P = H[g] + Q
        root = math.sqrt(P)
        mean = (H[g] * mode[g] - k[g]) / P
        eps = root * (here[g] - mean)
        skewness = min(abs(third[g]) / (P * root), 1.0)
        walks = u < WALK + (0.5 - WALK) * skewness
        drawn = eps + width * normal[g] if walks else normal[g]
        log_ratios[g] = 0.5 * (eps * eps - drawn * drawn) if walks and moving[g] else 0.0
        prop[g] = mean + drawn / root if moving[g] else here[g]
        log_ratios[g] -= 0.5 * (true[g] - H[g]) * (prop[g] - here[g]) * (prop[g] + here[g] - 2.0 * mode[g])
        rounds[g] = 1.0 + math.floor(MORE * skewness)


WALK = 0.05
"""Share of (B) that is a random walk in the place of independent proposals; up to a half for skewed groups."""

MORE = 2.0
"""Moves more in (B) of a group that is skewed."""
