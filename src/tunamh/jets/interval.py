"""Intervals of float64 arrays, rounded outward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .traced import Traced

RELATIVE = 4e-15
"""18 units in the last place: more than NumPy and SciPy lose in the functions of `elementary`."""

ABSOLUTE = 1e-307
"""For results that underflow."""

_MAX = np.finfo(np.float64).max


def plain(value: Any) -> np.ndarray:
    """Return a constant of the user's function as float64. Raise an error if it is no number."""
    return np.asarray(value, dtype=np.float64)


class Interval(Traced):
    """For each element a set ``[low, high]`` of real numbers.

    An end may be infinite; the numbers themselves are finite.

    Always ``low < inf`` and ``high > -inf``, and neither is NaN. So sums cannot be NaN, and products only by 0 times
    inf. An unknown result, such as NaN, becomes the whole line.
    """

    __slots__ = ("high", "low")

    def __init__(self, low: Any, high: Any = None) -> None:
        self.low = plain(low)
        self.high = self.low if high is None else plain(high)
        unknown = np.isnan(self.low) | np.isnan(self.high)
        if unknown.any():
            self.low = np.where(unknown, -np.inf, self.low)
            self.high = np.where(unknown, np.inf, self.high)
        self.low, self.high = np.minimum(self.low, _MAX), np.maximum(self.high, -_MAX)

    def __repr__(self) -> str:
        return f"Interval({self.low!r}, {self.high!r})"

    # ------------------------------------------------------------------------------------------------ arithmetic

    def plus(self, other: Any) -> Interval:
        other = as_interval(other)
        return outward(self.low + other.low, self.high + other.high)

    def negated(self) -> Interval:
        return _made(-self.high, -self.low)

    def times(self, other: Any) -> Interval:
        """Return the product. Its extremes are at corners; 0 times inf is 0, because no number is infinite."""
        if other is self:
            return self.squared()
        ends: tuple[np.ndarray, ...]
        if not isinstance(other, Interval):
            factor = plain(other)
            ends = self.low * factor, self.high * factor
        else:
            ends = (self.low * other.low, self.low * other.high, self.high * other.low, self.high * other.high)
        low, high = _smallest(ends), _largest(ends)
        if np.isnan(low).any():
            if not isinstance(other, Interval):
                return self.times(Interval(other))  # a constant that is not a number is not known
            ends = tuple(np.where(np.isnan(end), 0.0, end) for end in ends)
            low, high = _smallest(ends), _largest(ends)
        return outward(low, high)

    def squared(self) -> Interval:
        one, two = self.low * self.low, self.high * self.high
        low = np.where((self.low < 0) & (self.high > 0), 0.0, np.minimum(one, two))
        return outward(low, np.maximum(one, two))

    def over(self, divisor: np.ndarray) -> Interval:
        """Return the quotient by exact numbers. It is the whole line if the number is 0."""
        one, two = self.low / divisor, self.high / divisor
        one = np.where(divisor == 0, np.nan, one)
        return outward(np.minimum(one, two), np.maximum(one, two))

    def rounded(self, constant: Any) -> Interval:
        return outward(plain(constant), plain(constant))

    def through(self, function: Any) -> Interval:
        image = function.images(self, 0)[0]
        return as_interval(image)

    # ------------------------------------------------------------------------------------------------------ sets

    def __and__(self, other: Interval) -> Interval:
        """What lies in both; they are known to meet."""
        return _made(np.maximum(self.low, other.low), np.minimum(self.high, other.high))

    def __or__(self, other: Interval) -> Interval:
        """The hull of both."""
        return _made(np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    def __getitem__(self, key: Any) -> Interval:
        return _made(self.low[key], self.high[key])

    def magnitude(self) -> np.ndarray:
        """Return the largest absolute value."""
        return np.maximum(-self.low, self.high)


def _made(low: np.ndarray, high: np.ndarray) -> Interval:
    """Without the checks, for ends that are known to be good."""
    result = Interval.__new__(Interval)
    result.low, result.high = low, high
    return result


def _smallest(ends: tuple[np.ndarray, ...]) -> np.ndarray:
    low = ends[0]
    for end in ends[1:]:
        low = np.minimum(low, end)
    return low


def _largest(ends: tuple[np.ndarray, ...]) -> np.ndarray:
    high = ends[0]
    for end in ends[1:]:
        high = np.maximum(high, end)
    return high


def outward(low: np.ndarray, high: np.ndarray) -> Interval:
    """Return an interval whose rounded ends are moved outward a little.

    If a lower end has overflowed to +inf, the numbers are above the largest float; then this float is the lower end.
    """
    low, high = np.minimum(low, _MAX), np.maximum(high, -_MAX)
    low, high = low - _slack(low), high + _slack(high)
    unknown = np.isnan(low) | np.isnan(high)
    if unknown.any():
        low, high = np.where(unknown, -np.inf, low), np.where(unknown, np.inf, high)
    return _made(np.asarray(low), np.asarray(high))


def _slack(end: np.ndarray) -> np.ndarray:
    slack = np.abs(end)
    slack *= RELATIVE
    slack += ABSOLUTE
    return slack


def joined(parts: Sequence[Interval]) -> Interval:
    """Return the intervals joined, one after the other."""
    if len(parts) == 1:
        return parts[0]
    return _made(np.concatenate([part.low for part in parts]), np.concatenate([part.high for part in parts]))


def as_interval(value: Any) -> Interval:
    return value if isinstance(value, Interval) else Interval(value)


def around(centre: np.ndarray, reach: np.ndarray) -> Interval:
    """Return the interval ``|x - centre| <= reach``."""
    return outward(centre - reach, centre + reach)
