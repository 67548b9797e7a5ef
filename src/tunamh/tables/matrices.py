"""From whatever a user calls a table to one array of numbers.

Plain arrays stay as they are. A data frame is read column by column, so that at most one column is held twice.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..process.scratch import large
from .columns import Numbers
from .frames import Frame, column_names, frame_of
from .libraries import LazyTable, RepeatedNames, as_series, is_sparse, listed, narwhals
from .numbers import Unreadable, read_numbers

LARGEST = 1e100
"""Beyond this a number times another one, summed over rows, overflows."""


def as_matrix(table: Any, what: str, *, or_vector: bool = False) -> np.ndarray:
    """Return a two-dimensional array of numbers with at least one row and one column. It is copied only if necessary.

    With ``or_vector``, a vector counts as one column.
    """
    array = table if is_plain(table) else _read(table, what)
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
    """Return a one-dimensional float64 array that may be written to. A table with a single column is accepted."""
    array = values if is_plain(values) else _read_one(values, what)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{what} must have one dimension, got shape {array.shape}.")
    if array.size == 0:
        raise ValueError(f"{what} has no rows.")
    if length is not None and array.size != length:
        raise ValueError(f"{what} has {array.size} entries, but there are {length} rows.")
    refuse_non_finite(array, what)
    if array.dtype == np.float64 and array.flags.carray:
        return array
    found = large(len(array))  # compiled code is made for arrays that may be written to
    found[:] = array
    return found


def is_plain(values: Any) -> bool:
    """Return True for a plain NumPy array of numbers, which needs no reading."""
    return type(values) is np.ndarray and values.dtype.kind in "biuf" and values.dtype.itemsize <= 8


def _read(table: Any, what: str) -> np.ndarray:
    if is_sparse(table):
        raise TypeError(f"{what} is a sparse matrix; tunamh reads dense rows: pass {what}.toarray().")
    frame = named_frame(table, what)
    return as_numbers(table, what) if frame is None else _matrix(frame, what)


def _read_one(values: Any, what: str) -> np.ndarray:
    frame = named_frame(values, what)
    if frame is not None and len(frame.names) != 1:
        raise ValueError(
            f"{what} must be one column, got {len(frame.names)} ({listed(frame.names)}): pass one of them."
        )
    return as_numbers(values, what) if frame is None else _matrix(frame, what)


def refuse_non_finite(array: np.ndarray, what: str, first_row: int = 0, names: list[str] | None = None) -> None:
    """Raise a ValueError that names the first row and column with a NaN, an infinity or a number that is too large."""
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


def has_row_labels(value: Any) -> bool:
    """Return True for a data frame or series of pandas.

    pandas is not imported for this test: a user who has such an object has imported it.
    """
    pandas: Any = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, pandas.DataFrame | pandas.Series)


def aligned(table: Any, what: str, **vectors: Any) -> list[Any]:
    """Return the vectors in the order of the table's rows, matched by the row labels of pandas.

    Raise an error for labels that do not match. The first object with labels sets the order; arrays are matched by
    position.
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


def named_frame(table: Any, what: str) -> Frame | None:
    """Return the columns of a data frame, which errors call ``what``; None for other objects."""
    try:
        return frame_of(table)
    except LazyTable:
        raise TypeError(f"{what} is a lazy frame, which has no rows yet: pass {what}.collect().") from None
    except RepeatedNames as error:
        raise ValueError(f"{what} has {error.problem}") from None


def _matrix(frame: Frame, what: str) -> np.ndarray:
    """One matrix from a data frame; float32 if all columns are, else float64."""
    whole = _single_block(frame.whole)
    if whole is not None:
        return whole
    single = bool(frame.columns) and all(map(is_single, frame.columns.values()))
    matrix = np.empty((frame.n_rows, len(frame.columns)), np.float32 if single else np.float64, order="F")
    wrong, advice = dict[str, list[str]](), dict[str, str]()
    for j, (name, column) in enumerate(frame.columns.items()):
        try:
            matrix[:, j] = _all_there(read_numbers(column, what, f", column {name}"), what, f", column {name}")
        except Unreadable as error:
            wrong.setdefault(error.kind, []).append(name)
            advice.setdefault(error.kind, error.advice)
    for kind, names in wrong.items():
        raise TypeError(f"{what} holds {kind} in column{'s' * (len(names) > 1)} {listed(names)}: {advice[kind]}.")
    return matrix


def is_single(values: Any) -> bool:
    """Return True if a column contains numbers in single precision."""
    values = values.values if isinstance(values, Numbers) else values
    if isinstance(values, np.ndarray):
        return values.dtype == np.float32
    series = as_series(values)
    return series is not None and series.dtype == narwhals().Float32


def _single_block(table: Any) -> np.ndarray | None:
    """A pandas frame whose columns share one of NumPy's own number types: its array, mostly without a copy.

    A matrix that the columns have been put into already stays as it is.
    """
    if isinstance(table, np.ndarray):
        return table
    if table is None or not table.implementation.is_pandas():
        return None
    dtypes = set(table.to_native().dtypes)
    dtype = next(iter(dtypes), None)
    plain = len(dtypes) == 1 and isinstance(dtype, np.dtype) and dtype.kind in "biuf" and dtype.itemsize <= 8
    return table.to_native().to_numpy() if plain else None


def _all_there(column: Numbers, what: str, where: str = "") -> np.ndarray:
    """The numbers of a column of which none is missing."""
    if column.nulls is not None:
        place = np.argwhere(column.nulls)[0]
        where = where or (f", column {place[1]}" if len(place) > 1 else "")
        raise ValueError(f"{what} has a missing value in row {place[0]}{where}: drop or fill such rows first.")
    return column.values


def as_numbers(values: Any, what: str) -> np.ndarray:
    """Return an array of numbers from an object that is no data frame."""
    if values is None:
        raise TypeError(f"{what} is None: pass an array or a table of numbers.")
    if isinstance(values, type):
        raise TypeError(f"{what} is the class {values.__name__}, not a table of numbers: pass a value.")
    if isinstance(values, str | bytes | dict | set | frozenset | Iterator):
        advice = f"pandas.DataFrame({what})" if isinstance(values, dict) else "an array, a list or a table"
        raise TypeError(f"{what} is a {type(values).__name__}, not a table of numbers: pass {advice}.")
    if np.ma.isMaskedArray(values) and np.ma.is_masked(values):
        where = np.argwhere(np.ma.getmaskarray(values))[0]
        column = f", column {where[1]}" if len(where) > 1 else ""
        raise ValueError(f"{what} has a masked value in row {where[0]}{column}: drop or fill such rows first.")
    try:
        return _all_there(read_numbers(values, what), what)
    except Unreadable as error:
        column = f" in column {error.column}" if error.column is not None else ""
        raise TypeError(f"{what} holds {error.kind}{column}: {error.advice}.") from None


def name_of(column: Any) -> str | None:
    """Return the name of a column, or of the only column of a table; None if it has no name."""
    if is_plain(column):
        return None
    names = column_names(column)
    if names is not None:
        return names[0] if len(names) == 1 else None
    series = as_series(column)
    return str(series.name) if series is not None and series.name not in (None, "") else None


def one_column(values: Any, what: str) -> Any:
    """Return the only column of a data frame with one column. Other objects are returned as they are."""
    frame = None if is_plain(values) else named_frame(values, what)
    return next(iter(frame.columns.values())) if frame is not None and len(frame.columns) == 1 else values
