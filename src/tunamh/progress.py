"""Progress for people: a bar with an honest ETA on a terminal, plain lines elsewhere, silence in CI."""

from __future__ import annotations

import os
import sys
import time
from typing import Any


class Progress:
    """A context manager; ``update`` takes the steps done and a short remark."""

    def __init__(self, total: int, title: str, *, show: bool = True):
        self.total, self.title = total, title
        self.show = show and not os.environ.get("CI")
        self._bar: Any = None
        self._task: Any = None
        self._started = time.monotonic()
        self._next_line = self._started + _SECONDS_BETWEEN_LINES

    def __enter__(self) -> Progress:
        if self.show and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.percentage:>3.0f}%"),
                TimeElapsedColumn(),
                TextColumn("eta"),
                TimeRemainingColumn(),
                TextColumn("{task.fields[remark]}"),
                console=Console(stderr=True),
            )
            self._task = self._bar.add_task(self.title, total=self.total, remark="")
            self._bar.start()
        return self

    def update(self, done: int, remark: str) -> None:
        if self._bar is not None:
            self._bar.update(self._task, completed=done, remark=remark)
        elif self.show and time.monotonic() >= self._next_line:
            self._line(done, remark)
            self._next_line = time.monotonic() + _SECONDS_BETWEEN_LINES

    def _line(self, done: int, remark: str) -> None:
        elapsed = time.monotonic() - self._started
        left = elapsed * (self.total - done) / max(done, 1)
        share = 100 * done // max(self.total, 1)
        print(f"{self.title}: {share}% after {elapsed:.0f} s, about {left:.0f} s left; {remark}", file=sys.stderr, flush=True)

    def __exit__(self, *exception: Any) -> None:
        if self._bar is not None:
            self._bar.stop()


_SECONDS_BETWEEN_LINES = 5.0
