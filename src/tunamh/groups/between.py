"""What no row sees: effects against common parameters, and against effects of the groups that they lie in (spec 5q).

A column of the common parameters may be the same number ``w_g`` for all rows of a group, times a column ``z_a`` of its
effects: an intercept, a property of the group, the common slope beside slopes of groups. Then no row sees

    b_j + delta,     v_g,a - w_g delta   for all g.

Groups may lie in those of another factor, as classes in schools, with the same column of effects. Then no row sees

    v_l + delta_l,   v_g - delta_l       for the groups g of every l.

Only priors decide on such moves. Without them, chains of nested factors are slow: rows know the sum well, and each
part given the other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..process.scratch import stretches
from ..rows.source import Rows
from .grouping import Grouping
from .sums import GroupedRows


class Between(NamedTuple):
    """Common columns that a factor's groups share: their places, the columns of effects they go with, and ``w``."""

    columns: np.ndarray  # (r,)
    effects: np.ndarray  # (r,)
    weights: np.ndarray  # (r, G)


class Parents(NamedTuple):
    """Other factors whose groups hold those of a factor: which, both columns of effects, and every group's own."""

    factors: np.ndarray  # (n,)
    effects: np.ndarray  # (n, 2): of the factor itself, of the other
    group: np.ndarray  # (n, G)


def between_columns(rows: GroupedRows, f: int, tau_at: int) -> Between:
    """Every common column goes with at most one column of effects."""
    one, p = rows.groupings[f], rows.p
    found = Between(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, one.groups)))
    if not one.free.all():
        return found
    coefficients = ~rows.seen.shared if one.parameter is None else np.ones(p, bool)
    left = np.flatnonzero(coefficients & (np.arange(p) != tau_at))
    for a in range(one.q):
        weights = _weights(rows, f, a)
        same = _same(rows, f, a, weights)
        own = left[same[left] & np.any(weights[left] != 0.0, axis=1)]
        left = np.setdiff1d(left, own)
        found = Between(
            np.concatenate([found.columns, own]),
            np.concatenate([found.effects, np.full(len(own), a)]),
            np.concatenate([found.weights, weights[own]]),
        )
    return found


def _along(rows: GroupedRows, f: int, block: Rows) -> np.ndarray:
    """The columns (n, p) in the predictor that the factor's effects enter."""
    return rows.seen.columns(block)[int(np.argmax(rows.seen.directions[f]))]


def _weights(rows: GroupedRows, f: int, a: int) -> np.ndarray:
    """``x_j / z_a`` in a row of every group, (p, G); 0 where no row of a group has ``z_a``."""
    one = rows.groupings[f]
    row = _first_rows(one, a)
    found = np.zeros((rows.p, one.groups))

    def fill(block: Rows) -> None:
        mine = np.flatnonzero((row >= block.start) & (row < block.start + len(block.y)))
        found[:, mine] = (_along(rows, f, block)[row[mine] - block.start] / one.Z[row[mine], a][:, None]).T

    for _ in rows.base.observations.map(fill):
        pass
    if one.related is not None:  # levels without rows move with the others: no row sees them
        there = row >= 0
        alike = (found[:, there] == found[:, there][:, :1]).all(axis=1)
        found[np.ix_(alike, ~there)] = found[:, there][alike, :1]
    return found


def _first_rows(one: Grouping, a: int) -> np.ndarray:
    """Of every group, the first row that has ``z_a``; -1 where none has. Of rows in files no more is held at once."""
    row = np.full(one.groups, -1)
    for which in reversed(list(stretches(len(one.codes)))):
        last_first = which.start + np.flatnonzero(one.Z[which, a])[::-1]
        row[one.codes[last_first]] = last_first  # of several the last one stays, which is the first row
    return row


def _same(rows: GroupedRows, f: int, a: int, weights: np.ndarray) -> np.ndarray:
    """Which common columns are ``w_g z_a`` in every row, and nothing in predictors that effects do not enter."""
    one = rows.groupings[f]

    def check(block: Rows) -> np.ndarray:
        which = slice(block.start, block.start + len(block.y))
        expected = weights[:, one.codes[which]].T * one.Z[which, a][:, None]
        seen = rows.seen.columns(block)
        told = [(x == s * expected).all(axis=0) for x, s in zip(seen, rows.seen.directions[f], strict=True)]
        return np.logical_and.reduce(told)

    return np.logical_and.reduce(list(rows.base.observations.map(check)))


def parents_of(groupings: list[Grouping], f: int) -> Parents:
    one = groupings[f]
    factors, effects, group = [], [], []
    for k, other in enumerate(groupings):
        if k == f or other.groups >= one.groups or one.related or other.related:
            continue
        if not (one.free.all() and other.free.all()):
            continue
        if other.predictor != one.predictor:  # rows see both apart
            continue
        parent = np.zeros(one.groups, np.int64)
        parent[one.codes] = other.codes
        if not (parent[one.codes] == other.codes).all():
            continue
        for a in range(one.q):
            same = [c for c in range(other.q) if (one.Z[:, a] == other.Z[:, c]).all()]
            for c in same[:1]:
                factors.append(k)
                effects.append((a, c))
                group.append(parent)
    return Parents(
        np.array(factors, np.int64), np.array(effects).reshape(-1, 2), np.array(group).reshape(-1, one.groups)
    )
