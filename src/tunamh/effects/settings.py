"""A setting: columns of some rows with other values, such as "the same flights with carrier UA"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..tables.columns import Column, Factor, Numbers
from ..tables.frames import Frame


@dataclass(frozen=True)
class Fixed:
    """A setting that gives a column the same value in all rows."""

    value: float | str

    def of(self, column: Column | None, n_rows: int) -> Column:
        if isinstance(self.value, str):
            return Factor(np.zeros(n_rows, np.int64), (self.value,), kind="text")
        return Numbers(np.full(n_rows, float(self.value)))


@dataclass(frozen=True)
class Moved:
    """A setting that adds ``by`` to a column of numbers."""

    by: float

    def of(self, column: Column | None, n_rows: int) -> Column:
        assert isinstance(column, Numbers)
        return Numbers(column.values + self.by)


@dataclass(frozen=True)
class Stepped:
    """A setting that adds a multiple of a small step to each number (see `steps_of`); derivatives use it."""

    steps: int
    unit: float

    def of(self, column: Column | None, n_rows: int) -> Column:
        assert isinstance(column, Numbers)
        return Numbers(column.values + self.steps * steps_of(column.values, self.unit))


def steps_of(values: np.ndarray, unit: float) -> np.ndarray:
    """Return the small steps for derivatives: one for each number of a column.

    A step is ``1e-3`` of the standard deviation of the column (``unit``), or of the number itself if the number is
    smaller.
    """
    size = np.clip(np.abs(values), 1e-3 * unit, unit)
    return 1e-3 * size


Change = Fixed | Moved | Stepped
Setting = Mapping[str, Change]


def changed(rows: Frame, setting: Setting) -> Frame:
    """Return a copy of the rows in which the columns have the values of the setting."""
    if not setting:
        return rows
    columns = {name: one.of(rows.columns.get(name), rows.n_rows) for name, one in setting.items()}
    return Frame({**rows.columns, **columns}, rows.n_rows)
