"""Proved upper bounds, per row, of the third derivatives of an energy of several predictors over a box."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise, product
from math import factorial, prod
from typing import Any

import numpy as np

from . import arithmetic
from .bounds import BLOCK, check
from .derivatives import partials
from .interval import Interval, around, joined
from .jet import expand
from .series import Indices

Energy = Callable[..., Any]


def box_bound(
    energy: Energy,
    etas: Any,
    y: Any,
    reach: Any,
    pieces: int | Sequence[int] = 1,
    known: Any = (),
    *,
    natural: bool = False,
) -> np.ndarray:
    """Return ``T[a,b,c,row] >= sup |f_abc|`` over the box ``|eta_a' - eta_a| <= reach_a``.

    It is the smaller one of the natural extension and the mean value form ``f_abc(middle) + sum_d f_abcd(box)
    [-reach_d, reach_d]``. ``etas`` and ``reach`` have the shape (K, n). Every side is cut into ``pieces``, one number
    for all sides or one for each; the supremum over a union is the largest supremum. ``known`` (m, n) are columns that
    the energy reads as they are. With ``natural``, the mean value form is left out; it costs four times as much and is
    better for small boxes.
    """
    *each, y = np.broadcast_arrays(*(np.asarray(column, dtype=np.float64) for column in (*etas, y)))
    centres = np.array(each)
    reaches = np.broadcast_to(np.asarray(reach, dtype=np.float64), centres.shape)
    size, n = centres.shape
    counts = [pieces] * size if isinstance(pieces, int) else list(pieces)
    for count in counts:
        check(reaches, count)
    result, boxes = np.zeros((size, size, size, n)), prod(counts)
    magnitudes, length = (_natural_magnitudes if natural else _third_magnitudes), max(1, BLOCK // boxes)
    for start in range(0, n, length):
        rows = slice(start, start + length)
        sides = zip(centres[:, rows], reaches[:, rows], counts, strict=True)
        cuts = product(*(_cut(centre, reach, count) for centre, reach, count in sides))
        box = [joined(pieces) for pieces in zip(*cuts, strict=True)]  # one behind the other
        beside = [np.tile(column[rows], boxes) for column in known]
        third = magnitudes(energy, box, np.tile(y[rows], boxes), beside)
        result[..., rows] = third.reshape(size, size, size, boxes, -1).max(axis=3)
    return result


def _cut(centre: np.ndarray, reach: np.ndarray, pieces: int) -> list[Interval]:
    """``[centre - reach, centre + reach]`` in pieces of equal length; an infinite one stays whole in each."""
    whole = around(centre, reach * (1 + 4e-15) + 4e-15 * np.abs(centre))
    with np.errstate(invalid="ignore"):
        step = (whole.high - whole.low) / pieces
        inner = [whole.low + k * step for k in range(1, pieces)]
    ends = [whole.low, *inner, whole.high]
    finite = np.isfinite(reach)
    return [
        Interval(np.where(finite, low, whole.low), np.where(finite, high, whole.high)) for low, high in pairwise(ends)
    ]


def _third_magnitudes(
    energy: Energy, box: Sequence[Interval], y: np.ndarray, known: Sequence[np.ndarray]
) -> np.ndarray:
    size = len(box)
    with np.errstate(all="ignore"):
        middles = [0.5 * side.low + 0.5 * side.high for side in box]
        reach = np.array([(side - middle).magnitude() for side, middle in zip(box, middles, strict=True)])
        over = expand(energy, box, y, 4, known).series
        at = expand(energy, [Interval(middle) for middle in middles], y, 3, known).series
    numbers, larger, ordered = _places(over.indices, at.indices, size)
    found = np.empty((len(ordered), y.size))
    arithmetic.met_with_mean(over.low, over.high, at.low, at.high, reach, numbers, larger, found)
    row = {index: found[k] for k, index in enumerate(ordered)}
    return partials(size, 3, y.shape, lambda index: row.get(index, 0.0))


def _natural_magnitudes(
    energy: Energy, box: Sequence[Interval], y: np.ndarray, known: Sequence[np.ndarray]
) -> np.ndarray:
    with np.errstate(all="ignore"):
        over = expand(energy, box, y, 3, known)
        return partials(len(box), 3, y.shape, lambda index: over.derivative(index).magnitude())


@lru_cache(maxsize=1024)
def _places(over: Indices, at: Indices, size: int) -> tuple[np.ndarray, np.ndarray, Indices]:
    """Of every third derivative over a box: where it is, where it is at the middle, and where its derivatives are."""
    ordered = tuple(index for index in over if sum(index) == 3)
    numbers, larger = np.empty((len(ordered), 3)), np.full((len(ordered), size, 2), -1.0)
    for k, index in enumerate(ordered):
        numbers[k] = over.index(index), at.index(index) if index in at else -1, prod(map(factorial, index))
        for p in range(size):
            further = tuple(n + (q == p) for q, n in enumerate(index))
            if further in over:
                larger[k, p] = over.index(further), prod(map(factorial, further))
    return numbers, larger, ordered
