"""Responses that families refuse, row by row."""

from __future__ import annotations

import numpy as np

_MOST = 1e15  # beyond this not every whole number is a float


def check_counts(y: np.ndarray) -> None:
    wrong = (y < 0) | (y != np.floor(y)) | (y > _MOST)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(f"y must hold counts (whole numbers from 0 to {_MOST:g}), but row {row} has {y[row]:g}.")


def check_positive(y: np.ndarray) -> None:
    wrong = ~(y > 0)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(f"y must be positive, but row {row} has {y[row]:g}.")


def check_proportions(y: np.ndarray) -> None:
    wrong = ~((y > 0) & (y < 1))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"y must lie between 0 and 1, both excluded, but row {row} has {y[row]:g}: move such responses inside."
        )
