"""The centre about which rows are expanded: a mode of the effects and common parameters, given good scales (spec 5q).

Any centre and any scales are exact. Newton's steps over common parameters and effects alternate with steps of each
factor's scales on the closed form that integrates its effects out (Laplace-EM).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are asked for, not at import

from ..errors import NotApplicable
from ..process.stages import announce
from .marginal import Marginal
from .quadratic import (
    all_convex,
    basis_of,
    convex_factors,
    inverses,
    least,
    positive,
    precision_at,
    slopes_of_prior,
    squares_of,
)
from .relation import Basis
from .scale_priors import ScalePriors
from .sums import DataSums, GroupedRows, OfFactor, Point

_MOST_STEPS = 40
_CLOSE = 0.02  # of a step, in standard deviations, and of log scales
_HALVINGS = 12
_LONGEST = 2.0  # of a step, in any row's predictor, of groups whose rows are not convex
_FARTHEST = 4.0  # of the effects in a further predictor: a scale or odds 50 times smaller
_UNSETTLED = 0.3  # of a group's step, in its standard deviations
_LEFT, _MOST_ITERATIONS = 1e-6, 500  # of the right side of a system of crossed factors

Multiply = Callable[[np.ndarray], np.ndarray]


class Centre(NamedTuple):
    """The result of the search for a centre: the point, the scales of every factor, and the sums of the data there."""

    at: Point
    scales: list[np.ndarray]
    sums: DataSums
    shares: dict[tuple[int, int], Any]


def find_centre(
    rows: GroupedRows, priors: ScalePriors, at: Point, scales: Sequence[np.ndarray] | None = None
) -> Centre:
    """Search the centre from a point and, if there is one, from the scales of an earlier centre."""
    groupings = rows.groupings
    begin = [np.where(np.arange(one.scales) < one.q, np.log(0.5), 0.0) for one in groupings]
    scales = [
        _inside(priors, f, begin[f] if scales is None else scales[f], at.common)
        if one.known is None
        else priors.known_scales(at.common)
        for f, one in enumerate(groupings)
    ]
    sums = rows.sums(at)
    if not np.isfinite(sums.energy):
        raise NotApplicable("no point was found at which all energies are finite.")
    several = len(groupings) > 1
    for k in range(_MOST_STEPS):
        announce("looking for the mode", k + 1)
        shares = rows.shares(at) if several else {}
        lower = _downhill(rows, at, scales, sums, shares, priors.pushed(sum(pushes(rows, at, scales, sums))))
        if lower is None:
            break
        at, sums, length, half = lower
        held = _held(rows, at)
        if held is not None:
            at, sums = held, rows.sums(held)
        before = [s.copy() for s in scales]
        for f, one in enumerate(groupings):
            if one.known is not None:
                scales[f] = priors.known_scales(at.common)
            else:
                scales[f] = _better_scales(rows, f, at, scales, sums, priors)
        moved = max((float(np.abs(a - b).max()) for a, b in zip(before, scales, strict=True) if a.size), default=0.0)
        near = length < _CLOSE * np.sqrt(rows.p + 1) and moved < _CLOSE and half == 0
        if near and _settled(rows, at, scales, sums):
            break
    return Centre(at, scales, sums, rows.shares(at) if several else {})


def _held(rows: GroupedRows, at: Point) -> Point | None:
    """Effects in further predictors no longer than `_FARTHEST` in any row's predictor; None where they are shorter.

    A mean may go through a row while its scale goes to zero: such a mode has hardly any mass. Any centre will do.
    """
    far = [
        (np.abs(v) * width).sum(axis=1) / _FARTHEST if one.parameter is not None else np.zeros(len(v))
        for v, width, one in zip(at.effects, rows.widths, rows.groupings, strict=True)
    ]
    if not any((one > 1.0).any() for one in far):
        return None
    return at._replace(effects=[v / np.maximum(one, 1.0)[:, None] for v, one in zip(at.effects, far, strict=True)])


def _settled(rows: GroupedRows, at: Point, scales: list[np.ndarray], sums: DataSums) -> bool:
    """Whether every group whose rows are not convex is near its mode: slope by the root of its precision."""
    if sums.convex is None:
        return True
    for v, s, one, of, convex in zip(at.effects, scales, rows.groupings, sums.factors, sums.convex[1], strict=True):
        Q = precision_at(one, s)[0]
        slope = (of.gradient + slopes_of_prior(one, v, Q))[one.free]
        step = np.einsum("gab,gb->ga", inverses(convex.curvature[one.free], Q), slope)
        if np.einsum("ga,ga->g", slope, step).max(initial=0.0) > _UNSETTLED**2:
            return False
    return True


def _inside(priors: ScalePriors, f: int, scales: np.ndarray, common: np.ndarray) -> np.ndarray:
    """Scales at which the prior's density is positive: those given, or others of the same shape."""
    if not scales.size or np.isfinite(priors.energy(f, scales, common)):
        return scales
    q = priors.groupings[f].q
    tries = [np.where(np.arange(scales.size) < q, scales + shift, scales) for shift in np.arange(-30.0, 30.0, 0.25)]
    energies = [priors.energy(f, one, common) for one in tries]
    return tries[int(np.argmin(energies))]


