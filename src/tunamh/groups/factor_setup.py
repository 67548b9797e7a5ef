"""From the centre to all that a sweep reads of a factor."""

from __future__ import annotations

from typing import Any

import numpy as np

from .between import between_columns, parents_of
from .cells import BoundedCells, bounded_cells
from .centre import Centre
from .common_gaussian import STEP, Law, law_of
from .grouping import Grouping
from .layout import FACTOR
from .quadratic import basis_of, convex_factors, precision_at
from .relation import Basis
from .scale_priors import ScalePriors
from .scale_table import WIDE
from .sums import GroupedRows

_MOST_ROWS, _LITTLE = 20_000, 10.0  # of proposals with long tails: rows, and what these say of all effects
_FARTHEST = 1.5  # of a row's predictor, beyond which a polynomial says little


def partners_of(f: int, groupings: list[Grouping], shares: dict[tuple[int, int], Any]) -> dict[str, np.ndarray]:
    """Return the groups of other factors that share rows with each group of factor ``f``."""
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


def cell_fields(cells: BoundedCells) -> dict[str, Any]:
    """Return the fields of a factor's record for its cells and their rows with bounds."""
    metric, bounds, widest = cells.effect_metric, cells.bounds, cells.widest
    one_effect = metric.shape[1] == 1
    return {
        "cell_start": cells.begins,
        "cell_group": cells.group,
        "row_start": bounds.first,
        "places": bounds.places,
        "bound_total": bounds.total,
        "common_reach": cells.common_reach,
        "effect_reach": cells.effect_reach * (np.sqrt(metric[cells.group, 0, 0]) if one_effect else 1.0),
        "radius": cells.radii,
        "rungs": bounds.rungs.T,
        "cubic": bounds.cubic,
        "effect_metric": metric,
        "polynomial_radius": np.divide(_FARTHEST, widest, out=np.full(len(widest), np.inf), where=widest > 0),
        "regress_x_on_z": cells.regress_x_on_z,
        **cells.neighbours,
    }


def law_fields(law: Law, p: int, offset: np.ndarray) -> dict[str, Any]:
    """Return the fields of a factor's record for the law from which common parameters and its scales are proposed."""
    return {
        "root": law.root,
        "root_inverse": np.linalg.inv(law.root),
        "offset": offset,
        "metric": np.linalg.inv(law.root[:p, :p]),
        "common_hessian": law.common_hessian,
        "scale_table": law.scale_table,
    }


def state_places(f: int, groupings: list[Grouping], p: int, prior_scales: int) -> dict[str, int]:
    """Return where a state contains the factor's scales and effects, and the position of its first group among all
    groups.
    """
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
    """Return the fields of a factor's record for the moves that change no predictor."""
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
    """Return the fields of a factor's record for the basis of levels with a known covariance."""
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


def beside_scales(one: Grouping, scales: np.ndarray, curvature: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return precisions of effects at the scales and at steps to both sides of them, and slopes of the groups' volumes.

    For Student-t effects a sweep adds the volumes, because they depend on the weights.
    """
    at = [scales, *(scales + sign * step for step in STEP * np.eye(len(scales)) for sign in (1, -1))]
    variants = [precision_at(one, s) for s in at]
    levels = [
        0.5 * (logdet * one.free + (np.linalg.slogdet(curvature + Q)[1] if one.df == 0 else 0.0))[one.free].sum()
        for Q, logdet in variants
    ]
    return np.array([Q for Q, _ in variants]), (np.array(levels[1::2]) - levels[2::2]) / (2 * STEP)


def needs_long_tails(one: Grouping, law: Law, p: int, curvature: np.ndarray, precision: np.ndarray) -> bool:
    """Return True if the scale is uncertain, and all rows together say little of the effects.

    What the rows say of one effect is its curvature times ``s^2 + 1``, where ``s^2`` is its variance under the law of
    the effects. The sum over all groups must be below 10: for 0/1 labels and counts, this is about the number of
    events. With more, the common parameters have nearly a Gaussian law, and a proposal with a long tail is a wasted
    move. Such proposals read all rows, so the model must not have many rows.
    """
    if one.known is not None or len(one.codes) > _MOST_ROWS or not np.linalg.norm(law.root[p]) > WIDE:
        return False
    said = np.einsum("gab,ba->g", curvature[one.free], np.linalg.inv(precision) + np.eye(one.q)) / one.q
    return bool(said.sum() < _LITTLE)


def factor_record(
    rows: GroupedRows,
    f: int,
    centre: Centre,
    priors: ScalePriors,
    thirds: tuple[np.ndarray, ...],
    learned: tuple[np.ndarray, np.ndarray] | None = None,
) -> np.ndarray:
    """Return the packed record of everything that a sweep reads of factor ``f``.

    ``learned`` are the root and the offset of a law that was learned from the groups.
    """
    one, p, scales = rows.groupings[f], rows.p, centre.scales[f]
    m, q, known = len(scales), one.q, one.known is not None
    tau = priors.tau(centre.at.common)
    law = law_of(rows, f, centre, priors)
    if learned is not None:
        law = law._replace(root=learned[0])
    cells = bounded_cells(rows, f, centre, law.root[:p, :p])
    of, convex = centre.sums.factors[f], convex_factors(centre.sums)[f]
    basis = basis_of(one, convex)
    bent = convex.curvature if basis is None else basis.turned(convex).curvature
    precisions, slopes = beside_scales(one, scales, bent)
    prior_gradient = law.prior_gradient.copy()
    if m:
        prior_gradient[priors.tau_at if known else slice(p, None)] += slopes.sum() / tau if known else slopes
    return FACTOR.pack(
        **state_places(f, rows.groupings, p, priors.prior_scales),
        **partners_of(f, rows.groupings, centre.shares),
        **cell_fields(cells),
        **unseen(rows, f, centre, priors),
        **law_fields(law, p, np.zeros(p + one.scales) if learned is None else learned[1]),
        **related_levels(one, basis, centre.at.effects[f], of.cross),
        p=p,
        n_effects=q,
        n_scales=one.scales,
        free_groups=one.free.sum(),
        correlation=one.correlation,
        df=one.df,
        known=known,
        learned=learned is not None,
        long_tails=needs_long_tails(one, law, p, convex.curvature, precisions[0]),
        free=one.free,
        mode=centre.at.effects[f],
        gradient=of.gradient,
        curvature=of.curvature,
        convex=convex.curvature,
        cross=np.moveaxis(of.cross, 0, -1),
        thirds=thirds[0],
        cross_thirds=np.moveaxis(thirds[1], 0, -1),
        fourths=thirds[2],
        scales=scales,
        prior_gradient=prior_gradient,
        precision=np.zeros((q, q)) if one.known is None else one.known,
        steps=np.full(m, STEP * (tau if known else 1.0)),
        centre_precision=precisions[0],
        side_precisions=precisions[1:].reshape(m, 2, q, q),
        laws=priors.records(f),
    )
