"""Forks while other threads work: a lock that one of them holds would stay locked in the child for ever.

- A fork waits until nobody compiles, so that the child's compiler is whole and free.
- In Python 3.11 a `functools.cached_property` holds one lock for all objects of its class while it computes; in the
  child those of tunamh's classes are made anew.

Locks of `tunamh.process.blas` and threads of `tunamh.rows.passes` are seen to there.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from typing import Any

from llvmlite.binding import ffi
from numba.core.compiler_lock import global_compiler_lock

compiler_lock: Any = global_compiler_lock
"""Numba's own lock, which may be taken twice by one thread."""


def _hold_the_compiler() -> None:
    compiler_lock.acquire()
    ffi.lib._lock._lock.acquire()


def _release_the_compiler() -> None:
    ffi.lib._lock._lock.release()
    compiler_lock.release()


def _renew_cached_properties() -> None:
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] != "tunamh":
            continue
        for kind in list(vars(module).values()):
            for attribute in vars(kind).values() if isinstance(kind, type) else ():
                if isinstance(attribute, functools.cached_property):
                    attribute.lock = threading.RLock()  # type: ignore[attr-defined]


if sys.platform != "win32":
    os.register_at_fork(
        before=_hold_the_compiler, after_in_parent=_release_the_compiler, after_in_child=_release_the_compiler
    )
    if sys.version_info < (3, 12):
        os.register_at_fork(after_in_child=_renew_cached_properties)
