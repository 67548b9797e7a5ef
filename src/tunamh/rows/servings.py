"""Which rows come next, and a map that gathers them: memory does not grow with the number of rows.

Row numbers follow the fixed law ``c_i / C``, whatever the chain does. Block ``b`` has the share ``C_b / C``, ``C_b``
being the sum of its ``c``, which one map found. The stream of a chain is cut into servings of 8192 rows; serving ``s``
of a chain has a seed of its own, by which each of its places draws a block and a uniform. A map over the blocks then
finds, in every block, the rows at these uniforms by the cumulated ``c``, and gives them back packed. So the rows of a
stream depend on the seed, the data and their blocks, and not on how many servings are gathered at a time, where and
when.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..compiled import helper
from ..errors import SourceError
from .packing import KeptBounds
from .source import Rows

SERVING = 8192
"""Rows of a stream that are drawn by one seed."""

_SAME_SUM = 1e-9  # relative, by which the sum of a block's c may differ on another machine


class Served(NamedTuple):
    """A stream of rows, identified by the entropy and the key of its seed."""

    entropy: Any
    key: tuple[int, ...]

    @classmethod
    def by(cls, seed: np.random.SeedSequence) -> Served:
        entropy: Any = seed.entropy
        return cls(entropy if isinstance(entropy, int) else tuple(entropy), tuple(seed.spawn_key))

    def uniforms(self, serving: int) -> np.ndarray:
        """Return two uniform numbers for each row of a serving, an array (2, SERVING)."""
        seed = np.random.SeedSequence(self.entropy, spawn_key=(*self.key, serving))
        return np.random.Generator(np.random.PCG64(seed)).random((2, SERVING))


class Plan:
    """The servings ``first`` to ``first + count`` of some streams: which places need a row of which block.

    It is sent to where blocks are read. It is small, because the random numbers are drawn there, once for all blocks.
    """

    def __init__(self, starts: np.ndarray, sums: np.ndarray, streams: tuple[Served, ...], first: int, count: int):
        self.starts, self.sums, self.streams, self.first, self.count = starts, sums, streams, first, count
        self._lock = threading.Lock()
        self._drawn: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    def __reduce__(self) -> Any:
        return Plan, (self.starts, self.sums, self.streams, self.first, self.count)

    def _draw(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Places sorted by their block, their uniforms in this order, and where every block's begin."""
        with self._lock:
            if self._drawn is None:
                servings = range(self.first, self.first + self.count)
                found = [stream.uniforms(serving) for stream in self.streams for serving in servings]
                ends = np.cumsum(self.sums)
                last = int(np.flatnonzero(self.sums > 0)[-1])
                block = np.concatenate(
                    [np.searchsorted(ends, uniform[0] * ends[-1], side="right").astype(np.int32) for uniform in found]
                )
                np.minimum(block, last, out=block)
                order = np.argsort(block, kind="stable")
                begins = np.concatenate([[0], np.cumsum(np.bincount(block, minlength=len(ends)))])
                self._drawn = order, np.concatenate([uniform[1] for uniform in found])[order], begins
        return self._drawn

    def of(self, start: int) -> tuple[float, np.ndarray, np.ndarray]:
        """Return what is needed of the block that begins at row ``start``: the sum of its ``c``, places and uniform
        numbers.
        """
        order, uniforms, begins = self._draw()
        b = int(np.searchsorted(self.starts, start))
        if b >= len(self.starts) or self.starts[b] != start:
            raise SourceError(f"the data have changed: when the bounds were added up, no block began at row {start}.")
        part = slice(begins[b], begins[b + 1])
        return float(self.sums[b]), order[part], uniforms[part]


class Wanted(NamedTuple):
    """Packed rows of a block, with their places in the streams and their row numbers in the data."""

    places: np.ndarray
    rows: np.ndarray
    numbers: np.ndarray


class SomeRows(NamedTuple):
    """The bounds of all rows if they are kept, a function for the bounds of a block, and one that packs some rows."""

    kept: KeptBounds | None
    bounds: Callable[[Rows], np.ndarray]
    pack: Callable[[Rows, np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class OfPackedBlock:
    """A function of a block, which is packed once. It returns the rows that ``plan`` needs, and the result of ``task``.

    Each of them may be None. A task is a function of the number of the first row and of the packed rows. Without a
    task, only the needed rows are packed, if their bounds (``some``) show which rows these are.
    """

    pack: Callable[[Rows], np.ndarray]
    column: int
    plan: Plan | None = None
    task: Callable[[int, np.ndarray], Any] | None = None
    some: SomeRows | None = None

    def __call__(self, block: Rows) -> tuple[Wanted | None, Any]:
        wanted = None if self.plan is None else self.plan.of(block.start)
        if self.task is None and (wanted is None or len(wanted[1]) == 0):
            return None, None
        if wanted is not None and self.some is not None and self.task is None:
            return self._some_of(block, self.some, *wanted), None
        rows = self.pack(block)
        found = None if wanted is None else self._found(block.start, rows, *wanted)
        return found, None if self.task is None else self.task(block.start, rows)

    def _some_of(self, block: Rows, some: SomeRows, known: float, places: np.ndarray, uniforms: np.ndarray) -> Wanted:
        c = None if some.kept is None else some.kept.of(block.start, len(block.y))
        if c is None:
            c = some.bounds(block)
            _refuse_another_sum(block.start, c, known)
        chosen = by_cumulated(c, uniforms)
        return Wanted(places, some.pack(block, chosen, c), block.start + chosen)

    def _found(self, start: int, rows: np.ndarray, known: float, places: np.ndarray, uniforms: np.ndarray) -> Wanted:
        c = rows[:, self.column]
        _refuse_another_sum(start, c, known)
        chosen = by_cumulated(c, uniforms) if len(places) else np.empty(0, np.int64)
        return Wanted(places, rows[chosen], start + chosen)


def _refuse_another_sum(start: int, c: np.ndarray, known: float) -> None:
    total = float(np.sum(c))
    if not abs(total - known) <= _SAME_SUM * known:
        raise SourceError(
            f"the rows from {start} on have other bounds than when they were summed up ({total:.9g}, not "
            f"{known:.9g}): the data changed. Open the rows again and make a new target."
        )


def by_cumulated(c: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Return for every uniform number a row, drawn by the law ``c_i / sum c``.

    Rows with ``c_i = 0`` are never drawn.
    """
    chosen = np.empty(len(uniforms), np.int64)
    _fill_by_cumulated(np.ascontiguousarray(c), uniforms, np.empty(len(c)), chosen)
    return chosen


@helper
def _fill_by_cumulated(c, uniforms, ends, chosen):
    total, last = 0.0, 0
    for i in range(c.size):
        total += c[i]
        ends[i] = total
        last = i if c[i] > 0.0 else last
    for k in range(uniforms.size):
        wanted, low, high = uniforms[k] * total, 0, c.size
        while low < high:  # the first row whose end is beyond it
            middle = (low + high) // 2
            if ends[middle] <= wanted:
                low = middle + 1
            else:
                high = middle
        chosen[k] = min(low, last)
