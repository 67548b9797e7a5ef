"""Passes over the rows of a model with groups: sums per group, and what a Newton step needs (spec 5q)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from .._jit import helper
from ..data.source import Rows
from ..targets.regression import Regression
from .groups import Grouping


@helper
def _add_second(codes, Z, X, first, second, gradient, curvature, cross):
    """``sum f' z``, ``sum f'' z z'`` and ``sum f'' z x'`` of every group."""
    for i in range(codes.size):
        g = codes[i]
        for a in range(Z.shape[1]):
            gradient[g, a] += first[i] * Z[i, a]
            bent = second[i] * Z[i, a]
            for c in range(Z.shape[1]):
                curvature[g, a, c] += bent * Z[i, c]
            for j in range(X.shape[1]):
                cross[g, a, j] += bent * X[i, j]


@helper
def _add_third(codes, Z, X, third, thirds, cross_thirds):
    """``sum f''' z z z`` and ``sum f''' z z x'`` of every group."""
    for i in range(codes.size):
        g = codes[i]
        for a in range(Z.shape[1]):
            for c in range(Z.shape[1]):
                bent = third[i] * Z[i, a] * Z[i, c]
                for e in range(Z.shape[1]):
                    thirds[g, a, c, e] += bent * Z[i, e]
                for j in range(X.shape[1]):
                    cross_thirds[g, a, c, j] += bent * X[i, j]


class Point(NamedTuple):
    """Common parameters, as walked, and the effects of every factor, (G, q) each."""

    common: np.ndarray
    effects: list[np.ndarray]

    def moved(self, step: Point, length: float = 1.0) -> Point:
        effects = [v + length * d for v, d in zip(self.effects, step.effects, strict=True)]
        return Point(self.common + length * step.common, effects)


class OfFactor(NamedTuple):
    """Sums over the rows of every group of a factor; see `tunamh.mixed.layout.FactorNumbers`."""

    gradient: np.ndarray
    curvature: np.ndarray
    cross: np.ndarray


class DataSums(NamedTuple):
    """The data's energy at a point, its gradient and Hessian in the common parameters, and what each factor adds.

    ``convex`` are the same sums of ``max(f'', 0)``, or None where all rows are convex.
    """

    energy: float
    gradient: np.ndarray
    hessian: np.ndarray
    factors: list[OfFactor]
    convex: list[OfFactor] | None


