"""The pool: rows gathered ahead of a chain, which eats them in order and never twice.

What a chain holds is one batch of its stream (`tunamh.rows.gathered_rows`); the next one is gathered in the background
when half of it is used.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compiled import Callback, Refill, call_back, part, vector_at
from ..compiled.random import fill_uniforms
from ..errors import SourceError
from .packing import packed_rows
from .servings import Served
from .supply import Supply

if TYPE_CHECKING:
    from .gathered_rows import GatheredRows

ROWS_NEXT, ALL_ROWS_RISE, ALL_ROWS_ENERGY = range(3)
"""What compiled code may ask of Python: the next rows, and passes over all of them."""


class Pool:
    """The rows of one chain: a batch of its stream, and one more place for a row that an error names.

    ``rows`` are packed as compiled code reads them, and ``numbers`` are the row numbers in the data.
    """

    def __init__(self, source: GatheredRows, served: Served, all_rows: Callable[..., Any]):
        self.source, self.served, self._all_rows = source, served, all_rows
        self.capacity = source.most_servings() * source.serving
        self.rows = packed_rows(self.capacity + 1, source.width)
        self.rows[[0, self.capacity]] = 0.0  # the first one is read where no rows could be had
        self.numbers = np.zeros(self.capacity + 1, np.int64)
        self.batch, self._end, self.error = -1, 0, None
        self._readable = self.rows.view()
        self._readable.flags.writeable = False
        self._callback = Callback(self._called)
        law = np.array([[float(self._callback.address), 0.0]])
        law.flags.writeable = False
        self.supply = Supply(_refill_from_pool, law, self)

    error: BaseException | None

    @property
    def readable(self) -> np.ndarray:
        """Return the rows in the form that compiled code reads."""
        return self._readable

    @property
    def address(self) -> int:
        return self._callback.address

    def _load(self, position: int) -> tuple[int, int]:
        """Have the batch with this place of the stream in ``rows``; returns where it begins and where it ends."""
        k, serving = 0, position // self.source.serving
        while sum(self.source.extent(k)) <= serving:
            k += 1
        first, count = self.source.extent(k)
        if self.batch != k:
            rows, numbers = self.source.take(k, self)
            self.rows[: len(rows)], self.numbers[: len(rows)] = rows, numbers
            self.batch, self._end = k, (first + count) * self.source.serving
        return first * self.source.serving, (first + count) * self.source.serving

    def rows_left(self, ring: np.ndarray, cursor: np.ndarray) -> int:
        """Return how many rows of the stream are in memory and not drawn yet."""
        return self._end - self.rows_drawn(ring, cursor)

    @staticmethod
    def rows_drawn(ring: np.ndarray, cursor: np.ndarray) -> int:
        """Return the position of the chain in its stream."""
        return int(cursor[1]) - (ring.size - int(cursor[0]))

    def hold(self, ring: np.ndarray, cursor: np.ndarray) -> None:
        """Prepare the rows before a chain continues: those that wait in its ring must be in ``rows``.

        Compiled code requests all later rows.
        """
        if cursor[0] < ring.size:
            first = int(cursor[1]) - ring.size
            begin, _ = self._load(first)
            ring[:] = np.arange(first - begin, first - begin + ring.size)
        cursor[2], cursor[3] = cursor[1], 0

    # --------------------------------------------------------------------------------- what compiled code asks for

    def _called(self, kind: int, first: int, second: int, size: int, number: float, out: int) -> int:
        try:
            if kind == ROWS_NEXT:
                self._next(vector_at(out, 4, ctypes.c_int64))
            else:
                theta, prop = vector_at(first, size).copy(), vector_at(second, size).copy()
                vector_at(out, 3)[:] = self._over_all(kind, theta, prop, number)
            return 0
        except BaseException as error:  # compiled code cannot raise: the chain stops, and `failure` is raised
            self.error = error
            return -1

    def _next(self, cursor: np.ndarray) -> None:
        """Rows from place ``cursor[1]`` on are in memory until ``cursor[2]``, and slots count from ``cursor[3]``."""
        position = int(cursor[1])
        begin, end = self._load(position)
        middle = begin + (end - begin) // 2
        if position >= middle:
            self.source.ahead(self.batch + 1)
        cursor[2], cursor[3] = middle if position < middle else end, begin

    def _over_all(self, kind: int, theta: np.ndarray, prop: np.ndarray, distance: float) -> tuple[float, float, float]:
        total, worst, fault = self._all_rows(kind == ALL_ROWS_RISE, theta, prop, distance)
        if fault is None:
            return total, worst, -1.0
        number, row = fault
        self.rows[self.capacity], self.numbers[self.capacity] = row, number
        return total, worst, float(self.capacity)

    def failure(self) -> BaseException:
        """Return the error that occurred in Python."""
        error, self.error = self.error, None
        return SourceError("rows could not be gathered.") if error is None else error


@part(Refill)
def _refill_from_pool(lanes, ring, uniform, cursor, law):
    """The next rows in the order of the stream; Python is asked when the batch in memory is half used, and used up."""
    position = cursor[1]
    if position + ring.size > cursor[2]:
        if call_back(int(law[0, 0]), 0, 0, 0, 0, 0.0, cursor.ctypes.data) != 0:
            ring[:] = 0
            uniform[:] = np.nan
            cursor[0], cursor[3] = 0, -1
            return
    for k in range(ring.size):
        ring[k] = position - cursor[3] + k
    fill_uniforms(lanes, uniform)
    cursor[0], cursor[1] = 0, position + ring.size
