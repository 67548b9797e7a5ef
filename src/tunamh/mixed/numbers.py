"""From the centre to all that a sweep reads of a factor: its Gaussian law, its groups' bounds, its rows' order."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._jit import helper
from ..data.source import Rows
from ..data.supply import fill_alias
from ..errors import NotApplicable
from ..targets.bounds import trust_radius_of
from .centre import Centre, Marginal, convex_factors, inverses, precision_at
from .groups import Grouping
from .layout import RADII, RUNGS, FactorNumbers
from .priors import ScalePriors
from .sums import GroupedRows, Point

_STEP = 0.02  # of differences in lambda
_LEAST = (0.0, 0.0, 1.0, 0.03, 1e-4, 1e-6, 1e-8)  # of a row's constants within the radii, that its law keeps
_TAIL = 3.5  # standard deviations of an effect that the first trust radius allows for


class Law(NamedTuple):
    """The Gaussian law of ``(b, lambda)``: ``root`` its lower triangular factor, and the priors' gradient."""

    root: np.ndarray
    pull: np.ndarray


def law_of(rows: GroupedRows, f: int, centre: Centre, priors: ScalePriors) -> Law:
    """By the Hessian at the centre of one factor's marginal, in closed form in ``b`` and by differences in lambda."""
    one, scales, p = rows.groupings[f], centre.scales[f], rows.p
    marginal = Marginal(rows, f, centre.at, centre.sums, priors)
    m = one.scales
    hessian = np.zeros((p + m, p + m))
    _, b, hessian[:p, :p] = marginal.solve(scales)
    pull = np.zeros(p + m)
    pull[:p] = priors.common_expansion(centre.at.common, centre.sums.hessian)[0]
    if m:
        _add_scales(marginal, priors, f, scales, hessian, pull)
    return Law(_root(hessian, p), pull)


def _add_scales(
    marginal: Marginal, priors: ScalePriors, f: int, scales: np.ndarray, hessian: np.ndarray, pull: np.ndarray
) -> None:
    """Rows and columns of lambda: differences of the best ``b``, and of the energy there (the Schur complement)."""
    p, m, h = marginal.p, len(scales), 5 * _STEP
    common = marginal.at.common
    steps = h * np.eye(m)
    energy = {0: marginal.energy(scales)}
    best = np.array([(marginal.solve(scales + s)[1] - marginal.solve(scales - s)[1]) / (2 * h) for s in steps])
    schur = np.empty((m, m))
    for i in range(m):
        for j in range(i + 1):
            a, c = steps[i], steps[j]
            corners = [marginal.energy(scales + x * a + y * c) for x, y in ((1, 1), (1, -1), (-1, 1), (-1, -1))]
            if i == j:
                around = marginal.energy(scales + a) + marginal.energy(scales - a)
                schur[i, i] = (around - 2 * energy[0]) / h**2
            else:
                schur[i, j] = schur[j, i] = (corners[0] - corners[1] - corners[2] + corners[3]) / (4 * h * h)
    values, vectors = np.linalg.eigh(schur)
    schur = (vectors * np.maximum(values, 0.2)) @ vectors.T  # lambda is wide where groups are few: no wider than 2.2
    bend = hessian[:p, :p]
    hessian[p:, :p] = -(best @ bend)
    hessian[:p, p:] = hessian[p:, :p].T
    hessian[p:, p:] = schur + best @ bend @ best.T
    for k in range(m):
        above, below = (priors.energy(f, scales + s * _STEP * np.eye(m)[k], common) for s in (1, -1))
        pull[p + k] += (above - below) / (2 * _STEP)
    if priors.tau_at >= 0:  # the scales as a user knows them have one over tau in them
        tau, small = common.copy(), 1e-3 * common[priors.tau_at]
        tau[priors.tau_at] += small
        above = priors.energy(f, scales, tau)
        tau[priors.tau_at] -= 2 * small
        pull[priors.tau_at] += (above - priors.energy(f, scales, tau)) / (2 * small)


def _root(hessian: np.ndarray, p: int) -> np.ndarray:
    """The lower triangular ``L`` with ``L L' = hessian^-1``."""
    unit = 1 / np.sqrt(np.maximum(np.diag(hessian), 1e-300))
    values, vectors = np.linalg.eigh(hessian * np.outer(unit, unit))
    covariance = (vectors / np.maximum(values, 1e-8)) @ vectors.T
    return np.linalg.cholesky(covariance * np.outer(unit, unit) + 0.0)


# -------------------------------------------------------------------------------------------------- bounds of groups


class Extent(NamedTuple):
    """How rows lie in their groups: ``e_i`` and ``m_i`` of every row, and the groups' lean and spread."""

    reach: np.ndarray
    width: np.ndarray
    lean: np.ndarray
    spread: np.ndarray


