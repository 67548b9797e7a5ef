"""The values at which a question is asked: ``{"distance": range(500, 3000, 500), "carrier": "all"}`` as points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from .._arguments import number, shown
from ..formula.errors import FormulaError, listed
from ..tables.columns import Numbers
from ..tables.frames import Frame
from .columns import ModelColumns, column_name
from .settings import Fixed, Setting

_POINTS = 50  # of the first column of numbers with "all"
_MOST_POINTS = 100_000
Point = dict[str, float | str]


def grid_of(columns: ModelColumns, conditional: Any) -> list[Point]:
    """Return all combinations of the values in ``conditional``. The last column varies fastest.

    If ``conditional`` is None, the result is one empty point.
    """
    asked = _asked(conditional)
    values: dict[str, list[float | str]] = {}
    several = False
    for name, given in asked.items():
        columns.refuse_unknown(name, "conditional")
        values[name] = _values(columns, name, given, few=several)
        several = several or (isinstance(given, str) and columns.levels(name) is None)
    count = int(np.prod([len(own) for own in values.values()], dtype=float))
    if count > _MOST_POINTS:
        raise ValueError(f"conditional has {count:,} combinations, more than {_MOST_POINTS:,}: pass fewer values.")
    return [dict(zip(values, point, strict=True)) for point in product(*values.values())]


def _asked(conditional: Any) -> dict[str, Any]:
    if conditional is None:
        return {}
    if isinstance(conditional, str):
        return {column_name(conditional): "all"}
    if isinstance(conditional, Mapping):
        return {column_name(name): given for name, given in conditional.items()}
    if isinstance(conditional, Sequence) and all(isinstance(one, str) for one in conditional):
        return dict.fromkeys(map(column_name, conditional), "all")
    raise TypeError(
        'conditional must be a dict of values, such as {"distance": [500, 1000], "carrier": "all"}, or names of '
        f"columns, got {shown(conditional)}."
    )


def _values(columns: ModelColumns, name: str, given: Any, few: bool) -> list[float | str]:
    levels = columns.levels(name)
    if isinstance(given, str) and given == "all":
        if levels is not None:
            if not levels:
                raise FormulaError(f"conditional: the levels of {name} are not known: list them.")
            return [columns.as_written(name, level) for level in levels]
        return _all_numbers(columns, name, few)
    listed_values = [given] if isinstance(given, str) or np.ndim(given) == 0 else list(given)
    if not listed_values:
        raise ValueError(f"conditional: {name} has no values.")
    return [value_of(columns, name, one, "conditional") for one in listed_values]


def value_of(columns: ModelColumns, name: str, given: Any, argument: str) -> float | str:
    """Return the value that a user gives for a column: a known level of a factor, or a number."""
    levels = columns.levels(name)
    if levels is None:
        if isinstance(given, bool | np.bool_):
            return float(given)
        return number(f"{argument}: {name}", given.item() if isinstance(given, np.generic) else given)
    text = _level(given)
    if text not in levels and name in columns.predictors:
        raise FormulaError(f"{argument}: {name} has no level {text!r}; it has {listed([repr(one) for one in levels])}.")
    return columns.as_written(name, text)


def _level(given: Any) -> str:
    if isinstance(given, str):
        return given
    value = given.item() if isinstance(given, np.generic) else given
    whole = isinstance(value, float) and value == int(value)
    return str(int(value)) if whole else str(value)


def _all_numbers(columns: ModelColumns, name: str, few: bool) -> list[float | str]:
    """Evenly spaced; of a second column three values: the mean, and a standard deviation below and above it."""
    known = columns.known(name)
    if known.labels:
        return [0.0, 1.0]
    if few:
        middle = float(known.value)
        return [middle - known.sd, middle, middle + known.sd]
    return list(map(float, np.linspace(known.low, known.high, _POINTS)))


def fixed(point: Point) -> Setting:
    return {name: Fixed(value) for name, value in point.items()}


def typical_rows(columns: ModelColumns, points: list[Point], needed: list[str]) -> Frame:
    """Return a table with one row for each point. Columns that a point does not name have their typical value.

    Columns that only name groups are left out, unless the points name them.
    """
    n = len(points)
    found = {}
    for name in dict.fromkeys([*points[0], *needed]):
        if name in points[0]:
            values = [point[name] for point in points]
            found[name] = _column(values)
        elif name in columns.predictors:
            found[name] = Fixed(columns.typical_value(name)).of(None, n)
    return Frame(found, n)


def _column(values: list[Any]) -> Any:
    if isinstance(values[0], str):
        return np.array(values, dtype=object)
    return Numbers(np.array(values, np.float64))
