"""The functions that a formula may name: of numbers, elementwise, and with numbers learned from the data.

A function with numbers of its own (a mean, a standard deviation) learns them once, from all rows of the data that the
model is fitted to; new rows are then treated with the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

ELEMENTWISE: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "exp": np.exp,
    "expm1": np.expm1,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "sin": np.sin,
    "cos": np.cos,
}

LEARNED = ("center", "scale", "standardize")
"""``x - mean``; ``scale`` and ``standardize`` both ``(x - mean) / standard deviation``."""

SPECIAL = ("C", "I", "offset")
BESIDE = ("trials", "weights", "cens")
"""On the left side, behind a bar: ``y | trials(n)``."""

KNOWN = (*SPECIAL, *ELEMENTWISE, *LEARNED, *BESIDE)


def apply_learned(function: str, values: np.ndarray, state: dict[str, float]) -> np.ndarray:
    centred = values - state["mean"]
    return centred if function == "center" else centred / state["sd"]
