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
    """Yield slices that cover ``range(n_rows)`` in order."""
    for start in range(0, n_rows, ROWS_AT_ONCE):
        yield slice(start, min(start + ROWS_AT_ONCE, n_rows))


def over_blocks(function: Callable[[slice], Result], n_rows: int) -> Iterator[Result]:
    """Yield ``function(block)`` of every block, in order. Only as many results wait as keep the threads busy.

    BLAS uses one thread during a block, but the setting is not kept between blocks. So if a pass is stopped by an error
    whose traceback is kept, the process is not changed.
    """

    def alone(block: slice) -> tuple[int, Result]:
        with one_blas_thread():
            return block.stop, function(block)

    return reported(_in_threads(alone, n_rows), n_rows)


def reported(results: Iterator[tuple[int, Result]], n_rows: int) -> Iterator[Result]:
    """Yield the results of a pass and report its progress to the object that watches passes.

    Each result comes with the number of rows that are done.
    """
    watch = watcher()
    return (result for _, result in results) if watch is None else _watched(results, n_rows, watch)


def with_progress(results: Iterator[tuple[int, Result]], n_rows: int, doing: str) -> Iterator[Result]:
    """Do what `reported` does. If nothing watches the pass, the user sees its progress."""
    if watcher() is not None or stages.show_unwatched is None:
        yield from reported(results, n_rows)
        return
    with stages.show_unwatched(doing) as progress:
        for done, result in results:
            yield result
            progress.update(done / max(n_rows, 1), f"{done:,} of {n_rows:,}")


def sums_over_blocks(terms: Callable[[slice], tuple], n_rows: int) -> list:
    """Return the sums of ``terms(block)`` over all blocks, added in the order of the blocks."""
    return added_up(over_blocks(terms, n_rows))


def added_up(found: Iterator[tuple]) -> list:
    """Return the sums of the terms of every block, added in the order of the blocks."""
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
    """Return the threads that all passes use."""
    return _pool(os.cpu_count() or 1)


def in_own_thread() -> bool:
    """Return True in a thread of a pass, which must not wait for another such thread."""
    return threading.current_thread().name.startswith(_WORKER)


@functools.cache
def _pool(workers: int) -> ThreadPoolExecutor:
    """Threads for all passes of the process: starting them anew took longer than a pass over ten thousand rows."""
    return ThreadPoolExecutor(workers, _WORKER)


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_pool.cache_clear)  # its threads stayed with the parent
