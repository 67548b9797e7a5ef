"""A table of any library, or a dict of arrays, by the names of its columns; its rows without missing values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..process.scratch import large, stretches
from .columns import Column, Factor, Numbers
from .libraries import LazyTable, RepeatedNames, as_frame, as_series, listed
from .numbers import plain_array


@dataclass(frozen=True, eq=False)
class Frame:
    """A table: columns by name.

    A column is a `Numbers`, a `Factor`, an array or a narwhals series. ``whole`` is the table itself, or a matrix of
    numbers with these columns. The columns of a data frame are requested all at once, because in some libraries one
    column costs as much as all of them.
    """

    columns: Mapping[str, Any]
    n_rows: int
    whole: Any = None

    def __len__(self) -> int:
        return self.n_rows

    @property
    def names(self) -> list[str]:
        return list(self.columns)

    def select(self, names: Sequence[str]) -> Frame:
        """Return the table with some columns, in this order."""
        return Frame({name: self.columns[name] for name in names}, self.n_rows)

    def take(self, which: slice | np.ndarray, names: Sequence[str] | None = None) -> Frame:
        """Return some rows, chosen by a slice or by row numbers, with all columns or with the columns ``names``."""
        found = {name: _taken(self.columns[name], which) for name in (self.columns if names is None else names)}
        n_rows = len(range(self.n_rows)[which]) if isinstance(which, slice) else len(which)
        return Frame(found, n_rows)


def _taken(column: Any, which: slice | np.ndarray) -> Any:
    return column.take(which) if isinstance(column, Numbers | Factor) else column[which]


def frame_of(table: Any) -> Frame | None:
    """Return the columns of a data frame, or None for arrays, dicts and other objects. Raise `RepeatedNames`."""
    if isinstance(table, Frame):
        return table
    found = as_frame(table)
    if found is None:
        return None
    columns = {str(label): column for label, column in zip(found.columns, found.iter_columns(), strict=True)}
    if len(columns) < len(found.columns):
        raise RepeatedNames([str(label) for label in found.columns])
    return Frame(columns, len(found), found)


def frame_of_columns(columns: Mapping[Any, Any], what: str) -> Frame:
    """Return the table of a dict with one column per name. Errors call it ``what``."""
    found = {str(name): _one_column(column, str(name), what) for name, column in columns.items()}
    lengths = {name: len(column) for name, column in found.items()}
    if len(set(lengths.values())) > 1:
        told = listed([f"{name} {length:,}" for name, length in lengths.items()])
        raise ValueError(f"the columns of {what} have different lengths: {told}.")
    return Frame(found, next(iter(lengths.values()), 0))


def _one_column(column: Any, name: str, what: str) -> Any:
    if isinstance(column, Numbers | Factor | np.ma.MaskedArray):
        return column
    series = as_series(column)
    if series is not None:
        return series
    array, _ = plain_array(column)
    if array.ndim == 0:
        raise ValueError(f"column {name} of {what} is a single value: give one entry per row.")
    return array


def column_names(table: Any) -> list[str] | None:
    """Return the names of the columns of a data frame or of a dict of arrays; None for other objects."""
    if isinstance(table, Frame | dict):
        return [str(name) for name in (table.columns if isinstance(table, Frame) else table)]
    try:
        found = as_frame(table)
    except (RepeatedNames, LazyTable) as error:
        return error.names if isinstance(error, RepeatedNames) else None
    return None if found is None else [str(label) for label in found.columns]


class CompleteRows(NamedTuple):
    """The rows of a block that have no missing value: their columns, and a mask ``keep`` of these rows.

    ``holes`` counts the missing values of the other rows by column.
    """

    columns: dict[str, Column]
    keep: np.ndarray
    holes: dict[str, int]

    @property
    def n_rows(self) -> int:
        return int(np.count_nonzero(self.keep))

    @property
    def lost(self) -> int:
        return len(self.keep) - self.n_rows

    @property
    def numbers(self) -> np.ndarray | None:
        """Return the row numbers of these rows in their block, or None if they are all rows."""
        return places_of(self.keep) if self.holes else None


def places_of(keep: np.ndarray) -> np.ndarray:
    """Return the row numbers of the rows that are kept, as a large array."""
    found, begin = large(int(np.count_nonzero(keep)), np.int64), 0
    for rows in stretches(len(keep)):
        here = np.flatnonzero(keep[rows])
        found[begin : begin + len(here)] = here
        found[begin : begin + len(here)] += rows.start
        begin += len(here)
    return found


def complete_rows(columns: Mapping[str, Column], n_rows: int) -> CompleteRows:
    """Return the rows that have no missing value in any of the columns. ``holes`` counts missing values by column."""
    missing = {name: column.missing for name, column in columns.items() if column.has_missing}
    holes = {name: int(one.sum()) for name, one in missing.items()}
    keep = np.ones(n_rows, bool)
    for name in holes:
        keep &= ~missing[name]
    found = {name: column.take(keep) for name, column in columns.items()} if holes else dict(columns)
    return CompleteRows(found, keep, holes)


def selected(table: Any, names: Sequence[str]) -> Any:
    """Return some columns of a table, in this order."""
    there = dict.fromkeys(column_names(table) or ())
    lacking = [name for name in names if name not in there]
    if lacking:
        raise KeyError(f"it has no column {lacking[0]!r}, only {', '.join(there)}")
    if isinstance(table, dict):
        return {name: table[name] for name in names}
    return as_frame(table).select(*names).to_native()
