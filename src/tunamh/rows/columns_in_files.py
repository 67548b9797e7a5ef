"""Columns of all rows in large arrays that may be in files, filled block by block (`tunamh.process.scratch`)."""

from __future__ import annotations

import numpy as np

from ..process.scratch import large, stretches
from ..tables.columns import Column, Factor, Numbers
from ..tables.frames import Frame
from ..tables.levels import names_of_values


class GrowingColumn:
    """Numbers, or codes of levels: the same column as that of all blocks joined in memory. No value is missing."""

    def __init__(self, n_rows: int):
        self.n_rows, self.filled = n_rows, 0
        self.values = np.empty(0)
        self.blocks: list[tuple[slice, tuple[str, ...]]] | None = None  # levels, of text and categories

    def add(self, part: Column) -> None:
        """The next block. Raises ValueError where some blocks hold numbers and others text."""
        if not len(part):
            return
        which, of_text = slice(self.filled, self.filled + len(part)), isinstance(part, Factor)
        if self.filled == 0:
            self.blocks = [] if of_text else None
        if of_text != (self.blocks is not None):
            raise ValueError("numbers in some blocks and text in others")
        values = part.codes.astype(np.int64) if isinstance(part, Factor) else part.values
        self._room(values.dtype)
        self.values[which] = values
        if isinstance(part, Factor) and self.blocks is not None:
            self.blocks.append((which, part.levels))
        self.filled = which.stop

    def _room(self, kind: np.dtype) -> None:
        """For numbers of this kind beside those that are there."""
        before, wanted = self.values, np.result_type(self.values, kind) if self.filled else kind
        if self.filled and before.dtype == wanted:
            return
        self.values = large(self.n_rows, wanted)
        for rows in stretches(self.filled):
            self.values[rows] = before[rows]

    def column(self) -> Column:
        if self.blocks is None:
            return Numbers(self.values)
        levels = tuple(sorted({level for _, own in self.blocks for level in own}))
        for rows, own in self.blocks:
            self.values[rows] = Factor(self.values[rows], own).recoded(levels)
        return Factor(self.values, levels)


def levels_of(column: Column) -> Column:
    """The levels of a column that holds groups: of numbers their values, sorted. Text has its own."""
    if isinstance(column, Factor):
        return column
    values, found = column.values, column.values[:0]
    for rows in stretches(len(values)):
        found = np.union1d(found, values[rows])
    codes = large(len(values), np.int64)
    for rows in stretches(len(values)):
        codes[rows] = np.searchsorted(found, values[rows])
    return Factor(codes, names_of_values(found))


def as_one_matrix(frame: Frame) -> Frame:
    """The columns as those of one matrix, where all are numbers."""
    columns = list(frame.columns.values())
    if not (columns and all(isinstance(one, Numbers) for one in columns)):
        return frame
    single = all(one.values.dtype == np.float32 for one in columns)
    matrix = large((len(columns), frame.n_rows), np.float32 if single else np.float64).T
    for j, one in enumerate(columns):
        for rows in stretches(frame.n_rows):
            matrix[rows, j] = one.values[rows]
    return Frame(frame.columns, frame.n_rows, matrix)
