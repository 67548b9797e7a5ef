"""Rows from tables by the names of columns: numbers as they are, text and categories as codes of levels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..errors import SourceError
from ..tables.columns import Column, Factor, Numbers, squares
from ..tables.levels import read_column, read_factor
from ..tables.matrices import LARGEST
from ..tables.numbers import Unreadable, read_numbers
from .source import Factored, Rows, level_positions
from .table_source import RowsOfTables, TableBlock, Tables
from .trials import counted, refuse_wrong_trials


@dataclass(frozen=True)
class ByColumns:
    """Makes the rows of a regression from a block of tables.

    ``numbers`` are columns of numbers. ``factors`` are columns of text or categories with their levels; the first level
    is the reference. With ``trials``, ``y`` is the number of successes in the trials. This is one row if energies are
    ``linear`` in the label, and otherwise two rows.
    """

    numbers: tuple[str, ...]
    factors: tuple[tuple[str, tuple[str, ...]], ...]
    y: str
    weights: str | None = None
    offset: str | None = None
    trials: str | None = None
    censored: str | None = None
    linear: bool = True
    reads_codes: ClassVar[bool] = True

    @property
    def columns(self) -> list[str]:
        """Return the names of all columns that are read."""
        beside = (self.y, self.weights, self.offset, self.trials, self.censored)
        return [*self.numbers, *(name for name, _ in self.factors), *(name for name in beside if name is not None)]

    @property
    def names(self) -> list[str]:
        """Return the names of the coefficients."""
        return [*self.numbers, *(f"{name}[{level}]" for name, levels in self.factors for level in levels[1:])]

    def __call__(self, block: TableBlock) -> Rows:
        beside = (self.weights, self.offset, self.trials, self.censored)
        y = _usable_numbers(block, self.y)
        weights, offset, trials, censored = (None if name is None else _usable_numbers(block, name) for name in beside)
        rows = Rows(block.start, self._features(block, len(y)), y, weights, offset, censored)
        if trials is None:
            return rows
        refuse_wrong_trials(y, trials, SourceError, lambda row: f"row {row} of {block.place}")
        return counted(rows, trials, linear=self.linear)

    def _features(self, block: TableBlock, n: int) -> Any:
        known = block.numbers
        columns = [known[name] if name in known else _numbers(block, name) for name in self.numbers]
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
        codes = [_codes(block, name, levels) for name, levels in self.factors]
        return Factored(whole, *level_positions(codes, [len(levels) for _, levels in self.factors], len(columns)))


def features_named(tables: Tables, X: Sequence[str], beside: dict[str, Any]) -> list[str]:
    """Return the columns of ``X``, where ``beside`` names the other columns.

    Raise an error for a name that the tables do not have, and for a column in both.
    """
    for role, name in beside.items():
        if not isinstance(name, str):
            raise TypeError(f"{role} must be the name of a column, because X comes from tables, got {name!r}.")
        if name not in tables.names:
            raise KeyError(f"no column {name!r} for {role}; the columns are {', '.join(tables.names)}")
    both = [name for name in X if name == beside["y"]]
    if both or not X or len(set(X)) < len(X):
        what = f"holds {both[0]!r}, which is y" if both else "has no columns" if not X else "names a column twice"
        raise ValueError(f"X {what}: choose columns by tables[['distance', 'hour']].")
    return list(X)


def rows_by_columns(tables: Tables, X: Sequence[str], beside: dict[str, Any], *, linear: bool = True) -> RowsOfTables:
    """Return rows with the columns ``X`` as features. ``beside`` names the other columns.

    ``linear`` says that the energies are linear in the label.
    """
    first = tables.first([*X, *beside.values()])
    text = [name for name in X if read_factor(first.table[name], name) is not None]
    found = _levels(tables, text)
    read = ByColumns(tuple(name for name in X if name not in text), found, **beside, linear=linear)
    if not read.names:
        raise ValueError(f"{', '.join(text)} of X have one level each and there is no other column: nothing varies.")
    factors = [name for name, levels in found if len(levels) > 1]
    return RowsOfTables(tables, read, read.names, read.columns, each=1 if linear else 2, factors=factors)


# ------------------------------------------------------------------------------------------------ columns of a block


def usable_column(block: TableBlock, name: str) -> Column:
    """Return a column without missing, infinite or too large values.

    An error names the place, the row and the column.
    """
    found = _column(block, name)
    if isinstance(found, Numbers):
        _refuse_unusable(block, name, found.values)
    return found


@dataclass(frozen=True)
class UsableColumns:
    """A function that returns the named columns of a block, checked by `usable_column`."""

    names: tuple[str, ...]

    def __call__(self, block: TableBlock) -> dict[str, Column]:
        return {name: usable_column(block, name) for name in self.names}


def _column(block: TableBlock, name: str, read: Callable[[Any, str], Column] = read_column) -> Column:
    """A column as it is, of which the table itself calls no value missing."""
    if name in block.numbers:
        return Numbers(block.numbers[name])
    coded = block.text(name)
    try:
        found = read(block.table[name] if coded is None else coded, f"column {name} of {block.place}")
    except Unreadable as error:
        raise SourceError(
            f"column {name} of {block.place} holds {error.kind}: {error.advice} (by change= of open_rows)."
        ) from None
    missing = found.nulls if isinstance(found, Numbers) else found.missing
    if missing is not None and missing.any():
        raise _refused(block, name, int(np.argmax(missing)), "a missing value")
    return found


def _numbers(block: TableBlock, name: str) -> np.ndarray:
    found = _column(block, name, read_numbers)
    assert isinstance(found, Numbers)
    return found.values


def _usable_numbers(block: TableBlock, name: str) -> np.ndarray:
    array = _numbers(block, name)
    _refuse_unusable(block, name, array)
    return array.astype(np.float64)


def _refuse_unusable(block: TableBlock, name: str, array: np.ndarray) -> None:
    """Raise for the first number that is NaN, infinite or too large."""
    if array.dtype.kind == "f" and not squares(array) <= LARGEST and not float(np.abs(array).max()) <= LARGEST:
        row = int(np.argmax(~(np.abs(array) <= LARGEST)))
        nan = bool(np.isnan(array[row]))
        what = "a missing value (NaN)" if nan else f"{array[row]:g}, which is too large to compute with"
        raise _refused(block, name, row, what)


def _refused(block: TableBlock, name: str, row: int, what: str) -> SourceError:
    return SourceError(
        f"column {name} has {what} in row {row} of {block.place} (row {block.start + row} of all, counted from 0): "
        "drop or fill such rows first, for example by change= of open_rows."
    )


def _levels_in(block: TableBlock, name: str) -> Factor:
    found = _column(block, name)
    if isinstance(found, Numbers):
        raise SourceError(f"column {name} of {block.place} holds no text, as it does in the first block.")
    return found


def _codes(block: TableBlock, name: str, levels: tuple[str, ...]) -> np.ndarray:
    """The levels' numbers in every row."""
    found = _levels_in(block, name)
    unknown = [level for level in found.levels if level not in set(levels)]
    if unknown:
        raise SourceError(
            f"column {name} of {block.place} has the level {unknown[0]!r} now, which no row had when the levels were "
            "looked up: the data changed in between. Open the rows again and make a new target."
        )
    return found.recoded(levels)


@dataclass(frozen=True)
class _LevelsOf:
    columns: tuple[str, ...]
    reads_codes: ClassVar[bool] = True

    def __call__(self, block: TableBlock) -> list[tuple[str, ...]]:
        return [_levels_in(block, name).levels for name in self.columns]


def _levels(tables: Tables, columns: Sequence[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """One map: the levels of every column of text or categories, sorted."""
    if not columns:
        return ()
    found: list[set[str]] = [set() for _ in columns]
    for levels in tables.map(_LevelsOf(tuple(columns)), columns):
        for known, new in zip(found, levels, strict=True):
            known.update(new)
    return tuple((name, tuple(sorted(levels))) for name, levels in zip(columns, found, strict=True))
