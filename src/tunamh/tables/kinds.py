"""What a column holds instead of numbers, and what its user can do about it.

Digits stored as text are no numbers, and dates have no unit of their own: reading them as numbers, as NumPy and the
data frames offer, would give a model that nobody asked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .libraries import narwhals

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
    """What a column of ``what`` holds instead of numbers, and what to do about it."""

    def __init__(self, kind: str, what: str, values: Any, column: int | None = None):
        self.kind, self.column = kind, column
        known = _OF_ONE.get("X" if what.startswith("predictors[") else what, {})
        advice = known.get(kind) or _ADVICE.get(kind, "every value must be a number")
        self.advice = advice.format(example=f"{what} == {_first(values)!r}")
        super().__init__(f"{kind}: {self.advice}")


def _first(values: Any) -> Any:
    """The first value of a column, as plain Python has it."""
    first = next(iter(values), "yes")
    return first.item() if isinstance(first, np.generic) else first


def kind_of_value(value: Any) -> str:
    """By the name of its type."""
    if isinstance(value, complex):
        return "complex numbers"
    name = type(value).__name__.lower()
    if name.startswith(("str", "bytes")):
        return "text"
    if name.startswith(("date", "time", "period", "duration", "interval")):
        return "dates or times"
    return f"values of type {name}"


def kind_of_array(array: np.ndarray) -> str:
    """Of an array that holds no numbers and no objects."""
    return {"m": "dates or times", "M": "dates or times", "c": "complex numbers"}.get(array.dtype.kind, "text")


def kind_of_series(series: Any) -> str:
    """Of a narwhals series: ``numbers``, ``categories``, ``text``, ``objects`` of any kind, or what else it holds."""
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
    """None, NaN, NaT, and the missing value of pandas, which equals nothing and says so by raising."""
    try:
        return value is None or value is np.ma.masked or bool(value != value)
    except TypeError:
        return True
    except ValueError:  # an array
        return False


def missing_in(array: np.ndarray, masked: np.ndarray | None) -> np.ndarray:
    """Which values of one plain column are NaN, NaT, None or the like."""
    found = np.zeros(len(array), bool) if masked is None else masked
    if array.dtype.kind == "O":
        return found | np.fromiter(map(is_missing, array), bool, len(array))
    return found | (array != array) if array.dtype.kind in "fmM" else found


def plain_array(values: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """An array, and which of its values are masked, if any; in a list, text and numbers stay what they are."""
    array = np.asarray(values)
    if isinstance(values, list | tuple) and array.dtype.kind in "US" and array.ndim == 1:
        if any(not isinstance(value, str | bytes) for value in values):
            array = np.array(values, dtype=object)
    return array, np.ma.getmaskarray(values) if np.ma.is_masked(values) else None
