"""The effects of related levels all together, given the rest (spec 5q); levels by themselves cannot go far alone."""

from __future__ import annotations

import math

import numpy as np

from ..acceptance.base import accepts
from ..acceptance.grouped import GroupDecisions, GroupMove, read_groups
from ..compiled import BAD_RATIO, NO_FAULT, part
from ..compiled.vector import copy_into
from .conditionals import End, fill_cubics, fill_distances, fill_given, follow, stand
from .kernel_common import ALL_ROWS, Move, length_of, precision, rows_of
from .move_common import rows_beside
from .one_effect import sum_over_groups
from .roles import MoveRows, turn_at

_SHORTEST, _LONGEST = -3.5, 1.0  # logarithms of the share of eps that is new; beyond 1 all of it is


@part(MoveRows)
def move_together(rng, address):
    """Move the effects of related levels together: ``eps' = rho eps + sqrt(1 - rho^2) xi``, decided on all rows.

    The length of the step does not depend on the state. ``eps`` is standard normal under the quadratic function, so the
    proposal ratio is the ratio of standard normal densities.
    """
    turn = turn_at(address)
    factor, common, state, there, given = turn.factor, turn.common, turn.state, turn.there, turn.given
    p, G = factor.p, factor.groups
    Q, root, eps, b = np.empty((1, 1)), np.empty((1, 1)), np.empty((1, G)), np.empty(p)
    for j in range(p):
        b[j] = state[j] - common.centre[j]
    fill_given(factor, turn.kappa, b, given)
    precision(factor, common, state, root, Q)
    cubics = np.zeros(G)
    here_of, there_of = np.zeros(factor.n_cells), np.zeros(factor.n_cells)
    fall = stand(factor, turn.weights, Q, given.slopes, state, eps)
    fill_cubics(factor, given, state, here_of, cubics)
    fall += sum_over_groups(cubics)
    if not math.isfinite(fall):
        return Move(0.0, -np.inf, 0, 0.0, BAD_RATIO, False)
    fresh = min(math.exp(_SHORTEST + (_LONGEST - _SHORTEST) * rng.random()), 1.0)
    keep, log_q = math.sqrt(1.0 - fresh * fresh), 0.0
    for j in range(G):
        log_q -= 0.5 * eps[0, j] * eps[0, j]
        eps[0, j] = keep * eps[0, j] + fresh * rng.standard_normal()
        log_q += 0.5 * eps[0, j] * eps[0, j]
    rise = follow(factor, turn.weights, Q, given.slopes, eps, there)
    fill_cubics(factor, given, there, there_of, cubics)
    rise += sum_over_groups(cubics)
    if not math.isfinite(rise):
        copy_into(there, state)
        return Move(0.0, -np.inf, 0, 0.0, NO_FAULT, False)
    length = length_of(factor.metric, b, b, 0.0)
    distances = np.empty(factor.n_cells)
    ends = End(state, given.leans, here_of), End(there, given.leans, there_of)
    fill_distances(factor, ends[0], ends[1], (length, 0.0, 2.0 * length), turn.away, distances)
    beta = ALL_ROWS if turn.full else rows_beside(factor.bound_total, distances)
    log_ratio, owner = np.full(1, log_q + fall - rise), np.zeros(factor.n_cells, np.int64)
    move = GroupMove(state, there, rows_of(factor, here_of, there_of), distances, beta, turn.model, turn.work)
    seen = read_groups(rng, move, GroupDecisions(log_ratio, owner))
    if seen.fault != NO_FAULT:
        return Move(0.0, -np.inf, seen.rows, seen.worst, seen.fault, False)
    if accepts(rng, log_ratio[0]):
        copy_into(state, there)
        return Move(1.0, log_ratio[0], seen.rows, seen.worst, NO_FAULT, False)
    copy_into(there, state)
    return Move(0.0, log_ratio[0], seen.rows, seen.worst, NO_FAULT, False)
