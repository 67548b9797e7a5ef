"""Supply: which rows come next, by the fixed law ``c_i / C``.

The law does not depend on the chain, so rows can be drawn ahead of it, a ring at a time (`tunamh.rows.stream`). A
supply is a part in the role `Refill` and the numbers of its law. Compiled parts index rows by *slot*, their place among
the rows that lie in memory. With random access all rows do, and the slot of a row is its number.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..compiled import Part, Refill, helper, part
from ..compiled.random import fill_uniforms
from ..compiled.vector import prefetch


class Supply(NamedTuple):
    """The source of the rows of a test: ``refill`` fills the ring, with the numbers in ``law``."""

    refill: Part
    law: np.ndarray
    pool: Any = None  # rows gathered ahead, where not all are in memory (`tunamh.rows.pool`)


def random_access(rows: np.ndarray, column: int) -> Supply:
    """Any row at any time, by the weights ``rows[:, column]``, of which some may be zero: Walker's alias method.

    Cell ``k`` of the law is ``(p_k, a_k)``: a uniform cell keeps its own number with probability ``p_k`` and otherwise
    gives ``a_k``, so that a row is drawn in constant time. Slots are row numbers.
    """
    table = np.empty((rows.shape[0], 2))
    total = float(np.sum(rows[:, column]))
    if total > 0:
        fill_alias(rows, column, total, table)
    table.flags.writeable = False
    return Supply(_refill_by_alias, table)


@part(Refill)
def _refill_by_alias(lanes, ring, uniform, cursor, law):
    """Draw all cells first and resolve them after, so that the table's cache misses overlap."""
    n = law.shape[0]
    fill_uniforms(lanes, uniform)
    for k in range(ring.size):
        place = uniform[k] * n
        cell = min(int(place), n - 1)
        ring[k] = cell
        uniform[k] = place - cell
        prefetch(law, 2 * cell)
    for k in range(ring.size):
        cell = ring[k]
        other = int(law[cell, 1])
        ring[k] = cell if uniform[k] < law[cell, 0] else other
    fill_uniforms(lanes, uniform)
    cursor[0] = 0


@helper
def fill_alias(rows, column, total, table):
    """Vose's construction in one sweep, without work lists.

    A cell is small below 1 and large from 1 on. Each small cell is topped up to 1 by the current large cell. A large
    cell that becomes small by giving is closed at once if the sweep has passed it, and waits for the sweep if not.
    """
    n = rows.shape[0]
    for k in range(n):
        table[k, 0] = rows[k, column] * (n / total)
        table[k, 1] = k
    large = _next_large(table, 0)
    sweep = 0
    passed = -1  # a former large cell behind the sweep, still to be closed
    while large < n:
        small = passed
        if small < 0:
            while sweep < n and table[sweep, 0] >= 1.0:
                sweep += 1
            if sweep == n:
                break
            small = sweep
            sweep += 1
        table[small, 1] = large
        table[large, 0] -= 1.0 - table[small, 0]
        passed = -1
        if table[large, 0] < 1.0:
            passed = large if large < sweep else -1
            large = _next_large(table, large + 1)


@helper
def _next_large(table, k):
    while k < table.shape[0] and table[k, 0] < 1.0:
        k += 1
    return k


@part(Refill)
def _refill_with_nothing(lanes, ring, uniform, cursor, law):
    """There is no law to draw by: a test that asks all the same is given row 0, and uniforms that are NaN."""
    ring[:] = 0
    uniform[:] = np.nan
    cursor[0] = 0


NO_ROWS = Supply(_refill_with_nothing, np.empty((0, 2)))
"""For tests that draw no rows."""
NO_ROWS.law.flags.writeable = False

GATHERED = Supply(_refill_with_nothing, NO_ROWS.law)
"""Stands for the supply of gathered rows until a chain is given its own."""


OF_MOST_RUNS = (_refill_by_alias,)
"""To be compiled while a first run is set up (`tunamh.sampling.compilation`)."""
