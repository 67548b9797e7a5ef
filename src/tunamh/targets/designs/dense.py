"""Columns of numbers, in double or in single precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...compiled import REASSOCIATE, Dot, Dots, Sizes, helper, part
from ...rows.supply import ROWS_AHEAD, prefetch_row
from .base import Design, DesignNumbers, DesignParts, rows_in_double
from .dense_blocks import MOST_COLUMNS, DenseBlock, NarrowBlock, as_columns


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


class DenseDesign(Design):
    """A matrix as it was given: float32 stays float32, with sums in double precision."""

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
