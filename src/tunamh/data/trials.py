"""Successes of so many trials, as fractions with weights: for energies that are linear in the label."""

from __future__ import annotations

from typing import Any

import numpy as np


def first_wrong(y: np.ndarray, trials: np.ndarray) -> int | None:
    """The first row whose trials, or successes among them, are no whole numbers in their range."""
    wrong = (trials < 0) | (trials != np.floor(trials)) | (y < 0) | (y > trials) | (y != np.floor(y))
    return int(np.argmax(wrong)) if wrong.any() else None


def fractions(y: np.ndarray, trials: np.ndarray, weights: Any) -> tuple[np.ndarray, np.ndarray]:
    """One row of weight ``n`` and response ``k / n``; no trials, no weight."""
    found = np.divide(y, trials, out=np.zeros(len(trials)), where=trials > 0)
    return found, trials if weights is None else trials * weights
