"""Curves of a formula's result, draw by draw, on a grid of their column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..formula.smooths import Smooth
from ..formula.syntax import label
from ..results.layout import COEFFICIENT
from .fitted import Fitted

_POINTS = 200


class Curve(NamedTuple):
    """One curve: ``name`` is its term, ``level`` the level that it belongs to; ``draws`` is (draws, points).

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


def curves_of(tree: Any, draws: int | None = None) -> list[Curve]:
    """All curves of a result in the order of the formula, over the range of the data; none of other results."""
    fitted = Fitted.open(tree, draws)
    if fitted.formula is None:
        return []
    side = fitted.formula.side
    return [curve for smooth in side.curves for curve in _of_term(fitted, side.levels, smooth)]


def _of_term(fitted: Fitted, levels: Any, smooth: Smooth) -> Iterator[Curve]:
    own = smooth.asked
    at = np.linspace(smooth.low, smooth.high, _POINTS)
    columns = smooth.columns(at)
    coefficients = fitted.drawn(COEFFICIENT, smooth.name)
    by = None if own.by is None else label(own.by)
    for k, level in enumerate(levels[by] if by is not None and smooth.levels else (None,)):
        part = coefficients[:, k * smooth.each : (k + 1) * smooth.each]
        yield Curve(smooth.name, label(own.x), at, part @ columns.T, level, by if smooth.multiplied else None)
