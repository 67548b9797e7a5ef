"""The line of a user that a warning points at, however many functions of libraries lie between."""

from __future__ import annotations

import sys

_BETWEEN = ("tunamh", "sklearn", "joblib", "contextlib", "functools")  # libraries whose lines tell a user nothing


def users_line() -> int:
    """Return the ``stacklevel`` with which a warning of the calling function points to the user's own line."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        frame, level = frame.f_back, level + 1
    return level
