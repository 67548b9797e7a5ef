"""Successes of so many trials: as fractions with weights, or as two labels with weights for every row.

Fractions are for energies that are linear in the label.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .source import Factored, Rows


def refuse_wrong_trials(y: np.ndarray, trials: np.ndarray, error: type[Exception], place: Callable[[int], str]) -> None:
    """Raise an error for trials that are no whole numbers, or for wrong numbers of successes ``y``.

    ``place`` names a row.
    """
    wrong = (trials < 0) | (trials != np.floor(trials)) | (y < 0) | (y > trials) | (y != np.floor(y))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise error(
            f"{place(row)} has y = {y[row]:g} of {trials[row]:g} trials: both must be whole numbers, y from 0 to the "
            f"trials.{shares_hint(y, trials)}"
        )


def shares_hint(y: np.ndarray, trials: np.ndarray) -> str:
    """Return a hint if the responses seem to be ``k/n`` instead of ``k``, otherwise ""."""
    successes = y * trials
    whole = np.abs(successes - np.round(successes)) < 1e-6 * np.maximum(1.0, trials)
    if not (whole & (y >= 0) & (y <= 1)).all():
        return ""
    return " The responses look like shares k/n: give the number of successes k, and the trials n beside it."


def fractions(y: np.ndarray, trials: np.ndarray, weights: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return responses ``k / n`` and weights ``n``. A row without trials has the weight 0."""
    found = np.divide(y, trials, out=np.zeros(len(trials)), where=trials > 0)
    return found, trials if weights is None else trials * weights


def counted(rows: Rows, trials: np.ndarray, *, linear: bool) -> Rows:
    """Return rows whose responses are successes in the form of a family.

    If energies are ``linear`` in the label, responses are fractions. Otherwise a row becomes two rows: one with weight
    ``k`` and label 1, and one with weight ``n - k`` and label 0. Row ``i`` of the data then has the places ``2 i`` and
    ``2 i + 1``, so blocks begin at the same rows wherever they are read.
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
