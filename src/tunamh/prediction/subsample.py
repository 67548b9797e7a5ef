"""A simple random subsample of the complete rows of a table, drawn while all of them are read once, block by block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..formula.errors import FormulaError
from ..formula.remaining import remaining
from ..formula.variables import as_columns, joined_variables, read, refuse_unknown
from ..rows.table_source import Tables
from ..tables.columns import Column, Factor
from ..tables.frames import Frame, complete_rows
from .new_rows import columns_of_block

_ROWS_AT_ONCE = 65_536


class Block(NamedTuple):
    """Some rows of a table without missing values, and their row numbers in the table."""

    frame: Frame
    numbers: np.ndarray

    def parts(self, size: int) -> Iterator[Frame]:
        """Yield at most ``size`` rows at a time. A factor contains only the levels that occur in these rows."""
        for first in range(0, self.frame.n_rows, size):
            yield packed(self.frame.take(slice(first, first + size)))


def packed(frame: Frame) -> Frame:
    """Return a table whose factors contain only the levels that occur, because there may be many groups."""
    columns = {name: one.packed() if isinstance(one, Factor) else one for name, one in frame.columns.items()}
    return Frame(columns, frame.n_rows)


def complete_blocks(data: Any, names: Sequence[str]) -> Iterator[Block]:
    """Yield the rows without missing values of a table or of tables in blocks, one block at a time."""
    names, data = list(names), remaining(data)
    for start, table in _blocks(data, names):
        found = complete_rows(read(table, names), table.n_rows)
        if found.n_rows:
            yield Block(Frame(found.columns, found.n_rows), start + np.flatnonzero(found.keep))


def _blocks(data: Any, names: list[str]) -> Iterator[tuple[int, Frame]]:
    if isinstance(data, Tables):
        refuse_unknown(names, list(data.names))
        yield from data.map(columns_of_block, names)
        return
    table = as_columns(data)
    whole = Frame(read(table, names), table.n_rows)
    for first in range(0, table.n_rows, _ROWS_AT_ONCE):
        yield first, whole.take(slice(first, first + _ROWS_AT_ONCE))


class RandomRows:
    """A random sample of rows: each row gets an independent uniform key, and the ``size`` smallest keys are the sample.

    Every set of ``size`` rows is equally likely, so this is a simple random sample without replacement. The keys are
    drawn in the order of the rows. So the sample does not depend on how the rows are divided into blocks.
    """

    def __init__(self, size: int, rng: np.random.Generator):
        self.size, self.rng, self.offered = size, rng, 0
        self._limit = np.inf
        self._pieces: list[tuple[np.ndarray, np.ndarray, Block]] = []

    def offer(self, block: Block) -> None:
        """Draw the keys of a block of rows, and keep the rows that may be in the sample."""
        keys = self.rng.random(block.frame.n_rows)
        places = np.arange(self.offered, self.offered + len(keys))
        self.offered += len(keys)
        kept = np.flatnonzero(keys <= self._limit)
        if len(kept):
            taken = Block(block.frame.take(kept), block.numbers[kept])
            self._pieces.append((keys[kept], places[kept], taken))
            self._forget()

    def _forget(self) -> None:
        """Rows whose keys are too large by now."""
        keys = np.concatenate([piece[0] for piece in self._pieces])
        if len(keys) <= self.size:
            return
        self._limit = float(np.partition(keys, self.size - 1)[self.size - 1])
        pieces = []
        for own, places, block in self._pieces:
            kept = np.flatnonzero(own <= self._limit)
            if len(kept) == len(own):
                pieces.append((own, places, block))
            elif len(kept):
                pieces.append((own[kept], places[kept], Block(block.frame.take(kept), block.numbers[kept])))
        self._pieces = pieces

    def taken(self) -> tuple[Frame, np.ndarray, np.ndarray]:
        """Return the sampled rows, their row numbers in the table, and their positions.

        The positions are counted among all rows without missing values.
        """
        if not self._pieces:
            raise FormulaError("the data have no rows without missing values.")
        columns: list[dict[str, Column]] = [dict(block.frame.columns) for _, _, block in self._pieces]
        numbers = np.concatenate([block.numbers for _, _, block in self._pieces])
        return joined_variables(columns, len(numbers)), numbers, np.concatenate([at for _, at, _ in self._pieces])
