"""The centre about which rows are expanded: a mode of the effects and common parameters, given good scales (spec 5q).

Any centre and any scales are exact. Newton's steps over common parameters and effects alternate with steps of each
factor's scales on the closed form that integrates its effects out (Laplace-EM).
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are asked for, not at import

from ..data.passes import announce
from ..errors import NotApplicable
from .covariance import precision_of
from .groups import Grouping
from .priors import ScalePriors
from .sums import DataSums, GroupedRows, OfFactor, Point

_MOST_STEPS = 40
_CLOSE = 0.02  # of a step, in standard deviations, and of log scales
_HALVINGS = 12


class Centre(NamedTuple):
    """Where the search ended: the point, every factor's scales, and the data's sums there."""

    at: Point
    scales: list[np.ndarray]
    sums: DataSums
    shares: dict[tuple[int, int], Any]


def precision_at(one: Grouping, scales: np.ndarray) -> tuple[np.ndarray, float]:
    """``Sigma^-1`` and ``log det Sigma`` of a factor, known or not."""
    return (one.known, 0.0) if one.known is not None else precision_of(scales, one.q)


def inverses(H: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """``(H_g + Q)^-1`` of every group."""
    return np.linalg.inv(H + Q)


def find_centre(rows: GroupedRows, priors: ScalePriors, at: Point) -> Centre:
    """From a point."""
    groupings = rows.groupings
    scales = [np.where(np.arange(one.scales) < one.q, np.log(0.5), 0.0) for one in groupings]
    scales = [_inside(priors, f, s, at.common) for f, s in enumerate(scales)]
    sums = rows.sums(at)
    if not np.isfinite(sums.energy):
        raise NotApplicable("no point was found at which all energies are finite.")
    several = len(groupings) > 1
    for k in range(_MOST_STEPS):
        announce(f"looking for the mode, step {k + 1}")
        shares = rows.shares(at) if several else {}
        lower = _downhill(rows, at, scales, sums, shares, priors)
        if lower is None:
            break
        at, sums, length, half = lower
        before = [s.copy() for s in scales]
        for f, one in enumerate(groupings):
            if one.scales:
                scales[f] = _better_scales(rows, f, at, scales, sums, priors)
        moved = max((float(np.abs(a - b).max()) for a, b in zip(before, scales, strict=True) if a.size), default=0.0)
        if length < _CLOSE * np.sqrt(rows.p + 1) and moved < _CLOSE and half == 0:
            break
    return Centre(at, scales, sums, rows.shares(at) if several else {})


def _inside(priors: ScalePriors, f: int, scales: np.ndarray, common: np.ndarray) -> np.ndarray:
    """Scales at which the prior's density is positive: those given, or others of the same shape."""
    if not scales.size or np.isfinite(priors.energy(f, scales, common)):
        return scales
    q = priors.groupings[f].q
    tries = [np.where(np.arange(scales.size) < q, scales + shift, scales) for shift in np.arange(-30.0, 30.0, 0.25)]
    energies = [priors.energy(f, one, common) for one in tries]
    return tries[int(np.argmin(energies))]


def _downhill(
    rows: GroupedRows,
    at: Point,
    scales: list[np.ndarray],
    sums: DataSums,
    shares: dict[tuple[int, int], Any],
    priors: ScalePriors,
) -> tuple[Point, DataSums, float, int] | None:
    """Where Newton's step leads, shortened until the energy does not rise, its length, and how often it was halved.

    Energies of several predictors need not be convex in all of them together. Where the step leads uphill, numbers that
    all rows share take a step of their own: either kind of step then has a positive definite Hessian.
    """
    now = _energy(rows, at, scales, sums.energy, priors)
    for apart in (False, True) if rows.seen.shared.any() else (False,):
        step, length = _newton(rows, at, scales, sums, shares, priors, apart=apart)
        for half in range(_HALVINGS):
            there = at.moved(step, 0.5**half)
            new = rows.sums(there)
            if _energy(rows, there, scales, new.energy, priors) <= now + 1e-9 * abs(now) + 1e-6:
                return there, new, length, half
    return None


def _energy(rows: GroupedRows, at: Point, scales: list[np.ndarray], data: float, priors: ScalePriors) -> float:
    total = data + priors.common_energy(at.common)
    for v, s, one in zip(at.effects, scales, rows.groupings, strict=True):
        Q, _ = precision_at(one, s)
        total += 0.5 * float(np.einsum("ga,ab,gb->", v[one.free], Q, v[one.free]))
    return total if np.isfinite(total) else np.inf


def convex_factors(sums: DataSums) -> list[OfFactor]:
    return sums.factors if sums.convex is None else sums.convex


