"""Stages of long work, and who watches them: set-up names what it is doing, passes say how far they are.

Inside ``with watching(callback)`` every pass over the rows reports how far it is, and code that makes several passes
names what it is about by ``announce("looking for the mode")``. A callback that raises ends the pass: it is called after
every block, and every tenth of a second while one is waited for (`look`).
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, NamedTuple

from ..errors import PassGivenUp


class Report(NamedTuple):
    """Where set-up is."""

    stage: str  # what was announced last
    passes: int  # passes begun, over all rows or over a sample of them
    share: float  # of the newest pass
    rows: int  # read in all passes so far
    step: int | None = None  # of the stage, where it has steps

    @property
    def doing(self) -> str:
        """The stage and its step."""
        return self.stage if self.step is None else f"{self.stage}, step {self.step}"


class Watch:
    """Counts passes for one callback."""

    def __init__(self, callback: Callable[[Report], None]):
        self.callback, self.report = callback, Report("", 0, 0.0, 0)

    def tell(self, **changes: Any) -> None:
        self.report = self.report._replace(**changes)
        self.callback(self.report)


_watch: ContextVar[Watch | None] = ContextVar("tunamh_watch", default=None)


def watcher() -> Watch | None:
    """Who watches this thread's passes."""
    return _watch.get()


@contextlib.contextmanager
def watching(callback: Callable[[Report], None]) -> Iterator[None]:
    """Have passes reported to ``callback``, in the thread that asked for them."""
    token = _watch.set(Watch(callback))
    try:
        yield
    finally:
        _watch.reset(token)


def announce(stage: str, step: int | None = None) -> None:
    """Say what the next passes are for; nobody may be listening."""
    watch = _watch.get()
    if watch is not None:
        watch.tell(stage=stage, step=step)


def look() -> None:
    """While a result is waited for: whoever watches may end the pass."""
    watch = _watch.get()
    if watch is not None:
        watch.tell()


@contextlib.contextmanager
def ended_by(given_up: threading.Event) -> Iterator[None]:
    """Passes of this thread that nobody watches end when ``given_up`` is set, by `PassGivenUp`."""

    def refuse(report: Report) -> None:
        if given_up.is_set():
            raise PassGivenUp("the run was stopped while rows were read.")

    with contextlib.nullcontext() if _watch.get() is not None else watching(refuse):
        yield


show_unwatched: Callable[[str], Any] | None = None
"""A context manager with ``update(share, remark)`` for long passes that nobody watches, such as those that open rows;
`tunamh.process.progress` puts it here."""
