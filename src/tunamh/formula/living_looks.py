"""What a formula learns from one piece of files that come and go, as plain values that a cache keeps."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from ..rows.passes import ROWS_AT_ONCE, blocks
from ..rows.pieces import Reading
from ..tables.columns import Column, Factor, Numbers
from ..tables.frames import CompleteRows, complete_rows
from ..tables.libraries import numbers_at_once
from .data_summaries import FirstLook, Moments, SecondLook, first_look, second_look
from .errors import FormulaError
from .evaluation import Values, as_factor
from .needed_rows import Read
from .right_side import RightSide
from .syntax import Node, columns_in, label
from .typical import ColumnsLook, columns_look
from .variables import as_columns, join_levels, read, usable_numbers

_LARGEST = 2.0**53
_PART = 1 << 16  # rows that are looked at together
_FEW = 64  # responses of a piece that are kept, to know their spread


class Held:
    """Tables of new pieces between the look at them and their map, so that they are read once, where memory allows."""

    def __init__(self, bytes_allowed: float):
        self.room, self.tables = bytes_allowed, dict[str, list[tuple[CompleteRows, int]]]()
        self.rows_read, self._lock = 0, threading.Lock()

    def count(self, n_rows: int) -> None:
        """So many rows were read from a file."""
        with self._lock:
            self.rows_read += n_rows

    def keep(self, piece: Any, tables: list[tuple[CompleteRows, int]]) -> None:
        size = sum(8 * complete.n_rows * len(complete.columns) for complete, _ in tables)
        with self._lock:
            if size <= self.room:
                self.room -= size
                self.tables[piece.place] = tables

    def end(self) -> None:
        """Forget them, and hold no more."""
        self.room = 0.0
        self.tables.clear()


@dataclass(frozen=True)
class LivingPiece:
    """How a piece is read: columns by name, the conditions of rows to be forgotten, and rows with missing values."""

    names: tuple[str, ...]
    forget: tuple[Node, ...]
    held: Held | None = None

    @property
    def columns(self) -> list[str]:
        """All that are read."""
        of_rules = [name for node in self.forget for name in columns_in(node)]
        return list(dict.fromkeys([*self.names, *of_rules]))

    def tables(self, piece: Any) -> Iterator[tuple[CompleteRows, int]]:
        """The rows that count, part by part, and how many others are forgotten."""
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
        for table in Reading().tables(piece, self.columns):
            numbers = numbers_at_once(table)
            if not numbers.keys() >= set(self.columns):
                complete, stays = self.of_table(table)
                yield complete, int((~stays).sum())
                continue
            for begin in range(0, piece.n_rows, rows):
                parts = {name: numbers[name][begin : begin + rows] for name in self.columns}
                if len(parts[self.columns[0]]):  # a table may be a part of a piece
                    complete, stays = self.of_columns({name: usable_numbers(one, name) for name, one in parts.items()})
                    yield complete, int((~stays).sum())

    def of_table(self, table: Any) -> tuple[CompleteRows, np.ndarray]:
        """The rows that count among those that are not forgotten, and which rows of the table these are."""
        return self.of_columns(read(as_columns(table), self.columns))

    def of_columns(self, columns: Mapping[str, Column]) -> tuple[CompleteRows, np.ndarray]:
        """Likewise, of columns that were read."""
        n_rows = len(next(iter(columns.values())))
        stays = ~forgotten(columns, self.forget, n_rows)
        wanted = {name: columns[name] for name in self.names}
        if not stays.all():
            wanted = {name: column.take(stays) for name, column in wanted.items()}
        return complete_rows({name: _packed(one) for name, one in wanted.items()}, int(stays.sum())), stays

    def blocks(self, piece: Any) -> Iterator[CompleteRows]:
        """The rows that count, at most 8192 at a time."""
        for complete, _ in self.tables(piece) if self._is_held(piece) else self._read(piece, ROWS_AT_ONCE):
            yield from _cut(complete)

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
    return column.packed() if isinstance(column, Factor) else column


def forgotten(columns: Mapping[str, Column], conditions: Sequence[Node], n_rows: int) -> np.ndarray:
    """The rows for which a condition holds; one with a missing value in the condition's columns does not."""
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


Look = dict[str, Any]
"""Of a piece: plain values, as JSON has them."""


