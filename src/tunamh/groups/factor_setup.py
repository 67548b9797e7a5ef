"""From the centre to all that a sweep reads of a factor."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..targets.expansion.one_predictor import trust_radius_of
from .between import between_columns, parents_of
from .cells import Cells, bounds_of_cells, cells_of, extent_of, largest, usual_away, usual_lengths
from .centre import Centre
from .common_gaussian import STEP, law_of
from .grouping import Grouping
from .layout import FACTOR
from .quadratic import basis_of, convex_factors, precision_at
from .relation import Basis
from .scale_priors import ScalePriors
from .scale_table import no_table
from .sums import GroupedRows

_FARTHEST = 1.5  # of a row's predictor, beyond which a polynomial says little
_TAIL = 3.5  # standard deviations of an effect that the first trust radius allows for


def partners_of(f: int, groupings: list[Grouping], shares: dict[tuple[int, int], Any]) -> dict[str, np.ndarray]:
    """Groups of other factors that share rows with each group of factor ``f``."""
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
        found = [(np.zeros(0, np.int64), np.zeros(0), np.zeros((0, one.q, most)))]
    own, partner, values = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort((partner, own))
    start = np.concatenate([[0], np.cumsum(np.bincount(own, minlength=one.groups))])
    return {"partner_start": start, "partner": partner[order], "cross_curvature": values[order]}


def neighbours_of(f: int, groupings: list[Grouping], cells: Cells) -> dict[str, np.ndarray]:
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


def state_places(f: int, groupings: list[Grouping], p: int, prior_scales: int) -> dict[str, int]:
    """Where a state has the factor's scales and effects, and its place among all groups."""
    before = groupings[:f]
    return {
        "scales_at": p + sum(one.scales for one in before),
        "effects_at": p
        + sum(one.scales for one in groupings)
        + prior_scales
        + sum(one.groups * one.q for one in before),
        "group_at": sum(one.groups for one in before),
    }


def unseen(rows: GroupedRows, f: int, centre: Centre, priors: ScalePriors) -> dict[str, np.ndarray]:
    """The moves that no row sees."""
    found, parents = between_columns(rows, f, priors.tau_at), parents_of(rows.groupings, f)
    gradient, hessian = priors.common_expansion(centre.at.common, centre.sums.hessian)
    at, related = found.columns, rows.groupings[f].related
    pulls = found.weights if related is None else found.weights @ related.precision
    return {
        "between": at,
        "between_effects": found.effects,
        "between_weights": found.weights,
        "between_gram": pulls @ found.weights.T,
        "between_pulls": pulls,
        "between_slope": gradient[at],
        "between_hessian": hessian[np.ix_(at, at)],
        "parent_factors": parents.factors,
        "parent_effects": parents.effects,
        "parents": parents.group,
    }


def related_levels(one: Grouping, basis: Basis | None, mode: np.ndarray, cross: np.ndarray) -> dict[str, np.ndarray]:
    """The basis of levels of known covariance."""
    p = cross.shape[2]
    if basis is None or one.related is None:
        none, square = np.zeros(0), np.zeros((0, 0))
        vectors = dict.fromkeys(("basis_curvature", "basis_mode", "dominating"), none)
        return (
            vectors
            | dict.fromkeys(("basis", "basis_inverse", "excess_root"), square)
            | {"basis_cross": np.zeros((p, 0))}
        )
    return {
        "basis": basis.out,
        "basis_inverse": basis.into,
        "basis_curvature": basis.curvature,
        "basis_mode": (basis.into @ mode)[:, 0],
        "basis_cross": (basis.out.T @ cross[:, 0]).T,
        "dominating": one.related.dominating,
        "excess_root": one.related.excess_root,
    }


