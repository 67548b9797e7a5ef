"""Rows in the form that the compiled core gathers fastest.

What belongs to one row (features, response, bound, weight) lies side by side, the first row starts on a cache
line, and rows are a multiple of 32 bytes long: a random row then costs the fewest cache lines, and the padding
stays below 32 bytes per row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..compiled.layouts import NUMBER, Layout
from ..process.scratch import large
from .source import Rows

Result = TypeVar("Result")

_CACHE_LINE = 64
_ROW_MULTIPLE = 4  # float64 numbers: 32 bytes

ROW = Layout("Row", "width", features=("width",), y=NUMBER, bound=NUMBER)
"""A regression's row: the features, an offset at their end if there is one, the response and the bound ``c``. What a
control variate needs follows, and where rows are weighted, the weight (temper included) behind all that."""


def columns_by_name(layout: Layout, rows: np.ndarray, **sizes: int) -> SimpleNamespace:
    """Return the columns of packed rows by the names of their fields; a field may have several columns (n, length)."""
    return SimpleNamespace(**{name: rows[:, place] for name, place in layout.columns(**sizes).items()})


def packed_rows(n_rows: int, n_columns: int) -> np.ndarray:
    """Return a float64 matrix for packed rows that is aligned in memory. Columns that pad it are zero."""
    width = -(-n_columns // _ROW_MULTIPLE) * _ROW_MULTIPLE
    raw = large(n_rows * width * 8 + _CACHE_LINE, np.uint8)
    shift = -raw.ctypes.data % _CACHE_LINE
    rows = raw[shift : shift + n_rows * width * 8].view(np.float64).reshape(n_rows, width)
    rows[:, n_columns:] = 0.0
    return rows


class HeldRows:
    """Packed rows in memory, read-only. ``bounds`` are their ``c_i``, from ``column``.

    Bounds may be infinite: such rows can be used only with tests without bounds.
    """

    def __init__(self, rows: np.ndarray, column: int):
        self.rows, self.column, self.bounds = rows, column, rows[:, column]
        _refuse_wrong(self.bounds)
        rows.flags.writeable = False

    @cached_property
    def total(self) -> float:
        with np.errstate(over="ignore"):
            return float(np.sum(self.bounds))

    @cached_property
    def squares(self) -> float:
        """Return the sum of the squares of the bounds."""
        return float(np.dot(self.bounds, self.bounds))


@dataclass(frozen=True, eq=False)
class PackedRows:
    """The rows of a target in the form of compiled code, with the compiled functions that read them.

    ``rows`` is a float64 array (N, width) in C order, or an object that gathers rows (`tunamh.rows.gathered_rows`). A
    target that packs its rows later has only their number here.
    """

    rows: Any
    bound_column: int  # the column with c_i
    parts: Any


def _refuse_wrong(c: np.ndarray, start: int = 0) -> None:
    wrong = ~(c >= 0)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(f"bound constants c must not be negative or NaN: row {start + row} has {c[row]:g}")


def packed_size(n_rows: int, width: int) -> int:
    """Return the bytes of packed rows and of the table with which they are drawn."""
    return n_rows * (8 * width + 16)


def weight_of(rows: Rows, temper: float) -> np.ndarray:
    """Return the weights of some rows, including the temper."""
    return np.full(len(rows.y), temper) if rows.weights is None else temper * rows.weights


def of_weighted_rows(terms: Callable[[Any, np.ndarray, np.ndarray], Result], temper: float, rows: Rows) -> Result:
    """Return ``terms(X, y, weight)`` of some rows."""
    return terms(rows.X, rows.y, weight_of(rows, temper))


class Packing(NamedTuple):
    """How a row is packed: ``x, y, c``, ``extra`` columns and, if rows have weights, the weight.

    ``fill(rows, block)`` writes ``c`` and the extra columns of a block; everything else is already there. Its result
    describes the block. It may be sent to other processes.
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
        """Write a block into packed rows, and return the result of ``fill``."""
        self._begin(rows, block)
        return self.fill(rows, block)

    def _begin(self, rows: np.ndarray, block: Rows) -> None:
        """All that ``fill`` does not write."""
        block.X.pack(rows)
        columns_by_name(ROW, rows, width=self.y_column).y[:] = block.y
        if self.weighted:
            rows[:, self._weight_column] = weight_of(block, self.temper)

    def made(self, block: Rows) -> tuple[int, np.ndarray, Any]:
        """Return the number of the first row, the packed rows of a block, and the result of ``fill``."""
        rows = packed_rows(len(block.y), self.columns)
        said = self.into(rows, block)
        return block.start, rows, said

    def rows(self, block: Rows) -> np.ndarray:
        return self.made(block)[1]

    @property
    def knows_bounds(self) -> bool:
        """Return True if rows can be packed with known bounds, without computing them again."""
        return hasattr(self.fill, "with_bounds")

    def bounds(self, block: Rows) -> np.ndarray:
        """Return the bounds of a block."""
        rows = np.empty((self.columns, len(block.y))).T  # columns in one piece, for sums
        self.fill(rows, block)
        return columns_by_name(ROW, rows, width=self.y_column).bound

    def some_rows(self, block: Rows, which: np.ndarray, c: np.ndarray) -> np.ndarray:
        """Return the packed rows ``which`` of a block. ``c`` has the bounds of all rows of the block."""
        fill: Any = self.fill
        if not hasattr(block.X, "some"):
            rows = self.rows(block)[which]
            columns_by_name(ROW, rows, width=self.y_column).bound[:] = c[which]
            return rows
        weights = None if block.weights is None else block.weights[which]
        some = Rows(block.start, block.X.some(which), block.y[which], weights)
        rows = packed_rows(len(which), self.columns)
        self._begin(rows, some)
        fill.with_bounds(rows, some, c[which])
        return rows


