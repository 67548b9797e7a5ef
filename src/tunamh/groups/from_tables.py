"""Group effects of rows from a source: columns by name, read once and held (`tunamh.rows.in_memory`)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .._arguments import shown
from ..process.scratch import large_arrays_in
from ..rows.columns_in_files import as_one_matrix, levels_of
from ..rows.in_memory import OF_COLUMNS_IN_FILES, fits, folder_of_rows, load_columns
from ..rows.table_source import SomeColumns, Tables
from ..tables.frames import Frame
from ..targets.observations.inputs import RowExtras, by_name, columns_named
from .grouping import GroupEffects

BYTES_OF_AN_EFFECT = 320
"""Of memory that set-up needs at its peak for each row and each column of effects (measured, one factor)."""


def from_tables(
    X: SomeColumns | Tables, y: Any, beside: RowExtras, groups: Any
) -> tuple[Frame, Any, RowExtras, list[GroupEffects], str | None]:
    """Return all columns of a model with groups, read once from tables, and the folder of large arrays."""
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
    fits(tables, wanted, more=more, needed_by="group effects", in_files=OF_COLUMNS_IN_FILES)
    folder = folder_of_rows(tables, wanted, more=more)
    with large_arrays_in(folder):
        table = load_columns(tables, wanted)
        rows, y, beside = named.at_hand(table)
        levels = {name: table.columns[name] for name in codes}
        of_effects = [table.select(each) if each else None for each in columns]
        if folder is not None:
            rows, levels = as_one_matrix(rows), {name: levels_of(column) for name, column in levels.items()}
            of_effects = [None if one is None else as_one_matrix(one) for one in of_effects]
    found = [
        replace(one, codes=levels[name], X=of_one, name=one.name or name)
        for one, name, of_one in zip(given, codes, of_effects, strict=True)
    ]
    return rows, y, beside, found, folder


def _listed(groups: Any) -> list[Any]:
    return list(groups) if isinstance(groups, list | tuple) else [groups]


def _name(tables: Tables, codes: Any, what: str) -> str:
    names = columns_named(tables, codes, what)
    if len(names) != 1:
        raise TypeError(f"{what} must be the name of one column, such as 'carrier', got {shown(codes)}.")
    return names[0]
