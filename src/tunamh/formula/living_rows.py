"""The rows of files that come and go, all of them in memory: columns of every piece are kept, new pieces are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..living.cache import ModelFolder
from ..living.kept_columns import as_record, column_of, has_columns, there
from ..living.pieces import PieceId
from ..living.records import Record
from ..process.stages import announce
from ..rows.executors import in_order
from ..rows.passes import with_progress
from ..rows.pieces import Reading
from ..tables.columns import Column, joined
from ..tables.frames import CompleteRows
from .errors import FormulaError
from .living_reading import LivingPiece
from .variables import join_levels


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
        raise FormulaError(f"column {name} holds {error}.".replace("blocks", "files")) from None


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
    """
    names = [columns_name(one, rules) for one in ids]
    found = [folder.read(name) for name in names]
    missing = [k for k, record in enumerate(found) if not has_columns(record, how.names)]
    if missing:
        announce("reading files that are not in the cache")
        answers = in_order(executor, _ReadColumns(how), ((ids[k].piece,) for k in missing))
        done = np.cumsum([ids[k].piece.n_rows for k in missing]).tolist()
        for k, record in zip(missing, with_progress(zip(done, answers, strict=True), done[-1], "reading"), strict=True):
            folder.write(names[k], record)
            found[k] = record
    known = set(names)
    folder.remove(name for name in folder.names() if name.startswith("columns-") and name not in known)
    records = [record for record in found if record is not None]
    sizes = [int(record.words["n"]) for record in records]
    forgotten = [int(record.words["forgotten"]) for record in records]
    read, files = sum(ids[k].piece.n_rows for k in missing), {ids[k].file for k in missing}
    return AllRows(_complete(records, how), sizes, forgotten, _lost(records), read, files)


def _lost(records: Sequence[Record]) -> int:
    return sum(int(record.words["lost"]) for record in records)


def _complete(records: Sequence[Record], how: LivingPiece) -> CompleteRows:
    """Column by column, so that one of them at a time is there twice."""
    holes: dict[str, int] = {}
    for record in records:
        for name, count in record.words["holes"].items():
            holes[name] = holes.get(name, 0) + int(count)
    columns = {name: _joined([column_of(one, k) for one in records], name) for k, name in enumerate(how.names)}
    return CompleteRows(columns, np.concatenate([there(one) for one in records]), holes)
