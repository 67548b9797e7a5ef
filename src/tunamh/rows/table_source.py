"""Tables that come in blocks: Parquet files, blocks of your own, partitions of a cluster's data frame.

A source of *tables* knows columns by name and no model. What a target reads is a source of `Rows`, numbers in the order
of the coefficients; `RowsOfTables` makes one from the other by a function of a block, so that anything can sit between
the two: named columns (`tunamh.rows.named_columns`), or a formula.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np

from ..tables.columns import Factor
from .source import Rows

Result = TypeVar("Result")


def not_coded(name: str) -> None:
    """No column was coded at once."""


class TableBlock(NamedTuple):
    """Consecutive rows of a table: the argument of the function ``read`` in `RowsOfTables`.

    Parameters
    ----------
    start : int
        The number of the first row.
    table : table
        A pyarrow, pandas or polars table, or a dict of arrays; ``table[name]`` is a column.
    place : str
        The origin of the rows, for error messages, such as ``row group 3 of flights/2020.parquet, from its row 16384
        on``.
    numbers : dict of arrays
        Columns that the reader has already converted to arrays; it can be empty.
    text : callable
        Only the library sets it. From the name of a column of text to its levels and codes, if the reader has found
        them for all blocks of a table at once; None if it has not.
    """

    start: int
    table: Any
    place: str
    numbers: Mapping[str, np.ndarray] = {}
    text: Callable[[str], Factor | None] = not_coded


@runtime_checkable
class ReadsCodes(Protocol):
    """A function of a block. ``reads_codes``: it asks ``block.text`` for columns of text before it looks at the table,
    so that these may be codes there.
    """

    reads_codes: bool


def takes_codes(function: Any) -> bool:
    """Whether a function of blocks knows columns of text in codes."""
    return isinstance(function, ReadsCodes) and function.reads_codes


@runtime_checkable
class Tables(Protocol):
    """The interface of a source of tables that are read block by block, such as the result of `tunamh.open_rows`.

    All blocks have the same columns. Every pass over the source must return the same rows. ``memory`` is the number of
    bytes that a run may use for rows; None: no limit.
    """

    n_rows: int
    names: Sequence[str]
    fingerprint: str
    memory: int | None

    def __getitem__(self, columns: Any) -> SomeColumns:
        """Columns by name."""

    def first(self, columns: Sequence[str] | None = None) -> TableBlock:
        """Return a block with the first rows. It shows the names and types of the ``columns`` (None: all)."""

    def map(self, function: Callable[[TableBlock], Result], columns: Sequence[str] | None = None) -> Iterator[Result]:
        """Apply ``function`` to every block and return an iterator of the results, in the order of the blocks.

        Only the columns named in ``columns`` are read (None: all columns). The function may run in other processes, so
        it must not refer to large data: these would be copied to every process.
        """


class SomeColumns:
    """Columns of tables chosen by name, such as ``tables[["distance", "hour"]]``."""

    def __init__(self, tables: Any, columns: Sequence[str]):
        there = set(tables.names)
        unknown = [name for name in columns if name not in there]
        if unknown:
            known = ", ".join(map(str, tables.names))
            raise KeyError(f"no column {unknown[0]!r} in these rows, whose columns are {known}")
        self.tables, self.columns = tables, list(columns)

    def __repr__(self) -> str:
        return f"{self.tables!r}[{self.columns!r}]"


class _Read:
    """A function of rows as one of a block of tables: small, so that it can be sent to where the block is."""

    def __init__(self, read: Callable[[TableBlock], Rows], function: Callable[[Rows], Any]):
        self.read, self.function = read, function
        self.reads_codes = takes_codes(read)

    def __call__(self, block: TableBlock) -> Any:
        return self.function(self.read(block))


class RowsOfTables:
    """A source of rows, made from a source of tables.

    Parameters
    ----------
    tables : Tables
        The source of tables, such as the result of `tunamh.open_rows`.
    read : callable
        A function from a `TableBlock` to its `Rows`: ``Rows(block.start, X, y, ...)``. It may run in other processes.
    names : sequence of str or None
        The names of the coefficients.
    columns : sequence of str, optional
        The columns that ``read`` needs; only these are read from disk.
    each : int
        The number of rows that ``read`` makes from each row of a table. A block that starts at row ``k`` of the table
        then starts at row ``each * k``.
    classes : sequence of str, optional
        The names of the responses 0, 1, ..., if they have names.
    factors : sequence of str
        The names of the columns that are factors. Their coefficients come after those of the other columns.
    """

    def __init__(
        self,
        tables: Tables,
        read: Callable[[TableBlock], Rows],
        names: Sequence[str] | None,
        columns: Sequence[str] | None = None,
        each: int = 1,
        *,
        classes: Sequence[str] | None = None,
        factors: Sequence[str] = (),
    ):
        self.tables, self.read, self.names = tables, read, names
        self.columns = None if columns is None else list(dict.fromkeys(columns))
        self.n_rows, self.memory = each * tables.n_rows, tables.memory
        self.classes, self.factors = classes, tuple(factors)
        about = hashlib.blake2b(repr((self.names, self.columns, repr(read))).encode(), digest_size=4)
        self.fingerprint = f"{tables.fingerprint}-{about.hexdigest()}"

    def first(self) -> Rows:
        """Return the first block of rows."""
        return self.read(self.tables.first(self.columns))

    def map(self, function: Callable[[Rows], Result]) -> Iterator[Result]:
        """Apply ``function`` to every block of rows; return an iterator of the results, in the order of the blocks."""
        return self.tables.map(_Read(self.read, function), self.columns)

    def __repr__(self) -> str:
        return f"rows of {self.tables!r}"
