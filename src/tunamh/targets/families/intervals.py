"""Maxima of derivatives over an interval of predictors, row by row, and the extrema of the logistic function's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .likelihood import OnePredictorLikelihood, Suprema

Peaks = Sequence[tuple[Any, Any]]
"""Where a derivative has its local extrema, and its absolute value there; numbers, or arrays with one per row."""

SLACK = 1e-12

ENDLESS = 1e50  # a radius beyond it counts as infinite


def same_for_all(y: np.ndarray, first: float, second: float, third: float) -> Suprema:
    return Suprema(*(np.broadcast_to(value, y.shape) for value in (first, second, third)))


def vectors_of_one_shape(*values: np.ndarray | float) -> list[np.ndarray]:
    """Return arrays of the same shape in C order that may be written to, as compiled loops need them."""
    return [np.require(value, np.float64, ["C", "W"]) for value in np.broadcast_arrays(*values)]


def widened(eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Return the radius, increased by much more than the rounding errors of predictors and zeros of derivatives."""
    return radius + SLACK * (1 + np.abs(eta) + radius)


def largest(low: np.ndarray, high: np.ndarray, peaks: Peaks, eta: np.ndarray, wide: np.ndarray) -> np.ndarray:
    """Return the maximum of ``|g|`` over ``[eta - wide, eta + wide]``, given ``g`` at both ends and all its peaks.

    A continuous function attains its maximum at an end or at a critical point inside.
    """
    result = np.maximum(np.abs(low), np.abs(high))
    for where, height in peaks:
        result = np.where(np.abs(where - eta) <= wide, np.maximum(result, height), result)
    return (1 + SLACK) * result


def nearby(
    family: OnePredictorLikelihood,
    y: np.ndarray,
    eta: np.ndarray,
    radius: np.ndarray,
    first: Peaks,
    second: Peaks,
    third: Peaks,
) -> Suprema:
    """Return ``suprema_near`` for a family whose derivatives have known peaks. An infinite radius gives `suprema`."""
    wide = np.minimum(widened(eta, radius), ENDLESS)
    lows, highs = family.derivatives(eta - wide, y), family.derivatives(eta + wide, y)
    found = (largest(*ends, eta, wide) for ends in zip(lows, highs, (first, second, third), strict=True))
    return Suprema(
        *(np.where(wide < ENDLESS, np.minimum(*both), both[1]) for both in zip(found, family.suprema(y), strict=True))
    )


def sigmoids(eta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``p = 1 / (1 + e^-eta)`` and ``1 - p``, both without loss of digits."""
    small = np.exp(-np.abs(eta))
    large = 1 / (1 + small)
    small = small * large
    return np.where(eta > 0, large, small), np.where(eta > 0, small, large)


SIGMOID_THIRD = 1 / (6 * np.sqrt(3.0))
"""The supremum of ``|p''| = p (1-p) |1-2p|``, at ``p = (1 -+ 1/sqrt 3) / 2``, that is ``eta = -+log(2 + sqrt 3)``."""

SIGMOID_SLOPE_PEAKS: Peaks = ((0.0, 0.25),)

SIGMOID_THIRD_PEAKS: Peaks = tuple((sign * np.log(2 + np.sqrt(3.0)), SIGMOID_THIRD) for sign in (-1, 1))
