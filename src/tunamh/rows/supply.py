"""Which rows come next, by the fixed law ``c_i / C``: a supply, and the stream of rows that a chain draws from it.

The law does not depend on the chain, so rows are drawn ahead of it, a ring at a time, and with each a uniform. By the
uniform the test keeps or drops the row. Row draws have a generator of their own, so that what they are does not depend
on the chain.

A supply is a part in the role `Refill` and the numbers of its law. Compiled parts index rows by *slot*, their place
among the rows that lie in memory. With random access all rows do, and the slot of a row is its number.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..compiled import Part, Refill, Stream, helper, part
from ..compiled.random import LANES, fill_uniforms, seed_lanes
from ..compiled.vector import prefetch


class Supply(NamedTuple):
    """The object that draws rows at random for a test or a kernel.

    Use ``target.supply``: it draws row ``i`` with the probability ``c_i / C``, its bound divided by the sum of all
    bounds. Use `NO_ROWS` for a test or a kernel that draws no rows.

    Parameters
    ----------
    refill : Part
        The compiled function that writes the numbers of the next rows into a buffer.
    law : array
        The numbers from which ``refill`` draws; they contain the probabilities of the rows.
    pool : optional
        None if all rows are in memory; otherwise the rows that were read in advance.
    """

    refill: Part
    law: np.ndarray
    pool: Any = None  # rows gathered ahead, where not all are in memory (`tunamh.rows.pool`)


def random_access(rows: np.ndarray, column: int) -> Supply:
    """Return a supply that draws row ``i`` with weight ``rows[:, column]``, by Walker's alias method.

    Some weights may be zero. Cell ``k`` of the table is ``(p_k, a_k)``: a cell is chosen uniformly, and gives its own
    number with probability ``p_k``, otherwise ``a_k``. So a row is drawn in constant time.
    """
    table = np.empty((rows.shape[0], 2))
    weights = rows[:, column]
    total = float(np.sum(weights))
    if total > 0:
        fill_alias(weights, total, table)
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
def fill_alias(weights, total, table):
    """Fill Walker's alias table for weights with this sum, by Vose's construction in one sweep without work lists.

    A cell is small below 1 and large from 1 on. Each small cell is filled up to 1 from the current large cell. If this
    makes the large cell small, it is filled at once if the sweep has passed it; otherwise it waits for the sweep.
    """
    n = weights.size
    for k in range(n):
        table[k, 0] = weights[k] * (n / total)
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


RING = 1024
"""Rows drawn at once."""

_POOLED = 4
"""Numbers of a cursor of gathered rows: in the ring; in the stream, behind the ring; in the stream, behind the last row
in memory; and in the stream, at the first one in memory, -1 where rows could not be gathered."""

ROWS_AHEAD = 8
"""Rows asked for before they are read: about as many as the memory serves at once."""


class StreamState(NamedTuple):
    """What a stream of rows remembers, except its supply."""

    lanes: np.ndarray
    ring: np.ndarray
    uniform: np.ndarray
    cursor: np.ndarray

    def of(self, supply: Supply) -> Stream:
        """Return the stream that draws from ``supply``."""
        if supply.pool is not None:
            supply.pool.hold(self.ring, self.cursor)
        return Stream(*self, supply.refill, supply.law)

    def fits(self, slots: int, pooled: bool = False) -> bool:
        """Return True if every array has the right size and type, and the waiting rows are among ``slots``."""
        kinds = [(array.shape, array.dtype) for array in self]
        size = _POOLED if pooled else 1
        wanted = [((4, LANES), np.uint64), ((RING,), np.int64), ((RING,), np.float64), ((size,), np.int64)]
        if kinds != [(shape, np.dtype(kind)) for shape, kind in wanted]:
            return False
        if pooled:  # the ring is written anew
            at, position = int(self.cursor[0]), int(self.cursor[1])
            return 0 <= at <= RING and position % RING == 0 and position >= (RING if at < RING else 0)
        within = self.ring.min() >= 0 and self.ring.max() < max(slots, 1)
        return bool(within and 0 <= self.cursor[0] <= RING)


def open_stream(seed: np.random.SeedSequence, supply: Supply | None = None) -> StreamState:
    """Return a stream at its beginning. The first rows are drawn when they are needed."""
    cursor = np.zeros(1 if supply is None or supply.pool is None else _POOLED, np.int64)
    cursor[0] = RING
    return StreamState(seed_lanes(seed), np.zeros(RING, np.int64), np.zeros(RING), cursor)


@helper
def draw_rows(stream, most):
    """Draw at most ``most`` rows: return a pair ``(start, n)``, where they begin in a buffer and how many they are.

    ``stream`` is the argument of `Decide` or `Step` with the buffer. The numbers of the rows are ``stream.ring[start :
    start + n]``. A uniform random number for each of them is in ``stream.uniform[start : start + n]``. The rows are
    drawn in advance, with fixed probabilities.
    """
    if stream.cursor[0] == stream.ring.size:
        stream.refill(stream.lanes, stream.ring, stream.uniform, stream.cursor, stream.law)
    start = stream.cursor[0]
    n = min(most, stream.ring.size - start)
    stream.cursor[0] = start + n
    return start, n
