"""Surfaces of a formula, ``te(x, z)``: products of curves of both columns, with a scale of the wiggles along each.

Let ``phi_i`` be curves of x that are orthonormal over the rows: a constant, a line, and wiggles with the penalties
``s_i`` (`.demmler_reinsch`; 0 of the first two); ``psi_j`` those of z with ``t_j``. A surface is a sum of ``c_ij
phi_i(x) psi_j(z)``. Its penalty along x, averaged over z as if x and z were independent, is ``sum s_i c_ij^2``, and
``sum t_j c_ij^2`` along z. So the tensor product penalty (Wood 2006) is diagonal,

    minus twice the log prior  =  sum_ij c_ij^2 (s_i / sigma_x^2 + t_j / sigma_z^2) + constants,

and its determinant a product. Penalties are in units in which the wiggles of x alone have the variance ``sigma_x^2``,
averaged over the rows, as those of ``s(x)`` do. The lines of both and their product have no penalty. All columns have
the mean 0 over the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .demmler_reinsch import demmler_reinsch
from .errors import FormulaError
from .evaluation import Values
from .gaps import left_out, warn_between
from .smooths import Asked, asked, warn_beyond
from .splines import SPLINES, raw_columns
from .syntax import Call, label


class Margin(NamedTuple):
    """The curves of one column of a surface. ``T`` has a column for each curve.

    ``penalty`` has the penalty of each curve; it is 0 for the constant and the line.
    """

    low: float
    high: float
    T: np.ndarray
    penalty: np.ndarray

    def raw(self, x: np.ndarray, k: int) -> np.ndarray:
        return raw_columns(SPLINES, x, self.low, self.high, k)

    def left_out(self, x: np.ndarray, k: int) -> np.ndarray | None:
        """Return the part of a curve's standard deviation that is missing at ``x``, in units of its scale.

        The result is None if nothing is missing.
        """
        functions = left_out(self.T[:, 2:] / np.sqrt(self.penalty[2:]), self.low, self.high)
        if not functions.shape[1]:
            return None
        return np.asarray(np.linalg.norm(self.raw(np.clip(x, self.low, self.high), k) @ functions, axis=1))


@dataclass(frozen=True, eq=False)
class Surface:
    """A surface with what was learned from the data: the curves of both columns, and the means of their products."""

    node: Call
    margins: tuple[Margin, Margin]
    means: np.ndarray | None = None

    levels = 0
    multiplied = False
    fixed = 3

    @property
    def asked(self) -> Asked:
        return asked(self.node)

    @property
    def name(self) -> str:
        return self.asked.name

    @property
    def products(self) -> np.ndarray:
        """Return an array (columns, 2): the numbers of the curves of x and of z that are multiplied.

        Lines come first.
        """
        counts = [len(one.penalty) for one in self.margins]
        every = [(i, j) for i in range(counts[0]) for j in range(counts[1])]
        lines = [(1, 0), (0, 1), (1, 1)]
        return np.array([*lines, *(one for one in every if one != (0, 0) and one not in lines)])

    @property
    def each(self) -> int:
        return len(self.products)

    @property
    def size(self) -> int:
        return self.each

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the labels of the columns.

        They are ``x``, ``z`` and ``x:z`` for lines, and, for example, ``2,0`` for the first wiggly curve of x alone.
        """
        x, z = map(label, self.asked.columns)
        return (x, z, f"{x}:{z}", *(f"{i},{j}" for i, j in self.products[3:].tolist()))

    @property
    def _penalties(self) -> np.ndarray:
        """Of all columns, along x and along z."""
        return np.column_stack([one.penalty[at] for one, at in zip(self.margins, self.products.T, strict=True)])

    @property
    def shares(self) -> np.ndarray:
        """Return an array (columns, scales): how the precision of a coefficient depends on the two scales.

        The precision is a sum over both scales. The rows of coefficients with a penalty add up to 1.
        """
        own = self._penalties
        total = own.sum(axis=1, keepdims=True)
        return np.divide(own, total, out=np.zeros_like(own), where=total > 0)

    def scale_labels(self, levels: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
        return tuple(map(label, self.asked.columns))

    def at(self, x: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return the columns of the surface at points: an array (n, each)."""
        k, (i, j), total = self.asked.raw, self.products.T, self._penalties.sum(axis=1)
        first, second = (one.raw(of, k) @ one.T for one, of in zip(self.margins, (x, z), strict=True))
        assert self.means is not None, "a second look at the rows finds these"
        return (first[:, i] * second[:, j] - self.means[i, j]) / np.sqrt(np.where(total > 0, total, 1.0))

    def of_rows(self, values: Values) -> np.ndarray:
        """Return the columns of the surface for rows. Warn if rows lie outside the range of the data."""
        both = [values.numbers(one) for one in self.asked.columns]
        for node, of, margin in zip(self.asked.columns, both, self.margins, strict=True):
            warn_beyond(node, of, margin.low, margin.high, "the surface continues in straight lines")
            deviations = margin.left_out(of, self.asked.raw)
            if deviations is not None:
                warn_between(self.name, node, of, deviations)
        return self.at(*both)

    def sums(self, values: Values) -> tuple[np.ndarray, ...]:
        """Return sums over some rows from which the surface is learned."""
        k, nodes = self.asked.raw, self.asked.columns
        X, Z = (one.raw(values.numbers(of), k) for one, of in zip(self.margins, nodes, strict=True))
        return X.T @ X, Z.T @ Z, X.T @ Z, np.array(float(len(X)))

    def finished(self, sums: tuple[np.ndarray, ...], levels: int) -> Surface:
        """Return the surface with its curves and means, computed from the `sums` over all rows."""
        *grams, across, n = sums
        pairs = zip(self.margins, grams, self.asked.columns, strict=True)
        x, z = (self._learned(one, gram / n, column) for one, gram, column in pairs)
        return replace(self, margins=(x, z), means=x.T.T @ (across / n) @ z.T)

    def _learned(self, margin: Margin, G: np.ndarray, column: Any) -> Margin:
        found = demmler_reinsch(self.node, column, G, cyclic=False)
        assert found.line is not None
        T = np.column_stack([np.ones(len(G)), found.line, found.vectors / np.sqrt(found.mu)])
        T *= np.where((np.arange(T.shape[1]) > 0) & (T[-1] < T[0]), -1.0, 1.0)
        penalty = np.concatenate([[0.0, 0.0], (1 - found.mu) / found.mu * found.norm**2])
        return margin._replace(T=T, penalty=penalty)

    def to_json(self) -> dict[str, Any]:
        assert self.means is not None
        margins = [
            {"low": one.low, "high": one.high, "T": one.T.tolist(), "penalty": one.penalty.tolist()}
            for one in self.margins
        ]
        return {"term": str(self.node), "margins": margins, "means": self.means.tolist()}

    @classmethod
    def from_json(cls, found: Mapping[str, Any], node: Call) -> Surface:
        x, z = (
            Margin(float(one["low"]), float(one["high"]), np.array(one["T"], float), np.array(one["penalty"], float))
            for one in found["margins"]
        )
        own = cls(node, (x, z), np.array(found["means"], dtype=np.float64))
        fits = own.means is not None and own.means.shape == (len(x.penalty), len(z.penalty))
        for one in (x, z):
            fits &= one.T.shape == (own.asked.raw, len(one.penalty)) and len(one.penalty) > 2
            fits &= bool(np.isfinite(one.T).all() and (one.penalty >= 0).all() and one.low < one.high)
        if not fits or not np.isfinite(own.means).all():  # type: ignore[arg-type]
            raise FormulaError(f"the stored columns of {own.name} do not fit its term")
        return own


def begun_surface(node: Call, ranges: list[tuple[float, float]]) -> Surface:
    """Return a surface that knows only the ranges of its columns."""
    for column, (low, high) in zip(asked(node).columns, ranges, strict=True):
        if not low < high:
            raise FormulaError(f"{node}: {label(column)} is {low:g} in every row: write s() of the other column.")
    empty = np.empty(0)
    x, z = (Margin(low, high, empty, empty) for low, high in ranges)
    return Surface(node, (x, z))
