"""By how much a user's own energy is rounded where it is rounded least."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from .interval import Interval
from .jet import expand

_STEPS = -3.0, -1.0, -0.3, 0.0, 0.3, 1.0, 3.0


def least_rounding(energy: Callable[..., Any], size: int, y: np.ndarray) -> np.ndarray:
    """Return for each response the smallest rounding error of the energy, over predictors near 0 and near the response.

    It is the width of an interval that contains the energy. So it includes cancellation inside the formula, which the
    value does not show. It is infinite if there is no finite interval.
    """
    shifts = np.array(list(product(_STEPS, repeat=size))).T
    best = np.full(y.size, np.inf)
    for middle in (np.zeros(y.size), y):
        points = shifts[:, :, None] + np.eye(size, 1)[:, :, None] * middle
        jet = expand(energy, [Interval(np.ravel(column)) for column in points], np.tile(y, shifts.shape[1]), 0)
        found = jet.derivative((0,) * size)
        width = np.broadcast_to(found.high - found.low, (y.size * shifts.shape[1],)).reshape(-1, y.size)
        best = np.minimum(best, width.min(axis=0))
    return best
