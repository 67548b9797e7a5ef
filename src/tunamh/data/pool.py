"""The pool: rows gathered ahead of a chain, which eats them in order and never twice.

All chains' rows are gathered together, a batch at a time, since every batch reads the data once; the next one is
gathered in the background when half of a batch is used. What a chain holds is one batch; the memory of a run is that of
two batches for each chain and of the blocks under way. Batches grow, since most runs need few rows.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from .._jit import Callback, Refill, call_back, part, vector_at
from .._random import fill_uniforms
from ..errors import SourceError
from .gathering import SERVING, GatherBlock, Plan, Served
from .packed import packed_rows
from .source import Rows
from .supply import Supply

FIRST_BATCH = 16  # servings; every batch has eight times as many as the one before, up to what the memory allows
_GROWTH = 8
_BESIDE_ROWS = 48  # bytes that a gathered row takes for a while besides its own: its number, place and uniform
ROWS_NEXT, ALL_ROWS_RISE, ALL_ROWS_ENERGY = range(3)
"""What compiled code may ask of Python: the next rows, and passes over all of them."""


class GatheredRows:
    """Packed rows of which only those are held that chains draw.

    Parameters
    ----------
    map : callable
        Of the observations: a function of every block.
    pack : callable
        From a block to its packed rows, ``c_i`` in ``column``.
    starts, sums : (B,) arrays
        For each block the number of its first row and the sum of its ``c``.
    squares : float
        The sum of ``c_i^2``.
    """

    def __init__(
        self,
        map: Callable[[Callable[[Rows], Any]], Iterator[Any]],
        pack: Callable[[Rows], np.ndarray],
        column: int,
        starts: np.ndarray,
        sums: np.ndarray,
        squares: float,
        *,
        width: int,
        n_rows: int,
        memory: int,
    ):
        self.map, self.pack, self.column, self.starts, self.sums, self.squares = (
            map,
            pack,
            column,
            starts,
            sums,
            squares,
        )
        self.width, self.n_rows, self.memory = width, n_rows, memory
        self.total = float(np.sum(sums))
        self._pools: list[Pool] = []
        self._jobs: dict[int, Future] = {}
        self.expect(1)
        self._lock, self._given_up = threading.Lock(), threading.Event()
        self._thread: ThreadPoolExecutor | None = None

    def expect(self, chains: int) -> None:
        """Before their pools are made: so many chains share the memory."""
        self.chains, self._begins, self._next_size = chains, [0], FIRST_BATCH
        self.gathered = 0  # rows so far, for all chains
        self._pools.clear()
        self._jobs.clear()

    def extent(self, k: int) -> tuple[int, int]:
        """The first serving of batch ``k``, and their number."""
        while len(self._begins) < k + 2:
            size = min(self._next_size, self.most_servings())
            self._begins.append(self._begins[-1] + size)
            self._next_size = _GROWTH * size
        return self._begins[k], self._begins[k + 1] - self._begins[k]

    def most_servings(self) -> int:
        """Of one batch of one chain: half of the memory for two batches of every chain."""
        row = 8 * self.width + _BESIDE_ROWS
        return max(1, self.memory // 2 // (2 * self.chains * row * SERVING))

    def pool(self, seed: np.random.SeedSequence, all_rows: Callable[..., Any]) -> Pool:
        """That of one more chain; ``all_rows`` are passes over all rows."""
        made = Pool(self, Served.by(seed), all_rows)
        with self._lock:
            self._pools.append(made)
        return made

    # ------------------------------------------------------------------------------------------------- batches

    def begin(self, *later: np.random.SeedSequence) -> None:
        """Gather the first batch of all chains, and of streams that will be asked for later, here and now."""
        if not 0 < self.total < np.inf:  # no test draws by such a law
            return
        job: Future = Future()
        job.set_result(self._gather(0, [*(pool.served for pool in self._pools), *map(Served.by, later)]))
        with self._lock:
            self._jobs[0] = job

    def ahead(self, k: int) -> None:
        """Begin to gather batch ``k`` in the background, for all chains that are not there yet."""
        with self._lock:
            if k in self._jobs:
                return
            wanting = [pool.served for pool in self._pools if pool.batch < k]
            if wanting:
                self._jobs[k] = self._background().submit(self._gather, k, wanting)

    def take(self, k: int, pool: Pool) -> tuple[np.ndarray, np.ndarray]:
        """Batch ``k`` of a chain, waiting for it if need be."""
        self.ahead(k)
        with self._lock:
            job = self._jobs.get(k)
        found = {} if job is None else job.result()
        if pool.served not in found:  # a chain that came later, or came back
            found = self._gather(k, [pool.served])
        rows = found.pop(pool.served)
        with self._lock:
            if job is not None and not found and self._jobs.get(k) is job:
                del self._jobs[k]
        return rows

    def _gather(self, k: int, wanting: list[Served]) -> dict[Served, tuple[np.ndarray, np.ndarray]]:
        """One map: for every stream its packed rows and their numbers."""
        (first, count), streams = self.extent(k), tuple(wanting)
        size = count * SERVING
        rows, numbers = packed_rows(len(streams) * size, self.width), np.empty(len(streams) * size, np.int64)
        plan = Plan(self.starts, self.sums, streams, first, count)
        filled = 0
        for found in self.map(GatherBlock(plan, self.pack, self.column)):
            if self._given_up.is_set():
                raise SourceError("the run ended while rows were gathered.")
            if found is not None:
                places, chosen, which = found
                rows[places], numbers[places] = chosen, which
                filled += len(places)
        if filled != len(numbers):
            raise SourceError(f"{len(numbers) - filled} rows that were drawn were in no block: the data changed.")
        self.gathered += filled
        parts = (slice(j * size, (j + 1) * size) for j in range(len(streams)))
        return {stream: (rows[part], numbers[part]) for stream, part in zip(streams, parts, strict=True)}

    def _background(self) -> ThreadPoolExecutor:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "tunamh-gather")
        return self._thread

    def end(self) -> None:
        """Give up what is being gathered, and forget what waits."""
        self._given_up.set()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.shutdown(wait=True, cancel_futures=True)
        with self._lock:
            self._jobs.clear()
            self._pools.clear()
        self._given_up.clear()


class Pool:
    """The rows of one chain: a batch of its stream, and one place more for a row of which an error tells.

    ``rows`` are packed, as compiled parts read them, ``numbers`` the rows' numbers in the data.
    """

    def __init__(self, source: GatheredRows, served: Served, all_rows: Callable[..., Any]):
        self.source, self.served, self._all_rows = source, served, all_rows
        self.capacity = source.most_servings() * SERVING
        self.rows = packed_rows(self.capacity + 1, source.width)
        self.rows[self.capacity] = 0.0
        self.numbers = np.zeros(self.capacity + 1, np.int64)
        self.batch, self.error = -1, None
        self._readable = self.rows.view()
        self._readable.flags.writeable = False
        self._callback = Callback(self._called)
        law = np.array([[float(self._callback.address), 0.0]])
        law.flags.writeable = False
        self.supply = Supply(_refill_from_pool, law, self)

    error: BaseException | None

    @property
    def readable(self) -> np.ndarray:
        """The rows as compiled code is given them."""
        return self._readable

    @property
    def address(self) -> int:
        return self._callback.address

    def _load(self, position: int) -> tuple[int, int]:
        """Have the batch with this place of the stream in ``rows``; returns where it begins and where it ends."""
        k, serving = 0, position // SERVING
        while sum(self.source.extent(k)) <= serving:
            k += 1
        first, count = self.source.extent(k)
        if self.batch != k:
            rows, numbers = self.source.take(k, self)
            self.rows[: len(rows)], self.numbers[: len(rows)] = rows, numbers
            self.batch = k
        return first * SERVING, (first + count) * SERVING

    def hold(self, ring: np.ndarray, cursor: np.ndarray) -> None:
        """Before a chain goes on: what waits in its ring is in ``rows``; compiled code asks for all later rows."""
        if cursor[0] < ring.size:
            first = int(cursor[1]) - ring.size
            begin, _ = self._load(first)
            ring[:] = np.arange(first - begin, first - begin + ring.size)
        cursor[2], cursor[3] = cursor[1], 0

    # --------------------------------------------------------------------------------- what compiled code asks for

    def _called(self, kind: int, first: int, second: int, size: int, number: float, out: int) -> int:
        try:
            if kind == ROWS_NEXT:
                self._next(vector_at(out, 4, ctypes.c_int64))
            else:
                theta, prop = vector_at(first, size).copy(), vector_at(second, size).copy()
                vector_at(out, 3)[:] = self._over_all(kind, theta, prop, number)
            return 0
        except BaseException as error:  # compiled code cannot raise: the chain stops, and `failure` is raised
            self.error = error
            return -1

    def _next(self, cursor: np.ndarray) -> None:
        """Rows from place ``cursor[1]`` on are in memory until ``cursor[2]``, and slots count from ``cursor[3]``."""
        position = int(cursor[1])
        begin, end = self._load(position)
        middle = begin + (end - begin) // 2
        if position >= middle:
            self.source.ahead(self.batch + 1)
        cursor[2], cursor[3] = middle if position < middle else end, begin

    def _over_all(self, kind: int, theta: np.ndarray, prop: np.ndarray, distance: float) -> tuple[float, float, float]:
        total, worst, fault = self._all_rows(kind == ALL_ROWS_RISE, theta, prop, distance)
        if fault is None:
            return total, worst, -1.0
        number, row = fault
        self.rows[self.capacity], self.numbers[self.capacity] = row, number
        return total, worst, float(self.capacity)

    def failure(self) -> BaseException:
        """What went wrong in Python."""
        error, self.error = self.error, None
        return SourceError("rows could not be gathered.") if error is None else error


@part(Refill)
def _refill_from_pool(lanes, ring, uniform, cursor, law):
    """The next rows in the order of the stream; Python is asked when the batch in memory is half used, and used up."""
    position = cursor[1]
    if position + ring.size > cursor[2]:
        if call_back(int(law[0, 0]), 0, 0, 0, 0, 0.0, cursor.ctypes.data) != 0:
            ring[:] = 0
            uniform[:] = np.nan
            cursor[0], cursor[3] = 0, -1
            return
    for k in range(ring.size):
        ring[k] = position - cursor[3] + k
    fill_uniforms(lanes, uniform)
    cursor[0], cursor[1] = 0, position + ring.size