def look_at(piece: Any, how: LivingPiece, asked: Read) -> Look:
    """Levels and how many rows have each, moments of numbers, the responses, and what is missing or forgotten."""
    looks, holes, lost, gone = [], dict[str, int](), 0, 0
    for complete, count in how.tables(piece):
        gone, lost = gone + count, lost + complete.lost
        for name, number in complete.holes.items():
            holes[name] = holes.get(name, 0) + number
        if complete.n_rows:
            looks.append(_of_table(Values(complete.columns, complete.n_rows, {}, 0, complete.numbers), asked))
    found: Look = {"n": sum(one["n"] for one in looks), "lost": lost, "holes": holes, "forgotten": gone}
    return {**found, "looks": looks}


def _of_table(values: Values, asked: Read) -> Look:
    first = first_look(asked.right, values)
    second = second_look(RightSide(asked.right, first.levels, {}), values)
    columns = columns_look(asked.right, asked.others.values(), values)
    counts = {}
    for atom in dict.fromkeys(atom for term in asked.right.fixed for atom in term):
        if label(atom) in first.levels:
            factor = as_factor(values.value(atom))
            seen = np.bincount(factor.codes, minlength=len(factor.levels)).tolist()
            counts[label(atom)] = {level: n for level, n in zip(factor.levels, seen, strict=True) if n}
    return {
        "n": values.n_rows,
        "levels": {name: list(levels) for name, levels in first.levels.items()},
        "sorted": first.sorted_levels,
        "counts": counts,
        "numbers": {name: list(one) for name, one in second.moments.items()},
        "columns": {"counts": columns.counts, "moments": {name: list(one) for name, one in columns.moments.items()}},
        "y": _responses(values, asked.response),
    }


def _responses(values: Values, node: Node) -> Look:
    found = values.value(node)
    if isinstance(found, Factor):
        used = [found.levels[code] for code in np.unique(found.codes).tolist()]
        return {"levels": used, "ordered": found.ordered, "moments": None, "some": []}
    y = np.asarray(found.values, dtype=np.float64)
    some = y[:: max(1, len(y) // _FEW)].tolist()
    return {"levels": None, "ordered": False, "moments": list(Moments.of(y)), "some": some}


class AllLooks:
    """The looks at all pieces, joined in their order."""

    def __init__(self, looks: Sequence[Look]):
        self.looks, self.tables = looks, [table for look in looks for table in look["looks"]]
        self.lengths = [int(look["n"]) for look in looks]
        self.lost = sum(int(look["lost"]) for look in looks)
        self.forgotten = [int(look["forgotten"]) for look in looks]

    @property
    def holes(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for look in self.looks:
            for name, count in look["holes"].items():
                found[name] = found.get(name, 0) + int(count)
        return found

    def counts(self, name: str) -> dict[str, int]:
        """How many rows have each level of a factor."""
        found: dict[str, int] = {}
        for table in self.tables:
            for level, count in table["counts"].get(name, {}).items():
                found[level] = found.get(level, 0) + int(count)
        return found

    @property
    def factors(self) -> list[str]:
        return list(dict.fromkeys(name for table in self.tables for name in table["levels"]))

    def levels(self, name: str, known: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
        """Those that are known and still occur, in their order, then new ones; and the new ones."""
        there = self.counts(name)
        if not known:
            return join_levels([tuple(table["levels"][name]) for table in self.tables if name in table["levels"]]), []
        new = [level for level in there if level not in set(known)]
        new = list(join_levels([tuple(sorted(new))])) if new else []
        return (*(level for level in known if level in there), *new), new

    def first(self, levels: Mapping[str, tuple[str, ...]]) -> FirstLook:
        return FirstLook(dict(levels), dict.fromkeys(levels, False), {})

    def second(self) -> SecondLook:
        found: dict[str, Moments] = {}
        for table in self.tables:
            for name, numbers in table["numbers"].items():
                one = Moments(*numbers)
                found[name] = found[name] + one if name in found else one
        return SecondLook({}, found, {})

    def columns(self) -> list[ColumnsLook]:
        """What columns are like, table by table."""
        found = [table["columns"] for table in self.tables]
        return [
            ColumnsLook(one["counts"], {name: Moments(*numbers) for name, numbers in one["moments"].items()})
            for one in found
        ]

    @property
    def response_moments(self) -> Moments | None:
        found = [Moments(*table["y"]["moments"]) for table in self.tables if table["y"]["moments"] is not None]
        return reduce(Moments.__add__, found) if found else None

    @property
    def response_levels(self) -> list[tuple[str, ...]]:
        return [tuple(table["y"]["levels"]) for table in self.tables if table["y"]["levels"] is not None]

    @property
    def some_responses(self) -> np.ndarray:
        return np.concatenate([np.zeros(0), *(np.array(table["y"]["some"]) for table in self.tables)])