def _newton(
    rows: GroupedRows,
    at: Point,
    scales: list[np.ndarray],
    sums: DataSums,
    shares: dict[tuple[int, int], Any],
    priors: ScalePriors,
    *,
    apart: bool = False,
) -> tuple[Point, float]:
    """A Newton step at fixed scales, and its length in standard deviations of the common parameters.

    ``apart``: as if numbers that all rows share had nothing to do with coefficients and effects.
    """
    gradient, hessian = priors.common_expansion(at.common, sums.hessian)
    gradient, hessian = gradient + sums.gradient, hessian + sums.hessian
    joined = rows.seen.shared[:, None] == rows.seen.shared[None, :] if apart else 1.0
    hessian = _positive(hessian * joined)
    slopes = []
    for v, s, one, of in zip(at.effects, scales, rows.groupings, sums.factors, strict=True):
        slope = of.gradient + v @ precision_at(one, s)[0]
        slope[~one.free] = 0.0
        slopes.append(slope)
    inverse, cross = _of_effects(rows, scales, sums)
    if apart:
        cross = [h * ~rows.seen.shared for h in cross]
    if len(slopes) == 1:
        leaned = np.einsum("gab,gbj->gaj", inverse[0], cross[0])
        schur = _positive(hessian - np.einsum("gaj,gak->jk", cross[0], leaned))
        rest = gradient - np.einsum("gaj,ga->j", leaned, slopes[0])
        b = -np.linalg.solve(schur, rest)
        effects = [-np.einsum("gab,gb->ga", inverse[0], slopes[0] + cross[0] @ b)]
        return Point(b, effects), float(np.sqrt(max(b @ schur @ b, 0.0)))
    right = -np.concatenate([gradient, *(slope.ravel() for slope in slopes)])
    found = CrossedSystem(hessian, inverse, cross, shares).solve(right)
    return found, float(np.sqrt(max(found.common @ hessian @ found.common, 0.0)))