@helper
def _lengths(codes, Z, X, lean, metric, unroot, reach, width):
    """``|L'(x - lean'z)|`` and ``|spread^-1/2 z|`` of every row; ``metric`` is ``L``."""
    p, q = X.shape[1], Z.shape[1]
    left = np.empty(p)
    for i in range(codes.size):
        g = codes[i]
        for j in range(p):
            left[j] = X[i, j]
            for a in range(q):
                left[j] -= lean[g, a, j] * Z[i, a]
        total = 0.0
        for k in range(p):
            value = 0.0
            for j in range(p):
                value += metric[j, k] * left[j]
            total += value * value
        reach[i] = np.sqrt(total)
        total = 0.0
        for k in range(q):
            value = 0.0
            for a in range(q):
                value += unroot[g, k, a] * Z[i, a]
            total += value * value
        width[i] = np.sqrt(total)


def extent_of(rows: GroupedRows, f: int, centre: Centre, covariance_root: np.ndarray) -> Extent:
    """One pass."""
    one, p = rows.groupings[f], rows.p
    n, q = len(one.codes), one.q
    convex = convex_factors(centre.sums)[f]
    spread = np.zeros((one.groups, q, q))
    for a in range(q):
        for c in range(q):
            spread[:, a, c] = np.bincount(one.codes, one.Z[:, a] * one.Z[:, c], minlength=one.groups)
    ridge = np.einsum("gaa->ga", spread) + 1e-12
    spread += 1e-9 * ridge[:, :, None] * np.eye(q)
    bend = convex.curvature + 1e-9 * (np.einsum("gaa->g", convex.curvature) + 1e-12)[:, None, None] * np.eye(q)
    lean = np.linalg.solve(bend, convex.cross)
    lean[~one.free] = 0.0
    unroot = np.ascontiguousarray(np.linalg.inv(np.linalg.cholesky(spread)))
    reach, width = np.empty(n), np.empty(n)

    def fill(block: Rows) -> None:
        which = slice(block.start, block.start + len(block.y))
        X = np.ascontiguousarray(block.X.dense(), dtype=np.float64)
        _lengths(one.codes[which], one.Z[which], X, lean, covariance_root, unroot, reach[which], width[which])

    for _ in rows.base.observations.map(fill):
        pass
    return Extent(reach, width, lean, spread)


def _largest(values: np.ndarray, codes: np.ndarray, groups: int) -> np.ndarray:
    out = np.zeros(groups)
    np.maximum.at(out, codes, values)
    return out


def usual_lengths(one: Grouping, extent: Extent, centre: Centre, f: int, root: np.ndarray) -> tuple[np.ndarray, ...]:
    """Of every group, in units of its metric: how wide its effects are given the rest, and how little they follow ``b``."""
    Q, _ = precision_at(one, centre.scales[f])
    P = inverses(convex_factors(centre.sums)[f].curvature, Q)
    P[~one.free] = 0.0
    half = np.linalg.cholesky(extent.spread)
    own = np.sqrt(np.abs(np.einsum("gab,gbc,gca->g", np.swapaxes(half, 1, 2), P, half)))
    followed = np.einsum("gab,gbj->gaj", P, centre.sums.factors[f].cross)
    off = np.einsum("gba,gbj,jk->gak", half, extent.lean - followed * one.free[:, None, None], root)
    return own, np.sqrt(np.einsum("gak,gak->g", off, off))


def usual_away(groupings: list[Grouping], f: int, centre: Centre) -> np.ndarray:
    """Of every row: how far other factors usually displace it, the sum of their effects' standard deviations."""
    total = np.zeros(len(groupings[f].codes))
    for k, one in enumerate(groupings):
        if k != f:
            Q, _ = precision_at(one, centre.scales[k])
            P = inverses(convex_factors(centre.sums)[k].curvature, Q)
            P[~one.free] = 0.0
            spread = np.sqrt(np.maximum(np.einsum("na,nab,nb->n", one.Z, P[one.codes], one.Z), 0.0))
            total += spread
    return total


class Cells(NamedTuple):
    """Rows of a group of like displacement: every row's cell, where each group's cells begin, a cell's group."""

    of_row: np.ndarray
    begins: np.ndarray
    group: np.ndarray

    @property
    def count(self) -> int:
        return len(self.group)


_BANDS = np.array([0.25, 0.5, 1.0, 2.0, 4.0])  # of a row's usual displacement by what is not its group's
_ROWS_FOR_CELLS = 64  # a group with fewer is one cell


