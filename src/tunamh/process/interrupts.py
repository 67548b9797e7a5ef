"""Ctrl-C heard, not raised: for work that must not be left half done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any


class HeldInterrupts:
    """A context manager in which Ctrl-C sets ``heard`` and does not raise KeyboardInterrupt.

    The code that opens it must look at ``heard`` and decide what to do. Of nested contexts, only the outermost one
    keeps ``heard``. If the user has installed a handler, this handler is called, and it counts as Ctrl-C only if it
    raises KeyboardInterrupt. Python calls handlers only in the main thread, so in other threads the context does
    nothing.
    """

    def __init__(self) -> None:
        self.heard = False
        self._before: Callable[[int, FrameType | None], Any] | None = None

    def __enter__(self) -> HeldInterrupts:
        before = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is threading.main_thread() and callable(before):
            self._before = before
            signal.signal(signal.SIGINT, self._hear)
        return self

    def _hear(self, number: int, frame: FrameType | None) -> None:
        try:
            if self._before is not None:
                self._before(number, frame)
        except KeyboardInterrupt:
            self.heard = True

    def __exit__(self, *exception: Any) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
