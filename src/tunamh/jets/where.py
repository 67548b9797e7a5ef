"""Which line of a user's function an operation is in, and at which operation an enclosure is lost."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

_OURS = str(Path(__file__).parent.parent)
_NUMPY = str(Path(np.__file__).parent)

Watcher = Callable[[str, Any], None]
WATCHER: ContextVar[Watcher | None] = ContextVar("tunamh_jets", default=None)
"""Sees the name and the result of every operation of an energy; None: nobody looks."""


class Line(NamedTuple):
    number: int
    text: str

    def __str__(self) -> str:
        return f"line {self.number}" + (f", `{self.text}`" if self.text else "")


def line_of_user() -> Line | None:
    """Return the line of the innermost function that belongs neither to the library nor to NumPy."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith((_OURS, _NUMPY)):
            return Line(frame.f_lineno, linecache.getline(name, frame.f_lineno).strip())
        frame = frame.f_back
    return None


class Lost(NamedTuple):
    """The first operation whose result has no finite bounds."""

    operation: str
    line: Line | None

    def __str__(self) -> str:
        return self.operation if self.line is None else f"{self.operation} in {self.line}"


def first_lost(energy: Callable[..., Any], values: Sequence[Any], y: np.ndarray, known: Sequence[Any]) -> Lost | None:
    """Return the operation at which bounds become infinite when an energy is run on intervals.

    The result is None if they are finite.
    """
    from .jet import Jet, expand

    found: list[Lost] = []

    def look(operation: str, result: Any) -> None:
        if not found and isinstance(result, Jet) and not result.finite():
            found.append(Lost(operation, line_of_user()))

    with watching(look):
        expand(energy, values, y, 3, known)
    return found[0] if found else None


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    token = WATCHER.set(watcher)
    try:
        yield
    finally:
        WATCHER.reset(token)
