"""From whatever a user calls a table to a design.

Columns of categories become codes: a parameter for each level that occurs, but the first, which is the reference.
Sparse matrices keep what they store. All else is a matrix of numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...data.tables import as_matrix, column_names
from .base import Design
from .dense import DenseDesign
from .gathered import NOWHERE, GatheredDesign


def as_design(X: Any) -> tuple[Design, list[str] | None]:
    """The design of a table, and its parameters' names where it has any."""
    if hasattr(X, "tocsr") and hasattr(X, "nnz"):
        return _sparse(X), None
    names = column_names(X)
    labels = [] if names is None else list(getattr(X, "column_names", None) or X.columns)
    if len(set(labels)) < len(labels):
        as_matrix(X, "X")  # says which names are given twice
    factors = {label: found for label in labels if (found := levels_of(X[label], str(label))) is not None}
    if not factors:
        return DenseDesign(as_matrix(X, "X")), names
    return _with_factors(X, labels, factors)


def _sparse(X: Any) -> GatheredDesign:
    """Rows padded to the longest: positions, and values unless all of them are 1."""
    rows = X.tocsr(copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    n_rows, dim = rows.shape
    if n_rows == 0 or dim == 0:
        raise ValueError(f"X has no {'rows' if n_rows == 0 else 'columns'} (shape {rows.shape}).")
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
    X: Any, labels: list[Any], factors: dict[Any, tuple[np.ndarray, list[str]]]
) -> tuple[Design, list[str]]:
    whole = [label for label in labels if label not in factors]
    n_rows = len(next(iter(factors.values()))[0])
    numbers = np.empty((n_rows, 0))
    if whole:
        numbers = np.asarray(as_matrix(X.select(whole) if hasattr(X, "select") else X[whole], "X"), dtype=np.float64)
    positions = np.full((n_rows, len(factors)), NOWHERE, dtype=np.int32)
    parameters, begins = [str(label) for label in whole], len(whole)
    for k, (name, (codes, levels)) in enumerate(factors.items()):
        positions[:, k] = np.where(codes > 0, begins + codes - 1, NOWHERE)
        parameters += [f"{name}[{level}]" for level in levels[1:]]
        begins += len(levels) - 1
    if begins == 0:
        raise ValueError("X has one level in every column of categories and no other column: nothing varies.")
    return GatheredDesign(numbers, positions, None, begins), parameters


def levels_of(column: Any, name: str) -> tuple[np.ndarray, list[str]] | None:
    """Codes 0, 1, ... of the levels that occur, in the order of the categories, and these; None for other columns."""
    if hasattr(column, "combine_chunks") and str(column.type).startswith("dictionary"):  # pyarrow
        column = column.unify_dictionaries().combine_chunks()
        missing = np.asarray(column.is_null())
        codes, levels = np.asarray(column.indices.fill_null(0)), column.dictionary.to_pylist()
    elif hasattr(column, "cat") and hasattr(column.cat, "codes"):  # pandas
        codes, levels = np.asarray(column.cat.codes), list(column.cat.categories)
        missing = codes < 0
    elif type(column).__module__.startswith("polars") and str(column.dtype).startswith(("Categorical", "Enum")):
        missing = column.is_null().to_numpy()
        codes = column.to_physical().fill_null(0).to_numpy()
        found, where = np.unique(codes, return_index=True)
        texts = np.array([str(column[int(row)]) for row in where])
        order = np.argsort(texts) if str(column.dtype).startswith("Categorical") else np.arange(len(texts))
        place = np.empty(int(found[-1]) + 1, dtype=np.int64)
        place[found[order]] = np.arange(len(order))  # polars numbers categories as they come, in any order
        codes, levels = place[codes], texts[order].tolist()
    else:
        return None
    if missing.any():
        raise ValueError(
            f"X has a missing value in row {int(np.argmax(missing))}, column {name}; every value must be there: drop "
            "or fill such rows first."
        )
    used, packed = np.unique(codes, return_inverse=True)
    return packed, [str(levels[code]) for code in used.tolist()]
