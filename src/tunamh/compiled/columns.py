"""Products with a matrix that is stored as columns, for few columns: loops along these.

Along a column the compiler has whole vectors to work with, in single precision too, without a matrix in double
precision; the matrix products of BLAS are at their best from some twenty columns on.
"""

from __future__ import annotations

import numpy as np

from . import REASSOCIATE, helper
from .vector import dot
from .windows import window

_STRIP = 256  # rows that are worked on at a time: their columns stay in the nearest cache
_LONG_STRIP = 1024
_ROWS_OF_A_STRIP = 64  # which are written to the cache line by line, whatever the number of columns


@helper
def columns_of(matrix, out):
    """Write the columns of a matrix as the rows of ``out``."""
    n, d = matrix.shape
    for start in range(0, n, _STRIP):
        stop = min(start + _STRIP, n)
        for j in range(d):
            for i in range(start, stop):
                out[j, i] = matrix[i, j]


@helper
def fill_rows(columns, out):
    """Write columns (d, n) into the first d positions of rows."""
    d, n = columns.shape
    for start in range(0, n, _ROWS_OF_A_STRIP):
        stop = min(start + _ROWS_OF_A_STRIP, n)
        for j in range(d):
            for i in range(start, stop):
                out[i, j] = columns[j, i]


@helper(fastmath=REASSOCIATE)
def _copy(values, out):
    for i in range(out.size):
        out[i] = values[i]


@helper(fastmath=REASSOCIATE)
def _multiply(values, others, out):
    for i in range(out.size):
        out[i] = values[i] * others[i]


@helper(fastmath=REASSOCIATE)
def _add_one(a, x, out):
    for i in range(out.size):
        out[i] += a * x[i]


@helper(fastmath=REASSOCIATE)
def _add_four(factors, p, q, r, s, out):
    """Four at a time, since a sum that is taken up again costs more than a product."""
    a, b, c, d = factors[0], factors[1], factors[2], factors[3]
    for i in range(out.size):
        out[i] += (a * p[i] + b * q[i]) + (c * r[i] + d * s[i])


@helper(fastmath=REASSOCIATE)
def _combine(lines, first, stride, factors, out):
    """``sum_j factors_j line_j``, where line ``j`` begins at ``first + j * stride``."""
    n, d, j = out.size, factors.size, 0
    for i in range(n):
        out[i] = 0.0
    while j + 3 < d:
        at = first + j * stride
        p, q = window(lines, at, n), window(lines, at + stride, n)
        r, s = window(lines, at + 2 * stride, n), window(lines, at + 3 * stride, n)
        _add_four(window(factors, j, 4), p, q, r, s, out)
        j += 4
    while j < d:
        _add_one(factors[j], window(lines, first + j * stride, n), out)
        j += 1


@helper(fastmath=REASSOCIATE)
def dots(lines, theta, out):
    """Compute ``X theta``. ``lines`` are the columns of ``X``, one after the other."""
    n = out.size
    for start in range(0, n, _LONG_STRIP):
        _combine(lines, start, n, theta, window(out, start, min(_LONG_STRIP, n - start)))


@helper(fastmath=REASSOCIATE)
def moments(lines, values, out):
    """Compute ``X' values``."""
    n = values.size
    for j in range(out.size):
        out[j] = dot(window(lines, j * n, n), values)


@helper(fastmath=REASSOCIATE)
def _copy_strip(lines, beside, n, start, m, x):
    """Copy ``m`` rows of all columns, from row ``start`` on, to ``x`` as float64: ``lines`` first, then ``beside``."""
    d = lines.size // n
    for j in range(d):
        _copy(window(lines, j * n + start, m), window(x, j * _STRIP, m))
    for j in range(beside.size // n):
        _copy(window(beside, j * n + start, m), window(x, (d + j) * _STRIP, m))


@helper(fastmath=REASSOCIATE)
def sandwich(lines, beside, weight, out):
    """Compute ``X' diag(weight) X``; ``out`` must be zero at first.

    The columns of ``X`` are those of ``lines``, then those of ``beside``.
    """
    n, d = weight.size, out.shape[0]
    x, weighted = np.empty(d * _STRIP), np.empty(_STRIP)
    for start in range(0, n, _STRIP):
        m = min(_STRIP, n - start)
        _copy_strip(lines, beside, n, start, m, x)
        for j in range(d):
            _multiply(window(weight, start, m), window(x, j * _STRIP, m), window(weighted, 0, m))
            for k in range(j + 1):
                out[j, k] += dot(window(weighted, 0, m), window(x, k * _STRIP, m))
    for j in range(d):
        for k in range(j):
            out[k, j] = out[j, k]


@helper(fastmath=REASSOCIATE)
def add_dots(lines, theta, out):
    """Add ``X theta`` to ``out``."""
    n = out.size
    for j in range(theta.size):
        _add_one(theta[j], window(lines, j * n, n), out)


@helper
def fill_levels(positions, values, first, lines):
    """Fill ``lines`` with the columns from number ``first`` on.

    Each row has values at its ``positions`` and zeros elsewhere. The values are 1 if ``values`` is empty.
    """
    for j in range(lines.shape[0]):
        for i in range(lines.shape[1]):
            lines[j, i] = 0.0
    for i in range(positions.shape[0]):
        for k in range(positions.shape[1]):
            j = positions[i, k] - first
            if j >= 0:
                lines[j, i] += values[i, k] if values.size > 0 else 1.0


@helper(fastmath=REASSOCIATE)
def norms(lines, beside, factors, out):
    """Compute the lengths of the rows of ``X F``. ``factors`` are the columns of ``F``, one after the other.

    The columns of ``X`` are those of ``lines``, then those of ``beside``. If ``F`` is triangular, the zeros at the
    beginning of its columns are skipped.
    """
    n = out.size
    d = (lines.size + beside.size) // n
    x, along = np.empty(d * _STRIP), np.empty(_STRIP)
    for start in range(0, n, _STRIP):
        m = min(_STRIP, n - start)
        _copy_strip(lines, beside, n, start, m, x)
        part, white = window(out, start, m), window(along, 0, m)
        for i in range(m):
            part[i] = 0.0
        for k in range(factors.size // d):
            head = 0
            while head < d - 1 and factors[k * d + head] == 0.0:
                head += 1
            _combine(x, head * _STRIP, _STRIP, window(factors, k * d + head, d - head), white)
            for i in range(m):
                part[i] += white[i] * white[i]
        for i in range(m):
            part[i] = np.sqrt(part[i])
