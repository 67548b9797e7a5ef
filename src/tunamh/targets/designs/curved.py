"""Designs with curves: columns that are kept whole or gathered, and of every curve where the row lies on it.

Sums over blocks of rows are taken in other coordinates: the parameters and, behind them, the coefficients of all
splines, ``beta = T theta`` (`with_splines`). There a row has few numbers that are not zero, as in an indexed design.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..._linear import Frame
from ...compiled import REASSOCIATE, Dot, Dots, Sizes, part
from ..layouts import regression_of
from .base import Design, DesignParts, lengths_of_rows
from .curves import (
    Curve,
    Curves,
    Records,
    add_curves,
    add_curves_at_both,
    four_of_rows,
    numbers_of,
    records,
    sizes_of_curves,
    with_splines,
    without_splines,
)
from .dense import DenseDesign
from .indexed import NOWHERE, IndexedBlock, IndexedDesign, dot_indexed, dots_indexed, sizes_indexed


@part(Dots, fastmath=REASSOCIATE)
def _dots(theta, prop, rows, index, n, hyper, eta, eta_prop):
    at = regression_of(hyper)
    dots_indexed(theta, prop, rows, index, n, at, eta, eta_prop)
    add_curves_at_both((theta, prop), Records(at.table, 0, at.curves), rows, index, n, (eta, eta_prop))


@part(Dot, fastmath=REASSOCIATE)
def _dot(theta, rows, index, n, hyper, eta):
    at = regression_of(hyper)
    dot_indexed(theta, rows, index, n, at, eta)
    add_curves(theta, Records(at.table, 0, at.curves), rows, index, n, eta)


@part(Sizes)
def _sizes(theta, rows, i, hyper):
    at = regression_of(hyper)
    terms, squares = sizes_indexed(theta, rows, i, at)
    of_curves = sizes_of_curves(theta, Records(at.table, 0, at.curves), rows, i)
    return terms + of_curves[0], np.sqrt(squares + of_curves[1])


@dataclass(frozen=True, eq=False)
class CurvedBlock(IndexedBlock):
    """Rows of a design with curves. ``numbers`` are the numbers of each row for all curves, side by side."""

    curves: Curves = ()
    numbers: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))

    @cached_property
    def of_splines(self) -> IndexedBlock:
        """Return the same rows with splines as columns, in the coordinates that this file describes."""
        positions, values = four_of_rows(self.curves, self.numbers, self.dim)
        if self.positions.shape[1]:
            own = self.values if self.values.size else np.ones(self.positions.shape)
            positions, values = np.hstack([self.positions, positions]), np.hstack([own, values])
        return IndexedBlock(self.whole, positions, values, self.dim + sum(one.splines for one in self.curves))

    def some(self, which: np.ndarray) -> CurvedBlock:
        own = self.whole[which], self.positions[which], self.values[which]
        return CurvedBlock(*own, self.dim, self.curves, self.numbers[which])

    def pack(self, rows: np.ndarray) -> None:
        super().pack(rows)
        begin = layout_of(self.whole.shape[1], self.positions.shape[1], self.values.size > 0, self.dim).numbers.width
        end = begin + self.numbers.shape[1]
        rows[:, begin:end] = self.numbers

    def matmat(self, matrix: np.ndarray) -> np.ndarray:
        return self.of_splines.matmat(with_splines(self.curves, matrix))

    def abs_matvec(self, vector: np.ndarray) -> np.ndarray:
        return np.abs(self.dense()) @ np.abs(vector)

    def rmatvec(self, values: np.ndarray) -> np.ndarray:
        found = self.of_splines.rmatvec(values)[:, None]
        return without_splines(self.curves, found, self.dim)[:, 0]

    def sandwich(self, weight: np.ndarray, frame: Frame | None = None) -> np.ndarray:
        if frame is not None:
            return super().sandwich(weight, frame)
        half = without_splines(self.curves, self.of_splines.sandwich(weight), self.dim)
        found = without_splines(self.curves, half.T, self.dim)
        return 0.5 * (found + found.T)

    def column_squares(self, kept: np.ndarray | None = None) -> np.ndarray:
        X = self.dense() if kept is None else self.dense()[kept]
        return np.einsum("ij,ij->j", X, X)

    def row_norms(self) -> np.ndarray:
        return lengths_of_rows(self.dense())

    def row_max(self) -> np.ndarray:
        return np.abs(self.dense()).max(axis=1)

    @property
    def without_levels(self) -> np.ndarray:
        last = self.whole.shape[1] + sum(one.size for one in self.curves if one.levels == 1)
        return self.dense()[:, :last]

    def unfolded(self, *, plain: bool = True) -> IndexedBlock:
        """Return the same rows with the columns of curves, after the columns that are stored as positions.

        Without ``plain``, only curves by levels and curves that a column multiplies are included. In a formula, the
        columns of other curves have the mean zero.
        """
        positions = [self.positions]
        values = [self.values if self.values.size else np.ones(self.positions.shape)]
        place = 0
        for one in self.curves:
            begin, place = place, place + one.numbers
            own = self.numbers[:, begin:place]
            if not plain and one.numbers == 1:
                continue
            level = own[:, 1:2].astype(np.int32) if one.levels > 1 else np.zeros((len(own), 1), np.int32)
            alone = np.ascontiguousarray(np.delete(own, 1, axis=1) if one.levels > 1 else own)
            values.append(columns_of_curve(one._replace(start=0, levels=1), alone))
            positions.append(one.start + level * one.each + np.arange(one.each, dtype=np.int32))
        return IndexedBlock(self.whole, np.hstack(positions), np.hstack(values), self.dim)


def columns_of_curve(curve: Curve, numbers: np.ndarray) -> np.ndarray:
    """Return all columns of one curve: an array (n, each)."""
    return _alone(curve, numbers).dense()


def products_of_splines(curve: Curve, numbers: np.ndarray) -> np.ndarray:
    """Return the sum over the rows of the products of all splines of one curve: an array (splines, splines)."""
    return _alone(curve, numbers).of_splines.sandwich(np.ones(len(numbers)))[curve.size :, curve.size :]


def _alone(curve: Curve, numbers: np.ndarray) -> CurvedBlock:
    nothing = np.empty((len(numbers), 0))
    return CurvedBlock(nothing, nothing.astype(np.int32), nothing, curve.size, (curve,), numbers)


class CurvedDesign(IndexedDesign):
    """A design with curves. ``numbers_on`` (N, m) are the numbers that the rows store for the curves."""

    parts = DesignParts(_dots, _dot, _sizes)

    def __init__(
        self,
        whole: np.ndarray,
        positions: np.ndarray,
        values: np.ndarray | None,
        dim: int,
        curves: Curves,
        numbers_on: np.ndarray,
    ):
        super().__init__(whole, positions, values, dim)
        self.curves, self.numbers_on = curves, numbers_on
        self.table = records(curves, self.numbers.width)
        self.numbers = self.numbers._replace(width=self.numbers.width + numbers_of(curves), curves=curves)

    def _values(self, rows: Any) -> np.ndarray | None:
        return self.values[rows] if self.numbers.valued else None

    def block(self, rows: Any) -> CurvedBlock:
        of = super().block(rows)
        on = np.ascontiguousarray(self.numbers_on[rows])
        return CurvedBlock(of.whole, of.positions, of.values, self.dim, self.curves, on)

    def take(self, index: np.ndarray) -> CurvedDesign:
        of = self.whole[index], self.positions[index], self._values(index)
        return CurvedDesign(*of, self.dim, self.curves, self.numbers_on[index])

    def on_columns(self, which: np.ndarray) -> Design:
        curves: list[Curve] = []
        kept: list[int] = []
        place = 0
        for one in self.curves:
            own = one.on_columns(which, int(np.count_nonzero(which[: one.start])))
            if own is None:
                all_of = self.block(slice(None)).unfolded()
                return IndexedDesign(all_of.whole, all_of.positions, all_of.values, self.dim).on_columns(which)
            if own.each:
                curves.append(own)
                kept += range(place, place + one.numbers)
            place += one.numbers
        of: Any = IndexedDesign(self.whole, self.positions, self._values(slice(None)), self.dim).on_columns(which)
        if not curves:
            return of if of.positions.shape[1] else DenseDesign(of.whole)
        values = of.values if of.numbers.valued else None
        return CurvedDesign(of.whole, of.positions, values, of.dim, tuple(curves), self.numbers_on[:, np.array(kept)])

    def arrays(self, what: str = "X") -> dict[str, np.ndarray]:
        return {**super().arrays(what), f"the curves of {what}": self.numbers_on}


def layout_of(columns: int, positions: int, valued: bool, dim: int, curves: Curves = ()) -> Design:
    """Return a design without rows, with the given numbers of columns and positions."""
    whole = np.empty((0, columns))
    if not positions and not curves:
        return DenseDesign(whole)
    at, values = np.full((0, positions), NOWHERE, np.int32), np.empty((0, positions)) if valued else None
    if not curves:
        return IndexedDesign(whole, at, values, dim)
    return CurvedDesign(whole, at, values, dim, curves, np.empty((0, numbers_of(curves))))
