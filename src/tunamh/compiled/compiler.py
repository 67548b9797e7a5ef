"""How functions are compiled: whole or not at all, with a cache that may fail, and a clock of its own.

- A Ctrl-C inside the compiler gets lost in callbacks from LLVM, and leaves functions half made. It is therefore held
  back until a function is finished, and raised then.
- A cache that cannot be read or written (a full disk, a file cut short) costs time, nothing else.
- Compiling does not count in ``max_seconds``, so its seconds are added up.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

import numba
from numba.core.caching import FunctionCache

from ..process.interrupts import HeldInterrupts

if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
    raise ImportError(
        "tunamh needs compiled code, and NUMBA_DISABLE_JIT=1 (or numba.config.DISABLE_JIT) forbids it: unset it before "
        "Python starts, and import tunamh again"
    )


class _Clock:
    """Seconds in which something is compiled: one function compiles others, and threads wait for each other."""

    def __init__(self) -> None:
        self.lock, self.inside, self.began, self.seconds = threading.Lock(), 0, 0.0, 0.0

    def __enter__(self) -> None:
        with self.lock:
            if self.inside == 0:
                self.began = time.perf_counter()
            self.inside += 1

    def __exit__(self, *error: object) -> None:
        with self.lock:
            self.inside -= 1
            if self.inside == 0:
                self.seconds += time.perf_counter() - self.began


_clock = _Clock()


def seconds_compiling() -> float:
    """Seconds that this process has spent so far on compiling, or on loading what was compiled."""
    return _clock.seconds


def _begin_anew() -> None:
    """In a forked child nobody else compiles, and nobody will leave."""
    global _clock
    _clock = _Clock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


def compile_whole(dispatcher: Any, signature: Any) -> Any:
    """What `Dispatcher.compile` does, timed, and with Ctrl-C raised only when the function is finished."""
    with _clock, HeldInterrupts() as ctrl_c:
        compiled = type(dispatcher).compile(dispatcher, signature)
    if ctrl_c.heard:
        raise KeyboardInterrupt
    return compiled


def compiled(function: Callable, folder: str, *, cache: bool, **flags: Any) -> Any:
    """``function`` for Numba to compile when it is first called, kept in ``folder`` if that can be written to."""
    dispatcher: Any = numba.njit(function, **flags)
    dispatcher.compile = lambda signature: compile_whole(dispatcher, signature)
    if cache:
        config: Any = numba.config
        before = config.CACHE_DIR
        config.CACHE_DIR = folder  # read while a cache is made, so nobody else's functions are touched
        try:
            dispatcher._cache = _ForgivingCache(function)
        except RuntimeError:
            pass  # no folder is writable
        finally:
            config.CACHE_DIR = before
    return dispatcher


class _ForgivingCache(FunctionCache):
    """Numba's cache of one function; what cannot be read is compiled anew, what cannot be written is not kept."""

    told = False

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:  # whatever unpickling a damaged file may raise
            self._tell("read", error)
            with contextlib.suppress(Exception):
                self.flush()  # an empty index: what is compiled now replaces the damaged files
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception as error:
            self._tell("written", error)

    def _tell(self, what: str, error: Exception) -> None:
        if _ForgivingCache.told:
            return
        _ForgivingCache.told = True
        warnings.warn(
            f"compiled code in {self.cache_path} cannot be {what} ({type(error).__name__}: {error}): it is compiled "
            "again in memory, which takes seconds. Make room there, delete the folder, or name another one by "
            "NUMBA_CACHE_DIR.",
            stacklevel=2,
        )
