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

from .grouping import Grouping
from .sums import GroupedRows


class Between(NamedTuple):
    """Common columns that no row can tell from the effects of a factor: those with ``x_j = w_g z_a`` in every row.

    ``columns`` are their positions, ``effects`` the columns ``z_a`` of effects, and ``weights`` the ``w_g`` of all
    groups.
    """

    columns: np.ndarray  # (r,)
    effects: np.ndarray  # (r,)
    weights: np.ndarray  # (r, G)


class Parents(NamedTuple):
    """Other factors whose groups contain the groups of a factor.

    There are these factors, the columns of effects of both, and for every group the group that contains it.
    """

    factors: np.ndarray  # (n,)
    effects: np.ndarray  # (n, 2): of the factor itself, of the other
    group: np.ndarray  # (n, G)


def between_columns(rows: GroupedRows, f: int, tau_at: int) -> Between:
    """Return the common columns that belong to effects of factor ``f``: each to at most one column of effects."""
    one, p = rows.groupings[f], rows.p
    found = Between(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, one.groups)))
    if not one.free.all():
        return found
    coefficients = ~rows.seen.shared if one.parameter is None else np.ones(p, bool)
    left = np.flatnonzero(coefficients & (np.arange(p) != tau_at))
    for a in range(one.q):
        weights = rows.ratios(f, a)
        same = rows.are_multiples(f, a, weights)
        own = left[same[left] & np.any(weights[left] != 0.0, axis=1)]
        left = np.setdiff1d(left, own)
        found = Between(
            np.concatenate([found.columns, own]),
            np.concatenate([found.effects, np.full(len(own), a)]),
            np.concatenate([found.weights, weights[own]]),
        )
    return found


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
        parent = one.inside(other)
        if parent is None:
            continue
        for columns in one.same_columns(other):
            factors.append(k)
            effects.append(columns)
            group.append(parent)
    return Parents(
        np.array(factors, np.int64), np.array(effects).reshape(-1, 2), np.array(group).reshape(-1, one.groups)
    )
