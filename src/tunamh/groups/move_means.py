"""(D) of a sweep: the means of groups against what they have in common; no row sees it (spec 5q, `.between`)."""

from __future__ import annotations

import math

import numpy as np

from ..acceptance.base import accepts
from ..compiled import BAD_RATIO, NO_FAULT, helper, part
from ..compiled.triangular import back, cholesky, solve
from ..compiled.vector import copy_into
from ..compiled.windows import window
from .conditionals import own_effects
from .kernel_common import draw_weights, log_prior_of_common, log_prior_of_scales, precision, tau_of
from .layout import factor_of
from .prior_scales import fill_beside_wide
from .roles import MoveScales, turn_at


@helper
def _weighted_gram(columns, weights):
    """``sum_g weight w w'``."""
    r = columns.shape[0]
    gram = np.zeros((r, r))
    for i in range(r):
        for j in range(r):
            for g in range(weights.size):
                gram[i, j] += weights[g] * columns[i, g] * columns[j, g]
    return gram


@helper
def _move_against_common(rng, turn, Q):
    """``b_j + delta_j`` and ``v_g,a - w_gj delta_j``, all such columns together.

    Given the scales, the effects' prior is Gaussian in delta. So is the common parameters' own up to second order at
    the centre: the product is drawn from, and what the prior has beside decides.
    """
    factor, common, model, state, there = turn.factor, turn.common, turn.model, turn.state, turn.there
    q, r = factor.n_effects, factor.n_between
    columns, effects, weights = factor.between, factor.between_effects, factor.between_weights
    pulls = factor.between_pulls
    if factor.df > 0.0:
        gram = _weighted_gram(weights, turn.weights)
    else:
        gram = factor.between_gram
    slope, bend = factor.between_slope, factor.between_hessian
    S, middle, own, delta = np.empty((r, r)), np.empty(r), np.empty(r), np.empty(r)
    beside, pull = np.zeros(common.p), np.zeros(common.p)
    if common.prior_scales > 0:
        fill_beside_wide(common, state, beside, pull)
    for i in range(r):
        own[i] = slope[i] - pull[int(columns[i])]  # of the prior's quadratic, at the state
        for j in range(r):
            at = int(columns[j])
            own[i] += bend[i, j] * (state[at] - common.centre[at])
            S[i, j] = bend[i, j] + Q[int(effects[i]), int(effects[j])] * gram[i, j]
        at = int(columns[i])
        own[i] += beside[at] * (state[at] - common.centre[at])
        S[i, i] += beside[at]
        middle[i] = own[i]
        line, w = Q[int(effects[i])], pulls[i]
        for g in range(factor.groups):
            v, push = own_effects(factor, state, g), 0.0
            for a in range(q):
                push += line[a] * v[a]
            middle[i] -= turn.weights[g] * w[g] * push
    cholesky(S, r)
    for i in range(r):
        if not S[i, i] > 0.0:
            return NO_FAULT
        delta[i] = rng.standard_normal()
    solve(S, r, middle)
    back(S, r, delta)
    log_ratio = -log_prior_of_common(model, common, state)
    for i in range(r):
        delta[i] -= middle[i]
        there[int(columns[i])] += delta[i]
    for i in range(r):
        log_ratio += (own[i] + 0.5 * beside[int(columns[i])] * delta[i]) * delta[i]
        for j in range(r):
            log_ratio += 0.5 * delta[i] * bend[i, j] * delta[j]
    log_ratio += log_prior_of_common(model, common, there)
    if math.isnan(log_ratio):
        return BAD_RATIO
    if not (math.isfinite(log_ratio) and accepts(rng, log_ratio)):
        copy_into(window(there, 0, common.p), window(state, 0, common.p))
        return NO_FAULT
    for i in range(r):
        at, w = int(effects[i]), weights[i]
        for g in range(factor.groups):
            own_effects(factor, there, g)[at] -= w[g] * delta[i]
    copy_into(state, there)
    return NO_FAULT


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
def move_means(rng, address):
    """(D)."""
    turn = turn_at(address)
    factor = turn.factor
    q = factor.n_effects
    Q, root, fault = np.empty((q, q)), np.empty((q, q)), NO_FAULT
    if factor.n_between > 0:
        precision(factor, turn.common, turn.state, root, Q)
        fault = _move_against_common(rng, turn, Q)
    for k in range(factor.n_parents):
        _move_against_parents(rng, turn, k)
    return fault
