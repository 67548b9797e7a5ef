"""The levels of text and categories; and `read_column`, the way in for any column of any table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .columns import Column, Factor, Numbers
from .libraries import as_frame, as_native, as_series, is_text, narwhals
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


_MOST_LEVELS = 1000
"""Of text that is coded at once: each block looks for the levels that occur in it."""


class TextAtOnce:
    """The columns of text of a pyarrow table, coded once for all of its blocks, each when it is first asked for.

    Those of ``in_codes`` are dictionaries, as the file has them. ``table`` has them as text where there are too many
    levels.
    """

    def __init__(self, table: Any, in_codes: Sequence[str] = ()):
        self.table, self._in_codes = table, tuple(in_codes)
        frame = as_frame(table)
        self._native = frame.to_native() if frame is not None and frame.implementation.is_pyarrow() else None
        self._known: dict[str, Factor | None] = {}
        many = [name for name in in_codes if self.whole(name) is None]
        if many:
            self.table = self._native = _as_text(self.table, many)
            self._in_codes = tuple(name for name in in_codes if name not in many)

    def table_of_text(self) -> Any:
        """The table, with text in all columns of text."""
        return _as_text(self.table, self._in_codes)

    def of(self, name: str, rows: slice) -> Factor | None:
        """The levels of some rows, as `read_factor` finds them; None where it must look by itself.

        That is the case for any column but text, for text of very many levels, and for rows without any value.
        """
        known = self.whole(name)
        if known is None:
            return None
        found = replace(known.take(rows).packed(), absent=())
        return found if found.levels else None

    def whole(self, name: str) -> Factor | None:
        """The column of all rows, with levels that are sorted."""
        if name not in self._known:
            self._known[name] = self._found(name)
        return self._known[name]

    def _found(self, name: str) -> Factor | None:
        if self._native is None or self._native.column_names.count(name) != 1 or not len(self._native):
            return None
        column = self._native[name]
        if is_text(column.type):
            column = column.dictionary_encode()
        elif not narwhals().dependencies.get_pyarrow().types.is_dictionary(column.type) or name not in self._in_codes:
            return None
        encoded = column.unify_dictionaries().combine_chunks()
        if not 0 < len(encoded.dictionary) <= _MOST_LEVELS:
            return None
        indices, levels = encoded.indices, encoded.dictionary.to_pylist()
        codes = np.asarray(indices.fill_null(-1) if indices.null_count else indices)
        names = tuple(sorted(levels))
        place = {level: code for code, level in enumerate(names)}
        new = np.array([*(place[level] for level in levels), -1], dtype=np.int64)
        return Factor(new[codes], names, kind="text")


def _as_text(table: Any, names: Sequence[str]) -> Any:
    """A table of pyarrow, in which these dictionaries are text again."""
    for name in names:
        column = table[name]
        table = table.set_column(table.column_names.index(name), name, column.cast(column.type.value_type))
    return table


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
