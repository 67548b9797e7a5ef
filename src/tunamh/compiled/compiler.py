"""How functions are compiled: whole or not at all, with a clock of their own, and without a search for garbage.

- A Ctrl-C inside the compiler gets lost in callbacks from LLVM, and leaves functions half made. It is therefore held
  back until a function is finished, and raised then.
- Compiling does not count in ``max_seconds``, so its seconds are added up.
- The compiler makes millions of objects that live until a function is finished. Python's search for garbage walks
  through all of them again and again, and finds little: a sixth of the time. It is therefore switched off, and done
  where a million objects have come together, so that memory stays bounded.
"""

from __future__ import annotations

import contextlib
import gc
import os
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numba

from ..process.interrupts import HeldInterrupts
from .cache import ContentCache
from .contents import NoDigest, digest_of
from .inner import OuterDispatcher, code_to_link, inner_dispatcher, is_to_link
from .instructions import choose_instruction_set

if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
    raise ImportError(
        "tunamh needs compiled code, and NUMBA_DISABLE_JIT=1 (or numba.config.DISABLE_JIT) forbids it: unset it before "
        "Python starts, and import tunamh again"
    )

choose_instruction_set()


_MOST_OBJECTS = 1_000_000
"""More new objects than these are searched for garbage: some 300 megabytes of the compiler's."""


class _Clock:
    """Seconds in which something is compiled: one function compiles others, and threads wait for each other.

    Meanwhile Python does not search for garbage by itself. Afterwards it does so again, if it did before.
    """

    def __init__(self) -> None:
        self.lock, self.inside, self.began, self.seconds = threading.Lock(), 0, 0.0, 0.0
        self.searches = False

    def __enter__(self) -> None:
        with self.lock:
            if self.inside == 0:
                self.began, self.searches = time.perf_counter(), gc.isenabled()
                gc.disable()
            self.inside += 1

    def __exit__(self, *error: object) -> None:
        with self.lock:
            self.inside -= 1
            if self.searches and gc.get_count()[0] > _MOST_OBJECTS:
                gc.collect()
            if self.inside == 0:
                self.seconds += time.perf_counter() - self.began
                self.search_again()

    def search_again(self) -> None:
        if self.searches:
            gc.enable()


_clock = _Clock()


def seconds_compiling() -> float:
    """Return the seconds that this process has spent on compiling, or on loading compiled code."""
    return _clock.seconds


def compiling() -> AbstractContextManager[None]:
    """Return a context: the seconds inside it count as compiling."""
    return _clock


def _begin_anew() -> None:
    """In a forked child nobody else compiles, and nobody will leave."""
    global _clock
    _clock.search_again()
    _clock = _Clock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


def compile_whole(dispatcher: Any, signature: Any) -> Any:
    """Do what `Dispatcher.compile` does, measure the time, and raise Ctrl-C only when the function is finished."""
    with _clock, HeldInterrupts() as ctrl_c:
        compiled = type(dispatcher).compile(dispatcher, signature)
    if ctrl_c.heard:
        raise KeyboardInterrupt
    return compiled


def compiled(function: Callable, *, cache: bool, inner: bool, **flags: Any) -> Any:
    """Return a function that Numba compiles when it is first called. With ``cache``, it is stored on disk (`.cache`).

    With ``inner``, compiled functions that call it contain a copy of its code (`.inner`).
    """
    if cache and "<locals>" in function.__qualname__:
        _name_by_contents(function)
    options = {"nopython": True, "boundscheck": None, **flags}
    dispatcher: Any = OuterDispatcher(function, {}, options)
    dispatcher.compile = lambda signature: compile_whole(dispatcher, signature)
    if cache:
        dispatcher._cache = ContentCache(dispatcher)
    if inner:
        linked = dispatcher.inner = inner_dispatcher(function, options)
        linked.compile = lambda signature: compile_whole(linked, signature)
        if cache:
            linked._cache = ContentCache(linked, rebuild=code_to_link) if is_to_link(linked) else ContentCache(linked)
    return dispatcher


def _name_by_contents(function: Callable) -> None:
    """Functions that a function makes have one name and many contents: symbols of machine code from several processes
    would be taken for each other."""
    with contextlib.suppress(NoDigest):
        function.__qualname__ += f"_{digest_of(function)[:16]}"
