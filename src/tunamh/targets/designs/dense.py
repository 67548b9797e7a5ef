"""Columns of numbers, in double or in single precision.

A block of rows is a matrix or, of few columns, these columns. Files have columns, and a column of a block is read as it
is. Rows of arrays are turned into columns first, so that both have the same sums, bit for bit.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..._linear import Frame
from ...compiled import REASSOCIATE, Dot, Dots, Sizes, helper, part
from ...compiled.columns import columns_of, dots, fill_rows, moments, norms, sandwich
from ...compiled.vector import prefetch_row
from ...rows.supply import ROWS_AHEAD
from .base import Design, DesignNumbers, DesignParts, lengths_of_rows, rows_in_double


@helper(fastmath=REASSOCIATE, inline=True)
def _two_dots(theta, prop, rows, features, index, n, eta, eta_prop):
    """Linear predictors at both points. Rows lie anywhere in memory, so later ones are asked for early."""
    d = theta.size
    for b in range(n):
        if b + ROWS_AHEAD < index.size:
            prefetch_row(rows, index[b + ROWS_AHEAD])
        i = index[b]
        here, there = 0.0, 0.0
        for j in range(d):
            here += features[i, j] * theta[j]
            there += features[i, j] * prop[j]
        eta[b], eta_prop[b] = here, there


@helper(fastmath=REASSOCIATE, inline=True)
def _one_dot(theta, features, index, n, eta):
    d = theta.size
    for b in range(n):
        i = index[b]
        here = 0.0
        for j in range(d):
            here += features[i, j] * theta[j]
        eta[b] = here


@helper(inline=True)
def _sizes(theta, features, i):
    d = theta.size
    terms, squares = 0.0, 0.0
    for j in range(d):
        terms += abs(features[i, j] * theta[j])
        squares += float(features[i, j]) * features[i, j]
    return terms * (1.0 + d / 32.0), np.sqrt(squares)


@part(Dots, fastmath=REASSOCIATE)
def _double_dots(theta, prop, rows, index, n, hyper, eta, eta_prop):
    _two_dots(theta, prop, rows, rows, index, n, eta, eta_prop)


@part(Dots, fastmath=REASSOCIATE)
def _single_dots(theta, prop, rows, index, n, hyper, eta, eta_prop):
    _two_dots(theta, prop, rows, rows.view(np.float32), index, n, eta, eta_prop)


@part(Dot, fastmath=REASSOCIATE)
def _double_dot(theta, rows, index, n, hyper, eta):
    _one_dot(theta, rows, index, n, eta)


@part(Dot, fastmath=REASSOCIATE)
def _single_dot(theta, rows, index, n, hyper, eta):
    _one_dot(theta, rows.view(np.float32), index, n, eta)


@part(Sizes)
def _double_sizes(theta, rows, i, hyper):
    return _sizes(theta, rows, i)


@part(Sizes)
def _single_sizes(theta, rows, i, hyper):
    return _sizes(theta, rows.view(np.float32), i)


_DOUBLE = DesignParts(_double_dots, _double_dot, _double_sizes)
_SINGLE = DesignParts(_single_dots, _single_dot, _single_sizes)


class DenseBlock:
    """Rows as a matrix in double precision. They are packed in single precision if the user passed them so."""

    def __init__(self, X: np.ndarray, single: bool = False):
        self.X, self.single = X, single

    def dense(self) -> np.ndarray:
        return self.X

    def some(self, which: np.ndarray) -> DenseBlock:
        """Return the block with some of the rows."""
        return DenseBlock(self.X[which], self.single)

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

NO_COLUMNS = np.empty(0)
"""In the place of columns beside those of a block."""


class NarrowBlock(DenseBlock):
    """Rows stored by columns (d, n), read-only and as the user passed them.

    ``X`` makes the matrix (n, d) when needed.
    """

    def __init__(self, columns: np.ndarray, single: bool):
        self.columns, self.single = columns, single

    @cached_property
    def X(self) -> np.ndarray:  # type: ignore[override]
        found = np.empty(self.columns.shape[::-1])
        fill_rows(self.columns, found)
        return found

    def some(self, which: np.ndarray) -> NarrowBlock:
        columns = self.columns.take(which, axis=1)
        columns.flags.writeable = False
        return NarrowBlock(columns, self.single)

    def pack(self, rows: np.ndarray) -> None:
        d, features = len(self.columns), rows.view(np.float32) if self.single else rows
        features[:, d : 2 * ((d + 1) // 2) if self.single else d] = 0.0  # the other half of an odd feature
        if features.flags.c_contiguous:
            fill_rows(self.columns, features)
        else:
            features[:, :d] = self.columns.T

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        found = np.empty(self.columns.shape[1])
        dots(self.columns.reshape(-1), np.array(theta, np.float64), found)
        return found

    def matvecs(self, points: np.ndarray) -> np.ndarray:
        found = np.empty((len(points), self.columns.shape[1]))
        for at, point in zip(found, points, strict=True):
            at[:] = self.matvec(point)
        return found

    def rmatvec(self, values: np.ndarray) -> np.ndarray:
        found = np.empty(len(self.columns))
        moments(self.columns.reshape(-1), np.require(values, np.float64, ["C", "W"]), found)
        return found

    def sandwich(self, weight: np.ndarray, frame: Frame | None = None) -> np.ndarray:
        if frame is not None:
            return super().sandwich(weight, frame)
        d = len(self.columns)
        found = np.zeros((d, d))
        sandwich(self.columns.reshape(-1), NO_COLUMNS, np.require(weight, np.float64, ["C", "W"]), found)
        return found

    def whitened_norms(self, factor: np.ndarray) -> np.ndarray:
        found = np.empty(self.columns.shape[1])
        norms(self.columns.reshape(-1), NO_COLUMNS, np.array(factor.T, np.float64, order="C").reshape(-1), found)
        return found


def as_columns(X: np.ndarray) -> np.ndarray:
    """Return the columns of a matrix as a read-only array (d, n).

    The result is in single precision if ``X`` is, and otherwise in double precision. If the columns are stored like
    this already, nothing is copied.
    """
    X = X if X.dtype == np.float32 else np.asarray(X, dtype=np.float64)
    if X.flags.c_contiguous and X.shape[1] > 1:
        rows = X.view()
        rows.flags.writeable = False  # of one type for compiled code, whatever a user's array is
        found = np.empty(X.shape[::-1], X.dtype)
        columns_of(rows, found)
    else:
        found = np.ascontiguousarray(X.T).view()
    found.flags.writeable = False
    return found


class DenseDesign(Design):
    """A matrix of features as the user passed it: float32 stays float32, and sums are in double precision."""

    def __init__(self, X: np.ndarray):
        self.X = X
        self.n_rows, self.dim = X.shape
        self.single = X.dtype == np.float32
        width = (self.dim + 1) // 2 if self.single else self.dim
        self.numbers = DesignNumbers(width, self.single, self.dim, 0, False)
        self.parts = _SINGLE if self.single else _DOUBLE

    def block(self, rows: Any) -> DenseBlock:
        X = self.X[rows]
        if self.dim <= MOST_COLUMNS:
            return NarrowBlock(as_columns(X), self.single)
        return DenseBlock(rows_in_double(X), self.single)

    def take(self, index: np.ndarray) -> DenseDesign:
        return DenseDesign(self.X[index])

    def on_columns(self, which: np.ndarray) -> DenseDesign:
        return DenseDesign(self.X[:, which])

    def arrays(self, what: str = "X") -> dict[str, np.ndarray]:
        return {what: self.X}
