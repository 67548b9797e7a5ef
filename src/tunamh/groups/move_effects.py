"""(B) of a sweep: the effects of every group by themselves, given the rest (spec 5q).

One uniform says for all groups which of them walk, and one how far: given both, every group's move is a kernel of its
own that keeps the posterior, and neither depends on the state.
"""

from __future__ import annotations

import math

import numpy as np

from ..acceptance.base import accepts
from ..acceptance.grouped import GroupDecisions, GroupMove, read_groups
from ..compiled import NO_FAULT, helper, part
from .conditionals import (
    End,
    bent_beside,
    fill_cubics,
    fill_distances,
    own_effects,
    place,
    standardised,
    unstandardised,
)
from .kernel_common import ALL_ROWS, Move, length_of, precision, rows_of, squared_length
from .one_effect import WALK, Round, Walk, propose_single
from .related import draw_pulls
from .roles import MoveRows, turn_at

_DILATE = 0.2  # share of (B) that is a dilation, where effects are Student-t
_LONGEST = 2.0  # of the logarithm of its factor


@helper
def _dilate(rng, turn, g, Q, C, mean, eps):
    """Multiply the Student-t effects of a group by ``e^z``, ``z`` uniform about 0; the log ratio without their rows.

    Where all rows of a group are of one kind, its effects reach far beyond the curvature at their mode, by which
    independent draws and walks are made. The Jacobian of a dilation of q numbers is ``e^(q z)``, and ``z`` is as likely
    as ``-z``. The group's weight is integrated out: what ``C`` has of it is replaced by the Student-t density. It is
    drawn anew before it is used again.
    """
    factor, q, z = turn.factor, mean.size, _LONGEST * (2.0 * rng.random() - 1.0)
    here, there = own_effects(factor, turn.state, g), own_effects(factor, turn.there, g)
    size, df, weight = squared_length(factor, turn.state, g, Q), factor.df, turn.weights[g]
    larger = math.exp(2.0 * z) * size
    ratio = q * z + 0.5 * weight * (larger - size) - 0.5 * (df + q) * math.log((df + larger) / (df + size))
    standardised(C, q, here, mean, eps, 0)
    for a in range(q):
        ratio += 0.5 * eps[a, 0] * eps[a, 0]
        there[a] = math.exp(z) * here[a]
    standardised(C, q, there, mean, eps, 0)
    for a in range(q):
        ratio -= 0.5 * eps[a, 0] * eps[a, 0]
    return ratio


@helper
def _propose_several(rng, turn, Q, walk, of_groups):
    """Several effects per group: independent draws, walks or dilations; see `.one_effect.propose_single`."""
    factor, k, log_ratios = turn.factor, turn.given.slopes, of_groups.log_ratios
    q, walks = factor.n_effects, walk.u < WALK
    dilates = factor.df > 0.0 and walk.u > 1.0 - _DILATE
    C, mean, eps, drawn = np.empty((q, q)), np.empty(q), np.empty((q, 1)), np.empty(q)
    for g in range(factor.groups):
        log_ratios[g] = 0.0
        if not of_groups.moving[g]:
            continue
        here, there = own_effects(factor, turn.state, g), own_effects(factor, turn.there, g)
        place(factor, g, k, turn.weights[g], Q, C, mean)
        if dilates:
            log_ratios[g] = _dilate(rng, turn, g, Q, C, mean, eps)
        else:
            standardised(C, q, here, mean, eps, 0)
            for a in range(q):
                drawn[a] = rng.standard_normal()
                if walks:
                    drawn[a] = eps[a, 0] + walk.width * drawn[a]
                    log_ratios[g] += 0.5 * (eps[a, 0] * eps[a, 0] - drawn[a] * drawn[a])
            unstandardised(C, q, drawn, mean, there)
        log_ratios[g] += bent_beside(factor, g, here) - bent_beside(factor, g, there)


@helper
def _decide(rng, turn, of_groups):
    """Every group that is moving goes or stays; how many go."""
    factor, accepted = turn.factor, 0.0
    for g in range(factor.groups):
        if of_groups.moving[g]:
            here, there = own_effects(factor, turn.state, g), own_effects(factor, turn.there, g)
            if accepts(rng, of_groups.log_ratios[g]):
                accepted += 1.0
                for a in range(factor.n_effects):
                    here[a] = there[a]
            else:
                for a in range(factor.n_effects):
                    there[a] = here[a]
    return accepted


@part(MoveRows)
def move_effects(rng, address):
    """Kernel (B) of a sweep: update the effects of every group, given everything else (spec 5q).

    ``given`` of the turn contains the slopes and the leans at the present ``b``.

    It works in rounds: the first round moves all groups, further rounds move those with a skewed law. The rows of all
    groups are read together.
    """
    turn = turn_at(address)
    factor, common, state, there, given = turn.factor, turn.common, turn.state, turn.there, turn.given
    p, q, G, cells = factor.p, factor.n_effects, factor.groups, factor.n_cells
    Q, root, b = np.empty((q, q)), np.empty((q, q)), np.empty(p)
    for j in range(p):
        b[j] = state[j] - common.centre[j]
    precision(factor, common, state, root, Q)
    if factor.n_related > 0:
        draw_pulls(rng, factor, Q[0, 0], state, given.slopes[0], turn.weights)
    length = length_of(factor.metric, b, b, 0.0)
    lengths = (length, 0.0, 2.0 * length)
    cubics, cubics_there = np.zeros(G), np.zeros(G)
    here_end, there_end = End(state, given.leans, np.zeros(cells)), End(there, given.leans, np.zeros(cells))
    table, beta = rows_of(factor, here_end.centred, there_end.centred), ALL_ROWS if turn.full else 1.0
    owner, group = np.empty(cells, np.int64), factor.cell_group
    for c in range(cells):
        owner[c] = int(group[c])
    distances, log_ratios = np.empty(cells), np.empty(G)
    moving, rounds, free = np.empty(G, np.bool_), np.ones(G), factor.free
    of_groups, decisions = Round(moving, log_ratios, rounds), GroupDecisions(log_ratios, owner)
    move = GroupMove(state, there, table, distances, beta, turn.model, turn.work)
    accepted, moves, rows, worst, done, left = 0.0, 0.0, 0, 0.0, 0, factor.free_groups
    for g in range(G):
        moving[g] = free[g] > 0.0
    while left > 0.0:
        walk = Walk(rng.random(), math.exp(rng.random() - 0.7))
        if q == 1 and factor.df == 0.0 and factor.n_related == 0:
            propose_single(rng, turn, Q[0, 0], walk, of_groups)
        else:
            _propose_several(rng, turn, Q, walk, of_groups)
        fill_cubics(factor, given, state, here_end.centred, cubics)
        fill_cubics(factor, given, there, there_end.centred, cubics_there)
        for g in range(G):
            log_ratios[g] += cubics[g] - cubics_there[g]
            if not math.isfinite(log_ratios[g]):  # (A) has seen that the state is a number: the proposal overflowed
                log_ratios[g] = -np.inf
        fill_distances(factor, here_end, there_end, lengths, turn.away, distances)
        seen = read_groups(rng, move, decisions)
        if seen.fault != NO_FAULT:
            return Move(0.0, -np.inf, rows, worst, seen.fault, False)
        rows, worst = rows + seen.rows, max(worst, seen.worst)
        accepted += _decide(rng, turn, of_groups)
        moves, done, left = moves + left, done + 1, 0.0
        for g in range(G):
            moving[g] = moving[g] and rounds[g] > done
            left += moving[g]
    return Move(accepted / max(moves, 1.0), 0.0, rows, worst, NO_FAULT, False)
