"""Rows in the form that the compiled core gathers fastest.

What belongs to one row (features, response, bound, weight) lies side by side, the first row starts on a cache
line, and rows are a multiple of 32 bytes long: a random row then costs the fewest cache lines, and the padding
stays below 32 bytes per row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..compiled.layouts import NUMBER, Layout
from ..process.scratch import large
from .source import Rows

_CACHE_LINE = 64
_ROW_MULTIPLE = 4  # float64 numbers: 32 bytes

ROW = Layout("Row", "width", features=("width",), y=NUMBER, bound=NUMBER)
"""A regression's row: the features, an offset at their end if there is one, the response and the bound ``c``. What a
control variate needs follows, and where rows are weighted, the weight (temper included) behind all that."""


def packed_rows(n_rows: int, n_columns: int) -> np.ndarray:
    """An uninitialised float64 matrix, aligned, its columns padded with zeros."""
    width = -(-n_columns // _ROW_MULTIPLE) * _ROW_MULTIPLE
    raw = large(n_rows * width * 8 + _CACHE_LINE, np.uint8)
    shift = -raw.ctypes.data % _CACHE_LINE
    rows = raw[shift : shift + n_rows * width * 8].view(np.float64).reshape(n_rows, width)
    rows[:, n_columns:] = 0.0
    return rows


def packed_size(n_rows: int, width: int) -> int:
    """Bytes of so many packed rows and of the law by which they are drawn."""
    return n_rows * (8 * width + 16)


def weight_of(rows: Rows, temper: float) -> np.ndarray:
    """Weights of some rows, temper included."""
    return np.full(len(rows.y), temper) if rows.weights is None else temper * rows.weights


class Packing(NamedTuple):
    """Rows ``x, y, c``, ``extra`` columns and, if rows are weighted, the weight.

    ``fill(rows, block)`` writes ``c`` and the extra columns of a block, of which the rest is already there; what it
    returns is said of the block. It may be sent to other processes.
    """

    y_column: int
    extra: int
    weighted: bool
    temper: float
    fill: Callable[[np.ndarray, Rows], Any]

    @property
    def columns(self) -> int:
        return self._weight_column + self.weighted

    @property
    def _weight_column(self) -> int:
        return ROW.places(width=self.y_column).end + self.extra

    def into(self, rows: np.ndarray, block: Rows) -> Any:
        """Write a block into packed rows; returns what ``fill`` says of it."""
        block.X.pack(rows)
        ROW.columns(rows, width=self.y_column).y[:] = block.y
        if self.weighted:
            rows[:, self._weight_column] = weight_of(block, self.temper)
        return self.fill(rows, block)

    def made(self, block: Rows) -> tuple[int, np.ndarray, Any]:
        """The number of the first row, a block's packed rows, and what ``fill`` says of it."""
        rows = packed_rows(len(block.y), self.columns)
        said = self.into(rows, block)
        return block.start, rows, said

    def rows(self, block: Rows) -> np.ndarray:
        return self.made(block)[1]

    def weighed(self, block: Rows) -> tuple[int, Any, float, float]:
        """What is to be known of a block of which no row is kept: its start, what ``fill`` says, sums of c and c^2."""
        start, rows = block.start, np.empty((self.columns, len(block.y))).T  # columns in one piece, for sums
        said = self.fill(rows, block)  # features and responses are not asked for
        c = ROW.columns(rows, width=self.y_column).bound
        wrong = ~(c >= 0)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(f"bound constants c must not be negative or NaN: row {start + row} has {c[row]:g}")
        with np.errstate(over="ignore"):
            return start, said, float(np.sum(c)), float(np.dot(c, c))
