"""Curves of a design: a row holds where it lies on each curve, and not the curve's columns.

A curve is ``f(t) = sum_p B_p(t) beta_p`` with ``k`` cubic B-splines on knots at whole numbers, and ``beta = T theta``:
the parameters ``theta`` of a curve are not the coefficients of its splines, but a linear map leads from one to the
other (`tunamh.formula.demmler_reinsch`). Column ``j`` of a row is ``x_j = sum_p B_p(t) T_pj``, of which nothing is
stored. At any ``t`` four splines are not zero. With ``t = q + s``, ``0 <= s < 1``, they are number ``q, ..., q + 3``:

    (1 - s)^3 / 6,    (3 s^3 - 6 s^2 + 4) / 6,    (-3 s^3 + 3 s^2 + 3 s + 1) / 6,    s^3 / 6.

Before the first knot and behind the last one they go on along their tangents, unless the curve is cyclic.

Many rows at once need ``beta`` once, and then four products each. For a few rows it is less work to compute the four
numbers of ``beta`` that each needs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...compiled import REASSOCIATE, helper
from ...compiled.layouts import FLAG, WHOLE, Layout

_FEW = 4
"""Rows of a call, for each level of a curve, from which on all splines' coefficients are computed first."""

_SIXTH = 1.0 / 6.0
_WRAPPED = 3

CURVE = Layout(
    "Curve",
    width=WHOLE,  # how many splines; of a cyclic curve the first three stand behind the last one once more
    splines=WHOLE,
    each=WHOLE,
    levels=WHOLE,
    start=WHOLE,  # in the parameters of the design
    place=WHOLE,  # in a packed row: t, then the level where there are several, then the factor where there is one
    multiplied=FLAG,
    lines=("each", "width"),  # T'
)
curve_at = CURVE.reader()


class Curve(NamedTuple):
    """One curve of a design, or one curve for each level of a factor.

    ``T`` is a matrix (splines, each). The parameters of level ``l`` are ``theta[start + l each : start + (l + 1)
    each]``. If ``multiplied`` is True, a number of the row multiplies the curve.
    """

    start: int
    T: np.ndarray
    cyclic: bool = False
    levels: int = 1
    multiplied: bool = False

    @property
    def each(self) -> int:
        return self.T.shape[1]

    @property
    def size(self) -> int:
        return self.each * self.levels

    @property
    def splines(self) -> int:
        return len(self.T) * self.levels

    @property
    def numbers(self) -> int:
        """Return how many numbers a row stores for the curve."""
        return 1 + (self.levels > 1) + self.multiplied

    @property
    def parameters(self) -> slice:
        return slice(self.start, self.start + self.size)

    def on_columns(self, which: np.ndarray, start: int) -> Curve | None:
        """Return the curve with only the parameters of a mask, or None if the mask differs between levels."""
        of_levels = which[self.parameters].reshape(self.levels, self.each)
        if (of_levels != of_levels[0]).any():
            return None
        return self._replace(start=start, T=np.ascontiguousarray(self.T[:, of_levels[0]]))


Curves = tuple[Curve, ...]


def numbers_of(curves: Curves) -> int:
    """Return how many numbers a row stores for all curves."""
    return sum(one.numbers for one in curves)


def moved_by(places: int, curves: Curves) -> Curves:
    """Return the curves with their parameters shifted by ``places`` positions."""
    return tuple(one._replace(start=one.start + places) for one in curves)


def scaled_by(factor: float, curves: Curves) -> Curves:
    """Return the curves with columns that are multiplied by ``factor``."""
    return tuple(one._replace(T=one.T * factor) for one in curves)


def records(curves: Curves, place: int) -> list[float]:
    """Return the numbers that compiled code reads of curves. Their numbers in a packed row begin at ``place``."""
    found: list[float] = []
    for one in curves:
        lines = np.concatenate([one.T, one.T[:_WRAPPED]]).T if one.cyclic else one.T.T
        fixed = {name: getattr(one, name) for name in ("each", "levels", "start", "multiplied")}
        own = CURVE.pack(width=lines.shape[1], splines=len(one.T), **fixed, place=place, lines=lines)
        found += own.tolist()
        place += one.numbers
    return found


