"""Group effects of rows from a source: columns by name, read once and held (`tunamh.rows.in_memory`)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .._arguments import shown
from ..rows.in_memory import fits, folder_of_rows, load_columns
from ..rows.table_source import SomeColumns, Tables
from ..tables.frames import Frame
from ..targets.observations.inputs import RowExtras, by_name, columns_named
from .grouping import GroupEffects

BYTES_OF_AN_EFFECT = 320
"""Of memory that set-up needs at its peak for each row and each column of effects (measured, one factor)."""


def from_tables(
    X: SomeColumns | Tables, y: Any, beside: RowExtras, groups: Any
) -> tuple[Frame, Any, RowExtras, list[GroupEffects], str | None]:
    """All columns in memory: what a model with groups takes where a user names them; and the folder of large arrays."""
    tables: Tables = X.tables if isinstance(X, SomeColumns) else X
    given = [one if isinstance(one, GroupEffects) else GroupEffects(one) for one in _listed(groups)]
    codes = [_name(tables, one.codes, f"the codes of groups[{k}]") for k, one in enumerate(given)]
    columns = [
        [] if one.X is None else columns_named(tables, one.X, f"X of groups[{k}]") for k, one in enumerate(given)
    ]
    named = by_name(X, y, beside, apart=codes)
    wanted = list(dict.fromkeys([*named.columns, *codes, *(name for each in columns for name in each)]))
    effects = sum(max(1, len(each)) for each in columns)
    more = BYTES_OF_AN_EFFECT * effects
    fits(tables, wanted, more=more, needed_by="group effects")
    folder = folder_of_rows(tables, wanted, more=more)
    table = load_columns(tables, wanted)
    found = [
        replace(one, codes=table.columns[name], X=table.select(each) if each else None, name=one.name or name)
        for one, name, each in zip(given, codes, columns, strict=True)
    ]
    return *named.at_hand(table), found, folder


def _listed(groups: Any) -> list[Any]:
    return list(groups) if isinstance(groups, list | tuple) else [groups]


def _name(tables: Tables, codes: Any, what: str) -> str:
    names = columns_named(tables, codes, what)
    if len(names) != 1:
        raise TypeError(f"{what} must be the name of one column, such as 'carrier', got {shown(codes)}.")
    return names[0]