def pushes(rows: GroupedRows, at: Point, scales: list[np.ndarray], sums: DataSums) -> list[float]:
    """Return for every factor with known scales the slope in ``tau``, with its effects integrated out; otherwise 0.

    In the coordinates of the chain, effects are in units of the errors' scale, ``N(0, tau^2 Sigma)``. The slope is ``(G
    q - sum_g tr Q (v v' + P^-1)) / tau``.
    """
    found = []
    for v, s, one, of in zip(at.effects, scales, rows.groupings, convex_factors(sums), strict=True):
        if one.known is None or not s.size:
            found.append(0.0)
            continue
        Q, _ = precision_at(one, s)
        basis = basis_of(one, of)
        curvature = of.curvature[one.free] if basis is None else basis.turned(of).curvature
        spread = squares_of(one, v) + inverses(curvature, Q).sum(axis=0)
        found.append(float((one.q * one.free.sum() - np.sum(Q * spread)) * np.exp(-s[0])))
    return found


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
    all rows share take a step of their own: either kind of step then has a positive definite Hessian. Predictors with
    columns of their own take steps of their own first, but those of a curve.
    """
    now = _energy(rows, at, scales, sums.energy, priors)
    first = rows.seen.described and not rows.seen.curve
    for apart in (first, not first) if rows.seen.shared.any() else (False,):
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
        total += 0.5 * float(np.sum(Q * squares_of(one, v)))
    return total if np.isfinite(total) else np.inf


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
    apart_by_columns = apart and rows.seen.described and sums.convex is not None
    bent = sums.convex[0] if apart_by_columns and sums.convex is not None else sums.hessian
    gradient, hessian = priors.common_expansion(at.common, bent)
    gradient, hessian = gradient + sums.gradient, hessian + bent
    joined = rows.seen.shared[:, None] == rows.seen.shared[None, :] if apart else 1.0
    hessian = positive(hessian * joined)
    slopes = []
    for v, s, one, of in zip(at.effects, scales, rows.groupings, sums.factors, strict=True):
        slope = of.gradient + slopes_of_prior(one, v, precision_at(one, s)[0])
        slope[~one.free] = 0.0
        slopes.append(slope)
    convex_parts = sums.factors if sums.convex is None else sums.convex[1]
    turned = _of_effects(rows, scales, sums, convex_parts)
    inverse, cross = turned.inverse, turned.cross
    if apart_by_columns:
        cross = turned.crossed(rows, convex_parts)
    if apart:
        cross = [h * rows.seen.own(one) for one, h in zip(rows.groupings, cross, strict=True)]
        shares = {key: share for key, share in shares.items() if _together(rows, *key)}
    shares, slopes = turned.shares(shares), turned.slopes(slopes)
    if len(slopes) == 1:
        leaned = np.einsum("gab,gbj->gaj", inverse[0], cross[0])
        schur = hessian - np.einsum("gaj,gak->jk", cross[0], leaned)
        if sums.convex is not None and not least(schur, hessian) > 0.0:
            return _newton(rows, at, scales, all_convex(sums), shares, priors, apart=apart)
        schur = positive(schur)
        rest = gradient - np.einsum("gaj,ga->j", leaned, slopes[0])
        b = -np.linalg.solve(schur, rest)
        effects = [-np.einsum("gab,gb->ga", inverse[0], slopes[0] + cross[0] @ b)]
        return _shortened(rows, sums, turned.back(Point(b, effects))), float(np.sqrt(max(b @ schur @ b, 0.0)))
    right = -np.concatenate([gradient, *(slope.ravel() for slope in slopes)])
    found = _shortened(rows, sums, turned.back(CrossedSystem(hessian, inverse, cross, shares).solve(right)))
    return found, float(np.sqrt(max(found.common @ hessian @ found.common, 0.0)))


def _together(rows: GroupedRows, f: int, k: int) -> bool:
    """Whether two factors are in the same predictor, so far as factors name theirs."""
    return rows.groupings[f].parameter == rows.groupings[k].parameter


def _shortened(rows: GroupedRows, sums: DataSums, step: Point) -> Point:
    """Where rows are not convex, a group goes no further than its quadratic may know.

    One group that is far from its mode else makes the step of all others short.
    """
    if sums.convex is None:
        return step
    effects = []
    for d, width in zip(step.effects, rows.widths, strict=True):
        far = (np.abs(d) * width).sum(axis=1)  # no row's predictor moves further, in any units of columns
        effects.append(d * np.minimum(1.0, _LONGEST / np.maximum(far, 1e-300))[:, None])
    return Point(step.common, effects)


class Turned(NamedTuple):
    """The effects of every factor in the form that a Newton step needs. Effects of related levels are in their basis.

    ``inverse`` has ``(H_g + Q)^-1`` of every group, ``cross`` its derivatives with the common parameters.
    """

    inverse: list[np.ndarray]
    cross: list[np.ndarray]
    bases: list[Basis | None]

    def crossed(self, rows: GroupedRows, parts: list[OfFactor]) -> list[np.ndarray]:
        return [
            of.cross * one.free[:, None, None] if basis is None else basis.turned(of).cross
            for one, of, basis in zip(rows.groupings, parts, self.bases, strict=True)
        ]

    def slopes(self, slopes: list[np.ndarray]) -> list[np.ndarray]:
        return [s if basis is None else basis.out.T @ s for s, basis in zip(slopes, self.bases, strict=True)]

    def shares(self, shares: dict[tuple[int, int], Any]) -> dict[tuple[int, int], Any]:
        found = dict(shares)
        for f, k in shares:
            one, other = self.bases[f], self.bases[k]
            if one is not None:
                found[f, k] = one.out.T @ found[f, k]
            if other is not None:
                found[f, k] = found[f, k] @ other.out
        return found

    def back(self, step: Point) -> Point:
        effects = [v if basis is None else basis.out @ v for v, basis in zip(step.effects, self.bases, strict=True)]
        return Point(step.common, effects)


def _of_effects(rows: GroupedRows, scales: list[np.ndarray], sums: DataSums, convex_parts: list[OfFactor]) -> Turned:
    inverse, bases = [], []
    for s, one, convex in zip(scales, rows.groupings, convex_parts, strict=True):
        basis = basis_of(one, convex)
        P = inverses(convex.curvature if basis is None else basis.turned(convex).curvature, precision_at(one, s)[0])
        P[~one.free] = 0.0
        inverse.append(P)
        bases.append(basis)
    found = Turned(inverse, [], bases)
    return found._replace(cross=found.crossed(rows, sums.factors))


class CrossedSystem:
    """The Hessian in common parameters and effects of crossed factors.

    It is sparse; conjugate gradients solve with it.
    """

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
        self.beside = self._beside()

    def _beside(self) -> Any:
        """The Hessian's blocks of every two factors, as one sparse matrix (effects, effects)."""
        factors = range(len(self.shapes))
        blocks: list[list[Any]] = [[None] * len(factors) for _ in factors]
        for f, (groups, q) in enumerate(self.shapes):
            blocks[f][f] = scipy.sparse.csr_array((groups * q, groups * q))
        for (f, k), share in self.shares.items():
            blocks[f][k], blocks[k][f] = share, share.T
        return scipy.sparse.block_array(blocks, format="csr")

    @classmethod
    def at(cls, rows: GroupedRows, centre: Centre, priors: ScalePriors) -> CrossedSystem:
        hessian = positive(priors.common_expansion(centre.at.common, centre.sums.hessian)[1] + centre.sums.hessian)
        turned = _of_effects(rows, centre.scales, centre.sums, convex_factors(centre.sums))
        return cls(hessian, turned.inverse, turned.cross, turned.shares(centre.shares))

    def _parts(self, x: np.ndarray) -> list[np.ndarray]:
        return [x[a:b] for a, b in itertools.pairwise(self.begins)]

    def times(self, x: np.ndarray) -> np.ndarray:
        out, parts, free = np.empty(len(x)), self._parts(x), self.free
        own = self._parts(out)
        own[0][:] = self.hessian @ parts[0]
        seen = [v * kept for v, kept in zip(parts[1:], free, strict=True)]  # levels without effects are seen by nobody
        for to, h, v, P, kept in zip(own[1:], self.flat, seen, self.blocks, free, strict=True):
            own[0] += h.T @ v
            to[:] = h @ parts[0] * kept + _each_times(P, v)
        beside = self.beside @ np.concatenate(seen)
        begins = self.begins - self.p
        for f, (to, v, kept) in enumerate(zip(own[1:], parts[1:], free, strict=True), start=1):
            to += kept * beside[begins[f] : begins[f + 1]]
            np.copyto(to, v, where=~kept)  # they stay
        return out

    def _nearly(self, x: np.ndarray) -> np.ndarray:
        """By the inverses of the blocks: the preconditioner."""
        out, parts = np.empty(len(x)), self._parts(x)
        own = self._parts(out)
        own[0][:] = self.common_inverse @ parts[0]
        for to, v, P, kept in zip(own[1:], parts[1:], self.inverse, self.free, strict=True):
            to[:] = np.where(kept, _each_times(P, v), v)
        return out

    def solve(self, right: np.ndarray) -> Point:
        parts = self._parts(_conjugate_gradients(self.times, self._nearly, right))
        return Point(parts[0], [v.reshape(shape) for v, shape in zip(parts[1:], self.shapes, strict=True)])

    def covariance_of_common(self) -> np.ndarray:
        """Return the covariance of the common parameters with the effects integrated out."""
        unit = np.eye(self.p, int(self.begins[-1]))
        return np.array([self.solve(one).common for one in unit])


