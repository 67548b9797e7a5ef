"""Slopes: derivatives of the mean of the response with respect to a number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._arguments import explained, shown
from ..formula.errors import FormulaError
from ..formula.syntax import COMPARISONS, Call, Node, Operation, columns_in
from ..tables.columns import Numbers
from ..tables.frames import Frame
from .asking import Asking
from .averages import Question, Values
from .columns import ModelColumns, column_name
from .grid import Point, fixed
from .settings import Setting, Stepped, steps_of

if TYPE_CHECKING:
    from .table import EffectsTable

SLOPES = ("dydx", "eyex", "eydx", "dyex")


@explained
def slopes(
    posterior: Any,
    data: Any = None,
    wrt: Any = None,
    conditional: Any = None,
    *,
    slope: str = "dydx",
    average_by: Any = None,
    weights: Any = None,
    scale: str = "response",
    groups: str | None = None,
    draws: int | None = None,
    ci_prob: float | None = None,
    family: Any = None,
    rng: Any = None,
) -> EffectsTable:
    """Return the derivative of the mean of the response with respect to a numeric column.

    The table has the derivative for each row, or averages over rows.

    Parameters
    ----------
    posterior, data, conditional, average_by, weights, scale, groups, draws, ci_prob, family, rng
        The same arguments as for `tunamh.predictions`. An average is the average of the slopes of the rows.
    wrt : str or list
        One or several numeric columns. For factors use `tunamh.comparisons`.
    slope : "dydx", "eyex", "eydx" or "dyex"
        With mean ``m`` and column ``x``: ``dm/dx``, the elasticity ``(dm/dx) x / m``, ``(dm/dx) / m`` or
        ``(dm/dx) x``.

    Returns
    -------
    EffectsTable
        A table like that of `tunamh.predictions`; the columns ``variable`` and ``slope`` give the column and the kind
        of slope.

    Notes
    -----
    The derivative is ``(8 (f(x + h) - f(x - h)) - f(x + 2h) + f(x - 2h)) / (12 h)``; ``f(x)`` is the mean of the
    response if the column has the value ``x``. The error is about ``h^4 f'''''(x) / 30``. The step ``h`` is a
    thousandth of the column's standard deviation, or a thousandth of the absolute value of ``x`` if that is smaller.

    Examples
    --------
    >>> tunamh.slopes(posterior, flights, "distance", average_by=True)
    >>> tunamh.slopes(posterior, wrt="distance", conditional={"distance": [500, 1000, 2000]})
    """
    if slope not in SLOPES:
        raise ValueError(f"slope must be one of {', '.join(map(repr, SLOPES))}, got {shown(slope)}.")
    names = [wrt] if isinstance(wrt, str) else list(wrt or ())
    if not names or not all(isinstance(name, str) for name in names):
        raise TypeError('slopes need the name of a numeric column: wrt="distance".')
    names = list(map(column_name, names))
    asking = Asking(posterior, data, conditional, average_by, weights, scale, groups, draws, ci_prob, family, rng)

    def question(columns: ModelColumns, points: list[Point], averaged: bool) -> Question:
        return _question(columns, points, averaged, names, slope)

    return asking.answer(question, "slope", "slope of {}" if slope == "dydx" else f"{slope} of {{}}")


def _question(columns: ModelColumns, points: list[Point], averaged: bool, names: list[str], slope: str) -> Question:
    units = [_unit(columns, name) for name in names]
    settings: list[Setting] = [{}] if slope in ("eyex", "eydx") else []
    begin = len(settings)
    for name, unit in zip(names, units, strict=True):
        settings += [{name: Stepped(steps, unit)} for steps in (1, -1, 2, -2)]

    def of_rows(values: Values, rows: Frame) -> Values:
        found = []
        for k, (name, unit) in enumerate(zip(names, units, strict=True)):
            column = rows.columns[name]
            assert isinstance(column, Numbers)
            near, before, far, far_before = values[begin + 4 * k : begin + 4 * k + 4]
            step = steps_of(column.values, unit)[:, None]
            derivative = (8 * (near - before) - (far - far_before)) / (12 * step)
            found.append(_scaled(derivative, column.values[:, None], values[0], slope))
        return found

    labels = [{"variable": name, "slope": slope} for name in names]
    every = [fixed(one) for one in points] if averaged else [{}]
    return Question(settings, labels, of_rows, points=every, n_measures=len(names), linear=slope in ("dydx", "dyex"))


def _scaled(derivative: np.ndarray, x: np.ndarray, mean: np.ndarray, slope: str) -> np.ndarray:
    found = derivative * x if slope in ("eyex", "dyex") else derivative
    return found / mean if slope in ("eyex", "eydx") else found


def _unit(columns: ModelColumns, name: str) -> float:
    columns.refuse_unknown(name, "wrt")
    if columns.levels(name) is not None:
        raise FormulaError(f"wrt: {name} is a factor, and slopes need a numeric column: use tunamh.comparisons.")
    if any(_steps_at(atom, name) for side in columns.sides() for term in side.terms.fixed for atom in term):
        raise FormulaError(
            f"wrt: the formula compares {name} with a number, so the mean has a jump and no slope there: use "
            "tunamh.comparisons."
        )
    return columns.known(name).sd or 1.0


def _steps_at(node: Node | None, name: str) -> bool:
    if isinstance(node, Operation):
        here = node.operator in COMPARISONS and name in columns_in(node)
        return here or _steps_at(node.left, name) or _steps_at(node.right, name)
    if isinstance(node, Call):
        return any(_steps_at(one, name) for one in node.arguments)
    return False
