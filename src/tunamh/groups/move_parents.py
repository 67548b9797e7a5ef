"""(D) of a sweep for nested groups: their means against those of the groups that hold them; no row sees it (spec 5q).

A part of its own, beside `.move_means`: models without nested groups do not compile it.
"""

from __future__ import annotations

import math

import numpy as np

from ..compiled import NO_FAULT, helper, part
from ..compiled.vector import copy_into
from .conditionals import own_effects
from .kernel_common import draw_weights, log_prior_of_scales, precision, tau_of
from .layout import factor_of
from .roles import MoveScales, turn_at


@helper
def _log_law_of_sums(turn, other, sums, outer):
    """``log p(lambda of both | u)``, ``u = v_l + v_g`` being kept and ``v_l`` integrated out, of single effects.

    ``u ~ N(0, 1/a + 1/c)`` with ``1/c`` shared by the groups of one ``l``; ``sums`` has their number and sum for every
    ``l``, and at its end the sum of all squares, all of them weighted. ``outer`` are the weights of every ``l``.
    """
    factor, common, state = turn.factor, turn.common, turn.state
    tau, one, root = tau_of(state, common), np.empty((1, 1)), np.empty((1, 1))
    total = 0.0
    if not factor.known:
        total += log_prior_of_scales(factor, state, tau)
    if not other.known:
        total += log_prior_of_scales(other, state, tau)
    precision(factor, common, state, root, one)
    a = one[0, 0]
    precision(other, common, state, root, one)
    c = one[0, 0]
    total += 0.5 * (factor.groups * math.log(a) + other.groups * math.log(c)) - 0.5 * a * sums[other.groups, 0]
    for m in range(other.groups):
        weight = outer[m] * c + sums[m, 0] * a
        total += 0.5 * (a * a * sums[m, 1] * sums[m, 1] / weight - math.log(weight))
    return total if math.isfinite(total) else -np.inf


@helper
def _slice(rng, turn, other, sums, outer, at, width):
    """The log scale in place ``at`` of the state, by a slice sampler (Neal 2003, stepping out)."""
    state = turn.state
    here = state[at]
    height = _log_law_of_sums(turn, other, sums, outer)
    if not height > -np.inf:
        return  # beyond what numbers can say: it stays
    height += math.log(1.0 - rng.random())
    low = here - width * rng.random()
    high = low + width
    state[at] = low
    while _log_law_of_sums(turn, other, sums, outer) > height:
        low -= width
        state[at] = low
    state[at] = high
    while _log_law_of_sums(turn, other, sums, outer) > height:
        high += width
        state[at] = high
    while True:
        state[at] = low + (high - low) * rng.random()
        if _log_law_of_sums(turn, other, sums, outer) >= height:
            return
        if state[at] < here:
            low = state[at]
        else:
            high = state[at]


@helper
def _move_scales_given_sums(rng, turn, other, parent, outer):
    """Both log scales given ``u``, the effects of ``other`` integrated out; the draw of these comes next."""
    factor, state = turn.factor, turn.state
    sums = np.zeros((other.groups + 1, 2))
    for g in range(factor.groups):
        m = int(parent[g])
        u = own_effects(factor, state, g)[0] + own_effects(other, state, m)[0]
        w = turn.weights[g]
        sums[m, 0] += w
        sums[m, 1] += w * u
        sums[other.groups, 0] += w * u * u
    if not other.known:
        _slice(rng, turn, other, sums, outer, other.scales_at, 2.0 / math.sqrt(other.free_groups))
    if not factor.known:
        _slice(rng, turn, other, sums, outer, factor.scales_at, 2.0 / math.sqrt(factor.free_groups))


@helper
def _move_against_parents(rng, turn, k):
    """``v_l + delta_l`` of the groups of another factor, ``v_g - delta_l`` of those in them: a draw of delta.

    Of single effects the scales of both factors are drawn as well, before it: one draw of all three given the sums.
    """
    factor, common, state = turn.factor, turn.common, turn.state
    other = factor_of(turn.model.data.hyper, int(factor.parent_factors[k]))
    a, c = int(factor.parent_effects[k, 0]), int(factor.parent_effects[k, 1])
    parent, q, r = factor.parents[k], factor.n_effects, other.n_effects
    outer = np.empty(other.groups)
    draw_weights(rng, other, common, state, outer)
    if q == 1 and r == 1:
        _move_scales_given_sums(rng, turn, other, parent, outer)
    Q, own = np.empty((q, q)), np.empty((r, r))
    precision(factor, common, state, np.empty((q, q)), Q)
    precision(other, common, state, np.empty((r, r)), own)
    weight, push = np.empty(other.groups), np.empty(other.groups)
    for m in range(other.groups):
        v = own_effects(other, state, m)
        weight[m], push[m] = outer[m] * own[c, c], 0.0
        for e in range(r):
            push[m] -= outer[m] * own[c, e] * v[e]
    for g in range(factor.groups):
        v, m = own_effects(factor, state, g), int(parent[g])
        weight[m] += turn.weights[g] * Q[a, a]
        for e in range(q):
            push[m] += turn.weights[g] * Q[a, e] * v[e]
    for m in range(other.groups):
        push[m] = push[m] / weight[m] + rng.standard_normal() / math.sqrt(weight[m])
        own_effects(other, state, m)[c] += push[m]
    for g in range(factor.groups):
        own_effects(factor, state, g)[a] -= push[int(parent[g])]
    copy_into(turn.there, state)


@part(MoveScales)
def move_parents(rng, address):
    """Kernel (D) for nested groups: shift means against those of every factor whose groups contain them."""
    turn = turn_at(address)
    for k in range(turn.factor.n_parents):
        _move_against_parents(rng, turn, k)
    return NO_FAULT
