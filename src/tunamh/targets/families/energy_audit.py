"""A user's energy is tried at plain points before it is used: what jets, NumPy and Numba make of it must be numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ..._arguments import shown
from ...compiled import Part, fixed
from .energy_arguments import Arguments

_PREDICTORS = 0.0, 0.7, -1.1, 1.9
_RESPONSES = 1.0, 0.0, 2.0, 0.5, -1.0
"""Of labels, counts, shares or reals: an energy need not know all of them."""

_COLUMN = 1.0, 2.0, 0.5
"""Of any other column of the data."""

_NEARBY = 0.01
_AGREES = 1e-9


class Audited(NamedTuple):
    """Points and the values of a user's energy there, where these are finite numbers."""

    call: str
    eta: np.ndarray
    y: np.ndarray
    values: np.ndarray

    def compare(self, energy: Part) -> None:
        """Raise `ValueError` if the compiled energy has other values at these points."""
        out = np.empty(self.y.size)
        energy(self.y.size, self.eta.ravel(), self.y, fixed(()), out)
        wrong = ~(np.abs(out - self.values) <= _AGREES * (1 + np.abs(self.values)))
        if wrong.any():
            b = int(np.argmax(wrong))
            raise ValueError(
                f"{self.call} is {self.values[b]:.9g} at {_point(self.eta, self.y, b)}, but {out[b]:.9g} once compiled "
                "by Numba: it must be a function of its arguments and of constants only."
            )


def audit(formula: Callable[..., Any], arguments: Arguments, rows: np.ndarray | None = None) -> Audited:
    """Try a user's energy on numbers and on jets. Raise an error if it is no energy or cannot be bounded.

    ``rows`` (known + 1, n) are columns of the data and responses for the trial; without them, simple numbers are used.
    """
    size, call = len(arguments.predictors), arguments.call
    eta, y = _points(size, len(arguments.known)) if rows is None else _points_of_rows(size, rows)
    _run_on_jets(formula, size, eta, y, call)
    with np.errstate(all="ignore"):
        values = np.asarray(formula(*eta, y), dtype=np.float64)
    if values.shape != y.shape:
        raise ValueError(
            f"{call} must return one number per row, but of {y.size} rows it made an array of shape {values.shape}: "
            "use functions of single numbers, no sums."
        )
    good = _responses_without_nan(values, y) if rows is None else np.isfinite(values)
    if not good.any():
        b = int(np.argmax(~np.isfinite(values)))
        raise ValueError(
            f"{call} is {values[b]:g} at {_point(eta, y, b)}: it must be a number for every real predictor, so write "
            "exp(eta) where only positive numbers make sense."
        )
    _refuse_unbounded(formula, size, eta[:, good], y[good], call)
    return Audited(call, eta[:, good], y[good], values[good])


def _points(size: int, known: int) -> tuple[np.ndarray, np.ndarray]:
    """Predictors and, behind them, other columns of the data; and responses."""
    y = np.repeat(_RESPONSES, len(_PREDICTORS))
    first = np.tile(_PREDICTORS, len(_RESPONSES))
    column = np.resize(_COLUMN, y.size)
    return np.array([np.roll(first, k) for k in range(size)] + [np.roll(column, k) for k in range(known)]), y


def _points_of_rows(size: int, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    data = np.repeat(rows, len(_PREDICTORS), axis=1)
    first = np.tile(_PREDICTORS, rows.shape[1])
    return np.concatenate([[np.roll(first, k) for k in range(size)], data[:-1]]), data[-1]


def _run_on_jets(formula: Callable[..., Any], size: int, eta: np.ndarray, y: np.ndarray, call: str) -> None:
    from ...jets import CannotBound, Interval, Jet
    from ...jets.jet import WrongShape, variables

    try:
        with np.errstate(all="ignore"):
            result = formula(*variables([Interval(each) for each in eta[:size]], 3), *eta[size:], y)
    except CannotBound:
        raise
    except WrongShape:  # which the numbers tell better
        return
    except ValueError as error:
        if "truth value" in str(error):
            _refuse_branch(call)
        raise
    if not isinstance(result, Jet):
        raise TypeError(
            f"{call} must return a number that depends on its predictors, but returns {shown(result)} for every one."
        )


def _refuse_branch(call: str) -> NoReturn:
    raise TypeError(
        f"{call} branches on y with if, but is called with all responses at once: multiply terms by comparisons, "
        "as in (y == 0) * a + (y > 0) * b."
    )


def _responses_without_nan(values: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Rows of responses for which the energy is a number at all predictors."""
    bad = [value for value in _RESPONSES if not np.isfinite(values[y == value]).all()]
    return ~np.isin(y, bad)


def _refuse_unbounded(formula: Callable[..., Any], size: int, eta: np.ndarray, y: np.ndarray, call: str) -> None:
    from ...jets import Interval, box_bound, first_lost

    bounds = box_bound(formula, eta[:size], y, np.full((size, y.size), _NEARBY), known=eta[size:])
    unknown = ~np.isfinite(bounds).all(axis=(0, 1, 2))
    if unknown.all():
        box = [Interval(each - _NEARBY, each + _NEARBY) for each in eta[:size, :1]]
        lost = first_lost(formula, box, y[:1], list(eta[size:, :1]))
        where = "" if lost is None else f" It is lost at {lost}."
        raise ValueError(
            f"{call} has third derivatives near {_point(eta, y, 0)} for which no bound is found: no root, logarithm or "
            f"quotient may have an argument that could be 0 there.{where}"
        )


def _point(eta: np.ndarray, y: np.ndarray, b: int) -> str:
    predictors = ", ".join(f"{value:g}" for value in eta[:, b])
    return f"predictor {predictors} and y = {y[b]:g}"
