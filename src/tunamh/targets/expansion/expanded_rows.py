"""A regression with its rows expanded: by Taylor polynomials, or around lower bounds of the likelihood."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...errors import NotApplicable
from ...process.stages import announce
from ...rows.packing import ROW, PackedRows, columns_by_name, weight_of
from ...rows.source import Rows
from ..base import Expansion
from ..glm_rows import firefly_energies, firefly_scales
from ..layouts import FIREFLY_ROW, RUNGS
from .audit import AuditedRemainders
from .bounds import NO_BOUNDS, ORIGINAL
from .kept import RowsAt, in_metric_of
from .one_predictor import OnePredictor, Remainders, RowSums, Whitening, ladder_of
from .taylor import Shape, TaylorTarget, mean_of_skewed, no_differences, polynomial_offset

if TYPE_CHECKING:
    from ..glm import GLM


def expanded(
    target: GLM, order: int, centre: np.ndarray, at_centre: Expansion, *, whiten: bool, original_bounds: bool
) -> TaylorTarget:
    """Return the target with its Taylor polynomial in the offset, the part that reads no rows (spec 5a, 5d)."""
    if at_centre.bounds is not None and order == 2 and whiten and not original_bounds:
        return _bounded_ahead(target, centre, at_centre)
    announce("expanding every row about the centre")
    d, terms = target.dim, target.terms
    white = whiten and not original_bounds
    prior = target._prior.expansion(centre, at_centre.width)
    frame = at_centre.plus(prior).metric()
    factor, root = (frame.factor, frame.inverse) if white else (np.eye(d), np.eye(d))
    ladder = ladder_of(d, local=white and terms.local())
    at = Whitening(order, centre, factor, ladder, original_bounds)
    found = RowSums(np.ones(RUNGS + 1), 0.0, 0.0, np.zeros(d))

    def take(of_block: RowSums) -> None:
        nonlocal found
        found = found.joined(of_block)

    fill = Remainders(terms, at, target.y_column, target.temper)
    sure = white and order == 2 and isinstance(terms, OnePredictor) and not target.own_bounds
    remainders = target.packed(terms.centre_columns, fill, take, AuditedRemainders(fill) if sure else None)
    of_prior = target._prior.thirds(centre, at_centre.width, factor)
    parts = target.parts_with(*terms.taylor_parts, offset=polynomial_offset)
    return TaylorTarget(
        target,
        order,
        centre,
        at_centre,
        remainders=replace(remainders, parts=parts),
        bounds=ORIGINAL if original_bounds else terms.bounds(order, ladder.trust(found.factors)),
        root=root,
        shape=Shape(mean_of_skewed(found.thirds + of_prior), found.leverage, found.longest) if white else None,
    )


def _bounded_ahead(target: GLM, centre: np.ndarray, at_centre: Expansion) -> TaylorTarget:
    """The same where the pass that added up the expansion found bounds, in a metric of before."""
    ahead = at_centre.bounds
    fill, sums = ahead.fill, ahead.sums
    at = RowsAt(centre, fill.at.factor, ahead.inverse, fill.at.ladder)
    today, trust, shape = in_metric_of(target, at, at_centre, sums)
    parts = target.parts_with(*target.terms.taylor_parts, offset=polynomial_offset)
    packed = PackedRows(ahead.gathered(), ROW.places(width=target.y_column).bound, parts)
    bounds = target.terms.bounds(2, trust)
    at_centre = at_centre._replace(bounds=None)
    return TaylorTarget(target, 2, centre, at_centre, remainders=packed, bounds=bounds, root=today.inverse, shape=shape)


def firefly(target: GLM, centre: np.ndarray | None) -> TaylorTarget:
    """Return the target expanded around lower bounds of its likelihood, for FlyMC.

    The bounds are equal to the likelihood at ``centre``. The sum of their logarithms is quadratic in theta.
    """
    lower_bound = target.family.lower_bound
    if lower_bound is None:
        raise NotApplicable(f"FlyMC needs a lower bound of the likelihood; {target.family!r} offers none")
    d, width, temper = target.dim, target.y_column, target.temper

    def fill(rows: np.ndarray, block: Rows) -> tuple[np.ndarray, np.ndarray]:
        X, y, weight = block.X, block.y, weight_of(block, temper)
        below = lower_bound(y, None if centre is None else X.matvec(centre))
        columns = columns_by_name(FIREFLY_ROW, rows, width=width)
        columns.bound[:], columns.anchor[:] = 0.0, below.anchor
        columns.curvature[:], columns.slope[:], columns.constant[:] = below.a, below.b, below.k
        from_offset = below.anchor - X.matvec(np.zeros(d))  # bounds are tight at eta = anchor, x.theta + offset
        return X.rmatvec(weight * (2 * below.a * from_offset - below.b)), X.sandwich(-2 * weight * below.a)

    slope, curvature = np.zeros(d), np.zeros((d, d))

    def take(of_block: tuple[np.ndarray, np.ndarray]) -> None:
        np.add(slope, of_block[0], out=slope)
        np.add(curvature, of_block[1], out=curvature)

    remainders = target.packed(4, fill, take)
    parts = target.parts_with(no_differences, firefly_energies, firefly_scales, offset=polynomial_offset)
    remainders, at_centre = replace(remainders, parts=parts), Expansion(0.0, slope, curvature)
    around = TaylorTarget(target, 2, np.zeros(d), at_centre, remainders=remainders, bounds=NO_BOUNDS)
    return around.starting_like_base()
