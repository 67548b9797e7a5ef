"""The Poisson-thinned test for rows in groups, each with a distance of its own (spec 5r).

    |U_i(prop) - U_i(theta)| <= c_i M_g(i)(theta, prop)

Theorem A asks for nothing but symmetric bounds ``c_i M_g``, one per row. The groups' streams are one Poisson process:
on a line where group ``g`` is ``beta C_g M_g`` long, points follow each other at exponential distances, and a point in
a group's stretch is a row of it, drawn by its fixed law ``c_i / C_g``. A group without a point costs no random number.
A group whose stream would cost more than its rows, or whose bound does not hold at this pair of points (``M_g``
infinite), is read in order: its rows' rises add up in the ratio exactly. Which groups are, depends on the pair and not
on its direction, so the chain stays reversible. With one group this is `tunamh.acceptance.thinned` with ``gamma = 0``,
the rates of MH-SS.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..compiled import BLOCK, NO_FAULT, helper
from ..compiled.vector import prefetch
from ..theory import FiniteProblem, thinned_acceptance
from .base import within_rounding
from .thinned import FULL_PASS_SHARE, rate

GAMMA = 0.0


class Seen(NamedTuple):
    """What the rows of a move have shown: how many were read, the largest ``|rise| / bound``, and a row at fault."""

    rows: int
    worst: float
    fault: int


class GroupRows(NamedTuple):
    """Rows in the order of their groups: where each group begins, ``C``, and four numbers for every position.

    The four numbers are `ROW`, the row's number; `BOUND`, its ``c_i``; `KEEP` and `OTHER`, Walker's alias table within
    the group. They are stored together, because all of them are needed when a row is drawn.

    If a position has three more numbers, the energies of the rows do not contain a cubic part, which is known in closed
    form. This part is ``f''' z^2 c^2 (3 t - 2 z c) / 6`` at either end of the move. Here ``t`` is the displacement of
    the row from `CENTRE`, ``z`` is its `COLUMN`, and ``c`` is the displacement of its group, in ``here`` and ``there``.
    `THIRD` is ``f''' z^2`` (spec 5r).
    """

    first: Any
    places: Any
    totals: Any
    here: Any
    there: Any


class GroupMove(NamedTuple):
    """A move and what is needed to decide on it: ``distances`` are the ``M`` of the groups.

    For ``beta`` see `thinned`.
    """

    theta: Any
    prop: Any
    table: Any
    distances: Any
    beta: Any
    model: Any
    work: Any


class GroupDecisions(NamedTuple):
    """The decisions of a move: the log ratio of every decision, and the decision to which each group belongs."""

    log_ratios: Any
    owner: Any


class _Drawn(NamedTuple):
    """A block of drawn rows: the place of each, what is left to choose its alias by, its group, and a uniform."""

    at: Any
    rest: Any
    group: Any
    uniform: Any


ROW, BOUND, KEEP, OTHER, THIRD, COLUMN, CENTRE = range(7)
PLACE, CUBIC_PLACE = 4, 7
"""Numbers of a place, and of one where energies are without their cubic part."""


@helper(inline=True)
def group_in_order(batch, rows):
    """Return True if the rows of a group are read in order and not drawn.

    This depends on the mean batch size that drawing would need; an infinite batch means reading in order.
    """
    return not batch < FULL_PASS_SHARE * rows


@helper(inline=True)
def _cubic_rise(table, k, g, before, after):
    """How much the cubic part of the row at place ``k``, of group ``g``, rises; its predictor goes as said."""
    third, z, centre = table.places[k, THIRD] / 6.0, table.places[k, COLUMN], table.places[k, CENTRE]
    c, d = table.here[g], table.there[g]
    return third * (d * d * (3.0 * (after - centre) - 2.0 * z * d) - c * c * (3.0 * (before - centre) - 2.0 * z * c))


_FARTHEST = 1e12
"""A move that changes what is left of a row's energy by more is rejected, back and forth.

What is known in closed form is then as large, cancels it, and leaves rounding to decide (1e12 times 1e-16 is a
ten-thousandth). As a rule about the size of a change it is symmetric, so detailed balance holds.
"""


@helper
def _has_energy(theta, model, row):
    """Whether a row's energy is a number."""
    index, energy = np.array([row]), np.empty(1)
    model.energies(theta, index, 1, model.data, energy)
    return math.isfinite(energy[0])