def factor_record(
    rows: GroupedRows,
    f: int,
    centre: Centre,
    priors: ScalePriors,
    thirds: tuple[np.ndarray, ...],
    learned: tuple[np.ndarray, np.ndarray] | None = None,
) -> np.ndarray:
    """All that a sweep reads of factor ``f``, packed; ``learned`` are root and offset of a law that was learned."""
    one, p, scales = rows.groupings[f], rows.p, centre.scales[f]
    m, q, known = len(scales), one.q, one.known is not None
    tau = priors.tau(centre.at.common)
    law = law_of(rows, f, centre, priors)
    if learned is not None:
        law = law._replace(root=learned[0], scale_table=no_table(p))
    root = law.root[:p, :p]
    extent = extent_of(rows, f, centre, np.ascontiguousarray(root))
    far, away = trust_radius_of(p), usual_away(rows.groupings, f, centre)
    cells = cells_of(one, extent.common_reach, far, away)
    reach, width, displaced = (
        largest(values, cells.of_row, cells.number) for values in (extent.common_reach, extent.effect_reach, away)
    )
    own, leaned = (values[cells.group] for values in usual_lengths(one, extent, centre, f, root))
    radii = reach * far + width * ((np.sqrt(q) + _TAIL) * own + leaned * far) + _TAIL * displaced + 1e-300
    found = bounds_of_cells(rows, f, centre.at, extent, cells, (reach, width, radii))
    widest = largest(extent.effect_reach, one.codes, one.groups)
    steps = STEP * np.eye(m)
    at = [scales, *(scales + sign * step for step in steps for sign in (1, -1))]
    variants = [precision_at(one, s) for s in at]
    of, convex = centre.sums.factors[f], convex_factors(centre.sums)[f]
    basis = basis_of(one, convex)
    bent = convex.curvature if basis is None else basis.turned(convex).curvature
    levels = [
        0.5 * (logdet * one.free + (np.linalg.slogdet(bent + Q)[1] if one.df == 0 else 0.0))[one.free].sum()
        for Q, logdet in variants  # of Student-t effects a sweep adds the groups' volumes, which depend on weights
    ]
    prior_gradient = law.prior_gradient.copy()
    slopes = (np.array(levels[1::2]) - levels[2::2]) / (2 * STEP)
    if m:
        prior_gradient[priors.tau_at if known else slice(p, None)] += slopes.sum() / tau if known else slopes
    precisions = np.array([Q for Q, _ in variants])
    return FACTOR.pack(
        **state_places(f, rows.groupings, p, priors.prior_scales),
        **partners_of(f, rows.groupings, centre.shares),
        **neighbours_of(f, rows.groupings, cells),
        **unseen(rows, f, centre, priors),
        **related_levels(one, basis, centre.at.effects[f], of.cross),
        p=p,
        n_effects=q,
        n_scales=one.scales,
        free_groups=one.free.sum(),
        correlation=one.correlation,
        df=one.df,
        known=known,
        learned=learned is not None,
        cell_start=cells.begins,
        cell_group=cells.group,
        row_start=found.first,
        places=found.places,
        bound_total=found.total,
        common_reach=reach,
        effect_reach=width * (np.sqrt(extent.effect_metric[cells.group, 0, 0]) if q == 1 else 1.0),
        radius=radii,
        rungs=found.rungs.T,
        free=one.free,
        cubic=found.cubic,
        mode=centre.at.effects[f],
        gradient=of.gradient,
        curvature=of.curvature,
        convex=convex.curvature,
        effect_metric=extent.effect_metric,
        polynomial_radius=np.divide(_FARTHEST, widest, out=np.full(one.groups, np.inf), where=widest > 0),
        cross=np.moveaxis(of.cross, 0, -1),
        regress_x_on_z=extent.regress_x_on_z,
        thirds=thirds[0],
        cross_thirds=np.moveaxis(thirds[1], 0, -1),
        fourths=thirds[2],
        scales=scales,
        prior_gradient=prior_gradient,
        root=law.root,
        root_inverse=np.linalg.inv(law.root),
        offset=np.zeros(p + one.scales) if learned is None else learned[1],
        metric=np.linalg.inv(root),
        common_hessian=law.common_hessian,
        precision=np.zeros((q, q)) if one.known is None else one.known,
        steps=np.full(m, STEP * (tau if known else 1.0)),
        centre_precision=precisions[0],
        side_precisions=precisions[1:].reshape(m, 2, q, q),
        scale_table=law.scale_table,
        laws=priors.records(f),
    )
