"""Passes over all rows: a map over fixed blocks in threads, results in the order of the blocks.

Each block is one task with one BLAS thread, and blocks do not depend on the number of threads: a sum of the results
has the same bits on any machine with the same BLAS.

Passes can be watched (`tunamh.process.stages`).
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

from ..process import stages
from ..process.blas import one_blas_thread
from ..process.stages import Watch, watcher

Result = TypeVar("Result")

ROWS_AT_ONCE = 1 << 14
"""Rows in a block: its temporaries stay in the cache, and small whatever the length of the data."""


def blocks(n_rows: int) -> Iterator[slice]:
    """Slices that cover ``range(n_rows)`` in order."""
    for start in range(0, n_rows, ROWS_AT_ONCE):
        yield slice(start, min(start + ROWS_AT_ONCE, n_rows))


def over_blocks(function: Callable[[slice], Result], n_rows: int) -> Iterator[Result]:
    """``function`` of every block, in order; only as many results wait as there are threads to be kept busy.

    BLAS is held to one thread while a block is computed and not between blocks: a pass that is given up, by an error
    whose traceback somebody keeps, must not leave the process changed.
    """

    def alone(block: slice) -> tuple[int, Result]:
        with one_blas_thread():
            return block.stop, function(block)

    return reported(_in_threads(alone, n_rows), n_rows)


def reported(results: Iterator[tuple[int, Result]], n_rows: int) -> Iterator[Result]:
    """The results of a pass that come with the number of rows behind them, which whoever is watching is told."""
    watch = watcher()
    return (result for _, result in results) if watch is None else _watched(results, n_rows, watch)


def with_progress(results: Iterator[tuple[int, Result]], n_rows: int, doing: str) -> Iterator[Result]:
    """As `reported`; a pass that nobody watches is shown to the user."""
    if watcher() is not None or stages.show_unwatched is None:
        yield from reported(results, n_rows)
        return
    with stages.show_unwatched(doing) as progress:
        for done, result in results:
            yield result
            progress.update(done / max(n_rows, 1), f"{done:,} of {n_rows:,}")


def sums_over_blocks(terms: Callable[[slice], tuple], n_rows: int) -> list:
    """What ``terms`` returns for every block, added up in the order of the blocks."""
    return added_up(over_blocks(terms, n_rows))


def added_up(found: Iterator[tuple]) -> list:
    """The terms of every block, added up in the order of the blocks."""
    totals = list(next(found))
    for more in found:
        totals = [total + term for total, term in zip(totals, more, strict=True)]
    return totals


def _watched(results: Iterator[tuple[int, Result]], n_rows: int, watch: Watch) -> Iterator[Result]:
    before = watch.report.rows
    watch.tell(passes=watch.report.passes + 1, share=0.0)
    for done, result in results:
        yield result
        watch.tell(share=done / n_rows, rows=before + done)


def _in_threads(function: Callable[[slice], Result], n_rows: int) -> Iterator[Result]:
    workers = os.cpu_count() or 1
    if n_rows <= ROWS_AT_ONCE or workers == 1 or in_own_thread():
        yield from map(function, blocks(n_rows))
        return
    waiting: deque[Future[Result]] = deque()
    pool = threads()
    try:
        for block in blocks(n_rows):
            waiting.append(pool.submit(function, block))
            if len(waiting) > 4 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:  # nobody wants the rest when the pass was given up
        wait([future for future in waiting if not future.cancel()])


_WORKER = "tunamh-pass"


def threads() -> ThreadPoolExecutor:
    """The threads of all passes."""
    return _pool(os.cpu_count() or 1)


def in_own_thread() -> bool:
    """Whether this is one of them, which must not wait for another."""
    return threading.current_thread().name.startswith(_WORKER)


@functools.cache
def _pool(workers: int) -> ThreadPoolExecutor:
    """Threads for all passes of the process: starting them anew took longer than a pass over ten thousand rows."""
    return ThreadPoolExecutor(workers, _WORKER)


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_pool.cache_clear)  # its threads stayed with the parent
