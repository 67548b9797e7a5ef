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
    """The present state of a set-up."""

    stage: str  # what was announced last
    passes: int  # passes begun, over all rows or over a sample of them
    share: float  # of the newest pass
    rows: int  # read in all passes so far
    step: int | None = None  # of the stage, where it has steps

    @property
    def doing(self) -> str:
        """Return the stage and its step in words."""
        return self.stage if self.step is None else f"{self.stage}, step {self.step}"


class Watch:
    """Counts passes and reports them to one callback."""

    def __init__(self, callback: Callable[[Report], None]):
        self.callback, self.report = callback, Report("", 0, 0.0, 0)

    def tell(self, **changes: Any) -> None:
        self.report = self.report._replace(**changes)
        self.callback(self.report)


_watch: ContextVar[Watch | None] = ContextVar("tunamh_watch", default=None)


def watcher() -> Watch | None:
    """Return the object that watches the passes of this thread, or None."""
    return _watch.get()


@contextlib.contextmanager
def watching(callback: Callable[[Report], None]) -> Iterator[None]:
    """Report passes to ``callback`` inside this context, in the thread that makes them."""
    token = _watch.set(Watch(callback))
    try:
        yield
    finally:
        _watch.reset(token)


def announce(stage: str, step: int | None = None) -> None:
    """Announce what the next passes are for. It does nothing if nothing watches."""
    watch = _watch.get()
    if watch is not None:
        watch.tell(stage=stage, step=step)


def look() -> None:
    """Call the callback of the watching object, which may stop the pass. It is called while a result is waited for."""
    watch = _watch.get()
    if watch is not None:
        watch.tell()


@contextlib.contextmanager
def ended_by(given_up: threading.Event) -> Iterator[None]:
    """Inside this context, stop passes of this thread by `PassGivenUp` when ``given_up`` is set.

    Passes that something else watches are not stopped.
    """

    def refuse(report: Report) -> None:
        if given_up.is_set():
            raise PassGivenUp("the run was stopped while rows were read.")

    with contextlib.nullcontext() if _watch.get() is not None else watching(refuse):
        yield


show_unwatched: Callable[[str], Any] | None = None
"""A context manager with ``update(share, remark)`` for long passes that nobody watches, such as those that open rows;
`tunamh.process.progress` puts it here."""