def _each_times(P: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Every group's matrix (G, q, q) times its part of a vector (G q)."""
    return P[:, 0, 0] * v if P.shape[1] == 1 else np.einsum("gab,gb->ga", P, v.reshape(len(P), -1)).ravel()


def _conjugate_gradients(times: Multiply, nearly: Multiply, right: np.ndarray) -> np.ndarray:
    """The solution of ``times(x) = right``, ``nearly`` being an approximate inverse (Hestenes and Stiefel 1952).

    Step by step that of `scipy.sparse.linalg.cg`, without what its operators check: half of the time for few groups.
    """
    x, rest = np.zeros(len(right)), right.copy()
    close, before, way = _LEFT * np.linalg.norm(right), 0.0, np.zeros(len(right))
    for _ in range(_MOST_ITERATIONS):
        left = np.linalg.norm(rest)
        if left < close or left == 0.0:
            break
        z = nearly(rest)
        now = float(np.dot(rest, z))
        way = z + now / before * way if before else z
        along = times(way)
        length = now / np.dot(way, along)
        x += length * way
        rest -= length * along
        before = now
    return x


def _better_scales(
    rows: GroupedRows, f: int, at: Point, scales: list[np.ndarray], sums: DataSums, priors: ScalePriors
) -> np.ndarray:
    marginal = Marginal(rows, f, at, sums, priors)
    found = scipy.optimize.minimize(
        marginal.energy, scales[f], method="Nelder-Mead", options={"xatol": 0.005, "fatol": 0.005, "maxiter": 200}
    )
    return np.clip(found.x, scales[f] - 2.0, scales[f] + 2.0) if np.isfinite(found.fun) else scales[f]
