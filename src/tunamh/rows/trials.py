"""Successes of so many trials: as fractions with weights, or as two labels with weights for every row.

Fractions are for energies that are linear in the label.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .source import Factored, Rows


def refuse_wrong_trials(y: np.ndarray, trials: np.ndarray, error: type[Exception], place: Callable[[int], str]) -> None:
    """Raise for trials, or successes ``y`` among them, that are no whole numbers; ``place`` names a row."""
    wrong = (trials < 0) | (trials != np.floor(trials)) | (y < 0) | (y > trials) | (y != np.floor(y))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise error(
            f"{place(row)} has y = {y[row]:g} of {trials[row]:g} trials: both must be whole numbers, y from 0 to the "
            f"trials.{shares_hint(y, trials)}"
        )


def shares_hint(y: np.ndarray, trials: np.ndarray) -> str:
    """What to say where the responses are ``k/n`` in the place of ``k``; else nothing."""
    successes = y * trials
    whole = np.abs(successes - np.round(successes)) < 1e-6 * np.maximum(1.0, trials)
    if not (whole & (y >= 0) & (y <= 1)).all():
        return ""
    return " The responses look like shares k/n: give the number of successes k, and the trials n beside it."


def fractions(y: np.ndarray, trials: np.ndarray, weights: Any) -> tuple[np.ndarray, np.ndarray]:
    """One row of weight ``n`` and response ``k / n``; no trials, no weight."""
    found = np.divide(y, trials, out=np.zeros(len(trials)), where=trials > 0)
    return found, trials if weights is None else trials * weights


def counted(rows: Rows, trials: np.ndarray, *, linear: bool) -> Rows:
    """Rows whose responses are successes, as a family takes them: fractions where energies are ``linear`` in the label.

    Else a row becomes two, of weight ``k`` and label 1 and of weight ``n - k`` and label 0, so that row ``i`` of the
    data is in the places ``2 i`` and ``2 i + 1``: blocks begin at the same rows, wherever they are read.
    """
    if linear:
        y, weights = fractions(rows.y, trials, rows.weights)
        return rows._replace(y=y, weights=weights)
    times = np.stack([rows.y, trials - rows.y], axis=1).ravel()
    counted_so = times if rows.weights is None else times * np.repeat(rows.weights, 2)
    offset = None if rows.offset is None else np.repeat(rows.offset, 2)
    return Rows(2 * rows.start, _twice(rows.X), np.tile([1.0, 0.0], len(rows.y)), counted_so, offset)


def _twice(X: Any) -> Any:
    if not isinstance(X, Factored):
        return np.repeat(X, 2, axis=0)
    values = None if X.values is None else np.repeat(X.values, 2, axis=0)
    return Factored(np.repeat(X.numbers, 2, axis=0), np.repeat(X.positions, 2, axis=0), X.dim, values)
