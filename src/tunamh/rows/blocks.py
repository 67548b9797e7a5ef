"""Blocks of your own: tables in a list, or whatever a reader makes tables of."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from .._arguments import shown
from ..tables.frames import column_names, selected
from .pieces import InPieces, Reading, survey


class HeldPiece(NamedTuple):
    """A piece of data that is a table in memory."""

    table: Any
    place: str

    def tables(self, columns: Sequence[str] | None) -> Iterator[Any]:
        yield _of_columns(self.table, columns)


class ReadPiece(NamedTuple):
    """A piece of data that ``reader`` returns for a member of a list. It is read again each time."""

    member: Any
    reader: Callable[[Any], Any]
    place: str

    def tables(self, columns: Sequence[str] | None) -> Iterator[Any]:
        yield _of_columns(self.reader(self.member), columns)


def _of_columns(block: Any, columns: Sequence[str] | None) -> Any:
    table = as_table(block)
    return table if columns is None else selected(table, columns)


def as_table(block: Any) -> Any:
    """Return a table with columns by name. The columns of a matrix are called 0, 1, ..."""
    if isinstance(block, np.ndarray):
        if block.ndim != 2:
            raise TypeError(f"a block that is an array must be a matrix (rows, columns), got {shown(block)}.")
        return {str(j): block[:, j] for j in range(block.shape[1])}
    if isinstance(block, dict):
        lengths = {name: len(values) for name, values in block.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"the columns of a block have different lengths: {lengths}.")
        return {str(name): values for name, values in block.items()}
    if column_names(block) is None:
        raise TypeError(
            f"a block must be a table (pandas, polars, pyarrow), a dict of arrays or a matrix, got {shown(block)}."
        )
    return block


@runtime_checkable
class Indexed(Protocol):
    """An object with a length and numbered members."""

    def __len__(self) -> int: ...

    def __getitem__(self, which: Any) -> Any: ...


class Iterated:
    """The members of a collection as pieces. A piece is made when it is needed."""

    def __init__(self, rows: Any, reader: Callable[[Any], Any] | None):
        self.rows, self.reader = rows, reader

    def __iter__(self) -> Iterator[Any]:
        indexed = isinstance(self.rows, Indexed)
        members = (self.rows[k] for k in range(len(self.rows))) if indexed else iter(self.rows)
        for k, member in enumerate(members):
            if self.reader is None:
                yield HeldPiece(member, f"block {k}")
            else:
                yield ReadPiece(member, self.reader, f"block {k} ({shown(member)})")


def block_tables(
    rows: Any, reader: Callable[[Any], Any] | None, reading: Reading, *, executor: Any, memory: int | None
) -> InPieces:
    """Return a source from a list of tables, one table, or what ``reader`` returns for each member.

    All tables are read once to count their rows.
    """
    if reader is None and (isinstance(rows, dict | np.ndarray) or column_names(rows) is not None):
        rows = [rows]
    again = isinstance(rows, Indexed | Iterable) and not isinstance(rows, Iterator | dict | str)
    if not again:
        raise TypeError(
            f"blocks must be a list or another sequence, because they are read more than once; got {shown(rows)}."
        )
    pieces = Iterated(rows, reader)
    found = survey(pieces, reading, executor)
    fingerprint = hashlib.blake2b(repr(found).encode(), digest_size=8).hexdigest()
    return InPieces(
        pieces,
        found.lengths,
        None if reading.change is not None else reading.columns,
        fingerprint,
        reading=reading,
        executor=executor,
        memory=memory,
    )
