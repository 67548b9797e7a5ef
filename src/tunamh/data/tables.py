"""From whatever a user calls a table to checked float64 numbers."""

from __future__ import annotations

from typing import Any

import numpy as np


def column_names(table: Any) -> list[str] | None:
    """Feature names of a data frame (pandas, polars, pyarrow), None for plain arrays."""
    for attribute in ("column_names", "columns"):
        names = getattr(table, attribute, None)
        if names is not None and not callable(names):
            return [str(name) for name in names]
    return None


def as_matrix(table: Any, what: str) -> np.ndarray:
    """A two-dimensional numeric array with at least one row and one column; no copy where none is needed."""
    if hasattr(table, "toarray") and hasattr(table, "nnz"):
        raise TypeError(f"{what} is a sparse matrix; tunamh reads dense rows: pass {what}.toarray()")
    array = _numeric(table, what)
    if array.ndim != 2:
        raise ValueError(f"{what} must have two dimensions (rows, columns), got shape {array.shape}")
    if array.shape[0] == 0:
        raise ValueError(f"{what} has no rows (shape {array.shape})")
    if array.shape[1] == 0:
        raise ValueError(f"{what} has no columns (shape {array.shape})")
    return array


def as_vector(values: Any, what: str, length: int | None = None) -> np.ndarray:
    """A one-dimensional finite float64 array; a single column counts as one."""
    array = _numeric(values, what)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{what} must have one dimension, got shape {array.shape}")
    if array.size == 0:
        raise ValueError(f"{what} has no rows")
    if length is not None and array.size != length:
        raise ValueError(f"{what} has {array.size} entries, but there are {length} rows")
    array = np.ascontiguousarray(array, dtype=np.float64)
    refuse_non_finite(array, what)
    return array


def refuse_non_finite(array: np.ndarray, what: str, first_row: int = 0, names: list[str] | None = None) -> None:
    """Raise a ValueError that names the first row (and column) with a NaN or an infinity."""
    finite = np.isfinite(array)
    if not finite.all():
        where = np.argwhere(~finite)[0]
        column = f", column {where[1] if names is None else names[where[1]]}" if array.ndim == 2 else ""
        raise ValueError(
            f"{what} has {array[tuple(where)]} in row {first_row + where[0]}{column}; every value must be finite"
        )


def _numeric(values: Any, what: str) -> np.ndarray:
    if np.ma.is_masked(values):
        raise ValueError(f"{what} has masked values; fill or drop them first")
    array = np.asarray(values)
    if array.dtype == object:  # frames with mixed or nullable columns arrive as objects
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{what} must hold numbers only; code categories as 0/1 columns first ({error})") from None
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{what} must hold real numbers, got dtype {array.dtype}")
    return array
