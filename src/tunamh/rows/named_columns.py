"""Rows from tables by the names of columns: numbers as they are, text and categories as codes of levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import SourceError
from ..tables.columns import Unreadable, read_column
from ..tables.levels import classes
from ..tables.matrices import LARGEST
from .source import NOWHERE, Factored, Rows
from .table_source import RowsOfTables, TableBlock, Tables
from .trials import counted, first_wrong

_BESIDE = ("y", "weights", "offset", "trials", "censored")


@dataclass(frozen=True)
class ByColumns:
    """From a block of tables to its rows.

    ``numbers`` are columns kept whole, ``factors`` columns of text or categories with their levels, of which the first
    is the reference. ``trials``: ``y`` of so many trials had the label 1, which is one row where energies are
    ``linear`` in the label, and else two.
    """

    numbers: tuple[str, ...]
    factors: tuple[tuple[str, tuple[str, ...]], ...]
    y: str
    weights: str | None = None
    offset: str | None = None
    trials: str | None = None
    censored: str | None = None
    linear: bool = True

    @property
    def columns(self) -> list[str]:
        """All that are read."""
        beside = [getattr(self, role) for role in _BESIDE]
        return [*self.numbers, *(name for name, _ in self.factors), *(name for name in beside if name is not None)]

    @property
    def names(self) -> list[str]:
        """Of the coefficients."""
        return [*self.numbers, *(f"{name}[{level}]" for name, levels in self.factors for level in levels[1:])]

    def __call__(self, block: TableBlock) -> Rows:
        numbers: list[Any] = [
            None if (name := getattr(self, role)) is None else usable_numbers(block, name).astype(np.float64)
            for role in _BESIDE
        ]
        y, weights, offset, trials, censored = numbers
        rows = Rows(block.start, self._features(block, len(y)), y, weights, offset, censored)
        if trials is None:
            return rows
        _refuse_wrong_trials(block, y, trials)
        return counted(rows, trials, linear=self.linear)

    def _features(self, block: TableBlock, n: int) -> Any:
        columns = [_numbers(block, name) for name in self.numbers]
        single = bool(columns) and not self.factors and all(column.dtype == np.float32 for column in columns)
        lines = np.empty((len(columns), n), np.float32 if single else np.float64)
        for line, column in zip(lines, columns, strict=True):
            line[:] = column
        with np.errstate(over="ignore", invalid="ignore"):
            fine = float(np.vdot(lines, lines)) <= LARGEST  # false for NaN, and for what single precision cannot hold
        whole = lines.T
        if not fine:
            for name, column in zip(self.numbers, columns, strict=True):
                _refuse_unusable(block, name, column)
        if not self.factors:
            return whole
        positions = np.empty((n, len(self.factors)), np.int32)
        begins = len(columns)
        for k, (name, levels) in enumerate(self.factors):
            codes = _codes(block, name, levels)
            positions[:, k] = np.where(codes > 0, begins + codes - 1, NOWHERE)
            begins += len(levels) - 1
        return Factored(whole, positions, begins)


def features_named(tables: Tables, X: Sequence[str], beside: dict[str, Any]) -> list[str]:
    """The columns of ``X``, where ``beside`` names the others; refuses what no table has, and what is in both."""
    for role, name in beside.items():
        if not isinstance(name, str):
            raise TypeError(f"{role} must be the name of a column where X is one of tables, got {name!r}.")
        if name not in tables.names:
            raise KeyError(f"no column {name!r} for {role}; the columns are {', '.join(tables.names)}")
    both = [name for name in X if name == beside["y"]]
    if both or not X or len(set(X)) < len(X):
        what = f"holds {both[0]!r}, which is y" if both else "has no columns" if not X else "names a column twice"
        raise ValueError(f"X {what}: choose columns by tables[['distance', 'hour']].")
    return list(X)


def rows_by_columns(tables: Tables, X: Sequence[str], beside: dict[str, Any], *, linear: bool = True) -> RowsOfTables:
    """Rows whose features are the columns ``X``; ``beside`` names the others; ``linear`` in the label are energies."""
    first = tables.first([*X, *beside.values()])
    text = [name for name in X if is_text(first.table[name])]
    found = _levels(tables, text)
    read = ByColumns(tuple(name for name in X if name not in text), found, **beside, linear=linear)
    if not read.names:
        raise ValueError(f"{', '.join(text)} of X have one level each and there is no other column: nothing varies.")
    factors = [name for name, levels in found if len(levels) > 1]
    return RowsOfTables(tables, read, read.names, read.columns, each=1 if linear else 2, factors=factors)


# ------------------------------------------------------------------------------------------------------- one column


def _numbers(block: TableBlock, name: str) -> np.ndarray:
    """A column as numbers; errors name the place, the row there and the column."""
    if name in block.numbers:
        return block.numbers[name]
    values = block.table[name]
    try:
        return np.asarray(read_column(values, "the table", name))
    except Unreadable as error:
        raise SourceError(
            f"column {name} of {block.place} holds {error.kind}: {error.advice} (by change= of open_rows)."
        ) from None
    except (TypeError, ValueError):
        missing = np.flatnonzero(_missing(values))
        if len(missing) == 0:
            raise
        raise _refused(block, name, int(missing[0]), "a missing value") from None


def _refuse_unusable(block: TableBlock, name: str, array: np.ndarray) -> None:
    """Raise for the first number that is NaN, infinite or too large."""
    if array.dtype.kind == "f" and not float(np.abs(array).max()) <= LARGEST:
        row = int(np.argmax(~(np.abs(array) <= LARGEST)))
        nan = bool(np.isnan(array[row]))
        what = "a missing value (NaN)" if nan else f"{array[row]:g}, which is too large to compute with"
        raise _refused(block, name, row, what)


def usable_numbers(block: TableBlock, name: str) -> np.ndarray:
    """Numbers of a column, of which none is missing, infinite or too large."""
    array = _numbers(block, name)
    _refuse_unusable(block, name, array)
    return array


def _refused(block: TableBlock, name: str, row: int, what: str) -> SourceError:
    return SourceError(
        f"column {name} has {what} in row {row} of {block.place} (row {block.start + row} of all, counted from 0): "
        "drop or fill such rows first, for example by change= of open_rows."
    )


def _missing(values: Any) -> np.ndarray:
    for ask in ("is_null", "isna"):
        if hasattr(values, ask):
            return np.asarray(getattr(values, ask)())
    return np.array([value is None or value != value for value in np.asarray(values, dtype=object).tolist()], bool)


def _codes(block: TableBlock, name: str, levels: tuple[str, ...]) -> np.ndarray:
    """The levels' numbers in every row."""
    present, codes = coded(block, name)
    place = {level: k for k, level in enumerate(levels)}
    unknown = [level for level in present if level not in place]
    if unknown:
        raise SourceError(
            f"column {name} of {block.place} has the level {unknown[0]!r} now, which no row had when the levels were "
            "looked up: the data changed in between. Open the rows again and make a new target."
        )
    return np.array([place[level] for level in present], np.int64)[codes]


