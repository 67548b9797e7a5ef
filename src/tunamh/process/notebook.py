"""Progress inside a cell of a notebook: one output that is updated, without widgets. IPython is never required."""

from __future__ import annotations

import sys
import time
from html import escape
from typing import Any

_SECONDS_BETWEEN = 0.2


def in_notebook() -> bool:
    """Return True in a notebook: if IPython with a kernel runs. IPython is not imported for this test."""
    ipython: Any = sys.modules.get("IPython")
    try:
        return ipython.get_ipython().kernel is not None
    except AttributeError:  # no IPython, or one without a kernel
        return False


class NotebookCell:
    """An output of a notebook: a progress bar, which disappears at the end, and lines below it, which stay."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._share: float | None = 0.0
        self._remark = ""
        self._handle: Any = None
        self._next, self._done, self._broken = 0.0, False, False

    def say(self, line: str) -> None:
        self._lines.append(line)
        self._show()

    def update(self, share: float | None, remark: str) -> None:
        self._share, self._remark = share, remark
        if time.monotonic() >= self._next:
            self._show()

    def stop(self) -> None:
        self._done = True
        if self._lines or self._handle is not None:
            self._show()

    def _show(self) -> None:
        """A front end that cannot show it is no reason to lose draws."""
        if self._broken:
            return
        self._next = time.monotonic() + _SECONDS_BETWEEN
        shown = {"text/html": self._html(), "text/plain": "\n".join(self._lines)}
        try:
            if self._handle is None:
                from IPython.display import display

                self._handle = display(shown, raw=True, display_id=True)
            else:
                self._handle.update(shown, raw=True)
        except Exception:
            self._broken = True

    def _html(self) -> str:
        lines = "".join(f"<div>{escape(line)}</div>" for line in self._lines)
        if self._done:
            return lines
        share = self._share
        value, told = ("", "") if share is None else (f' value="{share:.4f}"', f"{share:.0%} ")
        bar = f'<progress{value} max="1" style="width:16em"></progress>'
        return f"<div>{bar} {told}{escape(self._remark)}</div>{lines}"
