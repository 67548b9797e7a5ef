"""Coefficients and effects given the unknown scales: a normal law about a point (docs/spec-evidence.md 4).

The rows' energy is taken as a quadratic about a point, and the prior given the scales ``h`` is one. The effects of one
factor (``inside``) are integrated out of it in closed form; ``x`` are the effects of all other factors, and behind them
the common parameters:

    S(h) = H_xx + D(h) - sum_g C_g'P_g^-1 C_g,        P_g = H_g + Q(h),

``x | h ~ N(m(h), S(h)^-1)`` with the mean by one Newton step. Of Gaussian rows that is the law itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import block_diag, solve_triangular

from ..errors import NotApplicable
from ..groups.quadratic import inverses, positive, precision_at
from ..groups.sums import DataSums, GroupedRows, OfFactor, Point, their_own
from .rows_alone import RowsAlone
from .unknown_scales import ScalesOfPrior

_MOST_OUTSIDE, _MOST_NUMBERS = 2000, 50_000_000


def inside_of(groupings: list[Any]) -> int:
    """Return the number of the factor whose effects are integrated out, or -1 if there is none.

    It is the factor with the most effects among those with independent levels.
    """
    sizes = [one.groups * one.q if one.related is None else 0 for one in groupings]
    return int(np.argmax(sizes)) if sizes and max(sizes) > 0 else -1


def refuse_too_many(groupings: list[Any], p: int) -> None:
    """Raise an error if the matrix of the parameters that are not integrated out is too large."""
    inside = inside_of(groupings)
    size = p + sum(one.groups * one.q for f, one in enumerate(groupings) if f != inside)
    own = groupings[inside].groups * groupings[inside].q if inside >= 0 else 0
    if size > _MOST_OUTSIDE or own * size > _MOST_NUMBERS:
        raise NotApplicable(
            f"the evidence needs a matrix of all parameters but the effects of the largest factor. Here these are "
            f"{size:,} beside {own:,} effects, which are too many. tunamh.compare says which of these models predicts "
            "better."
        )


class Given(NamedTuple):
    """The normal law of ``x`` given scales: its mean and the lower factor of its precision.

    ``precision`` is ``Q`` of the factor whose effects are integrated out, and ``leaned`` is ``P_g^-1 C_g``, by which
    its effects depend on ``x``. ``middle`` are its effects at the point.
    """

    mean: np.ndarray
    root: np.ndarray
    precision: np.ndarray
    leaned: np.ndarray
    middle: np.ndarray


class GivenScales:
    """Normal laws about ``point``, a mean of the posterior. ``inside`` is the number of a factor, or -1.

    The effects of the factor ``inside`` are integrated out.
    """

    def __init__(self, rows: GroupedRows | RowsAlone, scales: ScalesOfPrior, fixed: Any, point: Point, inside: int):
        self.rows, self.scales, self.point, self.inside = rows, scales, point, inside
        groupings = rows.groupings
        self.outside = [f for f in range(len(groupings)) if f != inside]
        sizes = [int(groupings[f].free.sum()) * groupings[f].q for f in self.outside]
        self.begins = np.concatenate([[0], np.cumsum([*sizes, rows.p])])
        self.size = int(self.begins[-1])
        sums = rows.sums(point)
        factors = sums.factors
        if sums.convex is not None:
            factors = [their_own(of, bent) for of, bent in zip(sums.factors, sums.convex[1], strict=True)]
        width = np.full(rows.p, np.inf)
        curvature = np.abs(np.diag(sums.hessian))
        np.divide(1.0, np.sqrt(curvature), out=width, where=curvature > 0)
        at = fixed.expansion(point.common, width)
        self._assemble(sums, factors, at.gradient, at.hessian)

    def _assemble(self, sums: DataSums, factors: list[OfFactor], slope: np.ndarray, bend: np.ndarray) -> None:
        rows, p, shares = self.rows, self.rows.p, self.rows.shares(self.point)
        self.gradient, self.hessian = np.zeros(self.size), np.zeros((self.size, self.size))
        for k, f in enumerate(self.outside):
            a, b = self.begins[k], self.begins[k + 1]
            kept = rows.groupings[f].free
            self.gradient[a:b] = factors[f].gradient[kept].ravel()
            self.hessian[a:b, a:b] = block_diag(*factors[f].curvature[kept])
            self.hessian[a:b, -p:] = factors[f].cross[kept].reshape(-1, p)
            for other, g in enumerate(self.outside[k + 1 :], k + 1):
                found = self._share(shares, f, g)[:, np.repeat(rows.groupings[g].free, rows.groupings[g].q)]
                found = found[np.repeat(kept, rows.groupings[f].q)]
                self.hessian[a:b, self.begins[other] : self.begins[other + 1]] = found
        self.gradient[-p:] = sums.gradient + slope
        self.hessian[-p:, -p:] = sums.hessian + bend
        upper = np.triu(self.hessian, 1)
        self.hessian = upper + upper.T + np.diag(np.diag(self.hessian))
        if self.inside < 0:
            return
        own, of = rows.groupings[self.inside], factors[self.inside]
        self.own_gradient, self.own_curvature = of.gradient, of.curvature
        across = [
            self._share(shares, self.inside, f)[:, np.repeat(rows.groupings[f].free, rows.groupings[f].q)]
            for f in self.outside
        ]
        self.cross = np.concatenate([*(part.reshape(own.groups, own.q, -1) for part in across), of.cross], axis=2)

    @staticmethod
    def _share(shares: dict, f: int, g: int) -> np.ndarray:
        return np.asarray(shares[f, g].toarray() if f < g else shares[g, f].toarray().T)

    # -------------------------------------------------------------------------------------------------- states

    def outside_of(self, common: np.ndarray, effects: list[np.ndarray]) -> np.ndarray:
        """Return ``x``: the common parameters and the effects that are not integrated out."""
        parts = [effects[f][self.rows.groupings[f].free].ravel() for f in self.outside]
        return np.concatenate([*parts, common])

    def effects_of(self, x: np.ndarray) -> list[np.ndarray]:
        """Return the effects of every factor, arrays (G, q), from ``x``.

        They are zeros for the factor that is integrated out.
        """
        found = [np.zeros((one.groups, one.q)) for one in self.rows.groupings]
        for k, f in enumerate(self.outside):
            one = self.rows.groupings[f]
            found[f][one.free] = x[self.begins[k] : self.begins[k + 1]].reshape(-1, one.q)
        return found

    # ------------------------------------------------------------------------------------------- the law given scales

    def at(self, lam: list[np.ndarray], mu: np.ndarray) -> Given:
        """Return the normal law given ``lambda`` of every factor and ``mu`` of the prior's scales.

        For known scales, ``lambda`` is ``log tau``.
        """
        p, point = self.rows.p, self.point
        slope, bend = self.gradient.copy(), self.hessian.copy()
        more, over = self.scales.quadratic(mu, point.common)
        slope[-p:] += more
        bend[-p:, -p:] += over
        for k, f in enumerate(self.outside):
            one, (a, b) = self.rows.groupings[f], self.begins[k : k + 2]
            Q, _ = precision_at(one, lam[f])
            between = np.eye(int(one.free.sum())) if one.related is None else one.related.precision
            prior = np.kron(between, Q)
            bend[a:b, a:b] += prior
            slope[a:b] += prior @ point.effects[f][one.free].ravel()
        if self.inside < 0:
            root = _factor(bend)
            return Given(_newton(self.outside_of(*point), root, slope), root, *(np.empty(0),) * 3)
        one, own = self.rows.groupings[self.inside], point.effects[self.inside]
        Q, _ = precision_at(one, lam[self.inside])
        inverse = inverses(self.own_curvature, Q)
        inverse[~one.free] = 0.0
        leaned = np.einsum("gab,gbx->gax", inverse, self.cross)
        falls = self.own_gradient + own @ Q
        flat = self.cross.reshape(-1, self.size)
        root = _factor(bend - flat.T @ leaned.reshape(-1, self.size))
        mean = _newton(self.outside_of(*point), root, slope - leaned.reshape(-1, self.size).T @ falls.ravel())
        return Given(mean, root, Q, leaned, own - np.einsum("gab,gb->ga", inverse, falls))

    def middle_of(self, given: Given, x: np.ndarray) -> np.ndarray:
        """Return the effects of the factor that is integrated out, at the minimum of the quadratic given ``x``."""
        return given.middle - given.leaned @ (x - self.outside_of(*self.point))


def _factor(bend: np.ndarray) -> np.ndarray:
    try:
        return np.linalg.cholesky(bend)
    except np.linalg.LinAlgError:
        return np.linalg.cholesky(positive(bend))


def _newton(at: np.ndarray, root: np.ndarray, slope: np.ndarray) -> np.ndarray:
    step = solve_triangular(root, slope, lower=True)
    return at - np.asarray(solve_triangular(root, step, lower=True, trans="T"))
