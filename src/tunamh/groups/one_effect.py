"""Groups of one effect: the formulas of `.conditionals` in plain numbers, in loops over all groups (spec 5q, 5r).

A thousand random intercepts are a thousand times the same few sums. Written group by group, with matrices of one
number, they took half a microsecond each; these loops have no calls and no branches, so that the compiler makes eight
groups at a time.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..compiled import REASSOCIATE, helper
from ..compiled.vector import log_quotient
from ..compiled.windows import flat
from .kernel_common import effects_of
from .layout import RADII, RUNGS


@helper(fastmath=REASSOCIATE)
def stand_single(factor, Q, k, state, eps):
    """Fill the standardised effects ``eps``. Return the part of the energy of all groups that is in closed form."""
    H, true, mode = flat(factor.convex), flat(factor.curvature), flat(factor.mode)
    free, effects = factor.free, effects_of(factor, state)
    energy = 0.0
    for g in range(factor.groups):
        P, v = H[g] + Q, effects[g]
        d = v - mode[g]
        eps[g] = math.sqrt(P) * (v - (H[g] * mode[g] - k[g]) / P)
        energy += free[g] * (k[g] * d + 0.5 * (true[g] * d * d + Q * v * v + log_quotient(P, 1.0)))
    return energy


@helper(fastmath=REASSOCIATE)
def follow_single(factor, Q, k, eps, there):
    """Fill the effects at ``there`` from ``eps``.

    Return the part of the energy of all groups that is in closed form.
    """
    H, true, mode = flat(factor.convex), flat(factor.curvature), flat(factor.mode)
    free, effects = factor.free, effects_of(factor, there)
    energy = 0.0
    for g in range(factor.groups):
        P = H[g] + Q
        v = free[g] * ((H[g] * mode[g] - k[g]) / P + eps[g] / math.sqrt(P))
        d = v - mode[g]
        effects[g] = v
        energy += free[g] * (k[g] * d + 0.5 * (true[g] * d * d + Q * v * v + log_quotient(P, 1.0)))
    return energy


@helper
def leans_single(factor, turned, leans):
    """Compute ``lean b``; ``turned`` is ``h b``."""
    regression = flat(factor.regress_x_on_z)
    for g in range(factor.groups):
        leans[g] = regression[g] * turned[g]


@helper
def centred_single(factor, lean, state, c):
    """Compute ``c = lean b + v - v^`` of all groups."""
    mode, effects = flat(factor.mode), effects_of(factor, state)
    for g in range(factor.groups):
        c[g] = lean[g] + effects[g] - mode[g]


@helper
def cubics_single(factor, turn, c, state, out):
    """Compute ``sum f''' z^2 c^2 (3 t - 2 z c) / 6`` over the rows of every group; ``turn`` is ``t3 b``."""
    mode, third, cubic = flat(factor.mode), flat(factor.thirds), factor.cubic
    effects = effects_of(factor, state)
    for g in range(factor.groups):
        displaced = turn[g] + third[g] * (effects[g] - mode[g])
        out[g] = cubic[g] * c[g] * c[g] * (3.0 * displaced - 2.0 * third[g] * c[g]) / 6.0


@helper
def distances_single(factor, here, there, lengths, away, distances):
    """Compute ``M`` of every cell.

    ``here`` and ``there`` are the displacements of its group (`.conditionals.fill_distances`).

    If the cubic part of a row's energy is taken out, the remainder is of the fourth order: ``int |z|^3 dz`` from one
    end to the other, plus ``3 z c r^2 + r^3`` for the part of the displacement that the common parameters add to that
    of the group, ``c`` (spec 5r).
    """
    group, cubic, rungs = factor.cell_group, factor.cubic, factor.rungs
    common_reach, effect_reach, radius = factor.common_reach, factor.effect_reach, factor.radius
    farthest, step, sum_of = lengths
    squares = 0.25 * (step * step + sum_of * sum_of)  # (|b|^2 + |b'|^2) / 2
    turned = step * (3.0 * sum_of * sum_of + step * step) / 24.0
    for c in range(factor.n_cells):
        e, m = common_reach[c], effect_reach[c]
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
        elif cubic[int(group[c])] > 0.0:
            squared = P * P + W * W
            fourth = P * W * squared / 48.0 if W > P else (squared * squared + 4.0 * P * P * W * W) / 192.0
            left = e * e * (0.5 * change * squares + 0.25 * total * step * sum_of + e * turned)
            distances[c] = rungs[r, c] * fourth + left
        else:
            distances[c] = rungs[r, c] * P * (3.0 * W * W + P * P) / 24.0


@helper
def push_single(factor, kappa, eps, along, bent):
    """Compute, at the centre's scales, the factors of ``h`` and ``t3`` in the gradient in ``b`` (see `.shift`)."""
    Q, free = factor.centre_precision[0, 0], factor.free
    H, true, mode = flat(factor.convex), flat(factor.curvature), flat(factor.mode)
    third, fourth = flat(factor.thirds), factor.fourths
    metric, radius = flat(factor.effect_metric), factor.polynomial_radius
    for g in range(factor.groups):
        P = H[g] + Q
        away = (H[g] * mode[g] - kappa[g]) / P + eps[g] / math.sqrt(P) - mode[g]
        far = math.sqrt(metric[g]) * abs(away)
        d = away * (radius[g] / far if far > radius[g] else 1.0)
        push = (0.5 * third[g] + fourth[g] * d / 6.0) * d * d + kappa[g] + true[g] * away + Q * (away + mode[g])
        along[g] = free[g] * (away - push / P)
        bent[g] = free[g] * 0.5 * d * d


@helper(fastmath=REASSOCIATE)
def energy_single(factor, Q, kappa, eps):
    """Return the closed energy of all groups at ``b = 0`` and a precision ``Q``, without volumes, and that of
    polynomials.
    """
    H, true, mode = flat(factor.convex), flat(factor.curvature), flat(factor.mode)
    third, fourth, free = flat(factor.thirds), factor.fourths, factor.free
    metric, radius = flat(factor.effect_metric), factor.polynomial_radius
    energy = 0.0
    for g in range(factor.groups):
        P = H[g] + Q
        v = (H[g] * mode[g] - kappa[g]) / P + eps[g] / math.sqrt(P)
        away = v - mode[g]
        far = math.sqrt(metric[g]) * abs(away)
        d = away * (radius[g] / far if far > radius[g] else 1.0)
        rise = kappa[g] * away + 0.5 * (true[g] * away * away + Q * v * v)
        energy += free[g] * (rise + (third[g] / 6.0 + fourth[g] * d / 24.0) * d * d * d)
    return energy


@helper
def away_single(factor, Q, kappa, away):
    """Compute ``free (P^-1 (H v^ - kappa) - v^)``: where the quadratic with the prior precision ``Q`` is lowest."""
    H, mode, free = flat(factor.convex), flat(factor.mode), factor.free
    for g in range(factor.groups):
        away[g] = free[g] * ((H[g] * mode[g] - kappa[g]) / (H[g] + Q) - mode[g])


@helper(fastmath=REASSOCIATE)
def lowest_single(factor, Q, kappa):
    """Return the minimum of the groups' quadratics plus their effects' prior of precision ``Q``."""
    H, mode, free = flat(factor.convex), flat(factor.mode), factor.free
    energy = 0.0
    for g in range(factor.groups):
        v = (H[g] * mode[g] - kappa[g]) / (H[g] + Q)
        d = v - mode[g]
        energy += free[g] * (kappa[g] * d + 0.5 * (H[g] * d * d + Q * v * v))
    return energy


@helper(fastmath=REASSOCIATE)
def slopes_single(factor, moved, kappa):
    """Compute ``kappa``, the slopes of the groups, given the displacement ``moved`` of other factors with one effect
    each.
    """
    start, partner, shared, gradient = (
        factor.partner_start,
        factor.partner,
        flat(factor.cross_curvature),
        flat(factor.gradient),
    )
    for g in range(factor.groups):
        total = gradient[g]
        for k in range(int(start[g]), int(start[g + 1])):
            total += shared[k] * moved[int(partner[k])]
        kappa[g] = total


@helper(fastmath=REASSOCIATE)
def squares_single(factor, state):
    effects, total = effects_of(factor, state), 0.0
    for g in range(factor.groups):
        total += effects[g] * effects[g]
    return total


@helper(fastmath=REASSOCIATE)
def sum_over_groups(values):
    total = 0.0
    for g in range(values.size):
        total += values[g]
    return total


class Round(NamedTuple):
    """A round of kernel (B): which groups move, the log ratio that decides about each, and in how many rounds it takes
    part.
    """

    moving: Any
    log_ratios: Any
    rounds: Any


class Walk(NamedTuple):
    """What all groups share: a uniform number ``u``, and the length of steps.

    A group walks if ``u`` is below its share.
    """

    u: Any
    width: Any


@helper
def propose_single(rng, turn, Q, walk, of_groups):
    """Propose an effect for every moving group: an independent draw, or a walk if ``u`` is below its share.

    See `.move_effects`. Proposals use the curvature ``H`` of the convex rows, but the posterior has the curvature of
    all rows. So the log ratio contains ``-(true - H)(d'^2 - d^2) / 2``.
    """
    factor, k, u, width = turn.factor, turn.given.slopes[0], walk.u, walk.width
    moving, log_ratios, rounds = of_groups
    G = factor.groups
    normal = np.zeros(G)
    for g in range(G):
        if moving[g]:
            normal[g] = rng.standard_normal()
    H, true = flat(factor.convex), flat(factor.curvature)
    mode, third = flat(factor.mode), flat(factor.thirds)
    here, prop = effects_of(factor, turn.state), effects_of(factor, turn.there)
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
