"""Series in several variables up to a total degree, of numbers or of intervals, with all their rows at once.

Which coefficients there are is known before any number is: an index that is absent is 0 everywhere. What a product or a
composition adds up is a table of places, made once for every pattern.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import factorial
from typing import Any, NamedTuple

import numpy as np

from . import arithmetic
from .interval import Interval, as_interval, plain

Index = tuple[int, ...]
Indices = tuple[Index, ...]


class Series(NamedTuple):
    """A series: coefficients ``d^index f / index!``, the value first, as lower and upper ends (coefficients, rows).

    For a series of numbers both ends are the same matrix.
    """

    indices: Indices
    low: np.ndarray
    high: np.ndarray

    @property
    def bounded(self) -> bool:
        return self.low is not self.high

    @property
    def value(self) -> Any:
        """Return the value of the function."""
        return Interval(self.low[0], self.high[0]) if self.bounded else self.low[0]

    @property
    def rest(self) -> Series:
        """Return the series without its value."""
        return self.part(slice(1, None))

    def part(self, which: slice) -> Series:
        low = self.low[which]
        return Series(self.indices[which], low, self.high[which] if self.bounded else low)

    def coefficient(self, index: Index) -> Any:
        """Return a coefficient, an interval or numbers. An absent coefficient is 0."""
        if index not in self.indices:
            return Interval(0.0) if self.bounded else 0.0
        k = self.indices.index(index)
        return Interval(self.low[k], self.high[k]) if self.bounded else self.low[k]


def empty(indices: Indices, rows: int, bounded: bool, zeros: bool = False) -> Series:
    make = np.zeros if zeros else np.empty
    low = make((len(indices), rows))
    return Series(indices, low, make((len(indices), rows)) if bounded else low)


def variable(value: Any, which: int, size: int, rows: int) -> Series:
    """Return the series of a predictor itself, at numbers or over an interval."""
    bounded = isinstance(value, Interval)
    found = empty(((0,) * size, tuple(int(j == which) for j in range(size))), rows, bounded)
    found.low[0] = np.broadcast_to(value.low if bounded else value, (rows,))
    found.low[1] = 1.0
    if bounded:
        found.high[0], found.high[1] = np.broadcast_to(value.high, (rows,)), 1.0
    return found


# ------------------------------------------------------------------------------------------------------- products


class _Table(NamedTuple):
    """The indices of a product, and for each of them the pairs of places that it adds up.

    ``pairs`` are the places on the left and on the right, a factor, and where those of each index start.
    """

    indices: Indices
    pairs: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@lru_cache(maxsize=4096)
def _product_table(one: Indices, two: Indices, degree: int, same: bool) -> _Table:
    """A series by itself squares its coefficients, whose intervals are narrower than those of a product."""
    pairs: dict[Index, list[tuple[int, int, float]]] = {}
    for i, a in enumerate(one):
        for j, b in enumerate(two):
            if sum(a) + sum(b) > degree or (same and j < i):
                continue
            factor = 1.0 if not same else -1.0 if i == j else 2.0
            pairs.setdefault(tuple(p + q for p, q in zip(a, b, strict=True)), []).append((i, j, factor))
    ordered = sorted(pairs, key=lambda index: (sum(index), index))
    table = np.array([pair for index in ordered for pair in pairs[index]]).reshape(-1, 3)
    starts = np.cumsum([0, *(len(pairs[index]) for index in ordered)])
    left, right = table[:, 0].astype(np.int64), table[:, 1].astype(np.int64)
    return _Table(tuple(ordered), (left, right, np.ascontiguousarray(table[:, 2]), starts.astype(np.int64)))


def product(a: Series, b: Series, degree: int) -> Series:
    table = _product_table(a.indices, b.indices, degree, a.low is b.low)
    found = empty(table.indices, a.low.shape[1], a.bounded)
    if a.bounded:
        arithmetic.multiply((a.low, a.high), (b.low, b.high), table.pairs, (found.low, found.high))
    else:
        arithmetic.multiply_numbers(a.low, b.low, *table.pairs, found.low)
    return found


def scaled(a: Series, factor: Interval | np.ndarray) -> Series:
    """Return the series times a constant: an interval or numbers, one for all rows or one for each."""
    if not a.bounded:
        low = a.low * factor
        return Series(a.indices, low, low)
    found, ends = empty(a.indices, a.low.shape[1], True), as_interval(factor)
    arithmetic.scale(a.low, a.high, np.ravel(ends.low), np.ravel(ends.high), found.low, found.high)
    return found


def divided(a: Series, divisor: np.ndarray) -> Series:
    if not a.bounded:
        low = a.low / divisor
        return Series(a.indices, low, low)
    ends = Interval(a.low, a.high).over(divisor)
    return Series(a.indices, ends.low, ends.high)


def negated(a: Series) -> Series:
    low = -a.high
    return Series(a.indices, low, -a.low if a.bounded else low)


# ----------------------------------------------------------------------------------------------------------- sums


@lru_cache(maxsize=4096)
def _union(one: Indices, two: Indices) -> tuple[Indices, np.ndarray]:
    """All indices, those of ``one`` first; and where those of ``two`` are among them."""
    joined = tuple(dict.fromkeys((*one, *two)))
    return joined, np.array([joined.index(index) for index in two], np.int64)


def total(a: Series, b: Series) -> Series:
    indices, places = _union(a.indices, b.indices)
    shared = places < len(a.indices)
    found = empty(indices, a.low.shape[1], a.bounded)
    for to, own, other in ((found.low, a.low, b.low), (found.high, a.high, b.high)):
        to[: len(own)] = own
        to[places[~shared]] = other[~shared]  # nothing to be rounded
        if not a.bounded:
            to[places[shared]] += other[shared]
            return found
    if shared.any():
        arithmetic.add(b.low[shared], b.high[shared], places[shared], found.low, found.high)
    return found


def shifted(a: Series, constant: Interval | np.ndarray) -> Series:
    """Return the series plus a constant."""
    low = a.low.copy()
    if not a.bounded:
        low[0] += constant
        return Series(a.indices, low, low)
    ends, high = Interval(a.low[0], a.high[0]).plus(constant), a.high.copy()
    low[0], high[0] = ends.low, ends.high
    return Series(a.indices, low, high)


# ---------------------------------------------------------------------------------------------------- compositions


def composed(u: Series, values: Sequence[Any], degree: int) -> Series:
    """Return ``sum_k g^(k)(u) v^k / k!``, where ``u`` is the value and ``v`` the rest of the series.

    ``values`` are ``g, g', ...`` at ``u``: numbers or intervals; a float if it is the same in all rows.
    """
    v = u.rest
    wanted = tuple(k for k in range(1, degree + 1) if not (type(values[k]) is float and values[k] == 0))
    indices, places = _composed_table(u.indices, degree, wanted)
    found = empty(indices, u.low.shape[1], u.bounded, zeros=True)
    power = v
    for k in range(1, (wanted[-1] if wanted else 0) + 1):
        power = power if k == 1 else product(power, v, degree)
        if k in wanted and len(power.indices):
            _add_scaled(found, power, values[k], k, places[k])
    _set_value(found, values[0])
    return found


@lru_cache(maxsize=4096)
def _composed_table(indices: Indices, degree: int, wanted: tuple[int, ...]) -> tuple[Indices, dict[int, np.ndarray]]:
    rest, joined, found = indices[1:], indices[:1], {}
    power = rest
    for k in range(1, (wanted[-1] if wanted else 0) + 1):
        power = power if k == 1 else _product_table(power, rest, degree, k == 2).indices
        if k in wanted:
            joined, found[k] = _union(joined, power)
    return joined, found


def _add_scaled(found: Series, power: Series, value: Any, k: int, places: np.ndarray) -> None:
    if not found.bounded:
        found.low[places] += power.low * (value / factorial(k))
        return
    ends = as_interval(value)
    low, high = np.ravel(ends.low), np.ravel(ends.high)
    arithmetic.add_scaled(power.low, power.high, low, high, 1 / factorial(k), places, found.low, found.high)


def _set_value(found: Series, value: Any) -> None:
    if not found.bounded:
        found.low[0] = plain(value)
        return
    ends = as_interval(value)
    found.low[0], found.high[0] = ends.low, ends.high