class GroupedRows:
    """The rows of a regression, and the groups that each of them belongs to."""

    def __init__(self, base: Regression, groupings: list[Grouping]):
        self.base, self.groupings, self.p = base, groupings, base.dim

    def of(self, rows: Rows) -> list[tuple[np.ndarray, np.ndarray]]:
        """Codes and columns of effects of a block of rows, factor by factor."""
        which = slice(rows.start, rows.start + len(rows.y))
        return [(one.codes[which], one.Z[which]) for one in self.groupings]

    def predictor(self, rows: Rows, at: Point) -> np.ndarray:
        eta = np.array(rows.X.dot(at.common))
        for (codes, Z), effects in zip(self.of(rows), at.effects, strict=True):
            eta += np.einsum("ij,ij->i", Z, effects[codes])
        return eta

    def map(self, function: Callable[[Rows, np.ndarray, np.ndarray], Any], at: Point) -> Any:
        """``function(rows, eta, weight)`` of every block."""
        return self.base.observations.map(lambda rows: function(rows, self.predictor(rows, at), self.base.weight(rows)))

    def energy(self, at: Point) -> float:
        energies = self.base.terms.energies
        with np.errstate(over="ignore", invalid="ignore"):
            return float(sum(self.map(lambda rows, eta, weight: float(weight @ energies(eta, rows.y)), at)))

    def sums(self, at: Point) -> DataSums:
        """One pass."""
        convex = getattr(self.base.family, "convex", False)

        def terms(rows: Rows, eta: np.ndarray, weight: np.ndarray) -> tuple:
            first, second, _ = self.base.family.derivatives(eta, rows.y)
            first, second = weight * first, weight * second
            energy = float(weight @ self.base.terms.energies(eta, rows.y))
            X = np.ascontiguousarray(rows.X.dense(), dtype=np.float64)
            found = [self._second(rows, X, first, second)]
            if not convex:
                found.append(self._second(rows, X, first, np.maximum(second, 0.0)))
            return energy, X.T @ first, X.T @ (second[:, None] * X), *(a for one in found for f in one for a in f)

        with np.errstate(over="ignore", invalid="ignore"):
            total = list(next(results := iter(self.map(terms, at))))
            for more in results:
                for k, value in enumerate(more):
                    total[k] = total[k] + value
        F = len(self.groupings)
        each = [OfFactor(*total[3 + 3 * k : 6 + 3 * k]) for k in range((len(total) - 3) // 3)]
        return DataSums(float(total[0]), total[1], total[2], each[:F], None if convex else each[F:])

    def _second(self, rows: Rows, X: np.ndarray, first: np.ndarray, second: np.ndarray) -> list[OfFactor]:
        found = []
        for (codes, Z), one in zip(self.of(rows), self.groupings, strict=True):
            G, q = one.groups, one.q
            sums = OfFactor(np.zeros((G, q)), np.zeros((G, q, q)), np.zeros((G, q, self.p)))
            _add_second(codes, Z, X, first, second, *sums)
            found.append(sums)
        return found

    def thirds(self, at: Point) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Per factor: third derivatives, these with the common columns, fourth derivatives (of single effects)."""

        def terms(rows: Rows, eta: np.ndarray, weight: np.ndarray) -> list[np.ndarray]:
            step, found = 1e-3, []
            third = weight * self.base.family.derivatives(eta, rows.y)[2]
            beside = [self.base.family.derivatives(eta + s, rows.y)[2] for s in (step, -step)]
            fourth = weight * (beside[0] - beside[1]) / (2 * step)
            X = np.ascontiguousarray(rows.X.dense(), dtype=np.float64)
            for (codes, Z), one in zip(self.of(rows), self.groupings, strict=True):
                G, q = one.groups, one.q
                sums = np.zeros((G, q, q, q)), np.zeros((G, q, q, self.p))
                _add_third(codes, Z, X, third, *sums)
                found += [*sums, np.bincount(codes, fourth * Z[:, 0] ** 4, minlength=G)]
            return found

        total: list[np.ndarray] = []
        for more in self.map(terms, at):
            total = [a + b for a, b in zip(total, more, strict=True)] if total else list(more)
        return [(total[k], total[k + 1], total[k + 2]) for k in range(0, len(total), 3)]

    def shares(self, at: Point) -> dict[tuple[int, int], Any]:
        """``sum f'' z_f z_k'`` of every two factors ``f < k``: sparse, (G_f q_f, G_k q_k)."""
        pairs = [(f, k) for f in range(len(self.groupings)) for k in range(f + 1, len(self.groupings))]

        def terms(rows: Rows, eta: np.ndarray, weight: np.ndarray) -> list[Any]:
            second = weight * self.base.family.derivatives(eta, rows.y)[1]
            of = self.of(rows)
            return [self._share(of, f, k, second) for f, k in pairs]

        total: list[Any] = []
        for more in self.map(terms, at) if pairs else ():
            total = [a + b for a, b in zip(total, more, strict=True)] if total else list(more)
        return dict(zip(pairs, total, strict=True))

    def _share(self, of: list[tuple[np.ndarray, np.ndarray]], f: int, k: int, second: np.ndarray) -> Any:
        (codes, Z), (others, Y) = of[f], of[k]
        one, other = self.groupings[f], self.groupings[k]
        q, r = one.q, other.q
        rows = (codes[:, None, None] * q + np.arange(q)[None, :, None]) + np.zeros((1, 1, r), np.int64)
        columns = (others[:, None, None] * r + np.arange(r)[None, None, :]) + np.zeros((1, q, 1), np.int64)
        values = second[:, None, None] * Z[:, :, None] * Y[:, None, :]
        shape = one.groups * q, other.groups * r
        return scipy.sparse.coo_matrix((values.ravel(), (rows.ravel(), columns.ravel())), shape).tocsr()
