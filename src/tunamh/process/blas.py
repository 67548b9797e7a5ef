"""One BLAS thread while tunamh computes: sums then have the same bits on any number of cores.

Most libraries have one setting for the whole process, so those who want it are counted: the first one in sets it, the
last one out puts back what was there before, whichever threads they are in. Libraries on top of OpenMP have a setting
for each thread, so there the same is done in each thread by itself.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

from threadpoolctl import ThreadpoolController


class _Libraries(NamedTuple):
    of_process: list[Any]
    of_thread: list[Any]


@functools.cache
def _libraries(with_scipy: bool) -> _Libraries:
    """The BLAS libraries of this process: looked up once, and once more when SciPy has brought its own."""
    found = [library for library in ThreadpoolController().lib_controllers if library.user_api == "blas"]
    of_thread = [library for library in found if library.info().get("threading_layer") == "openmp"]
    return _Libraries([library for library in found if library not in of_thread], of_thread)


class _Hold:
    """Libraries held to one thread while somebody is inside."""

    def __init__(self) -> None:
        self.inside = 0
        self.before: list[tuple[Any, int]] = []

    def enter(self, libraries: list[Any]) -> None:
        if self.inside == 0:
            self.before = [(library, library.get_num_threads()) for library in libraries]
            self._set([(library, 1) for library in libraries])
        self.inside += 1

    def leave(self) -> None:
        self.inside = max(0, self.inside - 1)
        if self.inside == 0:
            self._set(self.before)
            self.before = []

    def _set(self, wanted: list[tuple[Any, int]]) -> None:
        for library, threads in wanted:
            if library.get_num_threads() == threads:  # to set it takes longer than a pass over a few thousand rows
                continue
            # threadpoolctl lets one thread alone change a setting of the process, and ignores the others in silence
            release = getattr(library, "clear_controlling_thread", lambda force: None)
            release(force=True)
            library.set_num_threads(threads)
            release(force=True)


class _ThreadHold(threading.local):
    def __init__(self) -> None:
        self.hold = _Hold()


_lock = threading.Lock()
_process = _Hold()
_thread = _ThreadHold()


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread inside this context.

    The limit is for this thread or, for libraries with one setting for all threads, for the whole process.
    """
    libraries = _libraries("scipy.linalg" in sys.modules)
    hold = _thread.hold
    with _lock:
        _process.enter(libraries.of_process)
    hold.enter(libraries.of_thread)
    try:
        yield
    finally:
        hold.leave()
        with _lock:
            _process.leave()


def _begin_anew() -> None:
    """In a forked child nobody else is inside, and nobody will leave."""
    global _lock
    _lock = threading.Lock()
    if _process.inside:
        _process.inside = 1
        _process.leave()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_begin_anew)
