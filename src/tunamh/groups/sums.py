"""Passes over the rows of a model with groups: sums per group, and what a Newton step needs (spec 5q)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are asked for, not at import

from ..compiled import helper
from ..process.scratch import stretches
from ..rows.packing import weight_of
from ..rows.source import Rows
from ..targets.regression import Regression
from .grouping import Grouping
from .predictors import Predictors, Sums


@helper
def _add_second(codes, Z, first, second, mixed, gradient, curvature, cross):
    """``sum f' z``, ``sum f'' z z'`` and ``sum f'' z x'`` of every group; ``mixed`` is ``f'' x``."""
    for i in range(codes.size):
        g = codes[i]
        for a in range(Z.shape[1]):
            gradient[g, a] += first[i] * Z[i, a]
            bent = second[i] * Z[i, a]
            for c in range(Z.shape[1]):
                curvature[g, a, c] += bent * Z[i, c]
            for j in range(mixed.shape[1]):
                cross[g, a, j] += Z[i, a] * mixed[i, j]


@helper
def _add_third(codes, Z, third, mixed, thirds, cross_thirds):
    """``sum f''' z z z`` and ``sum f''' z z x'`` of every group; ``mixed`` is ``f''' x``."""
    for i in range(codes.size):
        g = codes[i]
        for a in range(Z.shape[1]):
            for c in range(Z.shape[1]):
                both = Z[i, a] * Z[i, c]
                for e in range(Z.shape[1]):
                    thirds[g, a, c, e] += third[i] * both * Z[i, e]
                for j in range(mixed.shape[1]):
                    cross_thirds[g, a, c, j] += both * mixed[i, j]


class Point(NamedTuple):
    """Common parameters in the coordinates of a chain, and the effects of every factor, arrays (G, q)."""

    common: np.ndarray
    effects: list[np.ndarray]

    def moved(self, step: Point, length: float = 1.0) -> Point:
        effects = [v + length * d for v, d in zip(self.effects, step.effects, strict=True)]
        return Point(self.common + length * step.common, effects)


class OfFactor(NamedTuple):
    """Sums over the rows of every group of a factor; see `tunamh.groups.layout`."""

    gradient: np.ndarray
    curvature: np.ndarray
    cross: np.ndarray


class DataSums(NamedTuple):
    """The energy of the data at a point, its gradient and Hessian in the common parameters, and the sums of each
    factor.

    ``convex`` are the Hessian and the factors' sums of the positive parts of all rows' curvatures. Together they are
    the Hessian of a convex function of common parameters and effects. It is None if all rows are convex.
    """

    energy: float
    gradient: np.ndarray
    hessian: np.ndarray
    factors: list[OfFactor]
    convex: tuple[np.ndarray, list[OfFactor]] | None


