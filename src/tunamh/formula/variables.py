"""The columns of a table that a formula needs, by name.

Tables are pandas, polars or pyarrow, dicts of arrays, and structured arrays; the libraries are recognised by what their
objects offer, and none is imported.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..tables.matrices import column_names, repeated
from .columns import Factor, Numbers, Variable, join_levels, variable
from .errors import FormulaError, listed


def as_columns(table: Any) -> dict[str, Any]:
    """A table's columns by name, however accents are composed."""
    return {unicodedata.normalize("NFC", name): column for name, column in _columns(table).items()}


def _columns(table: Any) -> dict[str, Any]:
    if hasattr(type(table), "collect") and hasattr(type(table), "columns"):
        raise TypeError("the data are a lazy frame, which has no rows yet: pass data.collect().")
    names = column_names(table) if hasattr(table, "__getitem__") else None  # a target has names, and no columns
    if names is not None:
        twice = repeated(names)
        if twice:
            raise FormulaError(
                f"the data have more than one column of the name {listed(twice)}: rename or drop columns."
            )
        if hasattr(table, "iloc"):
            return {str(name): column for name, column in table.items()}
        return {name: table[name] for name in names}
    if isinstance(table, Mapping) and not hasattr(table, "children"):  # a DataTree of draws has
        columns = {str(name): column for name, column in table.items()}
        lengths = {
            name: len(column) for name, column in columns.items() if np.ndim(column) or hasattr(column, "__len__")
        }
        single = [name for name in columns if name not in lengths]
        if single:
            raise FormulaError(f"column {single[0]} of the data is a single value: give one entry per row.")
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{name} {length:,}" for name, length in list(lengths.items())[:8])
            raise FormulaError(f"the columns of the data have different lengths: {told}.")
        return columns
    if isinstance(table, np.ndarray) and table.dtype.names:
        return {name: table[name] for name in table.dtype.names}
    if isinstance(table, np.ndarray):
        raise TypeError(
            "the data are an array without column names, and a formula needs them: pass a data frame, or a dict such "
            "as {'y': y, 'x': X[:, 0]}."
        )
    raise TypeError(
        "the data of a formula must be a pandas, polars or pyarrow table or a dict of arrays, got "
        f"{type(table).__name__}."
    )


def rows_in(columns: Mapping[str, Any]) -> int:
    return 0 if not columns else len(next(iter(columns.values())))


def read(columns: Mapping[str, Any], names: list[str]) -> dict[str, Variable]:
    """The columns that a formula needs."""
    refuse_unknown(names, list(columns))
    return {name: variable(columns[name], name) for name in names}


def refuse_unknown(names: list[str], there: list[str]) -> None:
    """Raise for columns that a table does not have."""
    known = set(there)
    absent = [name for name in names if name not in known]
    if not absent:
        return
    import difflib

    near = [name for name in there if name.casefold() == absent[0].casefold()]
    near += difflib.get_close_matches(absent[0], there, 1, cutoff=0.6)
    hint = f" Is {near[0]} meant?" if near else ""
    plural = "s" * (len(absent) > 1)
    raise FormulaError(
        f"the data have no column{plural} {listed(absent)}.{hint} Their columns are {listed(there, 20)}."
    )


def joined_variables(blocks: list[dict[str, Variable]]) -> dict[str, Variable]:
    """Columns of all blocks one behind the other, with the levels of all."""
    found: dict[str, Variable] = {}
    for name in blocks[0]:
        parts = [block[name] for block in blocks]
        factors = [part for part in parts if isinstance(part, Factor)]
        numbers = [part for part in parts if isinstance(part, Numbers)]
        if not factors:
            found[name] = Numbers(np.concatenate([part.values for part in numbers]))
            continue
        if any(not part.missing.all() for part in numbers):
            raise FormulaError(f"column {name} holds numbers in some blocks and text in others.")
        levels = join_levels([part.levels for part in factors])
        codes = [
            part.recoded(levels) if isinstance(part, Factor) else np.full(len(part.values), -1, dtype=np.int64)
            for part in parts
        ]
        found[name] = Factor(np.concatenate(codes), levels, all(part.ordered for part in factors))
    return found
