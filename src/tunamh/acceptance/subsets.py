"""Rows without replacement, for the tests that estimate the mean gain of a move from a growing subset."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..compiled import BLOCK, NO_FAULT, helper
from .base import within_rounding


class SubsetRows(NamedTuple):
    """A move and the rows on which it is decided.

    ``order`` is a permutation of all rows. Every draw shuffles it further (Fisher and Yates), so its first entries are
    a random subset.
    """

    move: Any
    order: Any
    model: Any
    work: Any


@helper
def grow(rng, rows, subset, wanted, gains):
    """Enlarge ``subset = (rows seen, mean gain, sum of squares)`` to ``wanted`` rows; return it and a fault.

    The gain of a row is ``U_i(theta) - U_i(prop)``. Mean and squares are updated by Welford's method. ``gains`` stores
    the gains in the order of the rows, unless it is empty.
    """
    work = rows.work
    seen, mean, squares = subset
    while seen < wanted:
        n = min(wanted - seen, BLOCK)
        fault = _new_rises(rng, rows, seen, n)
        if fault != NO_FAULT:
            return (seen, mean, squares), fault
        for b in range(n):
            gain = -work.rise[b]
            if gains.size > 0:
                gains[seen] = gain
            seen += 1
            step = gain - mean
            mean += step / seen
            squares += step * (gain - mean)
    return (seen, mean, squares), NO_FAULT


@helper
def _new_rises(rng, rows, seen, n):
    """Draw ``n`` (at most `BLOCK`) rows not among the first ``seen`` of ``order`` and evaluate their rises.

    Returns the first row that exceeds its bound or is not finite, or ``NO_FAULT``.
    """
    move, order, model, work = rows
    theta, prop, distance = move.theta, move.prop, move.distance
    n_rows = order.size
    for b in range(n):
        place = seen + b + int(rng.random() * (n_rows - seen - b))
        row = order[place]
        order[place] = order[seen + b]
        order[seen + b] = row
        work.index[b] = int(row)
    model.differences(theta, prop, work.index, 0, n, model.data, work.rise, work.bound)
    for b in range(n):
        rise, bound = work.rise[b], work.bound[b] * distance
        if work.bound[b] == np.inf:
            allowed = math.isfinite(rise)  # no bound is known, and none is needed here
        else:
            allowed = abs(rise) <= bound or within_rounding(theta, prop, model, work.index[b], rise, bound)
        if not allowed:
            return work.index[b]
    return NO_FAULT
