"""Which rows a minibatch test asks for: numbers drawn ahead from the fixed law ``c_i / C``.

The law does not depend on the chain, so row numbers come from a generator of their own, a ring at a time, and with each
a uniform by which the test keeps or drops the row. Walker's
alias method draws one in constant time: cell ``k`` of the table is ``(p_k, a_k)``, a uniform cell keeps its own
number with probability ``p_k`` and otherwise gives ``a_k``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._jit import Stream, helper
from .._random import fill_uniforms, seed_lanes
from .._vector import prefetch

RING = 1024
"""Row numbers drawn at once."""

ROWS_AHEAD = 8
"""Rows asked for before they are read: about as many as the memory serves at once."""


@helper
def _fill_alias(rows, column, total, table):
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


def alias_table(rows: np.ndarray, column: int) -> np.ndarray:
    """The table of Walker's alias method for row weights ``rows[:, column]``, of which some may be zero."""
    table = np.empty((rows.shape[0], 2))
    total = float(np.sum(rows[:, column]))
    if total > 0:
        _fill_alias(rows, column, total, table)
    table.flags.writeable = False
    return table


NO_TABLE = np.empty((0, 2))
"""For tests that draw no rows."""
NO_TABLE.flags.writeable = False


class StreamState(NamedTuple):
    """What a stream remembers, apart from its law."""

    lanes: np.ndarray
    ring: np.ndarray
    uniform: np.ndarray
    cursor: np.ndarray

    def of(self, table: np.ndarray) -> Stream:
        """The stream that draws from the law in ``table``."""
        return Stream(*self, table)


def open_stream(seed: np.random.SeedSequence) -> StreamState:
    """A stream at its beginning: the ring is filled when the first row is asked for."""
    return StreamState(seed_lanes(seed), np.zeros(RING, np.int64), np.zeros(RING), np.array([RING]))


@helper
def draw_rows(stream, most):
    """Where in the ring the next rows and their uniforms are, and how many: ``(start, n)``, ``1 <= n <= most``."""
    if stream.cursor[0] == stream.ring.size:
        _refill(stream)
    start = stream.cursor[0]
    n = min(most, stream.ring.size - start)
    stream.cursor[0] = start + n
    return start, n


@helper
def _refill(stream):
    """Draw all cells first and resolve them after, so that the table's cache misses overlap."""
    n = stream.table.shape[0]
    fill_uniforms(stream.lanes, stream.uniform)
    for k in range(stream.ring.size):
        place = stream.uniform[k] * n
        cell = min(int(place), n - 1)
        stream.ring[k] = cell
        stream.uniform[k] = place - cell
        prefetch(stream.table, 2 * cell)
    for k in range(stream.ring.size):
        cell = stream.ring[k]
        other = int(stream.table[cell, 1])
        stream.ring[k] = cell if stream.uniform[k] < stream.table[cell, 0] else other
    fill_uniforms(stream.lanes, stream.uniform)
    stream.cursor[0] = 0
