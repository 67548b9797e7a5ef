"""Columns of all rows in large arrays that may be in files, filled block by block (`tunamh.process.scratch`)."""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np

from ..process.scratch import coded, large, stretches
from ..tables.columns import Column, Factor, Numbers
from ..tables.frames import Frame
from ..tables.levels import names_of_values

Order = Callable[[tuple[str, ...], Collection[str]], tuple[str, ...]]
"""All levels in their order, from those of the first block with the most, and from all that occur."""


def _sorted(longest: tuple[str, ...], every: Collection[str]) -> tuple[str, ...]:
    return tuple(sorted(every))


class GrowingColumn:
    """A column that grows block by block. Its numbers or codes are the same as if all blocks were joined in memory.

    No value may be missing.
    """

    def __init__(self, n_rows: int, order: Order = _sorted):
        self.n_rows, self.filled, self.order = n_rows, 0, order
        self.values = np.empty(0)
        self.numbers, self.text = False, False
        self.place: dict[str, int] = {}  # of levels, as they come
        self.longest: tuple[str, ...] = ()
        self.ordered, self.kind = True, "categories"

    def add(self, part: Column, keep: np.ndarray | None = None) -> None:
        """Add the next block, or its rows in the mask ``keep``. Raise `ValueError` if numbers and text are mixed."""
        if not len(part):
            return
        own = np.empty(0, np.int64)
        if isinstance(part, Factor):
            own = self._places(part)
        elif keep is None or not part.missing.all():
            self.numbers = True
        if self.numbers and self.text:
            raise ValueError("numbers in some blocks and text in others")
        kept = part if keep is None else part.take(keep)
        if not len(kept):
            return
        values = kept.values if isinstance(kept, Numbers) else own[kept.codes]
        which = slice(self.filled, self.filled + len(kept))
        self._room(values.dtype)
        self.values[which] = values
        self.filled = which.stop

    def _places(self, part: Factor) -> np.ndarray:
        """Of the levels of a block."""
        if not self.text:
            self.text, self.kind = True, part.kind
        self.ordered = self.ordered and part.ordered
        if len(part.levels) > len(self.longest):
            self.longest = part.levels
        return np.array([self.place.setdefault(level, len(self.place)) for level in part.levels], dtype=np.int64)

    def _room(self, kind: np.dtype) -> None:
        """For numbers of this kind beside those that are there."""
        before, wanted = self.values, np.result_type(self.values, kind) if self.filled else kind
        if self.filled and before.dtype == wanted:
            return
        self.values = large(self.n_rows, wanted)
        for rows in stretches(self.filled):
            self.values[rows] = before[rows]

    def column(self) -> Column:
        values = self.values[: self.filled]
        if not self.text:
            return Numbers(values)
        levels = self.order(self.longest, self.place)
        at = {level: code for code, level in enumerate(levels)}
        new = np.array([at[level] for level in self.place], dtype=np.int64)
        for rows in stretches(self.filled):
            values[rows] = new[values[rows]]
        return Factor(values, levels, self.ordered, kind=self.kind)


def levels_of(column: Column) -> Column:
    """Return a column of groups as a factor. Levels of numbers are their sorted values; text keeps its levels."""
    if isinstance(column, Factor):
        return column
    found, codes = coded(column.values)
    return Factor(codes, names_of_values(found))


def as_one_matrix(frame: Frame) -> Frame:
    """Return the table with its columns as columns of one matrix, if all are numbers."""
    columns = list(frame.columns.values())
    if not (columns and all(isinstance(one, Numbers) for one in columns)):
        return frame
    single = all(one.values.dtype == np.float32 for one in columns)
    matrix = large((len(columns), frame.n_rows), np.float32 if single else np.float64).T
    for j, one in enumerate(columns):
        for rows in stretches(frame.n_rows):
            matrix[rows, j] = one.values[rows]
    return Frame(frame.columns, frame.n_rows, matrix)
