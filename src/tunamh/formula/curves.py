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

_POINTS, _MOST_DRAWS = 200, 1000
_SIDE = 40  # points of a surface along each of its columns


class Curve(NamedTuple):
    """One curve: ``name`` is its term, ``level`` its class or level; ``draws`` is (draws, points).

    ``multiplied`` is the column that multiplies it, of ``s(x, by=z)``: then ``draws`` are the slopes of that column.
    """

    name: str
    column: str
    at: np.ndarray
    draws: np.ndarray
    level: str | None = None
    multiplied: str | None = None

    @property
    def title(self) -> str:
        return self.name if self.level is None else f"{self.name}, {self.level}"

    def interval(self, probability: float) -> np.ndarray:
        """The central interval at every point: (points, 2)."""
        tail = 0.5 * (1.0 - probability)
        return np.quantile(self.draws, [tail, 1.0 - tail], axis=0).T


class DrawnSurface(NamedTuple):
    """A surface ``te(x, z)``: ``mean`` and ``draws`` have the last two dimensions (z, x), as pictures have."""

    name: str
    columns: tuple[str, str]
    at: tuple[np.ndarray, np.ndarray]
    draws: np.ndarray
    level: str | None = None

    @property
    def title(self) -> str:
        return self.name if self.level is None else f"{self.name}, {self.level}"

    @property
    def mean(self) -> np.ndarray:
        return self.draws.mean(axis=0)

    def told_from_zero(self, probability: float) -> np.ndarray:
        """Where the central interval of so much probability does not hold zero."""
        tail = 0.5 * (1.0 - probability)
        low, high = np.quantile(self.draws, [tail, 1.0 - tail], axis=0)
        return (low > 0) | (high < 0)


def curves_of(tree: Any, draws: int | None = None) -> list[Curve]:
    """All curves of a result in the order of the formula, over the range of the data; none of other results.

    ``draws`` of all draws are used, evenly spaced over the chains; None: at most 1000.
    """
    return [one for one in terms_of_result(tree, draws) if isinstance(one, Curve)]


def terms_of_result(tree: Any, draws: int | None = None) -> list[Curve | DrawnSurface]:
    """Curves and surfaces in the order of the formula."""
    posterior = tree["posterior"]
    try:
        about = json.loads(posterior.attrs["model"])
        text = about.get("formula")
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError):
        return []
    if text is None:
        return []
    side = FormulaModel.from_json(text).side
    return [
        one
        for term in side.curves
        for one in (
            _of_term(posterior, side.levels, term, draws)
            if isinstance(term, Smooth)
            else _of_surface(posterior, term, draws)
        )
    ]


def _of_surface(posterior: Any, surface: Surface, draws: int | None) -> Iterator[DrawnSurface]:
    x, z = (np.linspace(one.low, one.high, _SIDE) for one in surface.margins)
    columns = surface.at(np.tile(x, _SIDE), np.repeat(z, _SIDE))
    names = tuple(map(label, surface.asked.columns))
    for of_class, coefficients in _drawn(posterior, surface, draws):
        drawn = (coefficients @ columns.T).reshape(-1, _SIDE, _SIDE)
        yield DrawnSurface(surface.name, (names[0], names[1]), (x, z), drawn, of_class)


def _of_term(posterior: Any, levels: Any, smooth: Smooth, draws: int | None) -> Iterator[Curve]:
    own = smooth.asked
    at = np.linspace(smooth.low, smooth.high, _POINTS)
    columns = smooth.columns(at)
    by = None if own.by is None else label(own.by)
    for of_class, coefficients in _drawn(posterior, smooth, draws):
        for k, level in enumerate(levels[by] if by is not None and smooth.levels else (None,)):
            part = coefficients[:, k * smooth.each : (k + 1) * smooth.each]
            told = ", ".join(str(one) for one in (of_class, level) if one is not None) or None
            yield Curve(smooth.name, label(own.x), at, part @ columns.T, told, by if smooth.multiplied else None)


def _drawn(posterior: Any, smooth: Term, draws: int | None) -> Iterator[tuple[str | None, np.ndarray]]:
    """Classes, None without any, and draws of the coefficients of a term, (draws, columns).

    From the variable whose attributes say that it is that.
    """
    for values in posterior.data_vars.values():
        known = values.attrs.get(ROLE), values.attrs.get(TERM), PREDICTOR in values.attrs
        if known == (COEFFICIENT, smooth.name, False) and {"chain", "draw"} <= set(values.dims):
            found = np.asarray(values.transpose("chain", "draw", ...).values, dtype=np.float64)
            found = found.reshape(found.shape[0] * found.shape[1], *found.shape[2:])
            if found.ndim < 2:
                found = found[:, None]
            if found.shape[1] == smooth.size and found.ndim < 4:
                wanted = min(len(found), _MOST_DRAWS if draws is None else draws)
                some = found[np.unique(np.linspace(0, len(found) - 1, wanted).round().astype(np.int64))]
                if some.ndim == 2:
                    yield None, some
                else:
                    classes = values[values.dims[-1]].values
                    yield from ((str(one), np.ascontiguousarray(some[..., k])) for k, one in enumerate(classes))
                return
    raise FormulaError(f"the result has no variable with draws of the {smooth.size} coefficients of {smooth.name}.")
