"""A table of any library, or a dict of arrays, by the names of its columns; its rows without missing values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .columns import Column, Factor, Numbers
from .libraries import LazyTable, RepeatedNames, as_frame, as_series, listed, narwhals
from .numbers import plain_array


@dataclass(frozen=True, eq=False)
class Frame:
    """Columns by name, read or not: `Numbers`, `Factor`, arrays, or series of narwhals. ``whole`` is the table itself.

    The columns of a data frame are asked for all at once: to ask for one costs some libraries as much as for all.
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
        """Some columns, in this order."""
        return Frame({name: self.columns[name] for name in names}, self.n_rows)

    def take(self, which: slice | np.ndarray, names: Sequence[str] | None = None) -> Frame:
        """Some rows, by a slice or by their numbers, of all columns or of some."""
        found = {name: _taken(self.columns[name], which) for name in (self.columns if names is None else names)}
        n_rows = len(range(self.n_rows)[which]) if isinstance(which, slice) else len(which)
        return Frame(found, n_rows)


def _taken(column: Any, which: slice | np.ndarray) -> Any:
    return column.take(which) if isinstance(column, Numbers | Factor) else column[which]


def frame_of(table: Any) -> Frame | None:
    """The columns of a data frame; None of arrays, dicts and whatever else is none. Raises `RepeatedNames`."""
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
    """Of a dict with one column per name, which errors call ``what``."""
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
    """Names of the columns of a data frame or of a dict of arrays; None of anything else."""
    if isinstance(table, Frame | dict):
        return [str(name) for name in (table.columns if isinstance(table, Frame) else table)]
    try:
        found = as_frame(table)
    except (RepeatedNames, LazyTable) as error:
        return error.names if isinstance(error, RepeatedNames) else None
    return None if found is None else [str(label) for label in found.columns]


def name_of(column: Any) -> str | None:
    """What a library calls a column, or the only column of a table; None where it has no name."""
    names = column_names(column)
    if names is not None:
        return names[0] if len(names) == 1 else None
    series = as_series(column)
    return str(series.name) if series is not None and series.name not in (None, "") else None


class CompleteRows(NamedTuple):
    """The rows of a block of which nothing is missing: their columns, which they are, and what the others lack."""

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
        """Of the rows in their block; None: all of them."""
        return np.flatnonzero(self.keep) if self.holes else None


def complete_rows(columns: Mapping[str, Column], n_rows: int) -> CompleteRows:
    """Leave out the rows with a missing value in any of the columns; ``holes`` counts them by column."""
    missing = {name: column.missing for name, column in columns.items() if column.has_missing}
    holes = {name: int(one.sum()) for name, one in missing.items()}
    keep = np.ones(n_rows, bool)
    for name in holes:
        keep &= ~missing[name]
    found = {name: column.take(keep) for name, column in columns.items()} if holes else dict(columns)
    return CompleteRows(found, keep, holes)


# ------------------------------------------------------------------------------------------------- tables as they are


def count_rows(table: Any) -> int:
    """How many rows a data frame or a dict of arrays has."""
    if isinstance(table, dict):
        return len(next(iter(table.values()))) if table else 0
    known = getattr(table, "num_rows", None)  # of pyarrow, at once: this is asked for every block
    if isinstance(known, int):
        return known
    frame = as_frame(table)
    if frame is None:
        raise TypeError(f"a block must be a table with columns by name or a dict of arrays, not {type(table)}.")
    return len(frame)


def cut(table: Any, size: int) -> Iterator[tuple[slice, Any]]:
    """At most ``size`` rows at a time, without a copy where the library of the table can, and which they are."""
    n_rows = count_rows(table)
    frame = None if isinstance(table, dict) else as_frame(table)
    for first in range(0, n_rows, size):
        which = slice(first, min(first + size, n_rows))
        if n_rows <= size:
            yield which, table
        elif frame is None:
            yield which, {name: values[which] for name, values in table.items()}
        elif frame.implementation.is_pandas_like():
            yield which, frame.to_native().iloc[which]
        else:
            yield which, frame.to_native().slice(first, which.stop - first)  # narwhals takes ten times as long


def selected(table: Any, names: Sequence[str]) -> Any:
    """Some columns of a table, in this order."""
    there = dict.fromkeys(column_names(table) or ())
    lacking = [name for name in names if name not in there]
    if lacking:
        raise KeyError(f"it has no column {lacking[0]!r}, only {', '.join(there)}")
    if isinstance(table, dict):
        return {name: table[name] for name in names}
    return as_frame(table).select(*names).to_native()


def numbers_at_once(table: Any) -> dict[str, np.ndarray]:
    """The columns of a pyarrow table that are numbers without gaps in one piece, as arrays, without a copy.

    A slice of an array costs next to nothing. To ask a slice of a table for its columns, in every block, took a third
    of the time that reading them took.
    """
    frame = as_frame(table)
    if frame is None or not frame.implementation.is_pyarrow():
        return {}
    native, types = frame.to_native(), narwhals().dependencies.get_pyarrow().types
    return {
        name: column.chunk(0).to_numpy()
        for name, column in zip(native.column_names, native.columns, strict=True)
        if (types.is_integer(column.type) or types.is_floating(column.type))
        and column.null_count == 0
        and column.num_chunks == 1
    }