def coded(block: TableBlock, name: str) -> tuple[list[str], np.ndarray]:
    """The levels that occur and, per row, which of them it has."""
    values = block.table[name]
    missing = np.flatnonzero(_missing(values))
    if len(missing):
        raise _refused(block, name, int(missing[0]), "a missing value")
    if hasattr(values, "dictionary_encode"):
        values = values if str(values.type).startswith("dictionary") else values.dictionary_encode()
        values = values.unify_dictionaries().combine_chunks() if hasattr(values, "unify_dictionaries") else values
        values = values.chunk(0) if hasattr(values, "chunk") else values
        codes, levels = np.asarray(values.indices), [str(level) for level in values.dictionary.to_pylist()]
        used = np.unique(codes)
        place = np.zeros(len(levels), np.int64)
        place[used] = np.arange(len(used))
        return [levels[k] for k in used.tolist()], place[codes]
    found = classes(values if hasattr(values, "dtype") else np.asarray(values), name)
    if found is None:
        raise SourceError(f"column {name} of {block.place} holds no text, as it does in the first block.")
    return found.levels, found.codes


@dataclass(frozen=True)
class _LevelsOf:
    columns: tuple[str, ...]

    def __call__(self, block: TableBlock) -> list[list[str]]:
        return [coded(block, name)[0] for name in self.columns]


def _levels(tables: Tables, columns: Sequence[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """One map: the levels of every column of text or categories, sorted."""
    if not columns:
        return ()
    found: list[set[str]] = [set() for _ in columns]
    for levels in tables.map(_LevelsOf(tuple(columns)), columns):
        for known, new in zip(found, levels, strict=True):
            known.update(new)
    return tuple((name, tuple(sorted(levels))) for name, levels in zip(columns, found, strict=True))


def is_text(values: Any) -> bool:
    """Whether a column is one of text or of categories."""
    kind = str(getattr(values, "type", getattr(values, "dtype", ""))).lower()
    if kind == "object":
        return bool(len(values)) and isinstance(np.asarray(values, dtype=object)[0], str)
    words = ("dictionary", "categor", "enum", "string", "large_string", "str", "utf", "<u")
    return kind.startswith(words) and not kind.startswith("struct")


def _refuse_wrong_trials(block: TableBlock, y: np.ndarray, trials: np.ndarray) -> None:
    row = first_wrong(y, trials)
    if row is not None:
        raise SourceError(
            f"row {row} of {block.place} has y = {y[row]:g} of {trials[row]:g} trials: both must be whole numbers, y "
            "from 0 to the trials."
        )
