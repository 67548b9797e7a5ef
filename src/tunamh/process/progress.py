"""Progress for people: a bar with an honest ETA on a terminal or in a notebook, plain lines elsewhere, none in CI."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from . import stages
from .notebook import NotebookCell, in_notebook

_SECONDS_BETWEEN_LINES = 5.0
_LEAST_SHARE = 0.01  # of the work, below which its beginning says nothing about the time that is left


class Progress:
    """A context manager that shows progress.

    ``update`` takes the share that is done, between 0 and 1, and a short remark.

    It never fails: if it cannot write, it shows nothing.
    """

    def __init__(self, title: str, *, show: bool = True):
        self.title = title
        self.show = show and not os.environ.get("CI") and sys.stderr is not None
        self._bar: Any = None
        self._cell: NotebookCell | None = None
        self._task: Any = None
        self._started = time.monotonic()
        self._next_line = self._started + _SECONDS_BETWEEN_LINES

    def __enter__(self) -> Progress:
        if self.show and in_notebook():
            self._cell = NotebookCell()
        elif self.show and _is_terminal(sys.stderr):
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
        """Print one line that stays visible."""
        if self._bar is not None:
            self._bar.console.print(line, highlight=False, markup=False)
        elif self._cell is not None:
            self._cell.say(line)
        else:
            self._write(line)

    def restart(self, title: str | None = None) -> None:
        """Start again: the time before this call does not count in the estimate of the remaining time."""
        self.title = self.title if title is None else title
        self._started = time.monotonic()
        if self._bar is not None:
            self._bar.reset(self._task, description=self.title)

    def update(self, share: float | None, remark: str) -> None:
        """Show the share that is done (None: unknown) and a remark."""
        if self._bar is not None:
            self._bar.update(self._task, total=None if share is None else 1.0, completed=share or 0.0, remark=remark)
        elif self._cell is not None:
            self._cell.update(share, f"{self.title}, {self._left(share)}; {remark}")
        elif self.show and time.monotonic() >= self._next_line:
            self._print(share, remark)
            self._next_line = time.monotonic() + _SECONDS_BETWEEN_LINES

    def _print(self, share: float | None, remark: str) -> None:
        elapsed = time.monotonic() - self._started
        done = "" if share is None else f"{share:.0%} after "
        self._write(f"{self.title}: {done}{elapsed:.0f} s, {self._left(share)}; {remark}")

    def _left(self, share: float | None) -> str:
        if share is None:
            return "time left unknown"
        elapsed = time.monotonic() - self._started
        return f"about {elapsed * (1 / share - 1):.0f} s left" if share >= _LEAST_SHARE else "starting"

    def _write(self, line: str) -> None:
        if self.show:
            try:
                print(line, file=sys.stderr, flush=True)
            except (OSError, ValueError):  # a pipe without a reader, a closed file
                self.show = False

    def __exit__(self, *exception: Any) -> None:
        if self._bar is not None:
            self._bar.stop()
        if self._cell is not None:
            self._cell.stop()


stages.show_unwatched = Progress


def _is_terminal(stream: Any) -> bool:
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False
