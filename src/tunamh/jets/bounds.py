"""Proved upper bounds, per row, of derivatives of a user's own energy near its one predictor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .interval import Interval, around, outward
from .jet import expand

Energy = Callable[..., Any]

_PIECES = (2, 3, 5, 9, 16)
"""Numbers of pieces a side; rows are sorted into these classes."""

_PER_UNIT = 16
BLOCK = 16_384  # intervals at once: their jets stay in the processor's cache


# ------------------------------------------------------------------------------------------------------ public


def slope_constant(energy: Energy, eta: Any, y: Any, radius: Any, pieces: int | None = None) -> np.ndarray:
    """Return for each row an upper bound of ``L = sup_{0<|z|<=radius} 2 |f'(eta+z) - f'(eta) - f''(eta) z| / z^2``.

    The quotient is the mean of ``f'''(eta+s)`` with the weight ``2 (|z|-|s|) / z^2``. So a step function above ``f'''``
    gives an upper bound, and one below it a lower bound. There are ``pieces`` steps on each side; the default is ``1 +
    16 radius``, at most 16.
    """

    def bound(steps: Interval, nodes: np.ndarray) -> np.ndarray:
        m = len(nodes) - 1
        sides = steps[m:], steps[m - 1 :: -1]
        means = [_largest_mean(step, nodes) for side in sides for step in (side.high, -side.low)]
        return np.maximum.reduce(means)

    return _over_classes(energy, eta, y, radius, 3, pieces, bound)


def supremum_near(energy: Energy, eta: Any, y: Any, radius: Any, order: int, pieces: int | None = None) -> np.ndarray:
    """Return for each row an upper bound of ``|f^(order)|`` within ``radius`` of ``eta``. The order is 1, 2 or 3."""
    if order not in (1, 2, 3):
        raise ValueError(f"order must be 1, 2 or 3, but is {order!r}.")
    return _over_classes(energy, eta, y, radius, order, pieces, lambda steps, nodes: steps.magnitude().max(axis=0))


# ----------------------------------------------------------------------------------------------- classes of rows


class _Rows:
    """Predictors, responses and radii of rows with the same number of pieces."""

    def __init__(self, energy: Energy, eta: np.ndarray, y: np.ndarray, radius: np.ndarray) -> None:
        self.energy, self.eta, self.y, self.radius = energy, eta, y, radius

    def edges(self, nodes: np.ndarray) -> Interval:
        """Return the ends of the pieces from left to right, each an interval that contains its rounding error."""
        signed = np.concatenate([-nodes[:0:-1], nodes])[:, None]
        shift = np.where(signed == 0, 0.0, signed * self.radius)  # 0 times an infinite radius included
        slack = np.where(np.isfinite(self.radius), 4e-15 * (np.abs(self.eta) + self.radius), 0.0)
        return around(self.eta + shift, slack)


_Bound = Callable[[Interval, np.ndarray], np.ndarray]


def _over_classes(
    energy: Energy, eta: Any, y: Any, radius: Any, order: int, pieces: int | None, bound: _Bound
) -> np.ndarray:
    eta, y, radius = np.broadcast_arrays(*(np.atleast_1d(np.asarray(a, dtype=np.float64)) for a in (eta, y, radius)))
    check(radius, 1 if pieces is None else pieces)
    result = np.empty(eta.shape)
    for m, members in _classes(radius, pieces):
        nodes = np.linspace(0.0, 1.0, m + 1)
        length = max(1, BLOCK // (2 * m))
        for start in range(0, len(members), length):
            here = members[start : start + length]
            rows = _Rows(energy, eta[here], y[here], radius[here])
            with np.errstate(all="ignore"):
                result[here] = bound(_enclosed(rows, nodes, order), nodes)
    return result


def _classes(radius: np.ndarray, pieces: int | None) -> Iterator[tuple[int, np.ndarray]]:
    """Row numbers by number of pieces; an infinite side is one piece."""
    infinite = np.isinf(radius)
    if pieces is None:
        wanted = 1 + np.ceil(_PER_UNIT * np.where(infinite, 0.0, radius))
        chosen = np.asarray(_PIECES)[np.minimum(np.searchsorted(_PIECES, wanted), len(_PIECES) - 1)]
    else:
        chosen = np.full(radius.shape, pieces)
    chosen = np.where(infinite, 1, chosen)
    for m in np.unique(chosen):
        yield int(m), np.flatnonzero(chosen == m)


def check(radius: np.ndarray, pieces: int) -> None:
    if not (radius >= 0).all():
        raise ValueError("radii must not be negative or NaN.")
    if pieces < 1:
        raise ValueError(f"pieces must be at least 1, but is {pieces!r}.")


# -------------------------------------------------------------------------------------------- enclosures by pieces


def _enclosed(rows: _Rows, nodes: np.ndarray, order: int) -> Interval:
    """``f^(order)`` on every piece, (pieces, rows): the natural extension, met with `_between`."""
    edges = rows.edges(nodes)
    pieces = Interval(edges.low[:-1], edges.high[1:])
    over = expand(rows.energy, [pieces], rows.y, order + 1)
    at = expand(rows.energy, [edges], rows.y, order).derivative((order,))
    natural, slope = over.derivative((order,)), over.derivative((order + 1,))
    shape = pieces.low.shape
    width = outward(pieces.high - pieces.low, pieces.high - pieces.low).high
    ends = np.broadcast_to(at.low, (shape[0] + 1, shape[1])), np.broadcast_to(at.high, (shape[0] + 1, shape[1]))
    low = -_between(-ends[0][:-1], -ends[0][1:], -slope.high, -slope.low, width)
    high = _between(ends[1][:-1], ends[1][1:], slope.low, slope.high, width)
    return Interval(np.maximum(natural.low, low), np.minimum(natural.high, high))


def _between(first: np.ndarray, last: np.ndarray, least: Any, most: Any, width: np.ndarray) -> np.ndarray:
    """The most that a function can be between two ends, of values and with slopes no more than these.

    At a distance x from the first end it is at most ``first + most x`` and at most ``last - least (width - x)``. If the
    slope has a sign, the larger end is the maximum; else the two lines meet at
    ``(most last - least first - least most width) / (most - least)``.
    """
    share = most / (most - least)  # between 0 and 1
    meeting = last * share + first * (1 - share) - least * share * width
    meeting += 1e-14 * (np.abs(first) + np.abs(last) + np.abs(least * share * width))
    meeting = np.where(np.isfinite(most - least) & ~np.isnan(meeting), meeting, np.inf)
    return np.where(most <= 0, first, np.where(least >= 0, last, meeting))


def _largest_mean(steps: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """``sup_{0<z<=1} 2 G / z^2``, ``G(z) = int_0^z (z-s) F(s) ds``, of the step function ``F`` between the nodes.

    On a piece that starts at ``z_k`` with ``G_k`` and ``G'_k``, ``2 G / z^2 = A u^2 + 2 B u + F_k`` in ``u = 1/z``,
    ``A = 2 G_k - 2 G'_k z_k + F_k z_k^2`` and ``B = G'_k - F_k z_k``: it is largest at an end or, if ``A < 0``, at
    ``u = -B/A``. Rounding is relative to the largest step.
    """
    best = steps[0]  # the mean over the first piece
    value, slope = np.zeros_like(best), np.zeros_like(best)
    for k, step in enumerate(steps):
        start, end = nodes[k], nodes[k + 1]
        a, b = 2 * value - 2 * slope * start + step * start**2, slope - step * start
        u = -b / a
        inside = (a < 0) & (u * start <= 1) & (u * end >= 1)
        best = np.where(inside, np.maximum(best, step + b * u), best)
        value, slope = value + (end - start) * (slope + 0.5 * step * (end - start)), slope + step * (end - start)
        best = np.maximum(best, 2 * value / end**2)
    sizes = np.abs(steps).max(axis=0)
    known = np.isfinite(sizes) & ~np.isnan(best)
    return np.where(known, best + 1e-13 * sizes, np.inf)