def cells_of(one: Grouping, size: np.ndarray) -> Cells:
    """Bands of ``size``, how far a row is usually displaced by common parameters and other factors."""
    band = np.searchsorted(_BANDS, size)
    few = np.bincount(one.codes, minlength=one.groups) < _ROWS_FOR_CELLS
    band[few[one.codes]] = 0
    key = one.codes * (len(_BANDS) + 1) + band
    used, of_row = np.unique(key, return_inverse=True)
    group = used // (len(_BANDS) + 1)
    begins = np.searchsorted(group, np.arange(one.groups + 1))
    return Cells(of_row, begins, group)


@helper
def _alias_of_groups(first, bounds, keep, other):
    """Walker's table within every group."""
    for g in range(first.size - 1):
        start, end = first[g], first[g + 1]
        total = 0.0
        for k in range(start, end):
            total += bounds[k]
        table = np.empty((end - start, 2))
        if total > 0.0:
            fill_alias(bounds[start:end].reshape(end - start, 1), 0, total, table)
        else:
            table[:, 0] = 1.0
            table[:, 1] = 0.0
        keep[start:end] = table[:, 0]
        other[start:end] = table[:, 1]


class CellBounds(NamedTuple):
    """Rows in the order of their cells, their bounds and alias tables, and every cell's ladder."""

    first: np.ndarray
    order: np.ndarray
    bounds: np.ndarray
    keep: np.ndarray
    other: np.ndarray
    total: np.ndarray
    rungs: np.ndarray


def bounds_of_cells(
    rows: GroupedRows, at: Point, extent: Extent, cells: Cells, sizes: tuple[np.ndarray, ...], alone: bool
) -> CellBounds:
    """One pass: slope constants of every row within its cell's radii.

    ``sizes`` are ``e``, ``m`` and the first radius of every cell. A row with smaller ``e_i`` and ``m_i`` moves by a share
    ``t_i`` of what the cell's bound allows for: with one factor its constant is smaller by ``t_i^3``, with several, which
    displace it too, by ``t_i``.
    """
    of_row, (e, m, radii) = cells.of_row, sizes
    shares = [
        np.divide(values, largest[of_row], out=np.zeros_like(values), where=largest[of_row] > 0)
        for values, largest in ((extent.reach, e), (extent.width, m))
    ]
    share, family = np.maximum(*shares), rows.base.family
    constants, rungs = np.empty(len(share)), np.zeros((cells.count, RUNGS))

    def fill(block: Rows, eta: np.ndarray, weight: np.ndarray) -> np.ndarray:
        which = slice(block.start, block.start + len(block.y))
        cell = of_row[which]
        radius = radii[cell] * (share[which] if alone else 1.0)
        with np.errstate(over="ignore", invalid="ignore"):
            everywhere = np.asarray(family.suprema(block.y)[2])
            each = [np.minimum(slope_constants(family, block.y, eta, r * radius), everywhere) for r in RADII]
            own = np.zeros(len(eta))
            for constants_of, least in zip(each, _LEAST, strict=True):
                own = np.maximum(own, np.where(np.isfinite(constants_of), constants_of, 0.0) * least)
            if not np.isfinite(own).all():
                row = block.start + int(np.argmax(~np.isfinite(own)))
                raise NotApplicable(f"{family!r} has no bounded third derivative near the centre in row {row}.")
            found = np.zeros((cells.count, RUNGS))
            for k in range(RUNGS):
                ratio = np.divide(each[k], own, out=np.zeros_like(own), where=each[k] > 0)
                np.maximum.at(found[:, k], cell, np.where(np.isnan(ratio), np.inf, ratio))
        constants[which] = weight * own * share[which] ** (3 if alone else 1)
        return found

    for found in rows.map(fill, at):
        np.maximum(rungs, found, out=rungs)
    order = np.argsort(of_row, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(of_row, minlength=cells.count))]).astype(np.int64)
    bounds = np.ascontiguousarray(constants[order])
    keep, other = np.empty(len(bounds)), np.empty(len(bounds))
    _alias_of_groups(first, bounds, keep, other)
    total = np.bincount(of_row, constants, minlength=cells.count)
    return CellBounds(first, order, bounds, keep, other, total, rungs)


