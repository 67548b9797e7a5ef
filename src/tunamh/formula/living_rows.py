"""All rows of files that come and go, in memory or in large arrays. Columns of every piece are kept in the cache."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..living.cache import ModelFolder
from ..living.errors import CacheError
from ..living.kept_columns import as_record, column_of, has_columns, there
from ..living.pieces import PieceId
from ..living.records import Record
from ..process.scratch import folder_in_force, large
from ..process.stages import announce
from ..rows.columns_in_files import GrowingColumn
from ..rows.executors import in_order
from ..rows.passes import with_progress
from ..rows.pieces import Reading
from ..tables.columns import Column, joined
from ..tables.frames import CompleteRows
from .errors import FormulaError
from .living_reading import LivingPiece
from .variables import join_levels, levels_in_one_order


def columns_name(piece: PieceId, rules: str) -> str:
    """Return the name of the file in the cache that stores the columns of a piece.

    ``rules`` is a hash of the conditions of rows that are left out.
    """
    return f"columns-{piece.key}-{rules}"


@dataclass(frozen=True)
class _ReadColumns:
    """What a worker does with a piece that was never read."""

    how: LivingPiece

    def __call__(self, piece: Any) -> Record:
        parts, gone, begin, forgotten = [], [np.zeros(0, np.int64)], 0, 0
        holes: dict[str, int] = {}
        for table in Reading().tables(piece, self.how.columns):
            complete, stays = self.how.of_table(table)
            counts = np.zeros(len(stays), bool)
            counts[np.flatnonzero(stays)[complete.keep]] = True
            gone.append(begin + np.flatnonzero(~counts))
            begin, forgotten = begin + len(stays), forgotten + int((~stays).sum())
            for name, count in complete.holes.items():
                holes[name] = holes.get(name, 0) + count
            parts.append(complete.columns)
        left = np.concatenate(gone)
        words = {"n": begin - len(left), "lost": len(left) - forgotten, "holes": holes, "forgotten": forgotten}
        return as_record({name: _joined([one[name] for one in parts], name) for name in self.how.names}, left, words)


def _joined(parts: Sequence[Column], name: str) -> Column:
    try:
        return joined([part for part in parts if len(part)] or parts[:1], join_levels)
    except ValueError as error:
        raise _two_kinds(name, error) from None


def _two_kinds(name: str, error: ValueError) -> FormulaError:
    return FormulaError(f"column {name} holds {error}.".replace("blocks", "files"))


class AllRows(NamedTuple):
    """All rows that are used, the number of these rows in every piece, and the numbers of rows left out.

    ``read`` is the number of rows that were read from files in this call, and ``files`` are these files.
    """

    complete: CompleteRows
    lengths: list[int]
    forgotten: list[int]
    lost: int
    read: int
    files: set[str]


def all_rows(folder: ModelFolder, ids: list[PieceId], rules: str, how: LivingPiece, executor: Any) -> AllRows:
    """Return all rows that are used, from the cache.

    Pieces that are not in the cache are read and stored there. Columns of pieces that no longer exist are removed.
    If large arrays are in files (`tunamh.process.scratch`), columns are in files, too. Then only one record at a time
    is in memory.
    """
    names = [columns_name(one, rules) for one in ids]
    in_files = folder_in_force() is not None
    found = [_at_hand(folder.read(name), how, in_files) for name in names]
    missing = [k for k, record in enumerate(found) if record is None]
    if missing:
        announce("reading files that are not in the cache")
        answers = in_order(executor, _ReadColumns(how), ((ids[k].piece,) for k in missing))
        done = np.cumsum([ids[k].piece.n_rows for k in missing]).tolist()
        for k, record in zip(missing, with_progress(zip(done, answers, strict=True), done[-1], "reading"), strict=True):
            folder.write(names[k], record)
            found[k] = _at_hand(record, how, in_files)
    known = set(names)
    folder.remove(name for name in folder.names() if name.startswith("columns-") and name not in known)
    records = [record for record in found if record is not None]
    sizes = [int(record.words["n"]) for record in records]
    forgotten = [int(record.words["forgotten"]) for record in records]
    read, files = sum(ids[k].piece.n_rows for k in missing), {ids[k].file for k in missing}
    complete = (
        _in_large_arrays((_again(folder, name) for name in names), sizes, records, how)
        if in_files
        else _in_memory(records, how)
    )
    return AllRows(complete, sizes, forgotten, _lost(records), read, files)


def _at_hand(record: Record | None, how: LivingPiece, in_files: bool) -> Record | None:
    """A record that has all columns, without its arrays where memory is short; None: the piece has to be read."""
    if record is None or not has_columns(record, how.names):
        return None
    return Record(record.words, {}) if in_files else record


def _again(folder: ModelFolder, name: str) -> Record:
    """Return a record that was there a moment ago. Without it, its rows would be missing from the posterior."""
    record = folder.read(name)
    if record is None:
        raise CacheError(f"a file of the cache, {name}, has changed or gone while it was read: run the script again.")
    return record


def _lost(records: Sequence[Record]) -> int:
    return sum(int(record.words["lost"]) for record in records)


def _holes(records: Sequence[Record]) -> dict[str, int]:
    """Missing values of each column that has some."""
    holes: dict[str, int] = {}
    for record in records:
        for name, count in record.words["holes"].items():
            holes[name] = holes.get(name, 0) + int(count)
    return holes


def _in_memory(records: Sequence[Record], how: LivingPiece) -> CompleteRows:
    """Column by column, so that one of them at a time is there twice."""
    columns = {name: _joined([column_of(one, k) for one in records], name) for k, name in enumerate(how.names)}
    return CompleteRows(columns, np.concatenate([there(one) for one in records]), _holes(records))


def _in_large_arrays(
    records: Iterable[Record], sizes: Sequence[int], about: Sequence[Record], how: LivingPiece
) -> CompleteRows:
    """The same columns, filled record by record; ``sizes`` are their rows, and ``about`` has their words."""
    growing = {name: GrowingColumn(sum(sizes), levels_in_one_order) for name in how.names}
    keep, begin = large(sum(sizes) + sum(map(_left_out, about)), bool), 0
    for record in records:
        found = there(record)
        keep[begin : begin + len(found)] = found
        begin += len(found)
        for k, (name, column) in enumerate(growing.items()):
            try:
                column.add(column_of(record, k))
            except ValueError as error:
                raise _two_kinds(name, error) from None
    return CompleteRows({name: one.column() for name, one in growing.items()}, keep, _holes(about))


def _left_out(record: Record) -> int:
    """Rows of a piece that do not count: incomplete ones, and those that are to be forgotten."""
    return int(record.words["lost"]) + int(record.words["forgotten"])
