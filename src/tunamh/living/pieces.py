"""Pieces of files by what is in them, and their rows as a source."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..process.blas import one_blas_thread
from ..rows.executors import between_blocks, in_order
from ..rows.parquet import ParquetPiece
from ..rows.source import Rows

Result = TypeVar("Result")


class PieceId(NamedTuple):
    """A row group of a file as it is now.

    ``key`` is a hash of what the file system and the footer of the file say of it.
    """

    piece: ParquetPiece
    key: str
    file: str

    @classmethod
    def of(cls, piece: ParquetPiece) -> PieceId:
        name, partition = os.path.basename(piece.path), str(piece.fragment.partition_expression)
        group = piece.fragment.row_groups[0]
        about = (name, partition, piece.size, piece.modified, piece.group, piece.n_rows, repr(group.statistics))
        return cls(piece, hashlib.blake2b(repr(about).encode(), digest_size=10).hexdigest(), piece.path)

    def copy_number(self, k: int) -> PieceId:
        """Return the identity of a row group in the k-th copy of a file. Rows of copies are drawn independently."""
        return self._replace(key=hashlib.blake2b(f"{self.key} {k}".encode(), digest_size=10).hexdigest())

    @property
    def seed(self) -> int:
        return int(self.key, 16)


ReadRows = Callable[[Any], Iterable[Rows]]
"""From a piece to its rows, block by block, numbered from 0 on."""


@dataclass(frozen=True)
class _OfPiece:
    read: ReadRows
    function: Callable[[Rows], Any]

    def __call__(self, piece: Any, start: int) -> list[tuple[int, Any]]:
        found = []
        with one_blas_thread():
            for rows in self.read(piece):
                between_blocks()
                found.append((start + rows.start + len(rows.y), self.function(rows._replace(start=start + rows.start))))
        return found


class RowsOfPieces:
    """A source of rows (`tunamh.extend.Source`): pieces with known numbers of rows, which ``read`` reads."""

    def __init__(
        self,
        pieces: Sequence[Any],
        lengths: Sequence[int],
        read: ReadRows,
        names: Sequence[str] | None,
        fingerprint: str,
        *,
        executor: Any,
        memory: int | None,
    ):
        self.pieces, self.lengths, self.read = list(pieces), [int(length) for length in lengths], read
        self.starts = [0, *np.cumsum(self.lengths).tolist()][:-1]
        self.n_rows, self.fingerprint = sum(self.lengths), fingerprint
        self.names: Sequence[str] | None = names
        self.executor, self.memory = executor, memory
        self.rows_read = 0

    def map(self, function: Callable[[Rows], Result]) -> Iterator[Result]:
        tasks = [task for task in zip(self.pieces, self.starts, self.lengths, strict=True) if task[2] > 0]
        self.rows_read += self.n_rows
        for results in in_order(self.executor, _OfPiece(self.read, function), (task[:2] for task in tasks)):
            for _, result in results:
                yield result

    def blocks_of(self, k: int) -> Iterable[Rows]:
        """Return the rows of one piece."""
        self.rows_read += self.lengths[k]
        return self.read(self.pieces[k])

    def some(self, which: Sequence[int]) -> RowsOfPieces:
        """Return the source of some of the pieces."""
        chosen = [self.pieces[k] for k in which], [self.lengths[k] for k in which]
        settings: dict[str, Any] = {"executor": self.executor, "memory": self.memory}
        return RowsOfPieces(*chosen, self.read, self.names, self.fingerprint, **settings)

    def __repr__(self) -> str:
        return f"rows of {len(self.pieces):,} pieces"
