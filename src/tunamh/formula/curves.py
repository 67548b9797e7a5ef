"""Curves of a formula's result, draw by draw, on a grid of their column, and surfaces on a grid of both."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..results.layout import COEFFICIENT, PREDICTOR, ROLE, TERM
from .curve_terms import Term
from .errors import FormulaError
from .model import FormulaModel
from .smooths import Smooth
from .surfaces import Surface
from .syntax import label
from .variable_parts import prefix

_POINTS, _MOST_DRAWS = 200, 1000
_SIDE = 40  # points of a surface along each of its columns


class Curve(NamedTuple):
    """One curve. ``name`` is its term, ``level`` its class or level, and ``draws`` is an array (draws, points).

    For a term ``s(x, by=z)`` with a column of numbers ``z``, ``multiplied`` is the name of ``z``, and ``draws`` are
    slopes of ``z``. ``predictor`` is the parameter whose predictor contains the curve (None: the main predictor). The
    name of this parameter stands before the name of the term.
    """

    name: str
    column: str
    at: np.ndarray
    draws: np.ndarray
    level: str | None = None
    multiplied: str | None = None
    predictor: str | None = None

    @property
    def what(self) -> str:
        """Return in words what the draws are: the linear predictor, or the slope of a column."""
        return linear_predictor(self.predictor) if self.multiplied is None else f"slope of {self.multiplied}"

    @property
    def title(self) -> str:
        return self.name if self.level is None else f"{self.name}, {self.level}"

    def interval(self, probability: float) -> np.ndarray:
        """Return the central interval at every point: an array (points, 2)."""
        tail = 0.5 * (1.0 - probability)
        return np.quantile(self.draws, [tail, 1.0 - tail], axis=0).T


def linear_predictor(of: str | None) -> str:
    """Return in words the predictor to which a curve is added."""
    return "linear predictor" if of is None else f"linear predictor of {of}"


class DrawnSurface(NamedTuple):
    """A surface ``te(x, z)``. The last two dimensions of ``mean`` and ``draws`` are (z, x), the order of pictures."""

    name: str
    columns: tuple[str, str]
    at: tuple[np.ndarray, np.ndarray]
    draws: np.ndarray
    level: str | None = None
    predictor: str | None = None

    @property
    def title(self) -> str:
        return self.name if self.level is None else f"{self.name}, {self.level}"

    @property
    def what(self) -> str:
        return linear_predictor(self.predictor)

    @property
    def mean(self) -> np.ndarray:
        return self.draws.mean(axis=0)

    def told_from_zero(self, probability: float) -> np.ndarray:
        """Return True at points where the central interval with this probability does not contain zero."""
        tail = 0.5 * (1.0 - probability)
        low, high = np.quantile(self.draws, [tail, 1.0 - tail], axis=0)
        return (low > 0) | (high < 0)


def curves_of(tree: Any, draws: int | None = None) -> list[Curve]:
    """Return all curves of a result over the range of the data, in the order of the formula.

    The list is empty if the result has no curves. ``draws`` is the number of draws that are used, evenly spaced over
    the chains (None: at most 1000).
    """
    return [one for one in terms_of_result(tree, draws) if isinstance(one, Curve)]


def terms_of_result(tree: Any, draws: int | None = None) -> list[Curve | DrawnSurface]:
    """Return the curves and surfaces of a result in the order of the formula, then those of further predictors."""
    posterior = tree["posterior"]
    try:
        about = json.loads(posterior.attrs["model"])
        text = about.get("formula")
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError):
        return []
    if text is None:
        return []
    model = FormulaModel.from_json(text)
    return [
        one
        for of, side in ((None, model.side), *model.others.items())
        for term in side.curves
        for one in _of_any(posterior, side.levels, _Asked(term, of), draws)
    ]


class _Asked(NamedTuple):
    """A term, and the parameter whose predictor has it."""

    term: Term
    of: str | None

    @property
    def name(self) -> str:
        """Return the name that the coefficients of this term have in results."""
        return f"{prefix(self.of)}{self.term.name}"


def _of_any(posterior: Any, levels: Any, asked: _Asked, draws: int | None) -> Iterator[Curve | DrawnSurface]:
    own = _drawn(posterior, asked, draws)
    if isinstance(asked.term, Smooth):
        return _of_term(asked, asked.term, levels, own)
    return _of_surface(asked, asked.term, own)


_Drawn = Iterator[tuple[str | None, np.ndarray]]


def _of_surface(asked: _Asked, surface: Surface, drawn_of: _Drawn) -> Iterator[DrawnSurface]:
    x, z = (np.linspace(one.low, one.high, _SIDE) for one in surface.margins)
    columns = surface.at(np.tile(x, _SIDE), np.repeat(z, _SIDE))
    names = tuple(map(label, surface.asked.columns))
    for of_class, coefficients in drawn_of:
        drawn = (coefficients @ columns.T).reshape(-1, _SIDE, _SIDE)
        yield DrawnSurface(asked.name, (names[0], names[1]), (x, z), drawn, of_class, asked.of)


def _of_term(asked: _Asked, smooth: Smooth, levels: Any, drawn_of: _Drawn) -> Iterator[Curve]:
    own = smooth.asked
    at = np.linspace(smooth.low, smooth.high, _POINTS)
    columns = smooth.columns(at)
    by = None if own.by is None else label(own.by)
    for of_class, coefficients in drawn_of:
        for k, level in enumerate(levels[by] if by is not None and smooth.levels else (None,)):
            part = coefficients[:, k * smooth.each : (k + 1) * smooth.each]
            told = ", ".join(str(one) for one in (of_class, level) if one is not None) or None
            multiplied = by if smooth.multiplied else None
            yield Curve(asked.name, label(own.x), at, part @ columns.T, told, multiplied, asked.of)


def _drawn(posterior: Any, asked: _Asked, draws: int | None) -> _Drawn:
    """Classes, None without any, and draws of the coefficients of a term, (draws, columns).

    From the variable whose attributes say that it is that.
    """
    size = asked.term.size
    for values in posterior.data_vars.values():
        known = values.attrs.get(ROLE), values.attrs.get(TERM), values.attrs.get(PREDICTOR)
        if known == (COEFFICIENT, asked.term.name, asked.of) and {"chain", "draw"} <= set(values.dims):
            found = np.asarray(values.transpose("chain", "draw", ...).values, dtype=np.float64)
            found = found.reshape(found.shape[0] * found.shape[1], *found.shape[2:])
            if found.ndim < 2:
                found = found[:, None]
            if found.shape[1] == size and found.ndim < 4:
                wanted = min(len(found), _MOST_DRAWS if draws is None else draws)
                some = found[np.unique(np.linspace(0, len(found) - 1, wanted).round().astype(np.int64))]
                if some.ndim == 2:
                    yield None, some
                else:
                    classes = values[values.dims[-1]].values
                    yield from ((str(one), np.ascontiguousarray(some[..., k])) for k, one in enumerate(classes))
                return
    raise FormulaError(f"the result has no variable with draws of the {size} coefficients of {asked.name}.")
