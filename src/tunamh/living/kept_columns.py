"""Columns of a piece, kept for models that need all rows: every value, in as few bytes as hold it exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..tables.columns import Column, Factor, Numbers
from .records import Record

_SMALL = (np.int8, np.int16, np.int32, np.float32)
_LEFT = "left"  # the numbers of rows that are not there


def as_record(columns: Mapping[str, Column], left: np.ndarray, words: dict[str, Any]) -> Record:
    """Return a record with the columns of the rows that are used.

    ``left`` are the numbers of the piece's other rows.
    """
    about, arrays = [], {_LEFT: left.astype(np.int64)}
    for k, (name, column) in enumerate(columns.items()):
        if isinstance(column, Factor):
            own = {"levels": list(column.levels), "ordered": column.ordered, "kind": column.kind}
            arrays[f"column{k}"] = _smallest(column.codes.astype(np.float64))
        else:
            own, arrays[f"column{k}"] = {"levels": None}, _smallest(np.asarray(column.values, dtype=np.float64))
        about.append({"name": name, **own})
    return Record({**words, "columns": about}, arrays)


def has_columns(record: Record | None, names: Sequence[str]) -> bool:
    """Return True if a record has these columns, and all of them have the length that the record says."""
    try:
        if record is None or [one["name"] for one in record.words["columns"]] != list(names):
            return False
        lengths = {record.arrays[f"column{k}"].shape for k in range(len(names))}
        return lengths <= {(int(record.words["n"]),)} and record.arrays[_LEFT].ndim == 1
    except (LookupError, TypeError, ValueError, AttributeError):
        return False


def column_of(record: Record, k: int) -> Column:
    """Return column ``k`` of a record."""
    values, about = record.arrays[f"column{k}"], record.words["columns"][k]
    if about["levels"] is None:
        return Numbers(values.astype(np.float64))
    return Factor(values.astype(np.int64), tuple(about["levels"]), about["ordered"], kind=about["kind"])


def there(record: Record) -> np.ndarray:
    """Return a boolean array: True for each row of the piece that is used."""
    left = record.arrays[_LEFT]
    found = np.ones(int(record.words["n"]) + len(left), bool)
    found[left] = False
    return found


def _smallest(values: np.ndarray) -> np.ndarray:
    """The same numbers, bit for bit, in the smallest type that has them all."""
    bits = values.view(np.int64)
    for kind in _SMALL:
        with np.errstate(all="ignore"):
            small = values.astype(kind)
        if (small.astype(np.float64).view(np.int64) == bits).all():
            return small
    return values
