"""Progress for people: a bar with an honest ETA on a terminal, plain lines elsewhere, silence in CI."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

_SECONDS_BETWEEN_LINES = 5.0


class Progress:
    """A context manager; ``update`` takes the share done, between 0 and 1, and a short remark."""

    def __init__(self, title: str, *, show: bool = True):
        self.title = title
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
                BarColumn(bar_width=30),
                TextColumn("{task.percentage:>3.0f}%"),
                TimeElapsedColumn(),
                TextColumn("eta"),
                TimeRemainingColumn(),
                TextColumn("{task.fields[remark]}"),
                console=Console(stderr=True),
            )
            self._task = self._bar.add_task(self.title, total=1.0, remark="")
            self._bar.start()
        return self

    def say(self, line: str) -> None:
        """One line for the record."""
        if self._bar is not None:
            self._bar.console.print(line, highlight=False)
        elif self.show:
            print(line, file=sys.stderr, flush=True)

    def restart(self) -> None:
        """What went before does not count in the estimate of the time left."""
        self._started = time.monotonic()
        if self._bar is not None:
            self._bar.reset(self._task)

    def update(self, share: float, remark: str) -> None:
        if self._bar is not None:
            self._bar.update(self._task, completed=share, remark=remark)
        elif self.show and time.monotonic() >= self._next_line:
            self._print(share, remark)
            self._next_line = time.monotonic() + _SECONDS_BETWEEN_LINES

    def _print(self, share: float, remark: str) -> None:
        elapsed = time.monotonic() - self._started
        left = f"about {elapsed * (1 / share - 1):.0f} s left" if share > 0 else "starting"
        print(f"{self.title}: {share:.0%} after {elapsed:.0f} s, {left}; {remark}", file=sys.stderr, flush=True)

    def __exit__(self, *exception: Any) -> None:
        if self._bar is not None:
            self._bar.stop()
