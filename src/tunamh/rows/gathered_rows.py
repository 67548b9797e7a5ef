"""Packed rows of which only those are held that chains draw.

All chains' rows are gathered together, a batch at a time, since every batch reads the data once. Batches grow, since
most runs need few rows. The memory of a run is that of two batches for each chain and of the blocks under way.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from ..errors import SourceError
from ..process.stages import ended_by
from .executors import waited_for
from .packing import packed_rows, packed_size
from .pool import Pool
from .servings import SERVING, OfPackedBlock, Plan, Served, SomeRows, Wanted
from .source import Rows

FIRST_BATCH = 16  # servings; every batch has eight times as many as the one before, up to what the memory allows
FIRST_ROWS = FIRST_BATCH * SERVING
"""Rows of each chain that the first map gathers."""
_GROWTH = 8
_BESIDE_ROWS = 48  # bytes that a gathered row takes for a while besides its own: its number, place and uniform


class BlockWeights(NamedTuple):
    """Arrays (B,) with the first row of each block and the sum of its ``c``; and the sum of all ``c_i^2``."""

    starts: np.ndarray
    sums: np.ndarray
    squares: float


class GatheredRows:
    """Packed rows that are not all in memory: only the rows that chains draw are kept.

    Parameters
    ----------
    map : callable
        A method of the observations: it applies a function to every block.
    pack : callable
        A function from a block to its packed rows, with ``c_i`` in ``column``.
    weights : BlockWeights
        What is known of ``c``, block by block.
    some : SomeRows, optional
        The object that packs some rows of a block whose bounds are known.

    If ``given_up`` is set, passes for which a run waits stop after their present block.
    """

    serving, first_batch, growth = SERVING, FIRST_BATCH, _GROWTH
    """Rows of a serving; servings of the first batch; how many times as many each later batch has."""

    by_maps = True
    """Whether it takes a pass over all rows to have the next ones."""

    audited = False
    """Whether every row was held against its bound before the run, so that no chain does it when it starts."""

    def __init__(
        self,
        map: Callable[[Callable[[Rows], Any]], Iterator[Any]],
        pack: Callable[[Rows], np.ndarray],
        column: int,
        weights: BlockWeights,
        *,
        width: int,
        n_rows: int,
        memory: int,
        some: SomeRows | None = None,
    ):
        self.map, self.pack, self.column = map, pack, column
        self.some = some
        self.starts, self.sums, self.squares = weights
        self.width, self.n_rows, self.memory = width, n_rows, memory
        self.total = float(np.sum(self.sums))
        self._pools: list[Pool] = []
        self._jobs: dict[int, Future] = {}
        self.expect(1)
        self._lock, self.given_up, self._first = threading.Lock(), threading.Event(), threading.Lock()
        self._thread: ThreadPoolExecutor | None = None

    @property
    def packed_size(self) -> int:
        """Return the number of bytes that all packed rows would need."""
        return packed_size(self.n_rows, self.width)

    def expect(self, chains: int) -> None:
        """Prepare for a number of chains, which share the memory. Call it before their pools are made."""
        self.chains, self._begins, self._next_size = chains, [0], self.first_batch
        self.gathered = 0  # rows so far, for all chains
        self._due: list[Served] | None = None
        self._pools.clear()
        self._jobs.clear()

    def extent(self, k: int) -> tuple[int, int]:
        """Return the first serving of batch ``k`` and the number of its servings."""
        while len(self._begins) < k + 2:
            size = min(self._next_size, self.most_servings())
            self._begins.append(self._begins[-1] + size)
            self._next_size = self.growth * size
        return self._begins[k], self._begins[k + 1] - self._begins[k]

    def most_servings(self) -> int:
        """Return the largest number of servings in one batch of one chain.

        Half of the memory is for two batches of every chain.
        """
        row = 8 * self.width + _BESIDE_ROWS
        return max(1, self.memory // 2 // (2 * self.chains * row * self.serving))

    def pool(self, seed: np.random.SeedSequence, all_rows: Callable[..., Any]) -> Pool:
        """Return the pool of one more chain. ``all_rows`` makes passes over all rows."""
        made = Pool(self, Served.by(seed), all_rows)
        with self._lock:
            self._pools.append(made)
        return made

    # ------------------------------------------------------------------------------------------------- batches

    def begin(self, *later: np.random.SeedSequence) -> None:
        """Let the next pass gather the first batch of all chains, and of streams that will be needed later.

        The next pass is the audit at the start of a chain, or the first request for rows.
        """
        if 0 < self.total < np.inf:  # else no test draws by such a law
            self._due = [*(pool.served for pool in self._pools), *map(Served.by, later)]

    def over_all(self, task: Callable[[int, np.ndarray], Any] | None) -> Iterator[Any]:
        """Yield ``task(start, packed)`` for every block. If the first batch is due, the same pass gathers it."""
        due = self._due
        if due is None:
            yield from (said for _, said in self.map(OfPackedBlock(self.pack, self.column, task=task)))
            return
        batch, job = Batch(self, 0, due), Future[Any]()
        for found, said in self.map(OfPackedBlock(self.pack, self.column, batch.plan, task, self.some)):
            batch.add(found)
            yield said
        job.set_result(batch.of_streams())
        with self._lock:
            self._jobs[0], self._due = job, None

    def gather_what_is_due(self) -> None:
        """Gather the first batch, if no pass has gathered it yet."""
        with self._first, ended_by(self.given_up):
            if self._due is not None:
                deque(self.over_all(None), maxlen=0)

    def ahead(self, k: int) -> None:
        """Begin to gather batch ``k`` in the background, for all chains that have not reached it yet."""
        with self._lock:
            if k in self._jobs:
                return
            wanting = [pool.served for pool in self._pools if pool.batch < k]
            if wanting:
                self._jobs[k] = self._background().submit(self._gather, k, wanting)

    def take(self, k: int, pool: Pool) -> tuple[np.ndarray, np.ndarray]:
        """Return batch ``k`` of a chain; wait for it if necessary."""
        self.gather_what_is_due()
        self.ahead(k)
        with self._lock:
            job = self._jobs.get(k)
        found = {} if job is None else waited_for(job)
        if pool.served not in found:  # a chain that came later, or came back
            found = self._gather(k, [pool.served])
        rows = found.pop(pool.served)
        with self._lock:
            if job is not None and not found and self._jobs.get(k) is job:
                del self._jobs[k]
        return rows

    def _gather(self, k: int, wanting: list[Served]) -> dict[Served, tuple[np.ndarray, np.ndarray]]:
        """One map: for every stream its packed rows and their numbers."""
        batch = Batch(self, k, wanting)
        with ended_by(self.given_up):
            for found, _ in self.map(OfPackedBlock(self.pack, self.column, batch.plan, some=self.some)):
                batch.add(found)
        return batch.of_streams()

    def _background(self) -> ThreadPoolExecutor:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "tunamh-gather")
        return self._thread

    def end(self) -> None:
        """Stop gathering, and delete the batches that were not used."""
        self.given_up.set()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.shutdown(wait=True, cancel_futures=True)
        with self._lock:
            self._jobs.clear()
            self._pools.clear()
        self.given_up.clear()


class Batch:
    """A batch of some streams that is filled block by block."""

    def __init__(self, source: GatheredRows, k: int, streams: list[Served]):
        (first, count), self.source, self.streams = source.extent(k), source, tuple(streams)
        self.plan, self.size, self.filled = (
            Plan(source.starts, source.sums, self.streams, first, count),
            count * SERVING,
            0,
        )
        n_rows = len(streams) * self.size
        self.rows, self.numbers = packed_rows(n_rows, source.width), np.empty(n_rows, np.int64)

    def add(self, found: Wanted | None) -> None:
        if found is not None:
            self.rows[found.places], self.numbers[found.places] = found.rows, found.numbers
            self.filled += len(found.places)

    def of_streams(self) -> dict[Served, tuple[np.ndarray, np.ndarray]]:
        """Return for every stream its packed rows and their row numbers."""
        lacking = len(self.numbers) - self.filled
        if lacking:
            raise SourceError(f"{lacking} rows that were drawn were in no block: the data changed.")
        self.source.gathered += self.filled
        parts = [slice(j * self.size, (j + 1) * self.size) for j in range(len(self.streams))]
        return {stream: (self.rows[part], self.numbers[part]) for stream, part in zip(self.streams, parts, strict=True)}
