"""(B) of a sweep: the effects of every group by themselves, given the rest (spec 5q)."""

from __future__ import annotations

import math

import numpy as np

from .._jit import NO_FAULT, helper
from ..acceptance.base import accepts
from ..acceptance.grouped import batch_of, each_group
from .given import ALL_ROWS, Move, length_of, precision, rows_of
from .groups_given import Way, bound_of_cell, centred, place, standardised, unstandardised, way_of

_WALK = 0.05  # share of (B): a random walk in the place of independent proposals; up to a half for skewed groups
_MORE = 2.0  # moves more of a group in (B) that is skewed


@helper(inline=True)
def _skewness(hyper, factor, g, C):
    """Of a single effect given the rest, as the third derivative says; 0 where there are several effects."""
    if factor.q > 1:
        return 0.0
    return min(abs(hyper[factor.thirds + g]) / (C[0, 0] * C[0, 0] * C[0, 0]), 1.0)


@helper(inline=True)
def _propose_effects(rng, hyper, factor, g, state, there, C, mean, eps, eps_there, skewness):
    """A group's effects at ``there``: independent draws, or a walk, more often where the law is skewed."""
    q, at = factor.q, factor.effects_at + g * factor.q
    standardised(C, q, state, at, mean, eps, 0)
    walk = rng.random() < _WALK + (0.5 - _WALK) * skewness
    width = math.exp(rng.random() - 0.7) if walk else 1.0
    log_rho = 0.0
    for a in range(q):
        eps_there[a] = width * rng.standard_normal() + (eps[0, a] if walk else 0.0)
        if walk:
            log_rho += 0.5 * (eps[0, a] * eps[0, a] - eps_there[a] * eps_there[a])
    unstandardised(C, q, eps_there, mean, there, at)
    return log_rho


@helper
def move_effects(rng, hyper, factor, common, state, there, kappa, away, full, model, work):
    """(B). ``state`` is moved in place; ``there`` equals it before and after.

    Rounds: all groups in the first, in further ones those that are skewed. The rows of all groups are read together.
    """
    p, q, G = common.p, factor.q, factor.groups
    Q, root, C, own = np.empty((q, q)), np.empty((q, q)), np.empty((q, q)), np.empty(q)
    mean, eps, eps_there = np.empty(q), np.empty((1, q)), np.empty(q)
    before, after, work_vector = np.empty(q), np.empty(q), np.empty(q)
    b = np.empty(p)
    for j in range(p):
        b[j] = state[j] - common.centre[j]
    precision(hyper, factor, state, root, Q)
    length = length_of(hyper, factor.metric, b, b, 0.0, p)
    table, beta = rows_of(hyper, factor, model), ALL_ROWS if full else 1.0
    owner, batches = np.zeros(factor.all_cells, np.int64), np.zeros(factor.all_cells, np.int64)
    distances, log_ratios, rounds = np.zeros(factor.all_cells), np.zeros(G), np.zeros(G, np.int64)
    accepted, moves, rows, worst, most = 0.0, 0.0, 0, 0.0, 1
    k = 0
    while k < most:
        for g in range(G):
            log_ratios[g] = 0.0
            moving = hyper[factor.pinned + g] == 0.0 and (k == 0 or rounds[g] > k)
            if moving:
                at = factor.effects_at + g * q
                place(hyper, factor, g, kappa, b, p, Q, C, mean, own)
                skewness = _skewness(hyper, factor, g, C)
                rounds[g] = 1 + int(_MORE * skewness)
                most = max(most, rounds[g])
                log_ratios[g] = _propose_effects(rng, hyper, factor, g, state, there, C, mean, eps, eps_there, skewness)
                centred(hyper, factor, g, b, p, state, at, before)
                centred(hyper, factor, g, b, p, there, at, after)
                way = way_of(hyper, factor, g, before, after, length, 0.0, 2.0 * length, work_vector)
            else:
                way = Way(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
            for c in range(int(hyper[factor.cells + g]), int(hyper[factor.cells + g + 1])):
                owner[c] = g
                distances[c] = bound_of_cell(hyper, factor, c, way, away[c]) if moving else 0.0
                size = hyper[factor.first + c + 1] - hyper[factor.first + c]
                batches[c] = batch_of(rng, hyper[factor.total + c], distances[c], beta, size)
        seen = each_group(rng, state, there, log_ratios, owner, batches, distances, beta, table, model, work)
        if seen.fault != NO_FAULT:
            return Move(0.0, -np.inf, rows, worst, seen.fault, False)
        rows += seen.rows
        worst = max(worst, seen.worst)
        for g in range(G):
            if hyper[factor.pinned + g] > 0.0 or rounds[g] <= k:
                continue
            moves += 1.0
            at = factor.effects_at + g * q
            if accepts(rng, log_ratios[g]):
                accepted += 1.0
                for a in range(q):
                    state[at + a] = there[at + a]
            else:
                for a in range(q):
                    there[at + a] = state[at + a]
        k += 1
    return Move(accepted / max(moves, 1.0), 0.0, rows, worst, NO_FAULT, False)
