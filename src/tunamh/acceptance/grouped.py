"""The Poisson-thinned test for rows in groups, each with a distance of its own (spec 5r).

    |U_i(prop) - U_i(theta)| <= c_i M_g(i)(theta, prop)

Theorem A asks for nothing but symmetric bounds ``c_i M_g``, one per row. The stream of all rows is the superposition of
the groups' streams: ``Poisson(beta sum_g C_g M_g)`` rows, of which each belongs to group ``g`` with probability ``C_g
M_g / sum``, and is then drawn from it by its fixed law ``c_i / C_g``. A group whose stream would cost more than its
rows, or whose bound does not hold at this pair of points (``M_g`` infinite), is read in order: its rows' rises add up
in the ratio exactly. Which groups are, depends on the pair and not on its direction, so the chain stays reversible.
With one group this is `tunamh.acceptance.thinned` with ``gamma = 0``, the rates of MH-SS.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .._jit import BLOCK, NO_FAULT, helper
from .._random import poisson
from ..theory import FiniteProblem, thinned_acceptance
from .base import within_rounding
from .thinned import FULL_PASS_SHARE, log_ratio_of_kept, rate

GAMMA = 0.0


class Seen(NamedTuple):
    """What rows said about a move: the log ratio so far, how many were read, the largest ``|rise| / bound``."""

    log_ratio: float
    rows: int
    worst: float
    fault: int


class GroupRows(NamedTuple):
    """Rows in the order of their groups: where each group begins, row numbers, alias tables within groups, ``c_i``."""

    first: Any
    order: Any
    keep: Any
    other: Any
    bounds: Any


IN_ORDER = -1
"""In the place of a batch: all rows of the group are read."""


@helper(inline=True)
def group_in_order(batch, rows):
    """Whether a group is read in order, given the mean batch that its stream would take; an infinite one is."""
    return not batch < FULL_PASS_SHARE * rows


@helper
def _hold(theta, prop, model, work, distances, n):
    """Turn ``n`` rises into ``x_i``, cutting what exceeds 1 by rounding: the largest ``|x_i|``, and a row at fault."""
    worst = 0.0
    x = work.rise
    for b in range(n):
        bound = work.bound[b] * distances[b]  # of this factor: the rows' own column may be another's
        ratio = x[b] / bound if bound > 0.0 else (0.0 if x[b] == 0.0 else np.inf)
        if not abs(ratio) <= 1.0:
            if not within_rounding(theta, prop, model, work.index[b], x[b], bound):
                return worst, work.index[b]
            ratio = math.copysign(1.0, ratio) if x[b] != 0.0 else 0.0
        x[b] = ratio
        worst = max(worst, abs(ratio))
    return worst, NO_FAULT


@helper
def whole_group(theta, prop, g, table, distance, model, work):
    """``sum U_i(prop) - U_i(theta)`` over the rows of a group, each held against its bound where there is one."""
    start, end = int(table.first[g]), int(table.first[g + 1])
    total, worst = 0.0, 0.0
    for block in range(start, end, BLOCK):
        n = min(BLOCK, end - block)
        for b in range(n):
            work.index[b] = int(table.order[block + b])
        model.differences(theta, prop, work.index, 0, n, model.data, work.rise, work.bound)
        for b in range(n):
            rise = work.rise[b]
            if not math.isfinite(rise):
                return Seen(0.0, 0, worst, work.index[b])
            if distance < np.inf:
                bound = table.bounds[block + b] * distance
                if abs(rise) > bound:
                    if not within_rounding(theta, prop, model, work.index[b], rise, bound):
                        return Seen(0.0, 0, worst, work.index[b])
                    worst = 1.0
                elif bound > 0.0:
                    worst = max(worst, abs(rise) / bound)
            total += rise
    return Seen(total, end - start, worst, NO_FAULT)


@helper(inline=True)
def _draw_in(rng, g, table):
    """The place in ``order`` of a row of group ``g``, by its law: Walker's alias method within the group."""
    start = int(table.first[g])
    n = int(table.first[g + 1]) - start
    place = rng.random() * n
    cell = min(int(place), n - 1)
    k = start + cell
    return k if place - cell < table.keep[k] else start + int(table.other[k])


@helper(inline=True)
def batch_of(rng, total, distance, beta, rows):
    """How many rows of a group are drawn, or `IN_ORDER`; ``total`` is its ``C_g``."""
    mean = beta * total * distance if distance < np.inf else distance
    if mean == 0.0:
        return 0
    return IN_ORDER if group_in_order(mean, rows) else poisson(rng, mean)


