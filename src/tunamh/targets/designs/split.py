"""Rows that are split into pieces of time: the columns of the row that a piece belongs to, and one more position.

Nothing is copied: a piece is the number of its row, the position of its hazard and its offset, and a block of pieces
gathers the columns of its rows when it is read.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .base import Design
from .curved import layout_of
from .dense import DenseBlock
from .indexed import NOWHERE, IndexedBlock
from .with_offset import BlockWithOffset


class SplitDesign(Design):
    """A design for pieces of the rows of another design; rows of times are split into pieces.

    Piece ``k`` belongs to row ``row[k]``. Its predictor is the predictor of this row, plus ``offset[k]``, plus the
    parameter at position ``places[hazard[k]]``, which comes after the parameters of the row.
    """

    factors = None

    def __init__(self, of: Design, row: np.ndarray, hazard: np.ndarray, offset: np.ndarray, places: np.ndarray):
        self.of, self.row, self.hazard, self.offset, self.places = of, row, hazard, offset, places
        self.n_rows, self.dim = len(row), of.dim + int((places != NOWHERE).sum())
        own = of.numbers
        plain = layout_of(int(own.columns), int(own.positions) + 1, own.valued, self.dim, own.curves)
        self.numbers = plain.numbers._replace(width=plain.numbers.width + 1, shifted=True)
        self.parts, self.table = plain.parts, plain.table

    def block(self, rows: Any) -> BlockWithOffset:
        row, n = self.row[rows], len(self.hazard[rows])
        given: Any = self.of.block(row)
        offset = self.offset[rows]
        if isinstance(given, BlockWithOffset):
            given, offset = given.block, given.offset + offset
        place = self.places[self.hazard[rows]].astype(np.int32)[:, None]
        if isinstance(given, IndexedBlock):
            positions = np.concatenate([given.positions, place], axis=1)
            values = np.column_stack([given.values, np.ones(n)]) if self.numbers.valued else np.empty((n, 0))
            values = np.ascontiguousarray(values)
            made = replace(given, positions=positions, values=values, dim=self.dim)
        else:
            whole = given.X if isinstance(given, DenseBlock) else given.dense()
            made = IndexedBlock(np.asarray(whole, np.float64), place, np.empty((n, 0)), self.dim)
        return BlockWithOffset(made, offset, int(self.numbers.width))

    def take(self, index: np.ndarray) -> SplitDesign:
        return SplitDesign(self.of, self.row[index], self.hazard[index], self.offset[index], self.places)

    def on_columns(self, which: np.ndarray) -> SplitDesign:
        d = self.of.dim
        new = np.where(which, np.cumsum(which) - 1, NOWHERE)
        places = np.where(self.places == NOWHERE, NOWHERE, new[self.places])
        return SplitDesign(self.of.on_columns(which[:d]), self.row, self.hazard, self.offset, places)

    def arrays(self, what: str = "X") -> dict[str, np.ndarray]:
        return self.of.arrays(what)