# ------------------------------------------------------------------------------------------------ the compiled side


class Records(NamedTuple):
    """``count`` curves for compiled code. Their records in ``table`` begin at position ``begin``."""

    table: Any
    begin: Any
    count: Any


class Four(NamedTuple):
    """The four splines that are not zero for a row: the level, the number of the first spline, and the four values."""

    level: Any
    first: Any
    a: Any
    b: Any
    c: Any
    d: Any


@helper(fastmath=REASSOCIATE, inline=True)
def _four(curve, rows, i):
    """Of row ``i``."""
    place = curve.place
    t, q, level, times = rows[i, place], 0, 0, _SIXTH
    if t >= curve.width - 4:
        q = curve.width - 4
    elif t > 0.0:
        q = int(t)
    if curve.levels > 1:
        place += 1
        level = int(rows[i, place])
    if curve.multiplied:
        place += 1
        times *= rows[i, place]
    s = min(max(t - q, 0.0), 1.0)
    r, beyond = 1.0 - s, (t - q) - s
    a = r * r * (r - 3.0 * beyond)
    b = (3.0 * s - 6.0) * s * s + 4.0 + beyond * (9.0 * s - 12.0) * s
    c = ((-3.0 * s + 3.0) * s + 3.0) * s + 1.0 + beyond * ((-9.0 * s + 6.0) * s + 3.0)
    d = s * s * (s + 3.0 * beyond)
    return Four(level, q, times * a, times * b, times * c, times * d)


@helper(fastmath=REASSOCIATE)
def _of_splines(theta, curve):
    """``T theta`` of all levels."""
    each, width, lines = curve.each, curve.width, curve.lines
    beta = np.zeros((curve.levels, width))
    for level in range(curve.levels):
        for j in range(each):
            own = theta[curve.start + level * each + j]
            for p in range(width):
                beta[level, p] += own * lines[j, p]
    return beta


@helper(fastmath=REASSOCIATE)
def _add_many(theta, curve, rows, index, n, out):
    beta = _of_splines(theta, curve)
    for i in range(n):
        at = _four(curve, rows, index[i])
        level, q = at.level, at.first
        out[i] += at.a * beta[level, q] + at.b * beta[level, q + 1]
        out[i] += at.c * beta[level, q + 2] + at.d * beta[level, q + 3]


@helper(fastmath=REASSOCIATE)
def _add_few(theta, curve, rows, index, n, out):
    each, lines = curve.each, curve.lines
    for i in range(n):
        at = _four(curve, rows, index[i])
        q, begin = at.first, curve.start + at.level * each
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for j in range(each):
            own = theta[begin + j]
            a += own * lines[j, q]
            b += own * lines[j, q + 1]
            c += own * lines[j, q + 2]
            d += own * lines[j, q + 3]
        out[i] += (at.a * a + at.b * b) + (at.c * c + at.d * d)


@helper(fastmath=REASSOCIATE)
def _add_many_at_both(theta, prop, curve, rows, index, n, out, out_prop):
    beta, other = _of_splines(theta, curve), _of_splines(prop, curve)
    for i in range(n):
        at = _four(curve, rows, index[i])
        level, q = at.level, at.first
        out[i] += at.a * beta[level, q] + at.b * beta[level, q + 1]
        out[i] += at.c * beta[level, q + 2] + at.d * beta[level, q + 3]
        out_prop[i] += at.a * other[level, q] + at.b * other[level, q + 1]
        out_prop[i] += at.c * other[level, q + 2] + at.d * other[level, q + 3]


