"""From whatever a user calls a table to one array of numbers.

Plain arrays stay as they are. A data frame is read column by column, so that at most one column is held twice; the
libraries of data frames are recognised by what their objects offer, none of them is imported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._arguments import has_row_labels
from .columns import Unreadable, read_column

LARGEST = 1e100
"""Beyond this a number times another one, summed over rows, overflows."""


def column_names(table: Any) -> list[str] | None:
    """Feature names of a data frame (pandas, polars, pyarrow), None for plain arrays."""
    if _is_lazy(table):
        return None
    for attribute in ("column_names", "columns"):
        names = getattr(table, attribute, None)
        if names is not None and not callable(names):
            return [str(name) for name in names]
    return None


def repeated(names: Sequence[str]) -> list[str]:
    """Those that occur more than once, sorted."""
    return sorted(name for name, times in Counter(names).items() if times > 1)


def as_matrix(table: Any, what: str, *, or_vector: bool = False) -> np.ndarray:
    """A two-dimensional numeric array with at least one row and one column; no copy where none is needed.

    With ``or_vector`` a vector counts as one column.
    """
    if _is_lazy(table):
        raise TypeError(f"{what} is a lazy frame, which has no rows yet: pass {what}.collect().")
    if hasattr(table, "toarray") and hasattr(table, "nnz"):
        raise TypeError(f"{what} is a sparse matrix; tunamh reads dense rows: pass {what}.toarray().")
    names = column_names(table)
    array = as_numbers(table, what) if names is None else _frame(table, what, names)
    if or_vector and array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        hint = f"; for a single column pass {what}.reshape(-1, 1) or {what}.to_frame()" if array.ndim == 1 else ""
        raise ValueError(f"{what} must have two dimensions (rows, columns), got shape {array.shape}{hint}.")
    if array.shape[0] == 0:
        raise ValueError(f"{what} has no rows (shape {array.shape}).")
    if array.shape[1] == 0:
        raise ValueError(f"{what} has no columns (shape {array.shape}).")
    return array


def as_vector(values: Any, what: str, length: int | None = None) -> np.ndarray:
    """A one-dimensional float64 array of usable numbers that may be written to; a single column counts as one."""
    names = column_names(values)
    if names is not None and len(names) != 1:
        raise ValueError(f"{what} must be one column, got {len(names)} ({_listed(names)}): pass one of them.")
    array = as_numbers(values, what) if names is None else _frame(values, what, names)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{what} must have one dimension, got shape {array.shape}.")
    if array.size == 0:
        raise ValueError(f"{what} has no rows.")
    if length is not None and array.size != length:
        raise ValueError(f"{what} has {array.size} entries, but there are {length} rows.")
    refuse_non_finite(array, what)
    return np.require(array, np.float64, ["C", "W"])  # compiled code is made for arrays that may be written to


def refuse_non_finite(array: np.ndarray, what: str, first_row: int = 0, names: list[str] | None = None) -> None:
    """Raise a ValueError that names the first row (and column) with a NaN, an infinity or a number too large."""
    if array.dtype.kind != "f":
        return
    flat = array.T  # as it lies in memory
    flat = flat if flat.flags.c_contiguous else array
    with np.errstate(over="ignore"):
        if flat.flags.c_contiguous and float(np.vdot(flat, flat)) <= LARGEST**2:  # the fastest way; false for NaN
            return
    if float(array.min()) >= -LARGEST and float(array.max()) <= LARGEST:
        return
    finite = np.isfinite(array)
    with np.errstate(invalid="ignore"):
        wrong = ~finite if not finite.all() else np.abs(array) > LARGEST
    where = np.argwhere(wrong)[0]
    value, column = array[tuple(where)], ""
    if array.ndim == 2:
        column = f", column {where[1] if names is None else names[where[1]]}"
    found = f"{what} has {value:g} in row {first_row + where[0]}{column}"
    if not np.isfinite(value):
        raise ValueError(f"{found}; every value must be finite: drop or fill such rows first.")
    raise ValueError(f"{found}, which is too large to compute with (beyond {LARGEST:g}): rescale the column.")


def aligned(table: Any, what: str, **vectors: Any) -> list[Any]:
    """The vectors in the order of the table's rows, where pandas labels rows; refuses labels that do not match.

    The first object that has labels sets the order; plain arrays go by position.
    """
    first, leader = (table, what) if has_row_labels(table) else (None, "")
    found = []
    for name, vector in vectors.items():
        if has_row_labels(vector):
            if first is None:
                first, leader = vector, name
            elif not vector.index.equals(first.index) and len(vector) == len(first):
                vector = _reordered(vector, name, first, leader)
        found.append(vector)
    return found


def _reordered(vector: Any, name: str, first: Any, leader: str) -> Any:
    wanted, given = first.index, vector.index
    if wanted.is_unique and given.is_unique and wanted.isin(given).all():
        return vector.loc[wanted]
    if not (wanted.is_unique and given.is_unique):
        problem = "repeat and are not in the same order"
    else:
        problem = f"differ (label {wanted[~wanted.isin(given)][0]!r} of {leader} is not in {name})"
    raise ValueError(
        f"The row labels (pandas index) of {leader} and {name} {problem}. Bring both to the same labels, or, if their "
        f"rows are in the same order, pass {leader}.reset_index(drop=True) and {name}.reset_index(drop=True)."
    )


def _is_lazy(table: Any) -> bool:
    return hasattr(type(table), "collect") and hasattr(type(table), "columns")


def _frame(table: Any, what: str, names: list[str]) -> np.ndarray:
    """One matrix from a data frame; float32 if all columns are, else float64."""
    twice = repeated(names)
    if twice:
        raise ValueError(f"{what} has more than one column of the name {_listed(twice)}: rename or drop columns.")
    whole = _single_block(table)
    if whole is not None:
        return whole
    held = _columns(table, len(names))
    n_rows, single = len(table), [_is_single(column) for column in held]
    dtype = np.float32 if single and all(single) else np.float64
    matrix, wrong = np.empty((n_rows, len(names)), dtype, order="F"), dict[str, list[str]]()
    reasons = dict[str, str]()
    for j, name in enumerate(names):
        try:
            matrix[:, j] = read_column(held[j], what, name)
        except Unreadable as error:
            wrong.setdefault(error.kind, []).append(name)
            reasons.setdefault(error.kind, error.advice)
    for kind, columns in wrong.items():
        plural = "s" * (len(columns) > 1)
        raise TypeError(f"{what} holds {kind} in column{plural} {_listed(columns)}: {reasons[kind]}.")
    return matrix


def _single_block(table: Any) -> np.ndarray | None:
    """A pandas frame whose columns share one of NumPy's own number types: its array, mostly without a copy."""
    dtypes = list(getattr(table, "dtypes", ())) if hasattr(table, "iloc") else []
    if dtypes and isinstance(dtypes[0], np.dtype) and dtypes[0].kind in "biuf" and dtypes[0].itemsize <= 8:
        if all(dtype == dtypes[0] for dtype in dtypes):
            return table.to_numpy()
    return None


