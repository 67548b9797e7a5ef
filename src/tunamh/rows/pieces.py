"""Tables in pieces that are read by themselves: row groups of files, or what a reader of your own returns.

A piece is one task. Its rows are cut into blocks of 16,384, so that what is computed from a block stays in the cache,
however large the piece, and so that rows in files give the sums, bit for bit, that the same rows in arrays give.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np

from .._arguments import shown
from ..errors import SourceError, TunaMHError
from ..process.blas import one_blas_thread
from ..tables.frames import column_names
from ..tables.levels import TextAtOnce
from ..tables.libraries import RepeatedNames, as_frame, copied, count_rows, cut, numbers_at_once
from .executors import between_blocks, in_order
from .passes import ROWS_AT_ONCE, with_progress
from .table_source import SomeColumns, TableBlock, Tables, takes_codes

Result = TypeVar("Result")


class Piece(Protocol):
    """Some rows that are read where the work is done: the piece is sent there, not the rows."""

    @property
    def place(self) -> str:
        """Return where the rows come from, in words for errors."""

    def tables(self, columns: Sequence[str] | None) -> Iterable[Any]:
        """Return the rows as one table, or as several tables with the same columns."""


@runtime_checkable
class InCodes(Protocol):
    """A piece that can give columns of text in codes, where this is cheaper."""

    def text_in_codes(self, columns: Sequence[str]) -> list[str]: ...

    def coded_tables(self, columns: Sequence[str], text: Sequence[str]) -> Iterable[Any]: ...


class Reading(NamedTuple):
    """How pieces are read: the columns that are read before ``change``, and this function, which changes each table."""

    columns: tuple[str, ...] | None = None
    change: Callable[[Any], Any] | None = None

    def tables(self, piece: Piece, columns: Sequence[str] | None, text: Sequence[str] = ()) -> Iterator[Any]:
        """Yield the tables of a piece. Errors in reading or changing say where this was.

        Columns of ``text`` come in codes (`InCodes`).
        """
        try:
            wanted = columns if self.change is None else self.columns
            for table in piece.coded_tables(wanted, text) if text else piece.tables(wanted):  # type: ignore[attr-defined]
                changed = table if self.change is None else self.change(table)
                as_frame(changed)  # raises for repeated names
                yield changed
        except (TunaMHError, MemoryError):
            raise
        except RepeatedNames as error:
            raise SourceError(f"{piece.place} has {error.problem}") from None
        except Exception as error:
            doing = "reading" if self.change is None else "reading or changing"
            raise SourceError(f"{doing} {piece.place} failed: {type(error).__name__}: {error}") from error

    def text_in_codes(self, piece: Piece, columns: Sequence[str] | None) -> list[str]:
        """Return the columns of text that a piece gives in codes; none if a user's function sees its tables."""
        seen_by_others = self.change is not None or columns is None
        return piece.text_in_codes(columns) if isinstance(piece, InCodes) and not seen_by_others else []  # type: ignore[arg-type]

    def blocks(
        self, piece: Piece, start: int, columns: Sequence[str] | None, *, in_codes: bool = False
    ) -> Iterator[TableBlock]:
        """Yield the rows of a piece in blocks. With ``in_codes``, columns of text may be dictionaries."""
        done, coded = 0, self.text_in_codes(piece, columns) if in_codes else []
        for table in self.tables(piece, columns, coded):
            numbers, text = numbers_at_once(table), TextAtOnce(table, coded)
            for which, rows in cut(text.table, ROWS_AT_ONCE):
                first = done + which.start
                where = piece.place if first == 0 else f"{piece.place}, from its row {first} on"
                arrays = {name: one[which] for name, one in numbers.items()}
                yield TableBlock(start + first, rows, where, arrays, partial(text.of, rows=which))
            done += count_rows(table)


class CacheAsked(NamedTuple):
    """The cache that a user asked for: its folder, what to do with new levels, and the files, pattern or folder."""

    path: Any
    new_levels: str
    source: list[str]


