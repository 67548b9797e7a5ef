"""(B) of a sweep: the effects of every group by themselves, given the rest (spec 5q).

One uniform says for all groups which of them walk, and one how far: given both, every group's move is a kernel of its
own that keeps the posterior, and neither depends on the state.
"""

from __future__ import annotations

import math

import numpy as np

from ..acceptance.base import accepts
from ..acceptance.grouped import read_groups
from ..compiled import NO_FAULT, helper
from ..compiled.windows import window
from .conditionals import bent_beside, fill_cubics, fill_distances, place, standardised, unstandardised
from .kernel_common import ALL_ROWS, Move, length_of, precision, rows_of
from .one_effect import WALK, propose_single


@helper
def _propose_several(rng, hyper, factor, Q, k, u, width, moving, state, there, log_ratios):
    """Several effects per group: independent draws, or walks; see `.single.propose_single`."""
    q, walk = factor.q, u < WALK
    C, mean, eps, drawn = np.empty((q, q)), np.empty(q), np.empty((q, 1)), np.empty(q)
    for g in range(factor.groups):
        log_ratios[g] = 0.0
        if not moving[g]:
            continue
        at = factor.effects_at + g * q
        place(hyper, factor, g, k, Q, C, mean)
        standardised(C, q, state, at, mean, eps, 0)
        for a in range(q):
            drawn[a] = rng.standard_normal()
            if walk:
                drawn[a] = eps[a, 0] + width * drawn[a]
                log_ratios[g] += 0.5 * (eps[a, 0] * eps[a, 0] - drawn[a] * drawn[a])
        unstandardised(C, q, drawn, mean, there, at)
        log_ratios[g] += bent_beside(hyper, factor, g, state, at) - bent_beside(hyper, factor, g, there, at)


@helper
def _decide(rng, factor, moving, log_ratios, state, there):
    """Every group that is moving goes or stays; how many go."""
    q, accepted = factor.q, 0.0
    for g in range(factor.groups):
        if moving[g]:
            at = factor.effects_at + g * q
            if accepts(rng, log_ratios[g]):
                accepted += 1.0
                for a in range(q):
                    state[at + a] = there[at + a]
            else:
                for a in range(q):
                    there[at + a] = state[at + a]
    return accepted


@helper
def move_effects(rng, hyper, factor, common, state, there, given, away, full, model, work):
    """(B). ``state`` is moved in place; ``there`` equals it before and after. ``given`` is that at ``b``.

    Rounds: all groups in the first, in further ones those that are skewed. The rows of all groups are read together.
    """
    p, q, G, cells = common.p, factor.q, factor.groups, factor.all_cells
    Q, root, b = np.empty((q, q)), np.empty((q, q)), np.empty(p)
    for j in range(p):
        b[j] = state[j] - common.centre[j]
    precision(hyper, factor, common, state, root, Q)
    length = length_of(hyper, factor.metric, b, b, 0.0, p)
    here_of, there_of, cubics, cubics_there = np.zeros(cells), np.zeros(cells), np.zeros(G), np.zeros(G)
    table, beta = rows_of(hyper, factor, model, here_of, there_of), ALL_ROWS if full else 1.0
    totals, owner = window(hyper, factor.total, cells), np.empty(cells, np.int64)
    for c in range(cells):
        owner[c] = int(hyper[factor.owner + c])
    distances, log_ratios = np.empty(cells), np.empty(G)
    moving, rounds = np.empty(G, np.bool_), np.ones(G)
    accepted, moves, rows, worst, done, left = 0.0, 0.0, 0, 0.0, 0, factor.free_groups
    for g in range(G):
        moving[g] = hyper[factor.free + g] > 0.0
    while left > 0.0:
        u, width = rng.random(), math.exp(rng.random() - 0.7)
        if q == 1:
            propose_single(
                rng, hyper, factor, Q[0, 0], given.slopes[0], u, width, moving, state, there, log_ratios, rounds
            )
        else:
            _propose_several(rng, hyper, factor, Q, given.slopes, u, width, moving, state, there, log_ratios)
        fill_cubics(hyper, factor, given.leans, given.turns, state, here_of, cubics)
        fill_cubics(hyper, factor, given.leans, given.turns, there, there_of, cubics_there)
        for g in range(G):
            log_ratios[g] += cubics[g] - cubics_there[g]
            if not math.isfinite(log_ratios[g]):  # (A) has seen that the state is a number: the proposal overflowed
                log_ratios[g] = -np.inf
        lengths = (length, 0.0, 2.0 * length)
        fill_distances(
            hyper, factor, given.leans, given.leans, lengths, state, there, here_of, there_of, away, distances
        )
        seen = read_groups(rng, state, there, log_ratios, owner, totals, distances, beta, table, model, work)
        if seen.fault != NO_FAULT:
            return Move(0.0, -np.inf, rows, worst, seen.fault, False)
        rows, worst = rows + seen.rows, max(worst, seen.worst)
        accepted += _decide(rng, factor, moving, log_ratios, state, there)
        moves, done, left = moves + left, done + 1, 0.0
        for g in range(G):
            moving[g] = moving[g] and rounds[g] > done
            left += moving[g]
    return Move(accepted / max(moves, 1.0), 0.0, rows, worst, NO_FAULT, False)
