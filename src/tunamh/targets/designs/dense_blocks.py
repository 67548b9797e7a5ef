"""Blocks of rows of a dense design: a matrix or, of few columns, sums by compiled loops along the columns.

Files have columns, and a column of a block is read as it is, in single precision too: no matrix in double precision is
made of it. Rows of arrays are turned into columns first, so that both have the same sums, bit for bit. Along a column
the compiler has whole vectors to work with; the matrix products of BLAS are at their best from some twenty columns on.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ..._linear import Frame
from ...compiled import REASSOCIATE, helper
from ...compiled.windows import window
from .base import fill_rows, lengths_of_rows


class DenseBlock:
    """Rows as a matrix in double precision, packed in single precision if they came so."""

    def __init__(self, X: np.ndarray, single: bool = False):
        self.X, self.single = X, single

    def dense(self) -> np.ndarray:
        return self.X

    def pack(self, rows: np.ndarray) -> None:
        d = self.X.shape[1]
        features = rows.view(np.float32) if self.single else rows
        features[:, d : 2 * ((d + 1) // 2) if self.single else d] = 0.0  # the other half of an odd feature
        features[:, :d] = self.X

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        return self.X @ theta

    def matvecs(self, points: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray((self.X @ points.T).T)

    def matmat(self, matrix: np.ndarray) -> np.ndarray:
        return self.X @ matrix

    def abs_matvec(self, vector: np.ndarray) -> np.ndarray:
        return np.abs(self.X) @ np.abs(vector)

    def rmatvec(self, values: np.ndarray) -> np.ndarray:
        return values @ self.X

    def sandwich(self, weight: np.ndarray, frame: Frame | None = None) -> np.ndarray:
        Z = self.X if frame is None else self.X @ frame.columns
        return Z.T @ (weight[:, None] * Z)

    def column_squares(self, kept: np.ndarray | None = None) -> np.ndarray:
        X = self.X if kept is None else self.X[kept]
        return np.einsum("ij,ij->j", X, X)

    def row_norms(self) -> np.ndarray:
        return np.sqrt(np.einsum("ij,ij->i", self.X, self.X))

    def whitened_norms(self, factor: np.ndarray) -> np.ndarray:
        return lengths_of_rows(self.matmat(factor))

    def row_max(self) -> np.ndarray:
        return np.abs(self.X).max(axis=1)


MOST_COLUMNS = 24
_STRIP = 256  # rows that are worked on at a time: their columns stay in the nearest cache
_LONG_STRIP = 1024


class NarrowBlock(DenseBlock):
    """Rows as columns (d, n), read-only, as they came; `DenseBlock` where a matrix is asked for."""

    def __init__(self, columns: np.ndarray, single: bool):
        self.columns, self.single = columns, single

    @cached_property
    def X(self) -> np.ndarray:  # type: ignore[override]
        found = np.empty(self.columns.shape[::-1])
        fill_rows(self.columns, found)
        return found

    def pack(self, rows: np.ndarray) -> None:
        d, features = len(self.columns), rows.view(np.float32) if self.single else rows
        features[:, d : 2 * ((d + 1) // 2) if self.single else d] = 0.0  # the other half of an odd feature
        if features.flags.c_contiguous:
            fill_rows(self.columns, features)
        else:
            features[:, :d] = self.columns.T

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        found = np.empty(self.columns.shape[1])
        _dot(self.columns.reshape(-1), np.array(theta, np.float64), found)
        return found

    def matvecs(self, points: np.ndarray) -> np.ndarray:
        found = np.empty((len(points), self.columns.shape[1]))
        for at, point in zip(found, points, strict=True):
            at[:] = self.matvec(point)
        return found

    def rmatvec(self, values: np.ndarray) -> np.ndarray:
        found = np.empty(len(self.columns))
        _moment(self.columns.reshape(-1), np.require(values, np.float64, ["C", "W"]), found)
        return found

    def sandwich(self, weight: np.ndarray, frame: Frame | None = None) -> np.ndarray:
        if frame is not None:
            return super().sandwich(weight, frame)
        d = len(self.columns)
        found = np.zeros((d, d))
        _sandwich(self.columns.reshape(-1), np.require(weight, np.float64, ["C", "W"]), found)
        return found

    def whitened_norms(self, factor: np.ndarray) -> np.ndarray:
        found = np.empty(self.columns.shape[1])
        _norms(self.columns.reshape(-1), np.array(factor.T, np.float64, order="C").reshape(-1), found)
        return found


def as_columns(X: np.ndarray) -> np.ndarray:
    """The columns of a matrix below each other, read-only; without a copy where they lie so.

    In single or in double precision: the latter whatever other numbers they are.
    """
    X = X if X.dtype == np.float32 else np.asarray(X, dtype=np.float64)
    if X.flags.c_contiguous and X.shape[1] > 1:
        rows = X.view()
        rows.flags.writeable = False  # of one type for compiled code, whatever a user's array is
        columns = np.empty(X.shape[::-1], X.dtype)
        _fill_columns(rows, columns)
    else:
        columns = np.ascontiguousarray(X.T).view()
    columns.flags.writeable = False
    return columns


# ------------------------------------------------------------------------------------------------------- compiled


@helper
def _fill_columns(rows, out):
    n, d = rows.shape
    for start in range(0, n, _STRIP):
        stop = min(start + _STRIP, n)
        for j in range(d):
            for i in range(start, stop):
                out[j, i] = rows[i, j]


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
def _add_four(factors, w, x, y, z, out):
    """Four at a time, since a sum that is taken up again costs more than a product."""
    a, b, c, d = factors[0], factors[1], factors[2], factors[3]
    for i in range(out.size):
        out[i] += (a * w[i] + b * x[i]) + (c * y[i] + d * z[i])


@helper(fastmath=REASSOCIATE)
def _product(values, others):
    total = 0.0
    for i in range(values.size):
        total += values[i] * others[i]
    return total


@helper(fastmath=REASSOCIATE)
def _combine(lines, first, stride, factors, out):
    """``sum_j factors_j line_j``, where line ``j`` begins at ``first + j * stride``."""
    n, d, j = out.size, factors.size, 0
    for i in range(n):
        out[i] = 0.0
    while j + 3 < d:
        at = first + j * stride
        w, x = window(lines, at, n), window(lines, at + stride, n)
        y, z = window(lines, at + 2 * stride, n), window(lines, at + 3 * stride, n)
        _add_four(window(factors, j, 4), w, x, y, z, out)
        j += 4
    while j < d:
        _add_one(factors[j], window(lines, first + j * stride, n), out)
        j += 1


@helper(fastmath=REASSOCIATE)
def _dot(lines, theta, out):
    n = out.size
    for start in range(0, n, _LONG_STRIP):
        _combine(lines, start, n, theta, window(out, start, min(_LONG_STRIP, n - start)))


@helper(fastmath=REASSOCIATE)
def _moment(lines, values, out):
    n = values.size
    for j in range(out.size):
        out[j] = _product(window(lines, j * n, n), values)


@helper(fastmath=REASSOCIATE)
def _sandwich(lines, weight, out):
    n, d = weight.size, out.shape[0]
    x, weighted = np.empty(d * _STRIP), np.empty(_STRIP)
    for start in range(0, n, _STRIP):
        m = min(_STRIP, n - start)
        for j in range(d):
            _copy(window(lines, j * n + start, m), window(x, j * _STRIP, m))
        for j in range(d):
            _multiply(window(weight, start, m), window(x, j * _STRIP, m), window(weighted, 0, m))
            for k in range(j + 1):
                out[j, k] += _product(window(weighted, 0, m), window(x, k * _STRIP, m))
    for j in range(d):
        for k in range(j):
            out[k, j] = out[j, k]


@helper(fastmath=REASSOCIATE)
def _norms(lines, factors, out):
    """``factors`` are the columns of the factor, one behind the other."""
    n = out.size
    d = lines.size // n
    x, along = np.empty(d * _STRIP), np.empty(_STRIP)
    for start in range(0, n, _STRIP):
        m = min(_STRIP, n - start)
        for j in range(d):
            _copy(window(lines, j * n + start, m), window(x, j * _STRIP, m))
        part, white = window(out, start, m), window(along, 0, m)
        for i in range(m):
            part[i] = 0.0
        for k in range(factors.size // d):
            _combine(x, 0, _STRIP, window(factors, k * d, d), white)
            for i in range(m):
                part[i] += white[i] * white[i]
        for i in range(m):
            part[i] = np.sqrt(part[i])