class GroupedRows:
    """The rows of a regression with the groups of each row."""

    def __init__(self, base: Regression, groupings: list[Grouping]):
        self.base, self.groupings, self.p = base, groupings, base.dim
        self.seen = Predictors(base, groupings)

    @cached_property
    def widths(self) -> list[np.ndarray]:
        """Return for every factor the largest absolute value of each column of effects in each group, arrays (G, q)."""
        found = []
        for one in self.groupings:
            width = np.zeros((one.groups, one.q))
            for which in stretches(len(one.codes)):
                np.maximum.at(width, one.codes[which], np.abs(one.Z[which]))
            found.append(width)
        return found

    def of(self, rows: Rows) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the codes and the columns of effects of a block of rows, factor by factor."""
        which = slice(rows.start, rows.start + len(rows.y))
        return [(one.codes[which], one.Z[which]) for one in self.groupings]

    def predictor(self, rows: Rows, at: Point) -> np.ndarray:
        """Return all K predictors of a block of rows, an array (K, n)."""
        eta = self.seen.of(rows, at.common)
        for (codes, Z), effects, s in zip(self.of(rows), at.effects, self.seen.directions, strict=True):
            eta[: len(s)] += s[:, None] * np.einsum("ij,ij->i", Z, effects[codes])
        return eta

    def map(self, function: Callable[[Rows, np.ndarray, np.ndarray], Any], at: Point) -> Any:
        """Yield ``function(rows, eta, weight)`` for every block of rows."""
        return self.base.observations.map(lambda rows: function(rows, self.predictor(rows, at), self._weight(rows)))

    def _weight(self, rows: Rows) -> np.ndarray:
        return weight_of(rows, self.base.temper)

    def energy(self, at: Point) -> float:
        energies = self.seen.energies
        with np.errstate(over="ignore", invalid="ignore"):
            return float(sum(self.map(lambda rows, eta, weight: float(weight @ energies(eta, rows.y)), at)))

    def sums(self, at: Point) -> DataSums:
        """Compute the sums at a point in one pass."""
        seen, F = self.seen, len(self.groupings)

        def terms(rows: Rows, eta: np.ndarray, weight: np.ndarray) -> list[Any]:
            sums = seen.sums(rows, eta, weight)
            found = [sums.energy, sums.gradient, sums.hessian, *self._second(rows, sums)]
            if not seen.convex:
                bent = seen.sums(rows, eta, weight, convex=True)
                found += [bent.hessian, *self._second(rows, bent)]
            return found

        with np.errstate(over="ignore", invalid="ignore"):
            total = list(next(results := iter(self.map(terms, at))))
            for more in results:
                for k, value in enumerate(more):
                    total[k] = total[k] + value
        energy, gradient, hessian, *rest = total
        own, beside = rest[: 3 * F], rest[3 * F :]
        factors, convex = (
            [OfFactor(*each[3 * f : 3 * f + 3]) for f in range(len(each) // 3)] for each in (own, beside[1:])
        )
        if beside and seen.described:
            convex = [their_own(of, bent) for of, bent in zip(factors, convex, strict=True)]
        positive = (beside[0], convex) if beside else None
        return DataSums(float(energy), gradient, hessian, factors, positive)

    def slopes(self, at: Point) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the gradients of `sums` alone, in the common parameters and in every factor's effects (G, q)."""

        def terms(rows: Rows, eta: np.ndarray, weight: np.ndarray) -> list[np.ndarray]:
            common, by_factor = self.seen.slopes(rows, eta, weight)
            found = [common]
            for (codes, Z), one, first in zip(self.of(rows), self.groupings, by_factor, strict=True):
                found.append(np.stack([np.bincount(codes, first * z, minlength=one.groups) for z in Z.T], axis=1))
            return found

        total: list[np.ndarray] = []
        with np.errstate(over="ignore", invalid="ignore"):
            for more in self.map(terms, at):
                total = [a + b for a, b in zip(total, more, strict=True)] if total else more
        return total[0], total[1:]

    def _second(self, rows: Rows, of: Sums) -> list[np.ndarray]:
        """Gradient, curvature and cross derivatives of every factor, one behind the other."""
        found: list[np.ndarray] = []
        for (codes, Z), one, along in zip(self.of(rows), self.groupings, of.along, strict=True):
            G, q = one.groups, one.q
            sums = OfFactor(np.zeros((G, q)), np.zeros((G, q, q)), np.zeros((G, q, self.p)))
            _add_second(codes, Z, along.first, along.second, along.mixed, *sums)
            found += sums
        return found

    def thirds(self, at: Point) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Return for each factor third derivatives, those with the common columns, and fourth derivatives (for single
        effects).
        """

        def terms(rows: Rows, eta: np.ndarray, weight: np.ndarray) -> list[np.ndarray]:
            found: list[np.ndarray] = []
            for f, ((codes, Z), one) in enumerate(zip(self.of(rows), self.groupings, strict=True)):
                third, mixed, fourth = self.seen.thirds(rows, eta, weight, f)
                G, q = one.groups, one.q
                sums = np.zeros((G, q, q, q)), np.zeros((G, q, q, self.p))
                _add_third(codes, Z, third, mixed, *sums)
                found += [*sums, np.bincount(codes, fourth * Z[:, 0] ** 4, minlength=G)]
            return found

        total: list[np.ndarray] = []
        for more in self.map(terms, at):
            total = [a + b for a, b in zip(total, more, strict=True)] if total else list(more)
        return [(total[k], total[k + 1], total[k + 2]) for k in range(0, len(total), 3)]

    def ratios(self, f: int, a: int) -> np.ndarray:
        """Return ``x_j / z_a`` in the first row of every group with nonzero ``z_a``, an array (p, G); 0 for other
        groups.

        ``x_j`` are the columns of the predictor that contains the factor's effects.
        """
        one, predictor = self.groupings[f], int(np.argmax(self.seen.directions[f]))
        row, found = _first_rows(one, a), np.zeros((self.p, one.groups))

        def fill(block: Rows) -> None:
            mine = np.flatnonzero((row >= block.start) & (row < block.start + len(block.y)))
            columns = self.seen.columns(block)[predictor]
            found[:, mine] = (columns[row[mine] - block.start] / one.Z[row[mine], a][:, None]).T

        for _ in self.base.observations.map(fill):
            pass
        if one.related is not None:  # levels without rows move with the others: no row sees them
            there = row >= 0
            alike = (found[:, there] == found[:, there][:, :1]).all(axis=1)
            found[np.ix_(alike, ~there)] = found[:, there][alike, :1]
        return found

    def are_multiples(self, f: int, a: int, weights: np.ndarray) -> np.ndarray:
        """Return a mask of the common columns that equal ``w_g z_a`` in every row.

        These columns must also be zero in predictors that do not contain the effects.
        """
        one, directions = self.groupings[f], self.seen.directions[f]

        def check(block: Rows) -> np.ndarray:
            which = slice(block.start, block.start + len(block.y))
            expected = weights[:, one.codes[which]].T * one.Z[which, a][:, None]
            seen = self.seen.columns(block)
            told = [(x == s * expected).all(axis=0) for x, s in zip(seen, directions, strict=True)]
            return np.logical_and.reduce(told)

        return np.logical_and.reduce(list(self.base.observations.map(check)))

    def shares(self, at: Point) -> dict[tuple[int, int], Any]:
        """Return ``sum s_f'f''s_k z_f z_k'`` for every two factors ``f < k``: sparse matrices (G_f q_f, G_k q_k)."""
        pairs = [(f, k) for f in range(len(self.groupings)) for k in range(f + 1, len(self.groupings))]

        def terms(rows: Rows, eta: np.ndarray, weight: np.ndarray) -> list[Any]:
            of = self.of(rows)
            return [self._share(of, f, k, weight * self.seen.second(eta, rows.y, f, k)) for f, k in pairs]

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


def _first_rows(one: Grouping, a: int) -> np.ndarray:
    """Of every group, the first row that has ``z_a``; -1 where none has. Of rows in files no more is held at once."""
    row = np.full(one.groups, -1)
    for which in reversed(list(stretches(len(one.codes)))):
        last_first = which.start + np.flatnonzero(one.Z[which, a])[::-1]
        row[one.codes[last_first]] = last_first  # of several the last one stays, which is the first row
    return row


_LEAST_OF_CONVEX = 0.5


def their_own(of: OfFactor, convex: OfFactor) -> OfFactor:
    """Return the groups' own curvatures if these are at least half of those of their convex rows.

    In some families many rows are curved downwards although their sum is not. With a curvature that is a little too
    large, effects move too little when common parameters move. With thousands of rows in a group, an error of a few
    percent is many units of energy.
    """
    finite = np.isfinite(of.curvature).all(axis=(1, 2)) & np.isfinite(convex.curvature).all(axis=(1, 2))
    spare = np.where(finite[:, None, None], of.curvature - _LEAST_OF_CONVEX * convex.curvature, 0.0)
    enough = finite & (np.linalg.eigvalsh(spare)[:, 0] >= 0.0)
    return convex._replace(curvature=np.where(enough[:, None, None], of.curvature, convex.curvature))
