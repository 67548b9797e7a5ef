"""The rows that a question is about: of a table, or of tables in blocks; their weights, and which average they are in.

Rows with missing values in a column that is needed are left out and counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._arguments import shown
from ..formula.errors import FormulaError, listed
from ..formula.evaluation import Values, as_factor
from ..formula.parser import parse_expression
from ..formula.remaining import remaining
from ..formula.syntax import Name, Node, columns_in
from ..formula.variables import as_columns, read, refuse_unknown
from ..rows.passes import with_progress
from ..rows.table_source import TableBlock, Tables
from ..tables.columns import Numbers
from ..tables.frames import Frame, complete_rows
from ..tables.matrices import as_vector
from .columns import column_name

_BLOCK = 65_536
MOST_KEYS = 10_000
_SHOWN = 10_000  # rows: fewer take no time
Key = tuple[float | str, ...]


@dataclass(frozen=True)
class Block:
    """Some rows without missing values.

    ``keys`` are the averages that the rows belong to, and ``codes`` gives the position in ``keys`` for each row.
    ``numbers`` are the row numbers in the table.
    """

    rows: Frame
    numbers: np.ndarray
    weights: np.ndarray
    keys: list[Key]
    codes: np.ndarray

    def parts(self, size: int) -> Iterator[Block]:
        for first in range(0, self.rows.n_rows, size):
            which = slice(first, first + size)
            rows = self.rows.take(which)
            yield Block(rows, self.numbers[which], self.weights[which], self.keys, self.codes[which])


@dataclass(frozen=True)
class Asked:
    """Which columns a block of a table must have, and what the averages need.

    The object can be sent to other processes.
    """

    needed: tuple[str, ...]
    by: tuple[str, ...] = ()
    weights: Node | None = None

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys([*self.needed, *self.by, *columns_in(self.weights)]))

    def block(self, table: Any, start: int, given: np.ndarray | None = None) -> Block:
        columns = as_columns(table)
        found = complete_rows(read(columns, self.names), columns.n_rows)
        rows = Frame(found.columns, found.n_rows)
        numbers = start + np.flatnonzero(found.keep)
        weights = np.ones(found.n_rows)
        if given is not None:
            weights = given[found.keep]
        elif self.weights is not None:
            weights = Values(found.columns, found.n_rows, {}, start, found.numbers).numbers(self.weights)
        _refuse_negative(weights, numbers)
        return Block(rows, numbers, weights, *_keys(rows, self.by))

    def __call__(self, block: TableBlock) -> Block:
        return self.block(block.table, block.start)


def _refuse_negative(weights: np.ndarray, numbers: np.ndarray) -> None:
    wrong = ~(weights >= 0)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ValueError(f"weights must not be negative, but row {numbers[at]} has {weights[at]:g}.")


def _keys(rows: Frame, by: Sequence[str]) -> tuple[list[Key], np.ndarray]:
    """The averages that occur, and the number of each row's."""
    if not by:
        return [()], np.zeros(rows.n_rows, np.int64)
    codes = np.zeros(rows.n_rows, np.int64)
    keys: list[Key] = [()]
    for name in by:
        column = rows.columns[name]
        factor = as_factor(column)
        values = [float(level) if isinstance(column, Numbers) else level for level in factor.levels]
        used, codes = np.unique(codes * max(len(values), 1) + factor.codes, return_inverse=True)
        pairs = [divmod(int(k), len(values)) for k in used]
        keys = [(*keys[a], values[b]) for a, b in pairs]
        if len(keys) > MOST_KEYS:
            raise ValueError(
                f"average_by: {listed(list(by))} have more than {MOST_KEYS:,} values: average by columns with "
                "fewer values."
            )
    return keys, codes


@dataclass
class AskedRows:
    """The rows of ``data``, which is a table or tables in blocks.

    ``dropped`` counts the rows that were left out so far because of missing values.
    """

    data: Any
    asked: Asked
    given: np.ndarray | None = None
    dropped: int = 0
    index: np.ndarray | None = field(default=None)

    @classmethod
    def of(cls, data: Any, needed: list[str], by: Sequence[str], weights: Any) -> AskedRows:
        data = remaining(data)
        tables = isinstance(data, Tables)
        table = data if tables else as_columns(data)
        names = list(table.names)
        refuse_unknown([*needed, *by], names)
        node, given = None, None
        if isinstance(weights, str):
            node = Name(weights) if weights in names else parse_expression(weights)
            refuse_unknown(list(columns_in(node)), names)
        elif weights is not None:
            if tables:
                raise TypeError('for tables in blocks, weights must be the name of a column, such as weights="w".')
            given = as_vector(weights, "weights", table.n_rows)
        if table.n_rows == 0:
            raise FormulaError("the data have no rows.")
        return cls(table, Asked(tuple(needed), tuple(by), node), given)

    @property
    def n_rows(self) -> int:
        return int(self.data.n_rows)

    @property
    def in_blocks(self) -> bool:
        return isinstance(self.data, Tables)

    def blocks(self) -> Iterator[Block]:
        """Return the blocks in their order. The counter ``dropped`` starts again at zero."""
        self.dropped = 0
        kept = 0
        for start, n, block in self._each():
            self.dropped += n - block.rows.n_rows
            kept += block.rows.n_rows
            if block.rows.n_rows:
                yield block
            del start
        if kept == 0:
            raise FormulaError("every row has a missing value: no rows are left.")

    def parts(self, size: int) -> Iterator[tuple[Block, Block]]:
        """Return pairs of a block and a part of it with at most ``size`` rows. A long pass shows its progress."""
        if self.in_blocks or self.n_rows < _SHOWN:  # passes over blocks show it themselves
            yield from ((block, part) for block in self.blocks() for part in block.parts(size))
        else:
            yield from with_progress(self._counted(size), self.n_rows, "averaging over all rows")

    def _counted(self, size: int) -> Iterator[tuple[int, tuple[Block, Block]]]:
        done = 0
        for block in self.blocks():
            for part in block.parts(size):
                done += part.rows.n_rows
                yield done, (block, part)

    def _each(self) -> Iterator[tuple[int, int, Block]]:
        names = self.asked.names
        if self.in_blocks:
            for start, n, block in self.data.map(_Sized(self.asked), names):
                yield start, n, block
            return
        for start in range(0, self.n_rows, _BLOCK):
            which = slice(start, min(start + _BLOCK, self.n_rows))
            given = None if self.given is None else self.given[which]
            yield start, which.stop - start, self.asked.block(self.data.take(which, names), start, given)


@dataclass(frozen=True)
class _Sized:
    asked: Asked

    def __call__(self, block: TableBlock) -> tuple[int, int, Block]:
        n = as_columns(block.table).n_rows
        return block.start, n, self.asked(block)


def by_columns(average_by: Any) -> list[str] | None:
    """Return the columns that ``average_by`` names.

    The list is empty for True (one average of all rows). The result is None if rows are not averaged.
    """
    if average_by is None or average_by is False:
        return None
    if average_by is True:
        return []
    if isinstance(average_by, str):
        return [column_name(average_by)]
    if isinstance(average_by, Sequence) and average_by and all(isinstance(one, str) for one in average_by):
        return list(dict.fromkeys(map(column_name, average_by)))
    raise TypeError(f"average_by must be True, the name of a column or a list of names, got {shown(average_by)}.")
