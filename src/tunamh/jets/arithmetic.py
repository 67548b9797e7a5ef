"""Compiled arithmetic of series: sums and products of many coefficients at once, row by row, rounded outward.

A series is a matrix (coefficients, rows) of lower ends and one of upper ends. One rounding at the end of a sum of
products stands for those of all its steps: with ``m`` terms it is at most ``(m + 2) u sum |term|``, ``u = 1.2e-16``,
and `RELATIVE` is more for up to 30 terms. Eight predictors up to order 4 have sums of 16.
"""

from __future__ import annotations

import numpy as np

from ..compiled import helper
from .interval import ABSOLUTE, RELATIVE

_STRIP = 256  # rows at a time: what is worked on stays in the nearest cache
_MAX = np.finfo(np.float64).max


@helper(inline=True)
def _number(x):
    """0 times infinity is 0, as no number is infinite."""
    return x if x == x else 0.0


@helper(inline=True)
def _lower(total, size):
    found = min(total, _MAX) - (RELATIVE * size + ABSOLUTE)
    return found if found == found else -np.inf


@helper(inline=True)
def _upper(total, size):
    found = max(total, -_MAX) + (RELATIVE * size + ABSOLUTE)
    return found if found == found else np.inf


@helper(inline=True)
def _ends(a, b, c, d):
    """The smallest and the largest product of an interval ``[a, b]`` and one ``[c, d]``."""
    p, q, r, s = _number(a * c), _number(a * d), _number(b * c), _number(b * d)
    one, two = (p if p < q else q), (r if r < s else s)
    three, four = (q if p < q else p), (s if r < s else r)
    return (one if one < two else two), (three if three > four else four)


@helper
def multiply(series, other, pairs, found):
    """Compute sums of products: entry ``k`` of the result is the sum of the pairs from ``starts[k]`` to ``starts[k +
    1]``.

    A series is given by its lower and upper ends. The factor of a pair is 1 or 2; -1 means a square, whose ends differ
    from those of a product of two intervals.
    """
    a, b = series
    c, d = other
    left, right, factor, starts = pairs
    low, high = found
    n = a.shape[1]
    lows, highs, sizes, others = np.empty(_STRIP), np.empty(_STRIP), np.empty(_STRIP), np.empty(_STRIP)
    for begin in range(0, n, _STRIP):
        m = min(_STRIP, n - begin)
        for k in range(starts.size - 1):
            for r in range(m):
                lows[r], highs[r], sizes[r], others[r] = 0.0, 0.0, 0.0, 0.0
            for t in range(starts[k], starts[k + 1]):
                i, j, f = left[t], right[t], factor[t]
                if f < 0.0:
                    for r in range(m):
                        one, two = a[i, begin + r] * a[i, begin + r], b[i, begin + r] * b[i, begin + r]
                        inside = a[i, begin + r] < 0.0 and b[i, begin + r] > 0.0
                        least = 0.0 if inside else (one if one < two else two)
                        most = two if one < two else one
                        lows[r] += least
                        highs[r] += most
                        sizes[r] += least
                        others[r] += most
                else:
                    for r in range(m):
                        at = begin + r
                        least, most = _ends(a[i, at], b[i, at], c[j, at], d[j, at])
                        least, most = f * least, f * most
                        lows[r] += least
                        highs[r] += most
                        sizes[r] += abs(least)
                        others[r] += abs(most)
            for r in range(m):
                low[k, begin + r] = _lower(lows[r], sizes[r])
                high[k, begin + r] = _upper(highs[r], others[r])


@helper
def multiply_numbers(a, c, left, right, factor, starts, out):
    """Compute the same sums as `multiply` for series of numbers."""
    n = a.shape[1]
    for begin in range(0, n, _STRIP):
        m = min(_STRIP, n - begin)
        for k in range(starts.size - 1):
            for r in range(m):
                out[k, begin + r] = 0.0
            for t in range(starts[k], starts[k + 1]):
                i, j, f = left[t], right[t], abs(factor[t])
                for r in range(m):
                    out[k, begin + r] += f * (a[i, begin + r] * c[j, begin + r])


@helper
def scale(a, b, c, d, low, high):
    """Multiply every coefficient by an interval. ``c`` and ``d`` have one number for all rows, or one for each row."""
    same = c.size == 1
    for k in range(a.shape[0]):
        for r in range(a.shape[1]):
            at = 0 if same else r
            least, most = _ends(a[k, r], b[k, r], c[at], d[at])
            low[k, r] = _lower(least, abs(least))
            high[k, r] = _upper(most, abs(most))


@helper
def add_scaled(a, b, c, d, factor, places, low, high):
    """Add another series, times an interval and a positive number, to the entries ``places`` of a series.

    The number itself may be rounded, so the sum is made wider by 16 times this rounding.
    """
    same = c.size == 1
    for k in range(a.shape[0]):
        to = places[k]
        for r in range(a.shape[1]):
            at = 0 if same else r
            least, most = _ends(a[k, r], b[k, r], c[at], d[at])
            least, most = factor * least, factor * most
            low[to, r] = _lower(low[to, r] + least, abs(low[to, r]) + abs(least))
            high[to, r] = _upper(high[to, r] + most, abs(high[to, r]) + abs(most))


@helper
def add(a, b, places, low, high):
    """Add another series to the entries ``places`` of a series."""
    for k in range(a.shape[0]):
        to = places[k]
        for r in range(a.shape[1]):
            least, most = low[to, r] + a[k, r], high[to, r] + b[k, r]
            low[to, r] = _lower(least, abs(least))
            high[to, r] = _upper(most, abs(most))


@helper
def met_with_mean(a, b, c, d, reach, numbers, larger, out):
    """Compute for each row the largest absolute value of derivatives over a box.

    It is the smaller one of two bounds: the natural extension and the mean value form. Entry ``k`` of ``numbers`` has
    the position of the derivative over the box, its position at the middle (-1: it is 0 there), and the factorial of
    its index. ``larger[k, p]`` has the position of its derivative in predictor ``p``, and the factorial.
    """
    n, size = a.shape[1], reach.shape[0]
    for k in range(numbers.shape[0]):
        over, middle, weight = int(numbers[k, 0]), int(numbers[k, 1]), numbers[k, 2]
        for r in range(n):
            low = weight * c[middle, r] if middle >= 0 else 0.0
            high = weight * d[middle, r] if middle >= 0 else 0.0
            total = abs(low) + abs(high)
            for p in range(size):
                at = int(larger[k, p, 0])
                if at >= 0:
                    further = _number(larger[k, p, 1] * max(-a[at, r], b[at, r]) * reach[p, r])
                    low, high, total = low - further, high + further, total + further
            low, high = _lower(low, total), _upper(high, total)
            least, most = (
                _lower(weight * a[over, r], abs(weight * a[over, r])),
                _upper(weight * b[over, r], abs(weight * b[over, r])),
            )
            out[k, r] = max(-max(low, least), min(high, most))