@helper
def _whole_group(move, g, start, end):
    """``sum U_i(prop) - U_i(theta)`` over the rows of a group, each held against its bound where there is one.

    +infinity where a row's energy overflows at ``prop``, as its density is zero there, or changes so much that rounding
    would decide. An energy at ``theta`` that is no number is a fault.
    """
    theta, prop, table, model, work = move.theta, move.prop, move.table, move.model, move.work
    total, worst, cubic, distance = 0.0, 0.0, table.places.shape[1] == CUBIC_PLACE, move.distances[g]
    for block in range(start, end, BLOCK):
        n = min(BLOCK, end - block)
        for b in range(n):
            work.index[b] = int(table.places[block + b, ROW])
        model.differences(theta, prop, work.index, 0, n, model.data, work.rise, work.bound)
        for b in range(n):
            rise = work.rise[b]
            if cubic:
                rise -= _cubic_rise(table, block + b, g, model.data.eta[b], model.data.eta_prop[b])
            if not math.isfinite(rise):
                row = work.index[b]
                return np.inf, worst, NO_FAULT if _has_energy(theta, model, row) else row
            if distance < np.inf:
                bound = table.places[block + b, BOUND] * distance
                if abs(rise) > bound:
                    if not within_rounding(theta, prop, model, work.index[b], rise, bound):
                        return 0.0, worst, work.index[b]
                    worst = 1.0
                elif bound > 0.0:
                    worst = max(worst, abs(rise) / bound)
            if abs(rise) > _FARTHEST:
                return np.inf, worst, NO_FAULT
            total += rise
    return total, worst, NO_FAULT


@helper(inline=True)
def _point_in(rng, start, end, table):
    """A place of a group, and what is left of it to decide between its row and the alias; its line is asked for."""
    n = end - start
    point = rng.random() * n
    cell = min(int(point), n - 1)
    prefetch(table.places, table.places.shape[1] * (start + cell))
    return start + cell, point - cell


@helper
def _add_drawn(n, drawn, move, decisions):
    """What ``n`` drawn rows say, each for the decision that it belongs to: the largest ``|x_i|``, a row at fault."""
    at, rest, group, uniform = drawn
    theta, prop, table, beta, model, work = move.theta, move.prop, move.table, move.beta, move.model, move.work
    distances, log_ratios, owner = move.distances, decisions.log_ratios, decisions.owner
    for b in range(n):
        if rest[b] >= table.places[at[b], KEEP]:
            at[b] = int(table.first[group[b]]) + int(table.places[at[b], OTHER])
        work.index[b] = int(table.places[at[b], ROW])
    model.differences(theta, prop, work.index, 0, n, model.data, work.rise, work.bound)
    worst, cubic = 0.0, table.places.shape[1] == CUBIC_PLACE
    for b in range(n):
        rise, g = work.rise[b], group[b]
        if cubic:
            rise -= _cubic_rise(table, at[b], g, model.data.eta[b], model.data.eta_prop[b])
        bound = table.places[at[b], BOUND] * distances[g]  # of this factor, not the row's own
        x = rise / bound if bound > 0.0 else (0.0 if rise == 0.0 else np.inf)
        if not abs(x) <= 1.0:
            if not within_rounding(theta, prop, model, work.index[b], rise, bound):
                return worst, work.index[b]
            x = math.copysign(1.0, x) if rise != 0.0 else 0.0
        worst = max(worst, abs(x))
        forward = rate(x, beta, GAMMA)
        if uniform[b] * beta < forward:
            log_ratios[owner[g]] += math.log(rate(-x, beta, GAMMA) / forward)
    return worst, NO_FAULT


@helper
def read_groups(rng, move, decisions):
    """Add what the rows of a group say of the move to the log ratio of the decision to which the group belongs.

    If all groups have the same owner, there is one decision about a move of all groups. If groups are decided
    separately, all of them have their new values in ``prop``. A row depends only on its own group, so rows of many
    groups can be read in one block.
    """
    table, distances, beta, totals = move.table, move.distances, move.beta, move.table.totals
    at, group, rest, uniform = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64), np.empty(BLOCK), np.empty(BLOCK)
    drawn = _Drawn(at, rest, group, uniform)
    n, rows, worst, left = 0, 0, 0.0, rng.standard_exponential()
    for g in range(distances.size):
        mean = beta * totals[g] * distances[g] if distances[g] < np.inf else np.inf
        if mean == 0.0:
            continue
        begins, ends = int(table.first[g]), int(table.first[g + 1])
        if group_in_order(mean, ends - begins):
            rise, larger, fault = _whole_group(move, g, begins, ends)
            if fault != NO_FAULT:
                return Seen(rows, worst, fault)
            decisions.log_ratios[decisions.owner[g]] -= rise
            rows, worst = rows + ends - begins, max(worst, larger)
            continue
        left -= mean
        while left < 0.0:
            left += rng.standard_exponential()
            at[n], rest[n] = _point_in(rng, begins, ends, table)
            group[n], uniform[n] = g, rng.random()
            n += 1
            if n == BLOCK:
                larger, fault = _add_drawn(n, drawn, move, decisions)
                if fault != NO_FAULT:
                    return Seen(rows, worst, fault)
                rows, worst, n = rows + n, max(worst, larger), 0
    larger, fault = _add_drawn(n, drawn, move, decisions)
    return Seen(rows + n, max(worst, larger), fault)


def finite_acceptance(
    problem: FiniteProblem, groups: np.ndarray, distances: np.ndarray, beta: float, here: int, there: int
) -> float:
    """Return the exact acceptance probability on a finite problem. ``distances[g]`` is the (K, K) matrix of ``M_g``."""
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
