"""Ctrl-C heard, not raised: for work that must not be left half done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any


class HeldInterrupts:
    """A context manager in which Ctrl-C sets ``heard`` instead of raising KeyboardInterrupt.

    Whoever opens it looks at ``heard`` and decides what to do. Nested blocks hand the news to the outermost one. A
    handler that the user installed is still called, and counts as Ctrl-C only if it raises KeyboardInterrupt. Python
    runs handlers in the main thread alone, so elsewhere there is nothing to hold.
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
