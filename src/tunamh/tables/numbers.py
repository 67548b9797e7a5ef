"""The numbers of a column or of a plain array; what only looks like a number is refused."""

from __future__ import annotations

import contextlib
import numbers
from decimal import Decimal
from typing import Any

import numpy as np

from .columns import Factor, Numbers
from .kinds import Unreadable, is_missing, kind_of_array, kind_of_series, kind_of_value, plain_array
from .libraries import as_series, narwhals

_REAL = numbers.Real | Decimal | np.bool_


def read_numbers(values: Any, what: str, where: str = "") -> Numbers:
    """The numbers of a column, or of a plain array of any shape, as they are where they can be.

    ``what`` and ``where``, such as ``X`` and ``, column age``, name the column in errors. Raises `Unreadable`.
    """
    if isinstance(values, Numbers):
        return values
    if isinstance(values, Factor):
        raise Unreadable(values.kind, what, values.levels)
    series = as_series(values)
    if series is None:
        return _of_array(*_array(values, what, where), what, where)
    kind, native, of_pandas = kind_of_series(series), series.to_native(), series.implementation.is_pandas_like()
    if of_pandas and isinstance(native.dtype, np.dtype):
        return _of_array(*plain_array(native), what, where)
    if series.null_count() == len(series):
        return Numbers(np.full(len(series), np.nan), np.ones(len(series), bool))
    if of_pandas and (kind == "numbers" or native.dtype.kind in "biuf"):  # nullable, or sparse
        nulls = native.isna().to_numpy()
        found = native.to_numpy(dtype=np.float32 if is_single(series) else np.float64, na_value=np.nan)
        return Numbers(found, nulls if nulls.any() else None)
    if kind == "numbers":
        return _of_series(series)
    if kind == "objects":
        return _of_array(*plain_array(native), what, where)
    raise Unreadable(kind, what, series)


def _of_series(series: Any) -> Numbers:
    """Of polars, pyarrow and their like."""
    nw = narwhals()
    nulls = series.is_null().to_numpy() if series.null_count() else None
    if nulls is not None or isinstance(series.dtype, nw.Decimal | nw.Int128 | nw.UInt128):
        series = series.cast(nw.Float64)
    return Numbers(series.to_numpy(), nulls)


def _array(values: Any, what: str, where: str) -> tuple[np.ndarray, np.ndarray | None]:
    try:
        return plain_array(values)
    except Exception as error:
        ragged = "inhomogeneous" in str(error)
        problem = "rows of different lengths" if ragged else f"what NumPy cannot read ({error})"
        raise TypeError(f"{what} holds {problem}{where}: pass a table of numbers.") from None


def _of_array(array: np.ndarray, masked: np.ndarray | None, what: str, where: str) -> Numbers:
    kind = array.dtype.kind
    if masked is not None and masked.all() and array.ndim == 1:
        array = np.full(len(array), np.nan)
    elif kind == "O" and array.ndim > 0:
        array, nulls = _of_objects(array, what, where)
        masked = nulls if masked is None else nulls | masked
    elif array.dtype.names:
        raise TypeError(
            f"{what} is a structured array: pass numpy.lib.recfunctions.structured_to_unstructured({what})."
        )
    elif kind in "USTmMc":
        raise Unreadable(kind_of_array(array), what, array)
    elif kind not in "biuf":
        name = type(array.item() if array.ndim == 0 else array).__name__
        raise TypeError(f"{what} is a {name}, not a table of numbers: pass an array, a list or a table.")
    elif array.dtype.itemsize > 8:
        array = _narrowed(array, what, where)
    if masked is None or not masked.any():
        return Numbers(array)
    return Numbers(np.where(masked, np.nan, array), masked)


def _narrowed(array: np.ndarray, what: str, where: str) -> np.ndarray:
    """Long doubles as doubles."""
    with np.errstate(over="ignore"):
        narrow = array.astype(np.float64)
    lost = np.isfinite(array) & ~np.isfinite(narrow)
    if lost.any():
        _refuse_too_large(np.argwhere(lost)[0], what, where)
    return narrow


def _of_objects(array: np.ndarray, what: str, where: str) -> tuple[np.ndarray, np.ndarray]:
    """Python's own objects, and which are none: all at once if they are numbers, else up to the first that is not."""
    found, nulls = np.empty(array.shape), np.zeros(array.shape, bool)
    if all(issubclass(kind, _REAL) for kind in set(map(type, array.ravel()))):
        with contextlib.suppress(OverflowError):
            return array.astype(np.float64), nulls
    for place, value in np.ndenumerate(array):
        if isinstance(value, _REAL):
            try:
                found[place] = value
            except OverflowError:
                _refuse_too_large(np.array(place), what, where)
        elif is_missing(value):
            found[place], nulls[place] = np.nan, True
        else:
            raise Unreadable(kind_of_value(value), what, [value], place[1] if len(place) > 1 else None)
    return found, nulls


def _refuse_too_large(place: np.ndarray, what: str, where: str) -> None:
    column = where or (f", column {place[1]}" if len(place) > 1 else "")
    raise ValueError(f"{what} has a number too large to compute with in row {place[0]}{column}: rescale the column.")


def is_single(values: Any) -> bool:
    """Whether a column holds numbers of single precision."""
    values = values.values if isinstance(values, Numbers) else values
    if isinstance(values, np.ndarray):
        return values.dtype == np.float32
    series = as_series(values)
    return series is not None and series.dtype == narwhals().Float32
