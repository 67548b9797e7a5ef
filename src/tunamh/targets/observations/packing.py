"""How a block of rows is packed: features, response, bound, what a control variate needs, and the weight."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...rows.packing import packed_rows
from ...rows.source import Rows
from ..layouts import ROW


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