class InPieces:
    """A source of tables that are read piece by piece: the result of `tunamh.open_rows`.

    A piece is a part of the data that is read as one task, such as a row group of a Parquet file. ``tables[["distance",
    "hour"]]`` chooses columns, for ``X=`` of `tunamh.GLM`.

    Attributes
    ----------
    n_rows : int
        The number of rows.
    names : tuple of str
        The names of the columns.
    lengths : list of int
        The number of rows of each piece.
    memory : int or None
        The largest number of bytes that rows may use; None: no limit.
    executor
        The object that reads the pieces; None: threads of this process.
    """

    def __init__(
        self,
        pieces: Iterable[Piece],
        lengths: Sequence[int],
        names: Sequence[str] | None,
        fingerprint: str,
        *,
        reading: Reading | None = None,
        executor: Any = None,
        memory: int | None = None,
    ):
        self._reading, self.executor, self.memory = reading or Reading(), executor, memory
        self.pieces, self.lengths = pieces, [int(length) for length in lengths]
        self.starts = [0, *np.cumsum(self.lengths).tolist()][:-1]
        self.n_rows, self.fingerprint = sum(self.lengths), fingerprint
        if self.n_rows == 0:
            raise ValueError("there are no rows in these tables.")
        self.names = tuple((column_names(self.first().table) or ()) if names is None else names)

    cache: CacheAsked | None = None

    scratch: str | None = None

    def with_scratch(self, folder: str | None) -> InPieces:
        """Return these tables, after setting the folder for the large arrays of models with groups (``scratch=``)."""
        self.scratch = folder
        return self

    def with_cache(self, cache: CacheAsked | None) -> InPieces:
        """Return these tables, after setting the cache for what models compute of them (``cache=``)."""
        self.cache = cache
        return self

    def first(self, columns: Sequence[str] | None = None) -> TableBlock:
        """Return a block with the first rows and these ``columns`` (None: all).

        Of plain arrow tables a copy is kept, since to read one block of a row group is to read all of it.
        """
        known = self._first
        if columns is not None and known is not None and set(columns) <= set(known.table.column_names):
            return known._replace(table=known.table.select(list(columns)))
        piece = next(piece for piece, length in zip(self.pieces, self.lengths, strict=True) if length > 0)
        found = next(self._reading.blocks(piece, 0, columns))
        copy = copied(found.table) if columns is not None and self._reading.change is None else None
        if copy is not None:
            self._first = found._replace(table=copy, numbers=numbers_at_once(copy))
        return found

    _first: TableBlock | None = None

    def map(self, function: Callable[[TableBlock], Result], columns: Sequence[str] | None = None) -> Iterator[Result]:
        """Apply ``function`` to every block; return an iterator of the results, in the order of the blocks.

        Only the columns named in ``columns`` are read (None: all columns).
        """
        task = OfBlocks(function, self._reading, None if columns is None else tuple(columns))
        tasks = (each for each in zip(self.pieces, self.starts, self.lengths, strict=True) if each[2] > 0)
        for results in in_order(self.executor, task, tasks):
            yield from results

    def __getitem__(self, columns: Any) -> SomeColumns:
        names = [columns] if isinstance(columns, str) else columns
        if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
            raise TypeError(f"columns are chosen by name, as in tables[['distance', 'hour']], got {shown(columns)}.")
        return SomeColumns(self, list(names))

    def __repr__(self) -> str:
        return f"tables({self.n_rows:,} rows, {len(self.names)} columns, {len(self.lengths):,} pieces)"


def has_cache(tables: Any) -> bool:
    """Return True if the user passed ``cache=`` for these tables."""
    return isinstance(tables, InPieces) and tables.cache is not None


def scratch_of(tables: Any) -> str | None:
    """Return the folder for large arrays, or None."""
    return tables.scratch if isinstance(tables, InPieces) else None


@dataclass(frozen=True)
class OfBlocks:
    """A function that a worker runs: it applies ``function`` to every block of a piece."""

    function: Callable[[TableBlock], Any]
    reading: Reading
    columns: tuple[str, ...] | None

    def __call__(self, piece: Piece, start: int, length: int) -> list[Any]:
        with one_blas_thread():  # here, so that it is set once, and not for each block
            return self._of_piece(piece, start, length)

    def _of_piece(self, piece: Piece, start: int, length: int) -> list[Any]:
        results, done = [], 0
        in_codes = takes_codes(self.function)
        for block in self.reading.blocks(piece, start, self.columns, in_codes=in_codes):
            between_blocks()
            try:
                results.append(self.function(block))
            except Exception as error:
                error.add_note(f"This was in {block.place}; its first row is row {block.start} of all.")
                raise
            done += count_rows(block.table)
        if done != length:
            raise SourceError(
                f"{piece.place} has {done} rows now and had {length} when it was opened: the data changed in between. "
                "Open the rows again and make a new target."
            )
        return results


def every_block(tables: Tables, read: Callable[[TableBlock], Result], columns: Sequence[str]) -> Iterator[Result]:
    """Yield ``read(block)`` of every block, with only these columns. Progress is shown."""
    return with_progress(tables.map(_Counted(read), columns), tables.n_rows, "reading rows")


@dataclass(frozen=True)
class _Counted:
    """Call ``read`` and also return how many rows precede the end of the block."""

    read: Callable[[TableBlock], Any]

    def __call__(self, block: TableBlock) -> tuple[int, Any]:
        return block.start + count_rows(block.table), self.read(block)


class Surveyed(NamedTuple):
    """The result of one pass over all pieces: their numbers of rows, and hashes of their contents."""

    lengths: list[int]
    digests: list[str]


@dataclass(frozen=True)
class Survey:
    """A function that returns the number of rows of a piece, and a hash of its contents."""

    reading: Reading

    def __call__(self, piece: Piece) -> tuple[int, str]:
        n, digest = 0, hashlib.blake2b(digest_size=8)
        for table in self.reading.tables(piece, None):
            n += count_rows(table)
            digest.update(_bytes_of(table))
        return n, digest.hexdigest()


def survey(pieces: Iterable[Piece], reading: Reading, executor: Any) -> Surveyed:
    """Read all pieces once. This is needed if the pieces do not say how many rows they have."""
    found = in_order(executor, Survey(reading), ((piece,) for piece in pieces))
    number = len(pieces) if isinstance(pieces, Sized) else 1 << 20
    lengths, digests = [], []
    for length, digest in with_progress(enumerate(found, 1), number, "counting the rows of blocks"):
        lengths.append(length)
        digests.append(digest)
    return Surveyed(lengths, digests)


def _bytes_of(table: Any) -> bytes:
    """Something that differs for different tables."""
    parts = []
    for name in column_names(table) or ():
        array = np.asarray(table[name])
        known = array.dtype.kind in "biufmM"
        parts.append(f"{name}{array.dtype}".encode())
        parts.append(np.ascontiguousarray(array).tobytes() if known else repr(array.tolist()).encode())
    return b"".join(parts)