class KeptBounds:
    """The bounds of all rows, if they are computed in this process and fit into memory.

    With them, a pass that gathers rows knows which rows it needs before it reads any. In another process the object is
    empty, and bounds are computed again.
    """

    def __init__(self, n_rows: int):
        self._values, self._filled = np.empty(n_rows), list[int]()

    def __reduce__(self) -> Any:
        return KeptBounds, (0,)

    def put(self, start: int, c: np.ndarray) -> None:
        if start + len(c) <= len(self._values):
            self._values[start : start + len(c)] = c
            self._filled.append(len(c))

    def of(self, start: int, n: int) -> np.ndarray | None:
        """Return the bounds of a block, or None if they are not known."""
        return self._values[start : start + n] if self.whole and start + n <= len(self._values) else None

    @property
    def whole(self) -> bool:
        """Return True if the bounds of all rows are here."""
        return 0 < len(self._values) == sum(self._filled)


@dataclass(frozen=True)
class Weighing:
    """A function of a block that keeps no row.

    It returns the start, the result of ``fill``, and the sums of c and c^2.
    """

    packing: Packing
    fill: Callable[[np.ndarray, Rows], Any]
    """That of the packing, or one that also holds every row against its bound."""

    kept: KeptBounds | None = None

    def __call__(self, block: Rows) -> tuple[int, Any, float, float]:
        rows = np.empty((self.packing.columns, len(block.y))).T  # columns in one piece, for sums
        said = self.fill(rows, block)  # features and responses are not asked for
        c = columns_by_name(ROW, rows, width=self.packing.y_column).bound
        sums = weighed(c, block.start)
        if self.kept is not None:
            self.kept.put(block.start, c)
        return block.start, said, *sums


def weighed(c: np.ndarray, start: int) -> tuple[float, float]:
    """Return the sums of c and of c^2 of a block. Raise an error for invalid bounds."""
    with np.errstate(over="ignore"):
        total, squares = float(np.sum(c)), float(np.dot(c, c))
    if not (total < np.inf and c.min() >= 0):
        _refuse_wrong(c, start)
    return total, squares


def pack_in_memory(packing: Packing, observations: Any, parts: Any, take: Callable[[Any], Any]) -> PackedRows:
    """Pack all rows of some observations. ``take`` is called with the result of ``fill`` for each block, in order."""
    packed = packed_rows(observations.n_rows, packing.columns)
    bound = ROW.places(width=packing.y_column).bound
    if not observations.in_process:
        for start, rows, result in observations.map(packing.made):
            packed[start : start + len(rows)] = rows
            take(result)
        return PackedRows(packed, bound, parts)

    def pack(block: Rows) -> Any:
        observations.check(block)
        return packing.into(packed[block.start : block.start + len(block.y)], block)

    for result in observations.map(pack):
        take(result)
    return PackedRows(packed, bound, parts)
