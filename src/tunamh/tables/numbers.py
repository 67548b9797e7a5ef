"""The numbers of a column or of a plain array; what it holds instead, and what its user can do about it.

Digits stored as text are no numbers, and dates have no unit of their own: reading them as numbers, as NumPy and the
data frames offer, would give a model that nobody asked for.
"""

from __future__ import annotations

import contextlib
import numbers
from decimal import Decimal
from itertools import islice
from typing import Any

import numpy as np

from .columns import Factor, Numbers
from .libraries import as_series, narwhals

_REAL = numbers.Real | Decimal | np.bool_


def read_numbers(values: Any, what: str, where: str = "") -> Numbers:
    """Return the numbers of a column or of a plain array of any shape, without a copy if possible.

    ``what`` and ``where``, such as ``X`` and ``, column age``, name the column in errors. Raise `Unreadable`.
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
        found = native.to_numpy(dtype=np.float32 if series.dtype == narwhals().Float32 else np.float64, na_value=np.nan)
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
    """An error for a column that contains no numbers. It says what the column contains and what to do."""

    def __init__(self, kind: str, what: str, values: Any, column: int | None = None):
        self.kind, self.column = kind, column
        known = _OF_ONE.get("X" if what.startswith("predictors[") else what, {})
        advice = known.get(kind) or _ADVICE.get(kind, "every value must be a number")
        self.advice = advice.format(example=f"{what} == {_last(values)!r}")
        super().__init__(f"{kind}: {self.advice}")


def _last(values: Any) -> Any:
    """The last of the first values in the order of their text, as plain Python has it: of no and yes it is yes."""
    some = [one for one in islice(iter(values), 1000) if not is_missing(one)]
    last = max(some, key=str, default="yes")
    return last.item() if isinstance(last, np.generic) else last


def kind_of_value(value: Any) -> str:
    """Return the kind of a value in words, from the name of its type."""
    if isinstance(value, complex):
        return "complex numbers"
    name = type(value).__name__.lower()
    if name.startswith(("str", "bytes")):
        return "text"
    if name.startswith(("date", "time", "period", "duration", "interval")):
        return "dates or times"
    return f"values of type {name}"


def kind_of_array(array: np.ndarray) -> str:
    """Return the kind of an array that contains neither numbers nor objects."""
    return {"m": "dates or times", "M": "dates or times", "c": "complex numbers"}.get(array.dtype.kind, "text")


def kind_of_series(series: Any) -> str:
    """Return the kind of a narwhals series: ``numbers``, ``categories``, ``text``, ``objects``, or another text."""
    nw, dtype = narwhals(), series.dtype
    if dtype.is_numeric() or dtype == nw.Boolean:
        return "numbers"
    if isinstance(dtype, nw.Categorical | nw.Enum):
        return "categories"
    if dtype == nw.String:
        return "text"
    if dtype.is_temporal():
        return "dates or times"
    if dtype in (nw.Object, nw.Unknown, nw.Binary):  # sparse columns of pandas, periods, bytes, ...
        return "objects"
    return f"values of type {str(dtype).lower()}"


def is_missing(value: Any) -> bool:
    """Return True for None, NaN, NaT, masked values, and the missing value of pandas.

    A comparison of the latter raises an error, which shows that it is missing.
    """
    try:
        return value is None or value is np.ma.masked or bool(value != value)
    except TypeError:
        return True
    except ValueError:  # an array
        return False


def missing_in(array: np.ndarray, masked: np.ndarray | None) -> np.ndarray:
    """Return a mask of the missing values (NaN, NaT, None and so on) of one plain column."""
    found = np.zeros(len(array), bool) if masked is None else masked
    if array.dtype.kind == "O":
        return found | np.fromiter(map(is_missing, array), bool, len(array))
    return found | (array != array) if array.dtype.kind in "fmM" else found


def plain_array(values: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Return an array and a mask of its masked values, if there are any.

    In a list, text and numbers are not converted.
    """
    array = np.asarray(values)
    if isinstance(values, list | tuple) and array.dtype.kind in "US" and array.ndim == 1:
        if any(not isinstance(value, str | bytes) for value in values):
            array = np.array(values, dtype=object)
    return array, np.ma.getmaskarray(values) if np.ma.is_masked(values) else None
