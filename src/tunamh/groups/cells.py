"""How far the rows of a group can pull: cells of rows of like displacement, and their bounds (spec 5r)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..acceptance.grouped import BOUND, CUBIC_PLACE, KEEP, OTHER, PLACE, ROW, THIRD
from ..compiled import helper
from ..errors import NotApplicable
from ..process.scratch import large, stretches
from ..rows.source import Rows
from ..rows.supply import fill_alias
from ..targets.expansion.one_predictor import trust_radius_of
from .centre import Centre
from .grouping import Grouping
from .layout import RADII, RUNGS
from .quadratic import convex_factors, inverses, tilts_of, usual_precision
from .sums import GroupedRows, Point

_EVERYWHERE = 1e100  # a radius that no displacement reaches
_LEAST = (0.0, 0.0, 1.0, 0.03, 1e-4, 1e-6, 1e-8)  # of a row's constants within the radii, that its law keeps


_TRUSTED, _USUAL = 0.63, 0.5  # of the first radius, and of that: where third and fourth order are compared


_LONGER = 2.0  # than without a lean, which a regression on rows of one kind never makes them


_TAIL = 3.5  # standard deviations of an effect that the first trust radius allows for


class Extent(NamedTuple):
    """How the rows of a factor are placed in their groups.

    There are ``e_i`` and ``m_i`` of every row, and the regression, lean and metric of the groups (spec 5r).
    """

    common_reach: np.ndarray
    effect_reach: np.ndarray
    regress_x_on_z: np.ndarray
    lean: np.ndarray
    effect_metric: np.ndarray


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


def _spreads(one: Grouping) -> np.ndarray:
    """``sum z z'`` of every group."""
    q = one.q
    spread = np.zeros((one.groups, q, q))
    for a in range(q):
        for c in range(q):
            spread[:, a, c] = np.bincount(one.codes, one.Z[:, a] * one.Z[:, c], minlength=one.groups)
    ridge = np.einsum("gaa->ga", spread) + 1e-12
    return spread + 1e-9 * ridge[:, :, None] * np.eye(q)


