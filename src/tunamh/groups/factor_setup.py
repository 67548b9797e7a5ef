"""From the centre to all that a sweep reads of a factor."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..targets.expansion.bounds import trust_radius_of
from .cells import Cells, bounds_of_cells, cells_of, extent_of, largest, usual_away, usual_lengths
from .centre import Centre
from .common_gaussian import STEP, law_of
from .grouping import Grouping
from .layout import FactorNumbers
from .quadratic import convex_factors, precision_at
from .scale_priors import ScalePriors
from .sums import GroupedRows

_FARTHEST = 1.5  # of a row's predictor, beyond which a polynomial says little
_TAIL = 3.5  # standard deviations of an effect that the first trust radius allows for


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
        return np.zeros(cells.number + 1), np.zeros((0, 2))
    cell, group, factor = np.concatenate(found, axis=1)
    order = np.lexsort((group, factor, cell))
    begins = np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=cells.number))])
    return begins, np.stack([group[order], factor[order]], axis=1)


def factor_numbers(
    rows: GroupedRows, f: int, centre: Centre, priors: ScalePriors, thirds: tuple[np.ndarray, ...]
) -> FactorNumbers:
    """All that a sweep reads of factor ``f``."""
    one, p, scales = rows.groupings[f], rows.p, centre.scales[f]
    m, q, known = len(scales), one.q, one.known is not None
    tau = priors.tau(centre.at.common)
    law = law_of(rows, f, centre, priors)
    root = law.root[:p, :p]
    extent = extent_of(rows, f, centre, np.ascontiguousarray(root))
    far, away = trust_radius_of(p), usual_away(rows.groupings, f, centre)
    cells = cells_of(one, extent.reach * far + 3.0 * away)
    reach, width, displaced = (
        largest(values, cells.of_row, cells.number) for values in (extent.reach, extent.width, away)
    )
    own, leaned = (values[cells.group] for values in usual_lengths(one, extent, centre, f, root))
    radii = reach * far + width * ((np.sqrt(q) + _TAIL) * own + leaned * far) + _TAIL * displaced + 1e-300
    found = bounds_of_cells(rows, f, centre.at, extent, cells, (reach, width, radii))
    widest = largest(extent.width, one.codes, one.groups)
    steps = STEP * np.eye(m)
    at = [scales, *(scales + sign * step for step in steps for sign in (1, -1))]
    variants = [precision_at(one, s) for s in at]
    of, convex = centre.sums.factors[f], convex_factors(centre.sums)[f]
    levels = [
        0.5 * (logdet * one.free + np.linalg.slogdet(convex.curvature + Q)[1])[one.free].sum() for Q, logdet in variants
    ]
    pull = law.pull.copy()
    slopes = (np.array(levels[1::2]) - levels[2::2]) / (2 * STEP)
    if m:
        pull[priors.tau_at if known else slice(p, None)] += slopes.sum() / tau if known else slopes
    link, partner, share = partners_of(f, rows.groupings, centre.shares)
    beside, neighbour = neighbours_of(f, rows.groupings, cells)
    return FactorNumbers(
        cells=cells.begins,
        owner=cells.group,
        first=found.first,
        places=found.places,
        total=found.total,
        free=one.free,
        cubic=found.cubic,
        mode=centre.at.effects[f],
        gradient=of.gradient,
        curvature=of.curvature,
        convex=convex.curvature,
        spread=extent.spread,
        limit=np.divide(_FARTHEST, widest, out=np.full(one.groups, np.inf), where=widest > 0),
        cross=np.moveaxis(of.cross, 0, -1),
        tilt=extent.tilt,
        thirds=thirds[0],
        cross_thirds=np.moveaxis(thirds[1], 0, -1),
        fourths=thirds[2],
        reach=reach,
        width=width * (np.sqrt(extent.spread[cells.group, 0, 0]) if q == 1 else 1.0),
        radius=radii,
        rungs=found.rungs.T,
        beside=beside,
        neighbour=neighbour,
        scales=scales,
        pull=pull,
        root=law.root,
        unroot=np.linalg.inv(law.root),
        metric=np.linalg.inv(root),
        bend=law.bend,
        precision=np.zeros((q, q)) if one.known is None else one.known,
        steps=np.full(m, STEP * (tau if known else 1.0)),
        variants=np.array([Q for Q, _ in variants]),
        scale_law=law.scales,
        priors=priors.records(f),
        link=link,
        partner=partner,
        share=share,
    )
