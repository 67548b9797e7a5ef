"""One column of a table, as numbers or as codes of levels, and which of its values are missing.

The libraries of data frames are recognised by what their columns offer; none is imported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..tables.columns import Unreadable, read_column
from ..tables.levels import categories
from ..tables.matrices import LARGEST
from .errors import FormulaError


@dataclass(frozen=True)
class Numbers:
    """A number in every row, NaN where it is missing."""

    values: np.ndarray

    def __len__(self) -> int:
        return len(self.values)

    @property
    def missing(self) -> np.ndarray:
        return np.isnan(self.values)

    def take(self, keep: np.ndarray) -> Numbers:
        return Numbers(self.values[keep])


@dataclass(frozen=True)
class Factor:
    """A code in every row, -1 where it is missing, and the levels' names; ``ordered``: their order means something."""

    codes: np.ndarray
    levels: tuple[str, ...]
    ordered: bool = False

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def missing(self) -> np.ndarray:
        return self.codes < 0

    def take(self, keep: np.ndarray) -> Factor:
        return Factor(self.codes[keep], self.levels, self.ordered)

    @property
    def categories(self) -> tuple[str, ...]:
        """With this name, what reads columns of categories reads a factor too (`tunamh.tables.levels`)."""
        return self.levels

    def recoded(self, levels: tuple[str, ...]) -> np.ndarray:
        """Codes of other levels; -1 of those that are none of them."""
        place = {level: code for code, level in enumerate(levels)}
        new = np.array([place.get(level, -1) for level in self.levels] + [-1], dtype=np.int64)
        return new[self.codes]


Variable = Numbers | Factor


def join_levels(found: list[tuple[str, ...]]) -> tuple[str, ...]:
    """Levels of all blocks: in the order that the blocks agree on, else sorted, numbers as numbers."""
    distinct = list(dict.fromkeys(found))
    longest = max(distinct, key=len)
    union = {level for levels in distinct for level in levels}
    if len(union) == len(longest):
        return longest
    try:
        return tuple(sorted(union, key=float))
    except ValueError:
        return tuple(sorted(union))


def variable(column: Any, name: str) -> Variable:
    """One column."""
    if isinstance(column, Numbers | Factor):
        return column
    if np.ndim(column) > 1 and not hasattr(column, "iloc"):
        raise FormulaError(f"column {name} has {np.ndim(column)} dimensions: give one number per row.")
    missing = _missing(column)
    there = column if not missing.any() else _kept(column, ~missing)
    if len(there) == 0:
        kind: Variable = Numbers(np.full(len(missing), np.nan))
        return kind
    found = _factor(there, name)
    if found is None:
        values = np.full(len(missing), np.nan)
        values[~missing] = _numbers(there, name)
        return Numbers(values)
    codes = np.full(len(missing), -1, dtype=np.int64)
    codes[~missing] = found.codes
    return Factor(codes, found.levels, found.ordered)


def _missing(column: Any) -> np.ndarray:
    if hasattr(column, "isna"):  # pandas
        return np.asarray(column.isna(), dtype=bool)
    if hasattr(column, "null_count") and hasattr(column, "type"):  # pyarrow
        return np.asarray(column.is_null(nan_is_null=True), dtype=bool)
    if hasattr(column, "is_null"):  # polars
        null = column.is_null()
        return np.asarray(null | column.is_nan().fill_null(True) if column.dtype.is_float() else null, dtype=bool)
    if np.ma.isMaskedArray(column):
        return np.ma.getmaskarray(column) | _missing(np.asarray(column))
    array = _plain(column)
    if array.dtype.kind == "f":
        return np.isnan(array)
    if array.dtype.kind == "O":
        return np.array([value is None or value is np.ma.masked or _differs(value) for value in array.tolist()], bool)
    if array.dtype.kind in "mM":
        return np.isnat(array)
    return np.zeros(len(array), bool)


def _plain(column: Any) -> np.ndarray:
    """A list that mixes text and numbers stays as it is: NumPy would make text of all."""
    if isinstance(column, np.ndarray):
        return column
    array = np.asarray(column)
    if array.dtype.kind in "US" and any(not isinstance(value, str | bytes) for value in column):
        array = np.array(list(column), dtype=object)
    return array


def _differs(value: Any) -> bool:
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA
        return True


def _kept(column: Any, keep: np.ndarray) -> Any:
    if hasattr(column, "iloc"):
        return column[keep]
    if hasattr(column, "filter"):  # polars, pyarrow
        return column.filter(keep) if hasattr(column, "dtype") else column.take(np.flatnonzero(keep))
    return _plain(column)[keep]


def _factor(column: Any, name: str) -> Factor | None:
    """Of categories or text; None of anything else."""
    found = categories(column, name)
    if found is None and (text := _as_categories(column)) is not None:
        found, in_order = categories(text, name), False
    elif found is not None:
        in_order = True
    else:
        return _from_text(column, name)
    assert found is not None
    levels = tuple(found.levels)
    if len(set(levels)) < len(levels):
        twice = next(level for level in levels if levels.count(level) > 1)
        raise FormulaError(f"column {name} has two categories that are written {twice!r}: rename one of them.")
    factor = Factor(found.codes, levels, found.ordered)
    if in_order:
        return factor
    ordered = tuple(sorted(levels))
    return Factor(factor.recoded(ordered), ordered)


def _as_categories(column: Any) -> Any:
    """Text of a data frame as categories, by the frame's own means, which are fast; None of other columns."""
    dtype = str(getattr(column, "dtype", getattr(column, "type", ""))).lower()
    if hasattr(column, "dictionary_encode") and "string" in dtype:
        return column.dictionary_encode()
    if hasattr(column, "iloc") and ("str" in dtype or dtype == "object"):
        if dtype == "object" and not all(isinstance(value, str) for value in column):
            return None
        return column.astype("category")
    if dtype in ("string", "str", "utf8") and hasattr(column, "cast"):
        return _polars_categories(column)
    return None


def _polars_categories(column: Any) -> Any:
    import polars as pl

    return column.cast(pl.Categorical)


def _from_text(column: Any, name: str) -> Factor | None:
    if hasattr(column, "iloc") or hasattr(column, "cast"):
        return None
    array = _plain(column)
    if array.dtype.kind == "O" and all(isinstance(value, str) for value in array.tolist()):
        array = array.astype(str)
    if array.dtype.kind not in "UT":
        return None
    levels, codes = np.unique(array, return_inverse=True)
    return Factor(codes, tuple(str(level) for level in levels))


def _numbers(column: Any, name: str) -> np.ndarray:
    try:
        values = np.asarray(read_column(column, f"column {name}"), dtype=np.float64)
    except Unreadable as error:
        raise FormulaError(f"column {name} holds {error.kind}: {error.advice}.") from None
    if not np.isfinite(values).all():
        row = int(np.argmax(~np.isfinite(values)))
        raise FormulaError(f"column {name} has {values[row]:g} in row {row}: every value must be finite or missing.")
    if np.abs(values).max() > LARGEST:
        row = int(np.argmax(np.abs(values)))
        raise FormulaError(f"column {name} has {values[row]:g} in row {row}, too large to compute with: rescale it.")
    return values