def _columns(table: Any, n: int) -> list[Any]:
    """All at once: to ask for one of them costs some libraries as much as all."""
    if hasattr(table, "iloc"):
        return [column for _, column in table.items()]
    return [table.column(j) for j in range(n)] if hasattr(table, "column") else table.get_columns()


def _is_single(column: Any) -> bool:
    return str(getattr(column, "dtype", getattr(column, "type", ""))) in ("float32", "Float32", "float")


def as_numbers(values: Any, what: str) -> np.ndarray:
    """An array of numbers from anything that is no data frame."""
    if values is None:
        raise TypeError(f"{what} is None: pass an array or a table of numbers.")
    if isinstance(values, type):
        raise TypeError(f"{what} is the class {values.__name__}, not a table of numbers: pass a value.")
    if isinstance(values, str | bytes | dict | set | frozenset) or hasattr(values, "__next__"):
        advice = f"pandas.DataFrame({what})" if isinstance(values, dict) else "an array, a list or a table"
        raise TypeError(f"{what} is a {type(values).__name__}, not a table of numbers: pass {advice}.")
    if np.ma.isMaskedArray(values) and np.ma.is_masked(values):
        where = np.argwhere(np.ma.getmaskarray(values))[0]
        column = f", column {where[1]}" if len(where) > 1 else ""
        raise ValueError(f"{what} has a masked value in row {where[0]}{column}: drop or fill such rows first.")
    try:
        return read_column(values, what)
    except Unreadable as error:
        column = f" in column {error.column}" if error.column is not None else ""
        raise TypeError(f"{what} holds {error.kind}{column}: {error.advice}.") from None


def _listed(names: list[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} others" if len(names) > 8 else "")
