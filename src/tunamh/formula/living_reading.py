"""How a piece of files that come and go is read: which rows count, in parts that stay in the processor's cache."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..rows.passes import ROWS_AT_ONCE, blocks
from ..rows.pieces import Reading
from ..rows.source import Rows
from ..tables.columns import Column, Factor, Numbers
from ..tables.frames import CompleteRows, complete_rows
from ..tables.levels import TextAtOnce
from ..tables.libraries import numbers_at_once
from .errors import FormulaError
from .evaluation import Values
from .plain_rows import PlainRows
from .syntax import Node, columns_in
from .variables import as_columns, read, usable_numbers

_LARGEST = 2.0**53
_PART = 1 << 16  # rows that are looked at together


class Held:
    """A store for the tables of new pieces between two uses: the first look at them, and the computation of sums.

    So each new piece is read from its file only once, as far as memory allows.
    """

    def __init__(self, bytes_allowed: float):
        self.room, self.tables = bytes_allowed, dict[str, list[tuple[CompleteRows, int]]]()
        self.rows_read, self._lock = 0, threading.Lock()

    def count(self, n_rows: int) -> None:
        """Add ``n_rows`` to the number of rows that were read from a file."""
        with self._lock:
            self.rows_read += n_rows

    def keep(self, piece: Any, tables: list[tuple[CompleteRows, int]]) -> None:
        size = sum(8 * complete.n_rows * len(complete.columns) for complete, _ in tables)
        with self._lock:
            if size <= self.room:
                self.room -= size
                self.tables[piece.place] = tables

    def end(self) -> None:
        """Delete the stored tables, and store no further ones."""
        self.room = 0.0
        self.tables.clear()


class _Part(NamedTuple):
    """Some rows of a table by column: numbers as the file has them, and levels."""

    numbers: dict[str, np.ndarray]
    factors: dict[str, Factor]


@dataclass(frozen=True)
class LivingPiece:
    """How a piece of the files is read: names of columns, conditions of rows to be forgotten, missing values."""

    names: tuple[str, ...]
    forget: tuple[Node, ...]
    held: Held | None = None

    @property
    def columns(self) -> list[str]:
        """Return the names of all columns that are read, including those of the conditions."""
        of_rules = [name for node in self.forget for name in columns_in(node)]
        return list(dict.fromkeys([*self.names, *of_rules]))

    def tables(self, piece: Any) -> Iterator[tuple[CompleteRows, int]]:
        """Return the rows of a piece that are used, part by part, each with the number of its forgotten rows."""
        if self.held is None:
            yield from self._read(piece, _PART)
            return
        known = self.held.tables.get(piece.place)
        if known is None:
            known = list(self._read(piece, _PART))
            self.held.count(piece.n_rows)
            self.held.keep(piece, known)
        yield from known

    def _read(self, piece: Any, rows: int) -> Iterator[tuple[CompleteRows, int]]:
        """Columns that are arrays become numbers so many ``rows`` at a time, so that these stay in the cache."""
        for part in self._parts(piece, rows):
            complete, stays = self._of_part(part) if isinstance(part, _Part) else self.of_table(part)
            yield complete, int((~stays).sum())

    def _parts(self, piece: Any, rows: int) -> Iterator[_Part | Any]:
        """So many ``rows`` at a time as the file has them; a table as a whole where a column is neither."""
        coded = Reading().text_in_codes(piece, self.columns)
        for table in Reading().tables(piece, self.columns, coded):
            numbers, text = numbers_at_once(table), TextAtOnce(table, coded)
            numbers = {name: numbers[name] for name in self.columns if name in numbers}
            found = {name: text.whole(name) for name in self.columns if name not in numbers}
            factors = {name: factor for name, factor in found.items() if factor is not None}
            if len(factors) < len(found):
                yield text.table_of_text()
                continue
            for which in (slice(begin, begin + rows) for begin in range(0, table.num_rows, rows)):
                arrays = {name: column[which] for name, column in numbers.items()}
                yield _Part(arrays, {name: factor.take(which) for name, factor in factors.items()})

    def _of_part(self, part: _Part) -> tuple[CompleteRows, np.ndarray]:
        columns: dict[str, Column] = {
            name: part.factors[name] if name in part.factors else usable_numbers(part.numbers[name], name)
            for name in self.columns
        }
        return self.of_columns(columns)

    def of_table(self, table: Any) -> tuple[CompleteRows, np.ndarray]:
        """Return the rows of a table that are used, and the positions of these rows in the table.

        Rows are not used if they are forgotten or have missing values.
        """
        return self.of_columns(read(as_columns(table), self.columns))

    def of_columns(self, columns: Mapping[str, Column]) -> tuple[CompleteRows, np.ndarray]:
        """Return the same as `of_table` for columns that have been read already."""
        n_rows = len(next(iter(columns.values())))
        stays = ~forgotten(columns, self.forget, n_rows)
        wanted = {name: columns[name] for name in self.names}
        if not stays.all():
            wanted = {name: column.take(stays) for name, column in wanted.items()}
        return complete_rows({name: _packed(one) for name, one in wanted.items()}, int(stays.sum())), stays

    def blocks(self, piece: Any, plain: PlainRows | None = None) -> Iterator[CompleteRows | Rows]:
        """Yield the rows of a piece that are used, at most `ROWS_AT_ONCE` at a time.

        If ``plain`` can make rows of a target directly, it does so.
        """
        if self._is_held(piece):
            for complete, _ in self.tables(piece):
                yield from _cut(complete)
            return
        for part in self._parts(piece, ROWS_AT_ONCE):
            found = None
            if plain is not None and not self.forget and isinstance(part, _Part):
                found = plain.of_columns(part.numbers, part.factors)
            if found is not None:
                yield found
                continue
            yield from _cut((self._of_part(part) if isinstance(part, _Part) else self.of_table(part))[0])

    def _is_held(self, piece: Any) -> bool:
        """Whether its tables are held, or will be; where they are not, its rows are counted as read."""
        if self.held is None:
            return False
        if piece.place in self.held.tables or 8 * piece.n_rows * len(self.names) <= self.held.room:
            return True
        self.held.count(piece.n_rows)
        return False


def _cut(complete: CompleteRows) -> Iterator[CompleteRows]:
    for which in blocks(complete.n_rows):
        columns = {name: column.take(which) for name, column in complete.columns.items()}
        yield CompleteRows(columns, np.ones(which.stop - which.start, bool), {})


def _packed(column: Column) -> Column:
    if not isinstance(column, Factor):
        return column
    found = column.packed()
    return replace(found, absent=()) if found.kind == "text" else found  # no level of text is known that is absent


def forgotten(columns: Mapping[str, Column], conditions: Sequence[Node], n_rows: int) -> np.ndarray:
    """Return a boolean array: True in rows for which a condition holds.

    The condition does not hold in a row that has a missing value in its columns.
    """
    found = np.zeros(n_rows, bool)
    for node in conditions:
        complete = complete_rows({name: columns[name] for name in columns_in(node)}, n_rows)
        _refuse_large(complete.columns)
        if complete.n_rows:
            holds = Values(complete.columns, complete.n_rows, {}, 0, complete.numbers).numbers(node) != 0
            found[np.flatnonzero(complete.keep)[holds]] = True
    return found


def _refuse_large(columns: Mapping[str, Column]) -> None:
    """Numbers that are next to each other as whole numbers, and the same ones as floating point."""
    for name, column in columns.items():
        if isinstance(column, Numbers) and (np.abs(column.values) >= _LARGEST).any():
            raise FormulaError(
                f"column {name} has numbers of {_LARGEST:.2g} or more. tunamh cannot distinguish neighbouring "
                f"numbers of this size, so it might forget other rows: write such numbers as text in the files, and "
                f"compare with text."
            )