@helper
def add_curves_at_both(points, curves, rows, index, n, outs):
    """Do what `add_curves` does at two points; each point has its own output."""
    theta, prop = points
    out, out_prop = outs
    begin = curves.begin
    for _ in range(curves.count):
        curve = curve_at(curves.table, begin)
        if n < _FEW * curve.levels:
            _add_few(theta, curve, rows, index, n, out)
            _add_few(prop, curve, rows, index, n, out_prop)
        else:
            _add_many_at_both(theta, prop, curve, rows, index, n, out, out_prop)
        begin += curve.end


@helper
def add_curves(theta, curves, rows, index, n, out):
    """Add the values of all ``curves`` to the predictors of the rows ``index[:n]``: ``out[b] += f(t)``."""
    begin = curves.begin
    for _ in range(curves.count):
        curve = curve_at(curves.table, begin)
        if n < _FEW * curve.levels:
            _add_few(theta, curve, rows, index, n, out)
        else:
            _add_many(theta, curve, rows, index, n, out)
        begin += curve.end


@helper
def sizes_of_curves(theta, curves, rows, i):
    """Return two sizes of a row's curves for error bounds.

    They are ``sum_p |B_p| sum_j |T_pj theta_j|``, which bounds the rounding error of a predictor, and ``|x|^2``.
    """
    terms, squares, begin = 0.0, 0.0, curves.begin
    for _ in range(curves.count):
        curve = curve_at(curves.table, begin)
        at, lines = _four(curve, rows, i), curve.lines
        q = at.first
        for j in range(curve.each):
            a, b, c, d = at.a * lines[j, q], at.b * lines[j, q + 1], at.c * lines[j, q + 2], at.d * lines[j, q + 3]
            own = theta[curve.start + at.level * curve.each + j]
            squares += (a + b + c + d) ** 2
            terms += (abs(a) + abs(b) + abs(c) + abs(d)) * abs(own) * (1.0 + (curve.width + curve.each) / 32.0)
        begin += curve.end
    return terms, squares


@helper
def _fill_four(table, count, numbers, first, positions, values):
    """Positions and values of the splines of ``count`` curves, which are numbered from ``first`` on."""
    begin = 0
    for at in range(0, 4 * count, 4):
        curve = curve_at(table, begin)
        k = curve.splines
        for i in range(numbers.shape[0]):
            four = _four(curve, numbers, i)
            own, q = first + four.level * k, four.first
            values[i, at], values[i, at + 1] = four.a, four.b
            values[i, at + 2], values[i, at + 3] = four.c, four.d
            for m in range(4):
                positions[i, at + m] = own + q
                q = q + 1 if q + 1 < k else 0
        first += k * curve.levels
        begin += curve.end


# --------------------------------------------------------------------------------------------- sums over blocks of rows


def four_of_rows(curves: Curves, numbers: np.ndarray, first: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions and the values of the splines that are not zero, four for each curve.

    ``first`` is the position of the first spline.
    """
    shape = len(numbers), 4 * len(curves)
    positions, values = np.empty(shape, np.int32), np.empty(shape)
    _fill_four(np.array(records(curves, 0)), len(curves), numbers, first, positions, values)
    return positions, values


def with_splines(curves: Curves, matrix: np.ndarray) -> np.ndarray:
    """Return the rows of parameters of a matrix, with one row for each spline below them.

    The rows of splines are ``T`` times the rows of their curve.
    """
    parts = [np.asarray(matrix, dtype=np.float64)]
    for one in curves:
        own = matrix[one.parameters].reshape(one.levels, one.each, -1)
        parts.append((one.T @ own).reshape(one.splines, -1))
    return np.concatenate(parts)


def without_splines(curves: Curves, matrix: np.ndarray, dim: int) -> np.ndarray:
    """Return the transposed map of `with_splines`.

    The rows of splines are added to the rows of the parameters of their curve.
    """
    found, first = np.array(matrix[:dim]), dim
    for one in curves:
        own = matrix[first : first + one.splines].reshape(one.levels, len(one.T), -1)
        found[one.parameters] += (one.T.T @ own).reshape(one.size, -1)
        first += one.splines
    return found