def _of_effects(
    rows: GroupedRows, scales: list[np.ndarray], sums: DataSums
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Per factor: ``(H_g + Q)^-1`` of every group, and its cross derivatives with the common parameters."""
    inverse, cross = [], []
    for s, one, of, convex in zip(scales, rows.groupings, sums.factors, convex_factors(sums), strict=True):
        P = inverses(convex.curvature, precision_at(one, s)[0])
        P[~one.free] = 0.0
        inverse.append(P)
        cross.append(of.cross * one.free[:, None, None])
    return inverse, cross


class CrossedSystem:
    """The Hessian over common parameters and the effects of crossed factors, sparse: solved by conjugate gradients."""

    def __init__(
        self,
        hessian: np.ndarray,
        inverse: list[np.ndarray],
        cross: list[np.ndarray],
        shares: dict[tuple[int, int], Any],
    ):
        self.hessian, self.inverse, self.shares, self.p = hessian, inverse, shares, len(hessian)
        self.shapes = [inv.shape[:2] for inv in inverse]
        self.begins = np.concatenate([[0], np.cumsum([self.p, *(g * q for g, q in self.shapes)])])
        self.flat = [h.reshape(-1, self.p) for h in cross]
        self.free = [inv.reshape(len(inv), -1).any(axis=1).repeat(inv.shape[1]) for inv in inverse]
        self.blocks = [np.linalg.pinv(inv, hermitian=True) for inv in inverse]
        self.common_inverse = np.linalg.inv(hessian)

    @classmethod
    def at(cls, rows: GroupedRows, centre: Centre, priors: ScalePriors) -> CrossedSystem:
        hessian = _positive(priors.common_expansion(centre.at.common, centre.sums.hessian)[1] + centre.sums.hessian)
        return cls(hessian, *_of_effects(rows, centre.scales, centre.sums), centre.shares)

    def _parts(self, x: np.ndarray) -> list[np.ndarray]:
        return [x[a:b] for a, b in itertools.pairwise(self.begins)]

    def times(self, x: np.ndarray) -> np.ndarray:
        parts, free = self._parts(x), self.free
        out = [self.hessian @ parts[0]]
        for h, v, P, kept in zip(self.flat, parts[1:], self.blocks, free, strict=True):
            v = v * kept
            out[0] = out[0] + h.T @ v
            out.append(h @ parts[0] * kept + np.einsum("gab,gb->ga", P, v.reshape(len(P), -1)).ravel())
        for (f, k), share in self.shares.items():
            out[f + 1] = out[f + 1] + free[f] * (share @ (parts[k + 1] * free[k]))
            out[k + 1] = out[k + 1] + free[k] * (share.T @ (parts[f + 1] * free[f]))
        for f, kept in enumerate(free):  # levels without effects stay
            out[f + 1] = np.where(kept, out[f + 1], parts[f + 1])
        return np.concatenate(out)

    def _nearly(self, x: np.ndarray) -> np.ndarray:
        """By the inverses of the blocks: the preconditioner."""
        parts = self._parts(x)
        solved = [
            np.einsum("gab,gb->ga", P, v.reshape(len(P), -1)).ravel()
            for P, v in zip(self.inverse, parts[1:], strict=True)
        ]
        solved = [np.where(kept, s, v) for s, v, kept in zip(solved, parts[1:], self.free, strict=True)]
        return np.concatenate([self.common_inverse @ parts[0], *solved])

    def solve(self, right: np.ndarray) -> Point:
        from scipy.sparse.linalg import LinearOperator, cg

        n = len(right)
        operator, nearly = LinearOperator((n, n), self.times), LinearOperator((n, n), self._nearly)
        found, _ = cg(operator, right, rtol=1e-6, maxiter=500, M=nearly)
        parts = self._parts(found)
        return Point(parts[0], [v.reshape(shape) for v, shape in zip(parts[1:], self.shapes, strict=True)])

    def covariance_of_common(self) -> np.ndarray:
        """Of the common parameters, effects integrated out."""
        unit = np.eye(self.p, int(self.begins[-1]))
        return np.array([self.solve(one).common for one in unit])


def _positive(matrix: np.ndarray) -> np.ndarray:
    """The matrix with eigenvalues that are not positive lifted, in units of its diagonal."""
    unit = 1 / np.sqrt(np.maximum(np.abs(np.diag(matrix)), 1e-300))
    values, vectors = np.linalg.eigh(matrix * np.outer(unit, unit))
    if values[0] > 1e-10:
        return matrix
    lifted = (vectors * np.maximum(np.abs(values), 1e-6)) @ vectors.T
    return lifted / np.outer(unit, unit)


# ---------------------------------------------------------------------------- the scales, effects integrated out


class Marginal:
    """``E(b, lambda)`` of one factor, its effects integrated out of the quadratic, the others at the centre."""

    def __init__(self, rows: GroupedRows, f: int, at: Point, sums: DataSums, priors: ScalePriors):
        self.one, self.at, self.priors, self.f = rows.groupings[f], at, priors, f
        self.p, self.sums = rows.p, sums
        free = self.one.free
        self.of = OfFactor(*(array[free] for array in sums.factors[f]))
        self.convex = OfFactor(*(array[free] for array in convex_factors(sums)[f]))
        self.v = at.effects[f][free]
        gradient, hessian = priors.common_expansion(at.common, sums.hessian)
        self.slope, self.bend = sums.gradient + gradient, sums.hessian + hessian

    def inverse(self, scales: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        Q, logdet = precision_at(self.one, scales)
        return inverses(self.convex.curvature, Q), Q, logdet

    def solve(self, scales: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """At the best ``b``: the energy without the scales' prior, ``b``, and the Hessian in ``b``."""
        P, Q, logdet = self.inverse(scales)
        H = self.convex.curvature
        middle = np.einsum("gab,gb->ga", P, np.einsum("gab,gb->ga", H, self.v) - self.of.gradient)
        leaned = np.einsum("gab,gbj->gaj", P, self.of.cross)
        hessian = _positive(self.bend - np.einsum("gaj,gak->jk", self.of.cross, leaned))
        slope = self.slope + np.einsum("gaj,ga->j", self.of.cross, middle - self.v)
        b = -np.linalg.solve(hessian, slope)
        u = middle - leaned @ b
        d = u - self.v
        k = self.of.gradient + self.of.cross @ b
        energy = self.slope @ b + 0.5 * b @ self.bend @ b + float(np.einsum("ga,ga->", k, d))
        energy += 0.5 * float(np.einsum("ga,gab,gb->", d, self.of.curvature, d) + np.einsum("ga,ab,gb->", u, Q, u))
        energy += 0.5 * len(self.v) * logdet - 0.5 * float(np.linalg.slogdet(P)[1].sum())
        return energy, b, hessian

    def energy(self, scales: np.ndarray) -> float:
        """With the scales' prior."""
        if not np.abs(scales).max(initial=0.0) < 30.0:
            return np.inf
        return self.solve(scales)[0] + self.priors.energy(self.f, scales, self.at.common)


def _better_scales(
    rows: GroupedRows, f: int, at: Point, scales: list[np.ndarray], sums: DataSums, priors: ScalePriors
) -> np.ndarray:
    marginal = Marginal(rows, f, at, sums, priors)
    found = scipy.optimize.minimize(
        marginal.energy, scales[f], method="Nelder-Mead", options={"xatol": 0.005, "fatol": 0.005, "maxiter": 200}
    )
    return np.clip(found.x, scales[f] - 2.0, scales[f] + 2.0) if np.isfinite(found.fun) else scales[f]
