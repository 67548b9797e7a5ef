"""The maximum of a derivative over an interval of predictors."""

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


def widened(eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """The radius, a little wider: what rounding does to predictors and near zeros of derivatives is far smaller."""
    return radius + SLACK * (1 + np.abs(eta) + radius)


def largest(low: np.ndarray, high: np.ndarray, peaks: Peaks, eta: np.ndarray, wide: np.ndarray) -> np.ndarray:
    """The maximum of ``|g|`` over ``[eta - wide, eta + wide]``, given ``g`` at the two ends and all its peaks.

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
    """``suprema_near`` of a family that knows all peaks of its derivatives; `suprema` for an endless radius."""
    wide = np.minimum(widened(eta, radius), ENDLESS)
    lows, highs = family.derivatives(eta - wide, y), family.derivatives(eta + wide, y)
    found = (largest(*ends, eta, wide) for ends in zip(lows, highs, (first, second, third), strict=True))
    return Suprema(
        *(np.where(wide < ENDLESS, np.minimum(*both), both[1]) for both in zip(found, family.suprema(y), strict=True))
    )
