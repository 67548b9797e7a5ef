"""The folder of a run: its chunks by chain, which of them are missing, and a writer for each chain."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .._arguments import shown
from ..chains.state import RunState
from ..results.tree import ChainResult
from .chunks import Chunk, file_name, packed, read_chunk
from .errors import StoreError
from .files import Lock, remove_unfinished, write_whole
from .header import COPY, NAME, Header

CHUNK_BYTES = 1 << 22
"""Of draws in a chunk: so much of each chain is held in memory."""

SECONDS_BETWEEN = 1.0
"""After which the chunk under way is written again."""

_SHARE = 0.05  # of the time that writing may take, chunks that are full apart
_CHUNK = re.compile(r"chain-(\d{1,9})-(\d{12})\.npz")


def chunk_draws_for(columns: int, state_bytes: int) -> int:
    """Return the number of draws in a chunk, so that a chunk has more draws than states.

    This matters if states are large: the state of `FlyMC` has numbers for every row.
    """
    return max(1, max(CHUNK_BYTES, 2 * state_bytes) // (8 * columns))


def as_path(store: Any) -> Path:
    try:
        path = Path(os.fsdecode(os.fspath(store)))
    except TypeError:
        raise TypeError(f"store must be the name of a folder, got {shown(store)}.") from None
    if not path.name or "\0" in str(path) or not _can_be_a_name(path):
        raise ValueError(f"store must be the name of a folder of its own, got {shown(store)}.")
    return path


def _can_be_a_name(path: Path) -> bool:
    try:
        os.fsencode(path)
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True


def refuse_taken(path: Path) -> None:
    """Raise an error if the folder of a new run exists already, or if it cannot be made.

    So nothing is overwritten.
    """
    if not os.path.lexists(path):
        if not path.parent.is_dir():
            raise StoreError(f"store={str(path)!r}: there is no folder {path.parent}; make it first.", path)
        return
    if (path / NAME).exists():
        raise StoreError(
            f"there is a run in {path} already: tunamh.resume({str(path)!r}, target) continues it; for another run "
            "choose another name.",
            path,
        )
    if not path.is_dir() or any(path.iterdir()):
        raise StoreError(f"{path} exists and is not a stored run: choose another name for store=.", path)


class Store:
    """A stored run: a folder with a header and chunks. A chunk is a file with draws of one chain."""

    def __init__(self, path: Path, header: Header):
        self.path, self.header = path, header

    @classmethod
    def create(cls, path: Path, header: Header) -> Store:
        """Make a new folder at ``path`` with ``header``, and return the store.

        The folder has its name only after the header is written. So if the process is killed, there is no store, or a
        store that can continue.
        """
        refuse_taken(path)
        unborn = path.with_name(f".{path.name}.unborn")
        try:
            unborn.mkdir(exist_ok=True)
            header.write(unborn)
            os.rename(unborn, path)
        except OSError as error:
            for name in (NAME, COPY):
                (unborn / name).unlink(missing_ok=True)
            unborn.rmdir()
            told = f"the folder {path} could not be made ({error.strerror}): check its permissions."
            raise StoreError(told, path) from error
        return cls(path, header)

    @classmethod
    def open(cls, path: Path) -> Store:
        """Return the store in the folder ``path``. Raises `StoreError` if there is none."""
        return cls(path, Header.read(path))

    @property
    def is_there(self) -> bool:
        """Return True if the folder still has a header, that is, if nobody has deleted or moved it."""
        return (self.path / NAME).exists()

    def lock(self) -> Lock:
        """Return a lock for the folder: only one process may write to it."""
        return Lock(self.path)

    def change(self, header: Header) -> None:
        """Write ``header`` if it differs from the present header."""
        if header != self.header:
            header.write(self.path)
            self.header = header

    def tidy(self) -> None:
        """Delete files that a killed process has left unfinished."""
        remove_unfinished(self.path)

    def firsts(self, chain: int) -> list[int]:
        """Return the number of the first draw of each chunk of a chain, a sorted list."""
        try:
            names = os.listdir(self.path)
        except OSError as error:
            raise StoreError(
                f"the folder {self.path} of the run does not exist any more ({error.strerror}).", self.path
            ) from error
        found = (_CHUNK.fullmatch(name) for name in names)
        firsts = (int(match[2]) for match in found if match and int(match[1]) == chain)
        return sorted(first for first in firsts if first % self.header.chunk_draws == 0)

    def chunk(self, chain: int, first: int) -> Chunk:
        """Read and check the chunk of ``chain`` that begins with draw number ``first``. Raises `StoreError`."""
        header = self.header
        path = self.path / file_name(chain, first)
        return read_chunk(path, header.run, chain, first, header.sizes, header.chunk_draws)

    def chunks(self, chain: int) -> Iterator[Chunk]:
        """Yield the chunks of a chain in order, from the first draw up to the first missing chunk."""
        stop = 0
        for first in self.firsts(chain):
            if first != stop:
                return
            chunk = self.chunk(chain, first)
            yield chunk
            stop = chunk.stop

    def survey(self, chain: int) -> tuple[list[tuple[Chunk | None, int]], Chunk | None]:
        """Read and check all chunks of a chain; return a pair: what is missing, and the last chunk.

        What is missing is a list of pairs ``(before, end)``: draws are missing after the chunk ``before`` (None: from
        the first draw on), up to the draw before number ``end``. The last chunk is None if there is none.
        """
        missing: list[tuple[Chunk | None, int]] = []
        last, stop = None, 0
        for first in self.firsts(chain):
            if first > stop:
                missing.append((last, first))
            last = self.chunk(chain, first)
            stop = last.stop
        return missing, last

    def result(self, chain: int, most: int | None = None) -> tuple[ChainResult, np.ndarray]:
        """Return the draws of a chain in two forms: in the coordinates of the chain, and as parameters.

        ``most`` is the largest number of draws to return. Default: all.
        """
        parts = [*self.chunks(chain)]
        walked, record = np.empty((0, self.header.columns[0])), np.empty((0, 0))
        if not parts:
            return ChainResult(walked, record, np.empty(0), float("nan")), np.empty((0, self.header.columns[1]))
        arrays = zip(*((*part.result[:3], part.natural) for part in parts), strict=True)
        draws, record, elapsed, natural = (np.concatenate(each)[:most] for each in arrays)
        return ChainResult(draws, record, elapsed, parts[-1].result.step_size), natural

    def take(self, rows: slice, which: Any) -> np.ndarray:
        """Return some draws of some parameters, an array (chain, draw, parameter).

        ``rows`` are the numbers of the draws, and ``which`` are the parameters. Only one chunk at a time is in memory.
        """
        first, stop, every = rows.start, rows.stop, rows.step or 1
        chains = []
        for chain in range(self.header.chains):
            parts = []
            for part in self.chunks(chain):
                begin = first + max(0, -(-(part.first - first) // every)) * every
                wanted = np.arange(begin, min(part.stop, stop), every) - part.first
                parts.append(part.natural[wanted][:, which])
            chains.append(np.concatenate(parts))
        return np.stack(chains)

    def writer(self, chain: int, natural: Callable[[np.ndarray], np.ndarray]) -> ChainWriter:
        """Return an object that writes the chunks of ``chain``.

        ``natural`` converts draws from the coordinates of the chain to parameters.
        """
        return ChainWriter(self, chain, natural)


class ChainWriter:
    """Writes the current chunk of one chain about once a second, and when the chunk is full."""

    def __init__(self, store: Store, chain: int, natural: Callable[[np.ndarray], np.ndarray]):
        self.store, self.chain, self.natural = store, chain, natural
        self._next = 0.0

    @property
    def due(self) -> bool:
        return time.monotonic() >= self._next

    def write(self, first: int, state: RunState, result: ChainResult, seconds: float) -> None:
        started = time.monotonic()
        chunk = Chunk(first, result, self.natural(result.draws), state, seconds)
        data = packed(chunk, self.store.header.run, self.chain)
        write_whole(self.store.path / file_name(self.chain, first), data)
        ended = time.monotonic()
        self._next = ended + max(SECONDS_BETWEEN, (ended - started) / _SHARE)
