"""The levels of text and categories; and `read_column`, the way in for any column of any table."""

from __future__ import annotations

from typing import Any

import numpy as np

from .columns import Column, Factor, Numbers
from .libraries import as_native, as_series, narwhals
from .matrices import is_plain, one_column
from .numbers import is_missing, kind_of_series, missing_in, plain_array, read_numbers


def read_column(values: Any, what: str) -> Column:
    """Return a column as numbers, or as a factor for text and categories. A column without any value counts as numbers.

    ``values`` are a column of pandas, polars, pyarrow or another library that narwhals knows, an array or a list.
    Errors call them ``what``. Raise `Unreadable` for dates and other kinds.
    """
    if isinstance(values, Numbers | Factor):
        return values
    found = read_factor(values, what)
    return found if found is not None and found.levels else read_numbers(values, what)


def read_factor(values: Any, what: str, *, text: bool = True) -> Factor | None:
    """Return a column of categories or text as a factor, or None for other columns and for text without any value.

    The factor has the levels that occur. Levels of categories keep their order; levels of text are sorted.
    """
    if isinstance(values, Numbers | Factor):
        return values.packed() if isinstance(values, Factor) else None
    series = as_series(values)
    kind = "objects" if series is None else kind_of_series(series)
    if kind == "categories" or (kind == "text" and text and series.null_count() < len(series)):
        return _coded(series, kind, what)
    if kind != "objects" or not text:
        return None
    try:
        array, masked = plain_array(as_native(values))
    except (TypeError, ValueError):  # rows of different lengths, which those who read numbers refuse
        return None
    if array.ndim != 1 or array.dtype.kind not in "UTO":
        return None
    there = ~missing_in(array, masked)
    if not there.any() or (array.dtype.kind == "O" and not all(isinstance(value, str) for value in array[there])):
        return None
    return _sorted_levels(array, there, "text")


def every_level(values: Any, what: str) -> Factor:
    """Return a factor with a level for every value that occurs. Levels of numbers are sorted."""
    values = values.values if isinstance(values, Numbers) else values
    found = None if is_plain(values) else read_factor(values, what)
    if found is not None:
        return found
    array, masked = (values, None) if is_plain(values) else plain_array(as_native(values))
    if array.ndim == 2 and array.shape[1] == 1:
        array, masked = array[:, 0], None if masked is None else masked[:, 0]
    if array.ndim != 1:
        hint = "; for several factors give a list, groups=[df['a'], df['b']]" if array.ndim == 2 else ""
        raise ValueError(f"{what} must be one column, got shape {array.shape}{hint}.")
    there = array == array if is_plain(values) else ~missing_in(array, masked)
    return _sorted_levels(array, there, "categories")


def classes(values: Any, what: str, where: str = "", *, text: bool = True) -> Factor | None:
    """Return a column of categories or text as a factor; None for other columns. Raise an error if a value is missing.

    ``what`` and ``where``, such as ``X`` and ``, column sex``, name the column in errors.
    """
    values = one_column(values, what) if text else values
    found = read_factor(values, f"{what}{where}", text=text)
    if found is not None and found.missing.any():
        row = int(np.argmax(found.missing))
        raise ValueError(f"{what} has a missing value in row {row}{where}: drop or fill such rows first.")
    return found


def _sorted_levels(array: np.ndarray, there: np.ndarray, kind: str) -> Factor:
    kept = array[there].astype(str) if array.dtype.kind in "TO" else array[there]
    levels, packed = np.unique(kept, return_inverse=True)
    codes = np.full(len(array), -1, dtype=np.int64)
    codes[there] = packed
    return Factor(codes, names_of_values(levels), kind=kind)


def names_of_values(values: np.ndarray) -> tuple[str, ...]:
    """Return the names of levels that are numbers. Whole numbers have no decimal point."""
    whole = values.dtype.kind == "f" and (values == np.floor(values)).all()
    return tuple(str(int(value) if whole else value) for value in values.tolist())


def _coded(series: Any, kind: str, what: str) -> Factor:
    """Each library has its own way to the codes; text becomes categories by the library's means, which are fast."""
    if series.null_count() == len(series):
        return Factor(np.full(len(series), -1), ())
    native = (series.cast(narwhals().Categorical()) if kind == "text" else series).to_native()
    by_name = kind == "text"
    if series.implementation.is_polars():
        ordered = isinstance(series.dtype, narwhals().Enum)
        by_name = not ordered  # polars numbers categories as they come
        codes, levels = _codes_of_polars(native)
    elif series.implementation.is_pyarrow():
        encoded = native.unify_dictionaries().combine_chunks()
        codes, ordered = np.asarray(encoded.indices.cast("int64").fill_null(-1)), bool(encoded.type.ordered)
        levels = encoded.dictionary.to_pylist()
    else:
        codes, levels, ordered = native.cat.codes.to_numpy(), list(native.cat.categories), bool(native.cat.ordered)
    if not -1 <= codes.min() <= codes.max() < len(levels):
        raise ValueError(f"{what} holds categories whose codes are outside 0 to {len(levels) - 1}.")
    gone = [code for code, level in enumerate(levels) if is_missing(level)]  # a dictionary of pyarrow may hold NaN
    codes = np.where(np.isin(codes, gone), -1, codes).astype(np.int64) if gone else codes.astype(np.int64)
    found = Factor(codes, tuple(map(str, levels)), ordered, kind=kind).packed()
    names = tuple(sorted(found.levels))
    if not by_name or names == found.levels:
        return found
    return Factor(found.recoded(names), names, ordered, found.absent, kind)


def _codes_of_polars(column: Any) -> tuple[np.ndarray, list[str]]:
    """polars numbers the categories of all columns together: the numbers that occur here become 0, 1, ..."""
    levels = column.drop_nulls().unique()
    numbers = levels.to_physical().to_numpy()
    order = np.argsort(numbers)
    place = np.full(int(numbers.max()) + 2, -1, dtype=np.int64)
    place[numbers[order]] = np.arange(len(order))
    return place[column.to_physical().fill_null(len(place) - 1).to_numpy()], levels.gather(order).to_list()
