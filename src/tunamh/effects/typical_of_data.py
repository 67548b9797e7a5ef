"""What is typical of the columns of the data that a user gives: one pass over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..formula.remaining import remaining
from ..formula.typical import ColumnsLook, Typical, columns_look, typical_columns
from ..rows.table_source import TableBlock, Tables
from ..tables.frames import Frame
from .columns import ModelColumns
from .rows import Asked, AskedRows


def typical_of(columns: ModelColumns, data: Any) -> dict[str, Typical]:
    """Return the typical values of the columns of ``data``, the data that the user passes. This takes one pass."""
    formula = columns.formula
    look = _Look(Asked(tuple(columns.predictors)), formula)
    if isinstance(data, Tables):
        looks = list(remaining(data).map(look, look.asked.names))
    else:
        looks = [look.of(block.rows) for block in AskedRows.of(data, columns.predictors, [], None).blocks()]
    return typical_columns(looks, formula.side, None)


@dataclass(frozen=True)
class _Look:
    asked: Asked
    formula: Any

    def of(self, rows: Frame) -> ColumnsLook:
        sides = [one.columns.terms for one in self.formula.groups] + [one.terms for one in self.formula.others.values()]
        values = self.formula.values(rows, list(rows.columns))
        return columns_look(self.formula.side.terms, sides, values, offsets=self.formula.offsets)

    def __call__(self, block: TableBlock) -> ColumnsLook:
        return self.of(self.asked(block).rows)
