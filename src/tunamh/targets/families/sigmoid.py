"""The logistic function and the extrema of its derivatives."""

from __future__ import annotations

import numpy as np

from .intervals import Peaks


def sigmoids(eta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``p = 1 / (1 + e^-eta)`` and ``1 - p``, each with all its digits."""
    small = np.exp(-np.abs(eta))
    large = 1 / (1 + small)
    small = small * large
    return np.where(eta > 0, large, small), np.where(eta > 0, small, large)


SIGMOID_THIRD = 1 / (6 * np.sqrt(3.0))
"""The supremum of ``|p''| = p (1-p) |1-2p|``, at ``p = (1 -+ 1/sqrt 3) / 2``, that is ``eta = -+log(2 + sqrt 3)``."""

SIGMOID_SLOPE_PEAKS: Peaks = ((0.0, 0.25),)

SIGMOID_THIRD_PEAKS: Peaks = tuple((sign * np.log(2 + np.sqrt(3.0)), SIGMOID_THIRD) for sign in (-1, 1))
