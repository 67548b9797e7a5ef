"""One column of a table, or one plain array, as numbers; what only looks like a number is refused.

Digits stored as text are no numbers, and dates have no unit of their own: reading them as numbers, as NumPy and the
data frames offer, would give a model that nobody asked for.
"""

from __future__ import annotations

import contextlib
import numbers
from decimal import Decimal
from typing import Any

import numpy as np

_CATEGORIES = "code categories as 0/1 columns (pandas.get_dummies, polars to_dummies)"
_CONVERT = "convert numbers stored as text with astype(float)"
_ADVICE = {
    "text": _CONVERT,
    "dates or times": "turn them into numbers first, such as days since the first day",
    "complex numbers": "pass real numbers, such as the real and the imaginary part as two columns",
}
_FEATURES = {"text": f"{_CATEGORIES}, and {_CONVERT}", "categories": _CATEGORIES}
_CLASSES = "code the two classes as 0 and 1, for example {example}"
_OF_ONE = {"X": _FEATURES, "rows": _FEATURES, "y": {"text": f"{_CLASSES}, and {_CONVERT}", "categories": _CLASSES}}


class Unreadable(Exception):
    """What a column holds instead of numbers, and what to do about it."""

    def __init__(self, kind: str, what: str, values: Any, column: int | None = None):
        self.kind, self.column = kind, column
        known = _OF_ONE.get("X" if what.startswith("predictors[") else what, {})
        advice = known.get(kind) or _ADVICE.get(kind, "every value must be a number")
        self.advice = advice.format(example=f"{what} == {_first(values)!r}")
        super().__init__(f"{kind}: {self.advice}")


def read_column(values: Any, what: str, name: str | None = None) -> np.ndarray:
    """Numbers of a column ``name`` of ``what``, or of ``what`` itself, which may be a matrix if it is a plain array."""
    where = "" if name is None else f", column {name}"
    if hasattr(values, "type") and hasattr(values, "null_count"):
        return _from_arrow(values, what, where)
    dtype = getattr(values, "dtype", None)
    if hasattr(values, "null_count") and hasattr(dtype, "is_numeric"):
        return _from_polars(values, what, where)
    if hasattr(values, "isna") and dtype is not None and not isinstance(dtype, np.dtype):
        return _from_pandas(values, what, where)
    return _from_array(values, what, where)


def _from_arrow(column: Any, what: str, where: str) -> np.ndarray:
    kind = str(column.type)
    if column.null_count:
        _refuse_missing(what, column.is_null().index(True).as_py(), where)
    if kind.startswith(("int", "uint", "float", "double", "halffloat", "bool")):
        return np.asarray(column)
    if kind.startswith("decimal"):
        return np.asarray(column.cast("float64"))
    dated = kind.startswith(("timestamp", "date", "time", "duration"))
    raise Unreadable("dates or times" if dated else _by_words(kind), what, column)


def _from_polars(column: Any, what: str, where: str) -> np.ndarray:
    if column.null_count():
        _refuse_missing(what, column.is_null().arg_max(), where)
    if column.dtype.is_numeric() or str(column.dtype) == "Boolean":
        return (column.cast(float) if column.dtype.is_decimal() else column).to_numpy()
    raise Unreadable("dates or times" if column.dtype.is_temporal() else _by_words(str(column.dtype)), what, column)


def _from_pandas(column: Any, what: str, where: str) -> np.ndarray:
    """A pandas column of a type that NumPy does not know: nullable, categories, text, dates with a zone."""
    missing = np.asarray(column.isna())
    kind = getattr(column.dtype, "kind", "O")
    decimal = str(column.dtype).startswith("decimal")
    if kind in "biuf" or decimal:
        if missing.any():
            _refuse_missing(what, int(missing.argmax()), where)
        single = str(column.dtype).lower() in ("float32", "float[pyarrow]")
        return np.asarray(column.to_numpy(dtype=np.float32 if single else np.float64))
    raise Unreadable("dates or times" if kind in "mM" else _by_words(str(column.dtype)), what, column)


def _from_array(values: Any, what: str, where: str) -> np.ndarray:
    try:
        array = np.asarray(values)
    except Exception as error:
        ragged = "inhomogeneous" in str(error)
        problem = "rows of different lengths" if ragged else f"what NumPy cannot read ({error})"
        raise TypeError(f"{what} holds {problem}{where}: pass a table of numbers.") from None
    kind = array.dtype.kind
    if kind in "biuf":
        return array if array.dtype.itemsize <= 8 else _narrowed(array, what, where)
    if kind in "USTmMc":
        found = {"m": "dates or times", "M": "dates or times", "c": "complex numbers"}.get(kind, "text")
        raise Unreadable(found, what, array)
    if kind == "O" and array.ndim > 0:
        return _from_objects(array, what, where)
    if array.dtype.names:
        raise TypeError(
            f"{what} is a structured array: pass numpy.lib.recfunctions.structured_to_unstructured({what})."
        )
    raise TypeError(f"{what} is a {type(values).__name__}, not a table of numbers: pass an array, a list or a table.")


def _narrowed(array: np.ndarray, what: str, where: str) -> np.ndarray:
    """Long doubles as doubles."""
    with np.errstate(over="ignore"):
        narrow = array.astype(np.float64)
    lost = np.isfinite(array) & ~np.isfinite(narrow)
    if lost.any():
        _refuse_too_large(array, np.argwhere(lost)[0], what, where)
    return narrow


def _from_objects(array: np.ndarray, what: str, where: str) -> np.ndarray:
    """Python's own objects: all at once if they are numbers, else one by one up to the first that is none."""
    if all(issubclass(kind, numbers.Real | Decimal | np.bool_) for kind in set(map(type, array.ravel()))):
        with contextlib.suppress(OverflowError):
            return array.astype(np.float64)
    found = np.empty(array.shape)
    for place, value in np.ndenumerate(array):
        if isinstance(value, numbers.Real | Decimal | np.bool_):
            try:
                found[place] = value
            except OverflowError:
                _refuse_too_large(array, np.array(place), what, where)
        elif value is None or value != value or str(value) == "<NA>":
            _refuse_missing(what, place[0], where or (f", column {place[1]}" if len(place) > 1 else ""))
        else:
            column = place[1] if len(place) > 1 else None
            raise Unreadable(_by_words(type(value).__name__, value), what, [value], column)
    return found


def _by_words(name: str, value: Any = None) -> str:
    """What a type's name says."""
    name = name.lower()
    if isinstance(value, complex):
        return "complex numbers"
    if name.startswith(("categor", "dictionary", "enum")):
        return "categories"
    if name.startswith(("str", "string", "large_string", "utf", "bytes", "binary")):
        return "text"
    if name.startswith(("date", "time", "period", "duration", "interval")):
        return "dates or times"
    return f"values of type {name}"


def _first(values: Any) -> Any:
    """The first value of a column, as plain Python has it."""
    first = next(iter(values), "yes")
    first = first.as_py() if hasattr(first, "as_py") else first
    return first.item() if isinstance(first, np.generic) else first


def _refuse_missing(what: str, row: int, where: str) -> None:
    raise ValueError(f"{what} has a missing value in row {row}{where}: drop or fill such rows first.")


def _refuse_too_large(array: np.ndarray, place: np.ndarray, what: str, where: str) -> None:
    column = where or (f", column {place[1]}" if len(place) > 1 else "")
    raise ValueError(f"{what} has a number too large to compute with in row {place[0]}{column}: rescale the column.")
