"""From whatever a user calls a table to a design.

Columns of categories become codes: a parameter for each level that occurs, but the first, which is the reference.
Sparse matrices keep what they store. All else is a matrix of numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...rows.source import level_positions
from ...tables.columns import Factor
from ...tables.frames import Frame
from ...tables.levels import classes
from ...tables.libraries import is_sparse
from ...tables.matrices import as_matrix, is_plain, named_frame
from ...tables.sparse import checked_rows
from .base import Design
from .dense import DenseDesign
from .indexed import NOWHERE, IndexedDesign


@dataclass(frozen=True, eq=False)
class NamedDesign:
    """A design that is ready, with its parameters' names, in the place of a table.

    Of a further predictor also the prior of its coefficients, where its family has none, and what was subtracted from
    its columns (`tunamh.targets.coordinates.recentred`).
    """

    design: Design
    names: list[str]
    prior: Any = None
    origin: np.ndarray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.design.n_rows, self.design.dim


def as_design(X: Any, what: str = "X") -> tuple[Design, list[str] | None]:
    """The design of a table, which errors call ``what``, and its parameters' names where it has any."""
    if isinstance(X, NamedDesign):
        return X.design, X.names
    if is_plain(X):
        return DenseDesign(as_matrix(X, what)), None
    if is_sparse(X):
        return _sparse(X, what), None
    frame = named_frame(X, what)
    if frame is None:
        return DenseDesign(as_matrix(X, what)), None
    found = {name: classes(column, what, f", column {name}", text=False) for name, column in frame.columns.items()}
    factors = {name: factor for name, factor in found.items() if factor is not None}
    if factors:
        return _with_factors(frame, what, factors)
    return DenseDesign(as_matrix(frame, what)), frame.names


def _sparse(X: Any, what: str) -> IndexedDesign:
    """Rows padded to the longest: positions, and values unless all of them are 1."""
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


def _with_factors(frame: Frame, what: str, factors: dict[str, Factor]) -> tuple[Design, list[str]]:
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
