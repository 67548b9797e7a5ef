"""The columns of a table that a formula needs, by name: numbers, or levels of text and categories.

Tables are those of any library of data frames, dicts of arrays, and structured arrays.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..process.scratch import large
from ..rows.columns_in_files import GrowingColumn
from ..tables.columns import Column, Factor, Numbers, joined
from ..tables.frames import CompleteRows, Frame, complete_rows, frame_of, frame_of_columns
from ..tables.levels import read_column
from ..tables.libraries import LazyTable, RepeatedNames
from ..tables.matrices import LARGEST
from ..tables.numbers import Unreadable
from .errors import FormulaError, listed
from .syntax import Name

_ONE_ROW = " (a single row of a pandas table stays a table as table.iloc[[0]])"


def as_columns(table: Any) -> Frame:
    """Return the columns of a table by name. Different codings of the same accented letter give the same name."""
    found = _columns(table)
    return Frame({unicodedata.normalize("NFC", name): one for name, one in found.columns.items()}, found.n_rows)


def _columns(table: Any) -> Frame:
    try:
        found = frame_of(table)
        if found is None and isinstance(table, Mapping) and not _is_of_draws(table):
            found = frame_of_columns(table, "the data")
    except LazyTable:
        raise TypeError("the data are a lazy frame, which has no rows yet: pass data.collect().") from None
    except RepeatedNames as error:
        raise FormulaError(f"the data have {error.problem}") from None
    except ValueError as error:
        raise FormulaError(str(error)) from None
    if found is not None:
        return found
    if isinstance(table, np.ndarray) and table.dtype.names:
        return Frame({name: table[name] for name in table.dtype.names}, len(table))
    if isinstance(table, np.ndarray):
        raise TypeError(
            "the data are an array without column names, and a formula needs them: pass a data frame, or a dict such "
            "as {'y': y, 'x': X[:, 0]}."
        )
    if isinstance(table, str):
        instead = "the formula comes first" if "~" in table else "read the file first, with pandas.read_csv or the like"
        raise TypeError(f"the data of a formula must be a table, got the text {table[:80]!r}: {instead}.")
    raise TypeError(
        "the data of a formula must be a pandas, polars or pyarrow table or a dict of arrays, got "
        f"{type(table).__name__}{_ONE_ROW if type(table).__name__ == 'Series' else ''}."
    )


def _is_of_draws(table: Mapping[Any, Any]) -> bool:
    import xarray

    return isinstance(table, xarray.DataTree)


def read(table: Frame, names: Iterable[str]) -> dict[str, Column]:
    """Return the columns that a formula needs. Raise `FormulaError` for a name that the table does not have."""
    names = list(names)
    refuse_unknown(names, table.names)
    return {name: variable(table.columns[name], name) for name in names}


def variable(column: Any, name: str) -> Column:
    """Return one column: numbers in double precision (NaN if missing), or a factor with the levels that occur."""
    if isinstance(column, Numbers | Factor):
        return column
    if isinstance(column, np.ndarray) and column.ndim > 1:
        raise FormulaError(f"column {name} has {column.ndim} dimensions: give one number per row.")
    try:
        found = read_column(column, f"column {name}")
    except Unreadable as error:
        raise FormulaError(f"column {name} holds {error.kind}: {error.advice}.") from None
    if isinstance(found, Factor):
        _refuse_written_alike(name, found.levels)
        return found
    return usable_numbers(found.values, name)


def usable_numbers(given: np.ndarray, name: str) -> Numbers:
    """Return the numbers of a column in double precision. Raise an error if one is infinite or too large."""
    found = Numbers(np.asarray(given, dtype=np.float64))
    if not found.squares <= LARGEST:  # false for NaN
        _refuse_unusable(name, found.values)
    return found


def _refuse_written_alike(name: str, levels: tuple[str, ...]) -> None:
    if len(set(levels)) < len(levels):
        twice = next(level for level in levels if levels.count(level) > 1)
        raise FormulaError(f"column {name} has two categories that are written {twice!r}: rename one of them.")


def _refuse_unusable(name: str, values: np.ndarray) -> None:
    """Raise for the first number that is infinite or too large; NaN is a missing value."""
    with np.errstate(invalid="ignore"):
        wrong = np.abs(values) > LARGEST
    if not wrong.any():
        return
    row = int(np.argmax(wrong))
    found = f"column {name} has {values[row]:g} in row {row}"
    if np.isinf(values[row]):
        raise FormulaError(f"{found}: every value must be finite or missing.")
    raise FormulaError(f"{found}, too large to compute with: rescale it.")


def in_backticks(formula: str, there: Sequence[str]) -> str:
    """Return a hint about a column whose name the formula reads as something else; "" if there is none.

    For example, ``Height (cm)`` is read as a function, and ``sign-up`` as a difference. The hint begins with a new
    line.
    """
    outside = "".join(unicodedata.normalize("NFC", formula).split("`")[::2])
    odd = [name for name in there if str(Name(name)) != name and unicodedata.normalize("NFC", name) in outside]
    return f"\n  The data have the column {Name(max(odd, key=len))}: write its name in backticks." if odd else ""


def refuse_unknown(names: list[str], there: list[str], formula: str = "") -> None:
    """Raise an error for columns that a table does not have."""
    known = set(there)
    absent = [name for name in names if name not in known]
    if not absent:
        return
    import difflib

    near = [name for name in there if name.casefold() == absent[0].casefold()]
    near += difflib.get_close_matches(absent[0], there, 1, cutoff=0.6)
    hint = f" Is {Name(near[0])} meant?" if near else ""
    plural = "s" * (len(absent) > 1)
    raise FormulaError(
        f"the data have no column{plural} {listed(absent)}.{hint} Their columns are {listed(there, 20)}."
        f"{in_backticks(formula, there)}"
    )


def join_levels(found: list[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the levels of all blocks. If one block has all levels, its order is used.

    Otherwise the levels are sorted, numbers as numbers.
    """
    distinct = list(dict.fromkeys(found))
    return levels_in_one_order(max(distinct, key=len), {level for levels in distinct for level in levels})


