"""One BLAS thread while tunamh computes: sums then have the same bits on any number of cores.

The setting belongs to the whole process, so those who want it are counted. The first one in sets it, the last one out
puts back what was there before, whichever threads they are in.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
from collections.abc import Iterator
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_inside = 0
_limit: Any = None


@functools.cache
def _libraries(with_scipy: bool) -> ThreadpoolController:
    """The BLAS libraries of this process: looked up once, and once more when SciPy has brought its own."""
    return ThreadpoolController()


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS uses one thread inside, in all threads of the process."""
    global _inside, _limit
    with _lock:
        if _inside == 0:
            _limit = _libraries("scipy.linalg" in sys.modules).limit(limits=1, user_api="blas")
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside = max(0, _inside - 1)
            if _inside == 0:
                _restore()


def _restore() -> None:
    global _limit
    if _limit is not None:
        _limit.restore_original_limits()
        _limit = None


def _begin_anew() -> None:
    """In a forked child nobody else is inside, and nobody will leave."""
    global _lock, _inside
    _lock, _inside = threading.Lock(), 0
    _restore()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
