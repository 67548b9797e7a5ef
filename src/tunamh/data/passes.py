"""Passes over all rows: a map over fixed blocks in threads, results in the order of the blocks.

Each block is one task with one BLAS thread, and blocks do not depend on the number of threads: a sum of the results
has the same bits on any machine with the same BLAS.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from threadpoolctl import threadpool_limits

Result = TypeVar("Result")

ROWS_AT_ONCE = 1 << 12
"""Rows in a block: its temporaries stay in the cache, and small whatever the length of the data."""


def blocks(n_rows: int) -> Iterator[slice]:
    """Slices that cover ``range(n_rows)`` in order."""
    for start in range(0, n_rows, ROWS_AT_ONCE):
        yield slice(start, min(start + ROWS_AT_ONCE, n_rows))


def over_blocks(function: Callable[[slice], Result], n_rows: int) -> Iterator[Result]:
    """``function`` of every block, in order; only as many results wait as there are threads to be kept busy."""
    workers = os.cpu_count() or 1
    if n_rows <= ROWS_AT_ONCE or workers == 1:
        with threadpool_limits(1, "blas"):
            yield from map(function, blocks(n_rows))
        return
    waiting: deque[Future[Result]] = deque()
    with threadpool_limits(1, "blas"), ThreadPoolExecutor(workers) as pool:
        for block in blocks(n_rows):
            waiting.append(pool.submit(function, block))
            if len(waiting) > 4 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
