"""From whatever a user calls a table to a design.

Columns of categories become codes: a parameter for each level that occurs, but the first, which is the reference.
Sparse matrices keep what they store. All else is a matrix of numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...tables.levels import categories
from ...tables.matrices import as_matrix, column_names
from ...tables.sparse import checked_rows, is_sparse
from .base import Design
from .dense import DenseDesign
from .indexed import NOWHERE, GatheredDesign


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
    if is_sparse(X):
        return _sparse(X, what), None
    names = column_names(X)
    labels = [] if names is None else list(getattr(X, "column_names", None) or X.columns)
    if len(set(labels)) < len(labels):
        as_matrix(X, what)  # says which names are given twice
    factors = {
        label: (found.codes, found.levels)
        for label in labels
        if (found := categories(X[label], f"{what}, column {label}")) is not None
    }
    if not factors:
        return DenseDesign(as_matrix(X, what)), names
    return _with_factors(X, what, labels, factors)


def _sparse(X: Any, what: str) -> GatheredDesign:
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
    return GatheredDesign(np.empty((n_rows, 0)), positions, values, dim)


def _with_factors(
    X: Any, what: str, labels: list[Any], factors: dict[Any, tuple[np.ndarray, list[str]]]
) -> tuple[Design, list[str]]:
    whole = [label for label in labels if label not in factors]
    n_rows = len(next(iter(factors.values()))[0])
    numbers = np.empty((n_rows, 0))
    if whole:
        numbers = np.asarray(as_matrix(X.select(whole) if hasattr(X, "select") else X[whole], what), dtype=np.float64)
    positions = np.full((n_rows, len(factors)), NOWHERE, dtype=np.int32)
    parameters, begins = [str(label) for label in whole], len(whole)
    for k, (name, (codes, levels)) in enumerate(factors.items()):
        positions[:, k] = np.where(codes > 0, begins + codes - 1, NOWHERE)
        parameters += [f"{name}[{level}]" for level in levels[1:]]
        begins += len(levels) - 1
    if begins == 0:
        raise ValueError(f"{what} has one level in every column of categories and no other column: nothing varies.")
    levels_of = {str(name): list(levels) for name, (_, levels) in factors.items()}
    return GatheredDesign(numbers, positions, None, begins, levels_of), parameters
