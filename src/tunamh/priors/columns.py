"""Numbers of a prior as a user gives them: one for all columns, one for each in order, or by the columns' names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .._arguments import moderate_number, number, numbers
from ..tables.matrices import has_row_labels

_NO_VARIANCE = 1e-12


def plain(values: Any, what: str) -> Any:
    """A float, a tuple of floats, or a dict of floats by column name (also from a pandas Series)."""
    name = f"{what} of the prior"
    if has_row_labels(values):
        if not values.index.is_unique:
            raise ValueError(f"{name} names the column {values.index[values.index.duplicated()][0]} more than once.")
        values = dict(zip(values.index, values, strict=True))
    if isinstance(values, dict):
        return {str(key): number(f"{name} for {key}", value) for key, value in values.items()}
    array = numbers(name, values)
    if array.ndim > 1:
        raise ValueError(f"{name} must be a number or one number per column, got shape {array.shape}.")
    return float(array) if array.ndim == 0 else tuple(array.tolist())


def each(values: Any) -> Iterable[float]:
    """Return all numbers of a value that `plain` has made."""
    return values.values() if isinstance(values, dict) else np.ravel(values)


def in_columns(values: Any, names: Sequence[str], what: str) -> Any:
    """Return the numbers of a prior in the order of the columns. Only a dict by column names is changed."""
    if not isinstance(values, dict):
        return values
    unknown, missing = [key for key in values if key not in names], [name for name in names if name not in values]
    refuse_names(f"{what} of the prior", unknown, missing, names)
    return tuple(values[name] for name in names)


def refuse_names(what: str, unknown: list[str], missing: list[str], names: Sequence[str]) -> None:
    problems = [f"{verb} {', '.join(which)}" for verb, which in (("names", unknown), ("leaves out", missing)) if which]
    if problems:
        raise ValueError(
            f"{what} {' and '.join(problems)}; it must name every column of the data and no other: {', '.join(names)}."
        )


def per_coordinate(values: Any, dim: int, what: str) -> np.ndarray:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 1 and array.size != dim:
        raise ValueError(
            f"{what} of the prior must be a number or have {dim} entries, one per column, got {array.size}."
        )
    return np.broadcast_to(array, dim)


# --------------------------------------------------------------------------------------------------- covariances


def plain_covariance(values: Any) -> Any:
    """Return a covariance as a tuple of tuples. A pandas table becomes a dict of dicts by column name."""
    name = "covariance of the prior"
    if has_row_labels(values) and hasattr(values, "columns"):
        if not (values.index.is_unique and values.columns.is_unique):
            raise ValueError(f"{name} names a column more than once.")
        values = values.T.to_dict()
    if not isinstance(values, dict):
        return _checked_covariance(name, values)
    keys = [str(key) for key in values]
    rows = [{str(k): v for k, v in row.items()} if isinstance(row, dict) else {} for row in values.values()]
    if any(set(row) != set(keys) for row in rows):
        raise ValueError(f"{name} must have the same names along its rows and its columns.")
    table = _checked_covariance(name, [[row[key] for key in keys] for row in rows])
    return {key: dict(zip(keys, row, strict=True)) for key, row in zip(keys, table, strict=True)}


def _checked_covariance(name: str, values: Any) -> tuple[tuple[float, ...], ...]:
    array = numbers(name, values)
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise ValueError(f"{name} must be a square table, a row and a column per coefficient, got shape {array.shape}.")
    size = np.sqrt(np.maximum(np.diag(array), 0.0))
    for value in size:
        moderate_number("standard deviation in the covariance of the prior", value)
    if (np.abs(array - array.T) > 1e-8 * np.outer(size, size)).any():
        raise ValueError(f"{name} must be symmetric.")
    if np.linalg.eigvalsh(array / np.outer(size, size)).min() < _NO_VARIANCE:
        raise ValueError(f"{name} is not positive definite: some combination of coefficients would have no variance.")
    return tuple(tuple(row) for row in (0.5 * (array + array.T)).tolist())


def covariance_in_columns(values: Any, names: Sequence[str]) -> Any:
    if not isinstance(values, dict):
        return values
    unknown, missing = [key for key in values if key not in names], [name for name in names if name not in values]
    refuse_names("covariance of the prior", unknown, missing, names)
    return tuple(tuple(values[a][b] for b in names) for a in names)