def levels_in_one_order(longest: tuple[str, ...], every: Collection[str]) -> tuple[str, ...]:
    """Return all levels in one order, from the longest list of levels in a block and the set of all levels."""
    if len(every) == len(longest):
        return longest
    try:
        return tuple(sorted(every, key=float))
    except ValueError:
        return tuple(sorted(every))


def joined_variables(blocks: list[dict[str, Column]], n_rows: int) -> Frame:
    """Return the columns of all blocks joined, with the levels of all blocks."""
    found: dict[str, Column] = {}
    for name in blocks[0]:
        try:
            found[name] = joined([block[name] for block in blocks], join_levels)
        except ValueError as error:
            raise FormulaError(f"column {name} holds {error}.") from None
    return Frame(found, n_rows)


def complete_in_large_arrays(blocks: Iterable[dict[str, Column]], names: Sequence[str], n_rows: int) -> CompleteRows:
    """Return the rows of all blocks that have no missing values. Only one block at a time is in memory."""
    growing = {name: GrowingColumn(n_rows, levels_in_one_order) for name in names}
    keep, begin, holes = large(n_rows, bool), 0, dict[str, int]()
    for block in blocks:
        n = len(block[names[0]])
        found = complete_rows(block, n)
        keep[begin : begin + n] = found.keep
        begin += n
        for name, count in found.holes.items():
            holes[name] = holes.get(name, 0) + count
        for name, column in growing.items():
            try:
                column.add(block[name], found.keep)
            except ValueError as error:
                raise FormulaError(f"column {name} holds {error}.") from None
    return CompleteRows({name: one.column() for name, one in growing.items()}, keep, _in_order(holes, names))


def _in_order(holes: Mapping[str, int], names: Sequence[str]) -> dict[str, int]:
    return {name: holes[name] for name in names if name in holes}
