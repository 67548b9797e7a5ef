"""Columns of which a row has few: levels of factors, and sparse matrices.

A row holds some columns whole and, for the others, the positions in ``theta`` of those that are not zero, with their
values unless all of these are 1. A factor is then one gather ``theta[position]``, whatever its number of levels; a row
at a factor's reference level has no position there (-1). Parameters come in the order: whole columns, then the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..._linear import Frame
from ...compiled import REASSOCIATE, Dot, Dots, Sizes, helper, part
from ...compiled.columns import add_dots, dots, fill_levels, moments, norms, sandwich
from ...compiled.vector import prefetch_row
from ...rows.source import NOWHERE, level_positions
from ...rows.supply import ROWS_AHEAD
from ...tables.columns import Factor
from ...tables.frames import Frame as Table
from ...tables.matrices import as_matrix
from ...tables.sparse import checked_rows
from ..layouts import FEATURES, features_at, regression_of
from .base import Design, DesignNumbers, DesignParts, lengths_of_rows, rows_in_double
from .dense import MOST_COLUMNS, as_columns


@helper(fastmath=REASSOCIATE)
def dots_indexed(theta, prop, rows, index, n, at, eta, eta_prop):
    valued = at.valued
    for b in range(n):
        if b + ROWS_AHEAD < index.size:
            prefetch_row(rows, index[b + ROWS_AHEAD])
        x = features_at(rows, index[b], at.columns, at.positions)
        whole, indices, values = x.whole, x.indices, x.values
        here, there = 0.0, 0.0
        for j in range(at.columns):
            here += whole[j] * theta[j]
            there += whole[j] * prop[j]
        for k in range(at.positions):
            j = indices[k]
            if j >= 0:
                value = values[k] if valued else 1.0
                here += value * theta[j]
                there += value * prop[j]
        eta[b], eta_prop[b] = here, there


@helper(fastmath=REASSOCIATE)
def dot_indexed(theta, rows, index, n, at, eta):
    valued = at.valued
    for b in range(n):
        x = features_at(rows, index[b], at.columns, at.positions)
        whole, indices, values = x.whole, x.indices, x.values
        here = 0.0
        for j in range(at.columns):
            here += whole[j] * theta[j]
        for k in range(at.positions):
            j = indices[k]
            if j >= 0:
                here += (values[k] if valued else 1.0) * theta[j]
        eta[b] = here


@helper
def sizes_indexed(theta, rows, i, at):
    """Return the first number of `Sizes`, and the square of the second number."""
    x = features_at(rows, i, at.columns, at.positions)
    whole, indices, values = x.whole, x.indices, x.values
    terms, squares = 0.0, 0.0
    for j in range(at.columns):
        terms += abs(whole[j] * theta[j])
        squares += whole[j] * whole[j]
    for k in range(at.positions):
        j = indices[k]
        if j >= 0:
            value = values[k] if at.valued else 1.0
            terms += abs(value * theta[j])
            squares += value * value
    return terms * (1.0 + (at.columns + at.positions) / 32.0), squares


@part(Dots, fastmath=REASSOCIATE)
def _dots(theta, prop, rows, index, n, hyper, eta, eta_prop):
    dots_indexed(theta, prop, rows, index, n, regression_of(hyper), eta, eta_prop)


@part(Dot, fastmath=REASSOCIATE)
def _dot(theta, rows, index, n, hyper, eta):
    dot_indexed(theta, rows, index, n, regression_of(hyper), eta)


@part(Sizes)
def _sizes(theta, rows, i, hyper):
    terms, squares = sizes_indexed(theta, rows, i, regression_of(hyper))
    return terms, np.sqrt(squares)


# ---------------------------------------------------------------------------------------- sums over blocks of rows


@helper
def _gather(positions, values, matrix, out):
    """``out_i += sum_k value_ik matrix[position_ik]``."""
    for i in range(positions.shape[0]):
        for k in range(positions.shape[1]):
            j = positions[i, k]
            if j >= 0:
                value = values[i, k] if values.size > 0 else 1.0
                for m in range(matrix.shape[1]):
                    out[i, m] += value * matrix[j, m]


@helper
def _scatter(positions, values, weights, out):
    """``out[position_ik] += value_ik weights_i`` for every column of ``weights``."""
    for i in range(positions.shape[0]):
        for k in range(positions.shape[1]):
            j = positions[i, k]
            if j >= 0:
                value = values[i, k] if values.size > 0 else 1.0
                for m in range(weights.shape[1]):
                    out[j, m] += value * weights[i, m]


@helper
def _pairs(positions, values, weight, out):
    """``out[position_ik, position_il] += w_i value_ik value_il``: a count of pairs of levels."""
    for i in range(positions.shape[0]):
        for k in range(positions.shape[1]):
            a = positions[i, k]
            if a >= 0:
                scaled = weight[i] * (values[i, k] if values.size > 0 else 1.0)
                for m in range(positions.shape[1]):
                    b = positions[i, m]
                    if b >= 0:
                        out[a, b] += scaled * (values[i, m] if values.size > 0 else 1.0)


@dataclass(frozen=True, eq=False)
class IndexedBlock:
    """Rows of a design in which a row has few numbers of some columns.

    ``whole`` are columns with a number in every row. ``positions`` and ``values`` are the other columns (an empty
    ``values``: all values are 1). ``dim`` is the number of parameters.
    """

    whole: np.ndarray
    positions: np.ndarray
    values: np.ndarray
    dim: int

    def dense(self) -> np.ndarray:
        return self.matmat(np.eye(self.dim))

    def some(self, which: np.ndarray) -> IndexedBlock:
        """Return the block with some of the rows."""
        return IndexedBlock(self.whole[which], self.positions[which], self.values[which], self.dim)

    def pack(self, rows: np.ndarray) -> None:
        columns, count = self.whole.shape[1], self.positions.shape[1]
        at = FEATURES.places(columns=columns, positions=count)
        rows[:, :columns] = self.whole
        indices = rows[:, at.indices : at.values]
        indices[:] = 0.0  # the other half of an odd position
        indices.view(np.int32)[:, :count] = self.positions
        rows[:, at.values : at.values + self.values.shape[1]] = self.values

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        return self.matmat(theta[:, None])[:, 0]

    def matvecs(self, points: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(self.matmat(points.T).T)

    def matmat(self, matrix: np.ndarray) -> np.ndarray:
        columns = self.whole.shape[1]
        out = np.ascontiguousarray(self.whole @ matrix[:columns])
        _gather(self.positions, self.values, np.ascontiguousarray(matrix, dtype=np.float64), out)
        return out

    def abs_matvec(self, vector: np.ndarray) -> np.ndarray:
        sizes = IndexedBlock(np.abs(self.whole), self.positions, np.abs(self.values), self.dim)
        return sizes.matvec(np.abs(vector))

    def rmatvec(self, values: np.ndarray) -> np.ndarray:
        columns = self.whole.shape[1]
        out = np.zeros((self.dim, 1))
        out[:columns, 0] = values @ self.whole
        _scatter(self.positions, self.values, np.ascontiguousarray(values, dtype=np.float64)[:, None], out)
        return out[:, 0]

    def sandwich(self, weight: np.ndarray, frame: Frame | None = None) -> np.ndarray:
        if frame is not None:
            Z = self.matmat(frame.columns)
            return Z.T @ (weight[:, None] * Z)
        columns, weighted = self.whole.shape[1], weight[:, None] * self.whole
        out = np.zeros((self.dim, self.dim))
        _pairs(self.positions, self.values, np.ascontiguousarray(weight), out)
        mixed = np.zeros((self.dim, columns))
        _scatter(self.positions, self.values, np.ascontiguousarray(weighted), mixed)
        out[:, :columns] += mixed
        out[:columns, :] += mixed.T
        out[:columns, :columns] += self.whole.T @ weighted
        return out

    def column_squares(self, kept: np.ndarray | None = None) -> np.ndarray:
        chosen = np.ones(len(self.whole)) if kept is None else kept.astype(np.float64)
        return IndexedBlock(self.whole**2, self.positions, self.values**2, self.dim).rmatvec(chosen)

    def row_norms(self) -> np.ndarray:
        return np.sqrt(IndexedBlock(self.whole**2, self.positions, self.values**2, self.dim).matvec(np.ones(self.dim)))

    def whitened_norms(self, factor: np.ndarray) -> np.ndarray:
        return lengths_of_rows(self.matmat(factor))

    @property
    def without_levels(self) -> np.ndarray:
        """Return the columns that have a number in every row."""
        return self.whole

    def row_max(self) -> np.ndarray:
        there = self.positions != NOWHERE
        values = np.where(there, np.abs(self.values) if self.values.size else 1.0, 0.0)
        return np.maximum(np.abs(self.whole).max(axis=1, initial=0.0), values.max(axis=1, initial=0.0))


_MOST_LEVELS = 8
"""Columns of levels that are written out, for loops along columns."""


@dataclass(frozen=True, eq=False)
class NarrowIndexedBlock(IndexedBlock):
    """The same of few columns: sums are taken along columns, those of levels written out as zeros and ones."""

    @property
    def plain(self) -> IndexedBlock:
        """The same rows, of which levels are gathered."""
        return IndexedBlock(rows_in_double(self.whole), self.positions, self.values, self.dim)

    @cached_property
    def _lines(self) -> np.ndarray:
        """The whole columns, one behind the other, read-only."""
        return as_columns(self.whole).reshape(-1)

    @cached_property
    def _levels(self) -> np.ndarray:
        """The columns of levels."""
        first = self.whole.shape[1]
        lines = np.empty((self.dim - first, len(self.whole)))
        fill_levels(self.positions, self.values, first, lines)
        return lines.reshape(-1)

    def some(self, which: np.ndarray) -> IndexedBlock:
        return NarrowIndexedBlock(self.whole[which], self.positions[which], self.values[which], self.dim)

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        theta, first = np.array(theta, np.float64), self.whole.shape[1]
        found = np.empty(len(self.whole))
        dots(self._lines, theta[:first], found)
        add_dots(self._levels, theta[first:], found)
        return found

    def matvecs(self, points: np.ndarray) -> np.ndarray:
        return np.stack([self.matvec(point) for point in points])

    def rmatvec(self, values: np.ndarray) -> np.ndarray:
        found, first = np.empty(self.dim), self.whole.shape[1]
        given = np.require(values, np.float64, ["C", "W"])
        moments(self._lines, given, found[:first])
        moments(self._levels, given, found[first:])
        return found

    def sandwich(self, weight: np.ndarray, frame: Frame | None = None) -> np.ndarray:
        if frame is not None:
            return super().sandwich(weight, frame)
        found = np.zeros((self.dim, self.dim))
        sandwich(self._lines, self._levels, np.require(weight, np.float64, ["C", "W"]), found)
        return found

    def whitened_norms(self, factor: np.ndarray) -> np.ndarray:
        found = np.empty(len(self.whole))
        norms(self._lines, self._levels, np.array(factor.T, np.float64, order="C").reshape(-1), found)
        return found


class IndexedDesign(Design):
    """A design in which a row has few numbers of some columns.

    It has columns with a number in every row (N, k), the positions (N, F) of the other columns' parameters in
    ``theta``, and the values there (none: all values are 1).
    """

    parts = DesignParts(_dots, _dot, _sizes)

    def __init__(
        self,
        whole: np.ndarray,
        positions: np.ndarray,
        values: np.ndarray | None,
        dim: int,
        factors: dict[str, list[str]] | None = None,
    ):
        self.factors = factors
        self.whole, self.dim, self.n_rows = np.asarray(whole, dtype=np.float64), dim, len(whole)
        self.positions = np.ascontiguousarray(positions, dtype=np.int32)
        self.values = np.empty((self.n_rows, 0)) if values is None else np.ascontiguousarray(values, dtype=np.float64)
        columns, count = self.whole.shape[1], self.positions.shape[1]
        width = FEATURES.places(columns=columns, positions=count).values + self.values.shape[1]
        self.numbers = DesignNumbers(width, False, columns, count, values is not None)

    @property
    def _is_narrow(self) -> bool:
        columns = self.whole.shape[1]
        return columns > 0 and self.dim <= MOST_COLUMNS and self.dim - columns <= _MOST_LEVELS

    def block(self, rows: Any) -> IndexedBlock:
        if self._is_narrow:
            positions, values = np.ascontiguousarray(self.positions[rows]), np.ascontiguousarray(self.values[rows])
            return NarrowIndexedBlock(as_columns(self.whole[rows]).T, positions, values, self.dim)
        return IndexedBlock(
            rows_in_double(self.whole[rows]),
            np.ascontiguousarray(self.positions[rows]),
            np.ascontiguousarray(self.values[rows]),
            self.dim,
        )

    def take(self, index: np.ndarray) -> IndexedDesign:
        values = self.values[index] if self.numbers.valued else None
        return IndexedDesign(self.whole[index], self.positions[index], values, self.dim)

    def on_columns(self, which: np.ndarray) -> Design:
        new = np.where(which, np.cumsum(which) - 1, NOWHERE).astype(np.int32)
        positions = np.where(self.positions == NOWHERE, NOWHERE, new[self.positions])
        values = self.values if self.numbers.valued else None
        return IndexedDesign(self.whole[:, which[: self.whole.shape[1]]], positions, values, int(which.sum()))

    def arrays(self, what: str = "X") -> dict[str, np.ndarray]:
        held: dict[str, np.ndarray] = {
            what: self.whole,
            f"the levels of {what}": self.positions,
            f"the values of {what}": self.values,
        }
        return {name: array for name, array in held.items() if array.shape[1] > 0}


# ----------------------------------------------------------------------------------- from users' tables


def of_sparse(X: Any, what: str) -> IndexedDesign:
    """Make a design from a sparse matrix. Rows are padded to the length of the longest row.

    Values are stored only if some of them are not 1.
    """
    rows = checked_rows(X, what)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    n_rows, dim = rows.shape
    if n_rows == 0 or dim == 0:
        raise ValueError(f"{what} has no {'rows' if n_rows == 0 else 'columns'} (shape {rows.shape}).")
    counts = np.diff(rows.indptr)
    slot = np.arange(rows.nnz) - np.repeat(rows.indptr[:-1], counts)
    row = np.repeat(np.arange(n_rows), counts)
    positions = np.full((n_rows, max(int(counts.max(initial=0)), 1)), NOWHERE, dtype=np.int32)
    positions[row, slot] = rows.indices
    values = None
    if not (rows.data == 1).all():
        values = np.zeros(positions.shape)
        values[row, slot] = rows.data
    return IndexedDesign(np.empty((n_rows, 0)), positions, values, dim)


def with_factors(frame: Table, what: str, factors: dict[str, Factor]) -> tuple[IndexedDesign, list[str]]:
    """Return a design with columns of categories, and the names of its parameters.

    A factor has a parameter for each level except the first; a row stores its position.
    """
    whole = [name for name in frame.names if name not in factors]
    n_rows = frame.n_rows
    numbers = np.empty((n_rows, 0))
    if whole:
        numbers = np.asarray(as_matrix(frame.select(whole), what), dtype=np.float64)
    sizes = [len(factor.levels) for factor in factors.values()]
    positions, dim = level_positions([factor.codes for factor in factors.values()], sizes, len(whole))
    if dim == 0:
        raise ValueError(f"{what} has one level in every column of categories and no other column: nothing varies.")
    names = [*whole, *(f"{name}[{level}]" for name, factor in factors.items() for level in factor.levels[1:])]
    levels_of = {name: list(factor.levels) for name, factor in factors.items()}
    return IndexedDesign(numbers, positions, None, dim, levels_of), names
