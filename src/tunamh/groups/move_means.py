"""(D) of a sweep: the means of groups against common parameters; no row sees it (spec 5q, `.between`).

Means of nested groups against those that hold them: `.move_parents`.
"""

from __future__ import annotations

import math

import numpy as np

from ..acceptance.base import accepts
from ..compiled import BAD_RATIO, NO_FAULT, helper, part
from ..compiled.triangular import back, cholesky, solve
from ..compiled.vector import copy_into
from ..compiled.windows import window
from .conditionals import own_effects
from .kernel_common import log_prior_of_common, precision
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
    factor, common, state, there = turn.factor, turn.common, turn.state, turn.there
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
    log_ratio = -log_prior_of_common(turn.prior, common, state)
    for i in range(r):
        delta[i] -= middle[i]
        there[int(columns[i])] += delta[i]
    for i in range(r):
        log_ratio += (own[i] + 0.5 * beside[int(columns[i])] * delta[i]) * delta[i]
        for j in range(r):
            log_ratio += 0.5 * delta[i] * bend[i, j] * delta[j]
    log_ratio += log_prior_of_common(turn.prior, common, there)
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


@part(MoveScales)
def move_means(rng, address):
    """Kernel (D) of a sweep: shift the means of groups against common parameters. No row is read."""
    turn = turn_at(address)
    factor = turn.factor
    q = factor.n_effects
    Q, root, fault = np.empty((q, q)), np.empty((q, q)), NO_FAULT
    if factor.n_between > 0:
        precision(factor, turn.common, turn.state, root, Q)
        fault = _move_against_common(rng, turn, Q)
    return fault
