"""The rows that a minibatch test asks for: drawn ahead, a ring at a time, and with each a uniform.

By the uniform the test keeps or drops the row. Row draws have a generator of their own, so that what they are does not
depend on the chain. How the ring is filled is up to the supply (`tunamh.rows.supply`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..compiled import Stream, helper
from ..compiled.random import LANES, seed_lanes
from .supply import Supply

RING = 1024
"""Rows drawn at once."""

_POOLED = 4
"""Numbers of a cursor of gathered rows: in the ring; in the stream, behind the ring; in the stream, behind the last row
in memory; and in the stream, at the first one in memory, -1 where rows could not be gathered."""

ROWS_AHEAD = 8
"""Rows asked for before they are read: about as many as the memory serves at once."""


class StreamState(NamedTuple):
    """What a stream remembers, apart from its supply."""

    lanes: np.ndarray
    ring: np.ndarray
    uniform: np.ndarray
    cursor: np.ndarray

    def of(self, supply: Supply) -> Stream:
        """The stream that draws from ``supply``."""
        if supply.pool is not None:
            supply.pool.hold(self.ring, self.cursor)
        return Stream(*self, supply.refill, supply.law)

    def fits(self, slots: int, pooled: bool = False) -> bool:
        """Whether every array has its size and kind, and the rows that wait in the ring are among ``slots``."""
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
    """A stream at its beginning: the ring is filled when the first row is asked for."""
    cursor = np.zeros(1 if supply is None or supply.pool is None else _POOLED, np.int64)
    cursor[0] = RING
    return StreamState(seed_lanes(seed), np.zeros(RING, np.int64), np.zeros(RING), cursor)


@helper
def draw_rows(stream, most):
    """Return ``(start, n)``: the place of the next drawn rows in the ring buffer, and their number ``<= most``."""
    if stream.cursor[0] == stream.ring.size:
        stream.refill(stream.lanes, stream.ring, stream.uniform, stream.cursor, stream.law)
    start = stream.cursor[0]
    n = min(most, stream.ring.size - start)
    stream.cursor[0] = start + n
    return start, n