@helper
def _add_rows(n, at, whose, uniform, distance, theta, prop, beta, table, model, work, log_ratios):
    """What ``n`` drawn rows say, each for its own group: the largest ``|x_i|``, and a row at fault."""
    for b in range(n):
        work.index[b] = int(table.order[at[b]])
    model.differences(theta, prop, work.index, 0, n, model.data, work.rise, work.bound)
    for b in range(n):
        work.bound[b] = table.bounds[at[b]]
    worst, fault = _hold(theta, prop, model, work, distance, n)
    if fault == NO_FAULT:
        for b in range(n):
            forward = rate(work.rise[b], beta, GAMMA)
            if uniform[b] * beta < forward:
                log_ratios[whose[b]] += math.log(rate(-work.rise[b], beta, GAMMA) / forward)
    return worst, fault


@helper
def each_group(rng, theta, prop, log_ratios, owner, batches, distances, beta, table, model, work):
    """Add to ``log_ratios[owner[c]]`` what the rows of set ``c`` say, ``batches[c]`` of them: groups that decide apart.

    ``prop`` has moved in all groups. A row sees its own group's move alone, so that rows of many groups can be read in
    one block: a call for every group would cost several times as much. A group may own several sets of rows.
    """
    at, whose = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    uniform, distance = np.empty(BLOCK), np.empty(BLOCK)
    n, rows, worst = np.int64(0), 0, 0.0  # a plain 0 would be a type of its own, for which more is compiled
    for c in range(batches.size):
        if batches[c] == IN_ORDER:
            seen = whole_group(theta, prop, c, table, distances[c], model, work)
            if seen.fault != NO_FAULT:
                return Seen(0.0, rows, worst, seen.fault)
            log_ratios[owner[c]] -= seen.log_ratio
            rows += seen.rows
            worst = max(worst, seen.worst)
            continue
        for _ in range(batches[c]):
            at[n] = _draw_in(rng, c, table)
            whose[n], uniform[n], distance[n] = owner[c], rng.random(), distances[c]
            n += 1
            if n == BLOCK:
                larger, fault = _add_rows(
                    n, at, whose, uniform, distance, theta, prop, beta, table, model, work, log_ratios
                )
                if fault != NO_FAULT:
                    return Seen(0.0, rows, worst, fault)
                rows, worst, n = rows + n, max(worst, larger), 0
    larger, fault = _add_rows(n, at, whose, uniform, distance, theta, prop, beta, table, model, work, log_ratios)
    return Seen(0.0, rows + n, max(worst, larger), fault)


@helper
def all_groups(rng, theta, prop, log_rho, totals, distances, beta, table, model, work):
    """The ratio of a move that touches rows of all groups; ``distances`` are the groups' ``M_g``."""
    G = distances.size
    cumulated, sum_of = np.empty(G), 0.0
    log_ratio, worst, rows = log_rho, 0.0, 0
    for g in range(G):
        mean = beta * totals[g] * distances[g] if distances[g] < np.inf else distances[g]
        if mean > 0.0 and group_in_order(mean, table.first[g + 1] - table.first[g]):
            seen = whole_group(theta, prop, g, table, distances[g], model, work)
            if seen.fault != NO_FAULT:
                return Seen(0.0, rows, worst, seen.fault)
            log_ratio -= seen.log_ratio
            rows += seen.rows
            worst = max(worst, seen.worst)
        else:
            sum_of += mean
        cumulated[g] = sum_of
    batch = poisson(rng, sum_of) if sum_of > 0.0 else 0
    uniform, distance, at = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK, np.int64)
    done = 0
    while done < batch:
        n = min(batch - done, BLOCK)
        for b in range(n):
            point = rng.random() * sum_of
            g = min(np.searchsorted(cumulated, point, side="right"), G - 1)
            at[b] = _draw_in(rng, g, table)
            work.index[b] = int(table.order[at[b]])
            distance[b] = distances[g]
            uniform[b] = rng.random()
        model.differences(theta, prop, work.index, 0, n, model.data, work.rise, work.bound)
        for b in range(n):
            work.bound[b] = table.bounds[at[b]]
        larger, fault = _hold(theta, prop, model, work, distance, n)
        if fault != NO_FAULT:
            return Seen(0.0, rows, worst, fault)
        worst = max(worst, larger)
        log_ratio += log_ratio_of_kept(n, work.rise, uniform, 0, beta, GAMMA)
        done += n
    return Seen(log_ratio, rows + done, worst, NO_FAULT)


def finite_acceptance(
    problem: FiniteProblem, groups: np.ndarray, distances: np.ndarray, beta: float, here: int, there: int
) -> float:
    """The exact acceptance probability on a finite problem; ``distances[g]`` is the (K, K) matrix of ``M_g``."""
    log_rho = problem.log_rho(here, there)
    rise = problem.energies[:, there] - problem.energies[:, here]
    distance = np.asarray(distances)[:, here, there]
    bound = problem.c * distance[groups]
    thinned = np.ones(len(rise), bool)
    for g in range(len(distance)):
        rows = groups == g
        if group_in_order(beta * float(bound[rows].sum()), float(rows.sum())):
            thinned[rows] = False
            log_rho -= float(rise[rows].sum())
    return thinned_acceptance(log_rho, rise[thinned], bound[thinned], beta=beta, gamma=GAMMA)