def extent_of(rows: GroupedRows, f: int, centre: Centre, covariance_root: np.ndarray) -> Extent:
    """Compute the extent of factor ``f`` in one or two passes.

    If some rows are not convex, a group has no lean if the lean would make its rows longer.
    """
    one, seen, direction = rows.groupings[f], rows.seen, rows.seen.directions[f]
    spread, tilt = _spreads(one), tilts_of(one, centre.sums, f)
    unroot = np.ascontiguousarray(np.linalg.inv(np.linalg.cholesky(spread)))
    cross = centre.sums.factors[f].cross

    def lengths(lean: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        reach, width, size = large(len(one.codes)), large(len(one.codes)), float(np.linalg.norm(direction))

        def fill(block: Rows) -> None:
            which = slice(block.start, block.start + len(block.y))
            own = np.empty((len(direction), len(block.y)))
            for k, (X, s) in enumerate(zip(seen.columns(block), direction, strict=True)):
                places = one.codes[which], one.Z[which]
                _lengths(*places, X, s * lean, covariance_root, unroot, own[k], width[which])
            reach[which] = np.sqrt(np.square(own).sum(axis=0))
            width[which] *= size

        for _ in rows.base.observations.map(fill):
            pass
        return reach, width

    reach, width = lengths(tilt @ cross)
    if not seen.convex:
        plain, _ = lengths(np.zeros_like(cross))
        longest, usual = (largest(values, one.codes, one.groups) for values in (reach, plain))
        worse = ~(longest <= _LONGER * usual)
        tilt[worse] = 0.0
        reach = np.where(worse[one.codes], plain, reach)
    return Extent(reach, width, tilt, tilt @ cross, spread)


def largest(values: np.ndarray, codes: np.ndarray, groups: int) -> np.ndarray:
    out = np.zeros(groups)
    np.maximum.at(out, codes, values)
    return out


def usual_lengths(one: Grouping, extent: Extent, centre: Centre, f: int, root: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return two typical lengths of every group in its metric.

    The first is the width of its effects given the rest; the second is how much of ``b`` they do not follow.
    """
    P = inverses(convex_factors(centre.sums)[f].curvature, usual_precision(one, centre.scales[f]))
    P[~one.free] = 0.0
    half = np.linalg.cholesky(extent.effect_metric)
    own = np.sqrt(np.abs(np.einsum("gab,gbc,gca->g", np.swapaxes(half, 1, 2), P, half)))
    followed = np.einsum("gab,gbj->gaj", P, centre.sums.factors[f].cross)
    off = np.einsum("gba,gbj,jk->gak", half, extent.lean - followed * one.free[:, None, None], root)
    return own, np.sqrt(np.einsum("gak,gak->g", off, off))


def usual_away(groupings: list[Grouping], f: int, centre: Centre) -> np.ndarray:
    """Return for every row the sum of the standard deviations of the effects of other factors.

    This is how far other factors usually move the predictor of the row.
    """
    total = large(len(groupings[f].codes))
    total[:] = 0.0
    for k, one in enumerate(groupings):
        if k != f:
            P = inverses(convex_factors(centre.sums)[k].curvature, usual_precision(one, centre.scales[k]))
            P[~one.free] = 0.0
            for which in stretches(len(total)):
                codes, Z = one.codes[which], one.Z[which]
                total[which] += np.sqrt(np.maximum(np.einsum("na,nab,nb->n", Z, P[codes], Z), 0.0))
    return total


class Cells(NamedTuple):
    """Cells: rows of a group with a similar displacement.

    ``of_row`` is the cell of every row, ``begins`` the first cell of each group, and ``group`` the group of each cell.
    """

    of_row: np.ndarray
    begins: np.ndarray
    group: np.ndarray

    @property
    def number(self) -> int:
        return len(self.group)


_BANDS = np.array([0.25, 0.5, 1.0, 2.0, 4.0])  # of a row's usual displacement by what is not its group's
_ROWS_FOR_CELLS = 64  # a group with fewer is one cell


def cells_of(one: Grouping, reach: np.ndarray, far: float, away: np.ndarray) -> Cells:
    """Put rows into cells by bands of ``far reach + 3 away``.

    This is how far common parameters and other factors usually move the predictor of a row.
    """
    few = np.bincount(one.codes, minlength=one.groups) < _ROWS_FOR_CELLS
    bands = len(_BANDS) + 1
    of_row, rows = large(len(one.codes), np.int64), np.zeros(one.groups * bands, np.int64)
    for which in stretches(len(of_row)):
        codes = one.codes[which]
        band = np.searchsorted(_BANDS, reach[which] * far + 3.0 * away[which])
        of_row[which] = codes * bands + np.where(few[codes], 0, band)
        rows += np.bincount(of_row[which], minlength=len(rows))
    used, place = np.flatnonzero(rows), np.cumsum(rows > 0) - 1
    for which in stretches(len(of_row)):
        of_row[which] = place[of_row[which]]
    group = used // bands
    begins = np.searchsorted(group, np.arange(one.groups + 1))
    return Cells(of_row, begins, group)


@helper
def _fill_places(of_row, free, constants, cubic, places):
    """Every row in the next free place of its cell."""
    for i in range(of_row.size):
        k = free[of_row[i]]
        free[of_row[i]] += 1
        places[k, ROW], places[k, BOUND] = i, constants[i]
        if cubic.shape[0] > 0:
            for j in range(cubic.shape[1]):
                places[k, THIRD + j] = cubic[i, j]


@helper
def _fill_aliases(first, places):
    """Walker's table within every cell, from the bounds."""
    for c in range(first.size - 1):
        start, end = first[c], first[c + 1]
        bounds, table, total = np.empty(end - start), np.empty((end - start, 2)), 0.0
        for k in range(end - start):
            bounds[k] = places[start + k, BOUND]
            total += bounds[k]
        if total > 0.0:
            fill_alias(bounds, total, table)
        for k in range(end - start):
            places[start + k, KEEP] = table[k, 0] if total > 0.0 else 1.0
            places[start + k, OTHER] = table[k, 1] if total > 0.0 else 0.0


def places_of(
    of_row: np.ndarray, constants: np.ndarray, cells: int, cubic: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return where each cell begins, and its rows with constants and alias tables.

    With ``cubic``, each row has three more numbers.
    """
    first = np.concatenate([[0], np.cumsum(np.bincount(of_row, minlength=cells))]).astype(np.int64)
    places = large((len(of_row), PLACE if cubic is None else CUBIC_PLACE))
    _fill_places(of_row, first[:-1].copy(), constants, np.zeros((0, 3)) if cubic is None else cubic, places)
    _fill_aliases(first, places)
    return first, places


class CellBounds(NamedTuple):
    """Rows in the order of their cells, with bounds and alias tables, the radii of every cell, and `cubic_groups`."""

    first: np.ndarray
    places: np.ndarray
    total: np.ndarray
    rungs: np.ndarray
    cubic: np.ndarray


def cubic_groups(rows: GroupedRows, f: int, at: Point, radius: np.ndarray) -> np.ndarray:
    """Return a mask of the groups whose cubic part is worth taking out of the energies (spec 5r). It takes one pass.

    With ``z`` a usual displacement, the remainders are bounded by ``L4 z^4 / 24`` without the cubic part and by ``L3
    z^3 / 6`` with it. Far from the centre, as at groups whose labels are all equal, a polynomial of higher order is a
    worse approximation.
    """
    one, seen = rows.groupings[f], rows.seen
    if len(rows.groupings) > 1 or one.q > 1 or not seen.knows_third_order:
        return np.zeros(one.groups, bool)

    def compare(block: Rows, eta: np.ndarray, weight: np.ndarray) -> np.ndarray:
        codes = one.codes[block.start : block.start + len(block.y)]
        far = radius[codes]
        with np.errstate(over="ignore", invalid="ignore"):
            more = seen.constants(block.y, eta, far) - 0.25 * _USUAL * far * seen.third_order(block.y, eta, far)
        return np.bincount(codes, weight * np.where(np.isfinite(more), more, 0.0), minlength=one.groups)

    return np.asarray(sum(rows.map(compare, at)) > 0)


def bounds_of_cells(
    rows: GroupedRows, f: int, at: Point, extent: Extent, cells: Cells, sizes: tuple[np.ndarray, ...]
) -> CellBounds:
    """Return constants of the slopes of every row within the radii of its cell.

    If the cubic part is taken out, they are of the third order. ``sizes`` are ``e``, ``m`` and the first radius of
    every cell. A row with smaller ``e_i`` and ``m_i`` moves by a share ``t_i`` of what the cell's bound allows. With
    one factor its constant is multiplied by ``t_i^3``; with several factors, which also move the row, by ``t_i``.
    """
    of_row, (e, m, radii), one, alone = cells.of_row, sizes, rows.groupings[f], len(rows.groupings) == 1
    seen, n = rows.seen, len(of_row)
    cubic = cubic_groups(rows, f, at, _TRUSTED * largest(radii, cells.group, one.groups))
    constants, rungs = large(n), np.zeros((cells.number, RUNGS))
    removed = large((n if cubic.any() else 0, CUBIC_PLACE - PLACE))

    def fill(block: Rows, eta: np.ndarray, weight: np.ndarray) -> np.ndarray:
        which = slice(block.start, block.start + len(block.y))
        cell, without = of_row[which], cubic[one.codes[which]]
        shares = [
            np.divide(values, most[cell], out=np.zeros_like(values), where=most[cell] > 0)
            for values, most in ((extent.common_reach[which], e), (extent.effect_reach[which], m))
        ]
        share = np.maximum(*shares)
        radius = radii[cell] * (share if alone else 1.0)
        with np.errstate(over="ignore", invalid="ignore"):
            each = [seen.constants_of(block.y, eta, r * radius, without) for r in RADII]
            own = np.zeros(len(block.y))
            if cubic.any():
                third = np.where(without, seen.thirds(block, eta, np.ones(len(block.y)), f)[0], 0.0)
                own, column = np.abs(third), one.Z[which, 0]
                removed[which] = np.stack([weight * third * column**2, column, eta[0]], axis=1)
            for constants_of, least in zip(each, _LEAST, strict=True):
                own = np.maximum(own, np.where(np.isfinite(constants_of), constants_of, 0.0) * least)
            if not np.isfinite(own).all():
                row = block.start + int(np.argmax(~np.isfinite(own)))
                raise NotApplicable(f"{seen.family!r} has no bounded third derivative near the centre in row {row}.")
            found = np.zeros((cells.number, RUNGS))
            for k in range(RUNGS):
                ratio = np.divide(each[k], own, out=np.zeros_like(own), where=each[k] > 0)
                np.maximum.at(found[:, k], cell, np.where(np.isnan(ratio), np.inf, ratio))
        constants[which] = weight * own * share ** (3 if alone else 1)
        return found

    for found in rows.map(fill, at):
        np.maximum(rungs, found, out=rungs)
    first, places = places_of(of_row, constants, cells.number, removed if cubic.any() else None)
    return CellBounds(first, places, np.bincount(of_row, constants, minlength=cells.number), rungs, cubic)


def are_quadratic(rows: GroupedRows, at: Point) -> bool:
    """Whether no row has a third derivative, however far its predictor moves: then no bound ends at a radius."""

    def have_none(block: Rows, eta: np.ndarray, weight: np.ndarray) -> bool:
        n = len(block.y)
        with np.errstate(all="ignore"):
            found = rows.seen.constants_of(block.y, eta, np.full(n, _EVERYWHERE), np.zeros(n, bool))
        return bool((found == 0.0).all())

    return all(rows.map(have_none, at))


# ------------------------------------------------------------------------------------------- what a factor's rows say


class BoundedCells(NamedTuple):
    """Everything that a sweep reads of a factor's rows: their cells, the reach of these, and their bounds."""

    begins: np.ndarray
    group: np.ndarray
    common_reach: np.ndarray  # the largest of each cell's rows, as the next
    effect_reach: np.ndarray
    radii: np.ndarray
    widest: np.ndarray  # the largest ``effect_reach`` of every group
    effect_metric: np.ndarray
    regress_x_on_z: np.ndarray
    neighbours: dict[str, np.ndarray]
    bounds: CellBounds


def bounded_cells(rows: GroupedRows, f: int, centre: Centre, root: np.ndarray) -> BoundedCells:
    """Return the cells of factor ``f``. ``root`` is a root of the covariance of the common parameters."""
    one, extent = rows.groupings[f], extent_of(rows, f, centre, np.ascontiguousarray(root))
    far, away = trust_radius_of(rows.p), usual_away(rows.groupings, f, centre)
    cells = cells_of(one, extent.common_reach, far, away)
    reach, width, displaced = (
        largest(values, cells.of_row, cells.number) for values in (extent.common_reach, extent.effect_reach, away)
    )
    own, leaned = (values[cells.group] for values in usual_lengths(one, extent, centre, f, root))
    radii = reach * far + width * ((np.sqrt(one.q) + _TAIL) * own + leaned * far) + _TAIL * displaced + 1e-300
    bounds = bounds_of_cells(rows, f, centre.at, extent, cells, (reach, width, radii))
    if bounds.total.sum() == 0.0 and are_quadratic(rows, centre.at):
        radii = np.full(len(radii), _EVERYWHERE)
    widest = largest(extent.effect_reach, one.codes, one.groups)
    of_groups = widest, extent.effect_metric, extent.regress_x_on_z
    neighbours = _neighbours(f, rows.groupings, cells)
    return BoundedCells(cells.begins, cells.group, reach, width, radii, *of_groups, neighbours, bounds)


def _neighbours(f: int, groupings: list[Grouping], cells: Cells) -> dict[str, np.ndarray]:
    """Groups of other factors that share rows with each cell, factor by factor."""
    group_at = np.concatenate([[0], np.cumsum([each.groups for each in groupings])])
    found = [np.zeros((3, 0), np.int64)]
    for k, one in enumerate(groupings):
        if k != f:
            pair = np.unique(cells.of_row * one.groups + one.codes)
            cell, group = pair // one.groups, pair % one.groups
            found.append(np.stack([cell, group + group_at[k], np.full(len(pair), k)]))
    cell, group, factor = np.concatenate(found, axis=1)
    order = np.lexsort((group, factor, cell))
    start = np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=cells.number))])
    return {"neighbour_start": start, "neighbour": group[order], "neighbour_factor": factor[order]}