def slope_constants(family: Any, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """As `tunamh.targets.one_predictor` takes them."""
    if hasattr(family, "slope_constants"):
        return np.asarray(family.slope_constants(y, eta, radius))
    if hasattr(family, "suprema_near"):
        return np.asarray(family.suprema_near(y, eta, radius)[2])
    return np.asarray(family.suprema(y)[2])


# ----------------------------------------------------------------------------------------------- everything together


def partners_of(f: int, groupings: list[Grouping], shares: dict[tuple[int, int], Any]) -> tuple[np.ndarray, ...]:
    """Groups of other factors that share rows with each group of factor ``f``: link, partner, share."""
    one, most = groupings[f], max(each.q for each in groupings)
    group_at = np.concatenate([[0], np.cumsum([each.groups for each in groupings])])
    found: list[tuple[np.ndarray, ...]] = []
    for (a, b), share in shares.items():
        if f not in (a, b):
            continue
        k = b if f == a else a
        matrix = (share if f == a else share.T).tocoo()
        q, r = one.q, groupings[k].q
        g, h = matrix.row // q, matrix.col // r
        pair, place = np.unique(np.stack([g, h]), axis=1, return_inverse=True)
        values = np.zeros((pair.shape[1], q, most))
        np.add.at(values, (np.ravel(place), matrix.row % q, matrix.col % r), matrix.data)
        found.append((pair[0], pair[1] + group_at[k], values))
    if not found:
        return np.zeros(one.groups + 1), np.zeros(0), np.zeros(0)
    own, partner, values = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort((partner, own))
    link = np.concatenate([[0], np.cumsum(np.bincount(own, minlength=one.groups))])
    return link, partner[order], values[order]


def neighbours_of(f: int, groupings: list[Grouping], cells: Cells) -> tuple[np.ndarray, np.ndarray]:
    """Groups of other factors that share rows with each cell, factor by factor."""
    group_at = np.concatenate([[0], np.cumsum([each.groups for each in groupings])])
    found = []
    for k, one in enumerate(groupings):
        if k != f:
            pair = np.unique(cells.of_row * one.groups + one.codes)
            cell, group = pair // one.groups, pair % one.groups
            found.append(np.stack([cell, group + group_at[k], np.full(len(pair), k)]))
    if not found:
        return np.zeros(cells.count + 1), np.zeros((0, 2))
    cell, group, factor = np.concatenate(found, axis=1)
    order = np.lexsort((group, factor, cell))
    begins = np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=cells.count))])
    return begins, np.stack([group[order], factor[order]], axis=1)


def factor_numbers(
    rows: GroupedRows, f: int, centre: Centre, priors: ScalePriors, thirds: tuple[np.ndarray, ...]
) -> FactorNumbers:
    """All that a sweep reads of factor ``f``."""
    one, p, scales = rows.groupings[f], rows.p, centre.scales[f]
    m, q = one.scales, one.q
    law = law_of(rows, f, centre, priors)
    root = law.root[:p, :p]
    extent = extent_of(rows, f, centre, np.ascontiguousarray(root))
    far, away = trust_radius_of(p), usual_away(rows.groupings, f, centre)
    cells = cells_of(one, extent.reach * far + 3.0 * away)
    reach, width, displaced = (
        _largest(values, cells.of_row, cells.count) for values in (extent.reach, extent.width, away)
    )
    own, leaned = (values[cells.group] for values in usual_lengths(one, extent, centre, f, root))
    radii = reach * far + width * ((np.sqrt(q) + _TAIL) * own + leaned * far) + _TAIL * displaced + 1e-300
    found = bounds_of_cells(rows, centre.at, extent, cells, (reach, width, radii), len(rows.groupings) == 1)
    steps = _STEP * np.eye(m)
    at = [scales, *(scales + sign * step for step in steps for sign in (1, -1))]
    variants = [precision_at(one, s) for s in at]
    of, convex = centre.sums.factors[f], convex_factors(centre.sums)[f]
    link, partner, share = partners_of(f, rows.groupings, centre.shares)
    beside, neighbour = neighbours_of(f, rows.groupings, cells)
    return FactorNumbers(
        cells=cells.begins,
        first=found.first,
        order=found.order,
        keep=found.keep,
        other=found.other,
        bounds=found.bounds,
        total=found.total,
        pinned=~one.free,
        mode=centre.at.effects[f],
        gradient=of.gradient,
        curvature=of.curvature,
        convex=convex.curvature,
        spread=extent.spread,
        cross=of.cross,
        lean=extent.lean,
        thirds=thirds[0],
        cross_thirds=thirds[1],
        fourths=thirds[2],
        reach=reach,
        width=width,
        radius=radii,
        rungs=found.rungs,
        beside=beside,
        neighbour=neighbour,
        scales=scales,
        pull=law.pull,
        root=law.root,
        unroot=np.linalg.inv(law.root),
        metric=np.linalg.inv(root),
        precision=np.zeros((q, q)) if one.known is None else one.known,
        steps=np.full(m, _STEP),
        variants=np.array([Q for Q, _ in variants]),
        variant_logdets=np.array([logdet for _, logdet in variants]),
        priors=priors.records(f),
        link=link,
        partner=partner,
        share=share,
    )
