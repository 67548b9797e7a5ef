"""A regression with its rows expanded: by Taylor polynomials, or around lower bounds of the likelihood."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ...errors import NotApplicable
from ...process.stages import announce
from ...rows.packing import weight_of
from ...rows.source import Rows
from ..base import Expansion
from ..glm_rows import firefly_energies, firefly_scales
from ..layouts import FIREFLY_ROW, RUNGS
from .bounds import NO_BOUNDS, ORIGINAL
from .one_predictor import RowSums, Whitening, fill_remainders, ladder_of
from .taylor import Shape, TaylorTarget, mean_of_skewed, no_differences, polynomial_offset

if TYPE_CHECKING:
    from ..glm import GLM


def expanded(
    target: GLM, order: int, centre: np.ndarray, at_centre: Expansion, *, whiten: bool, original_bounds: bool
) -> TaylorTarget:
    """The target with its Taylor part in the offset (spec 5a, 5d)."""
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

    fill = partial(fill_remainders, terms, at, target.y_column, target.temper)
    remainders = target.packed(terms.centre_columns, fill, take)
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


def firefly(target: GLM, centre: np.ndarray | None) -> TaylorTarget:
    """The target around lower bounds of its likelihood, tight at ``centre``; their sum is a quadratic in theta."""
    lower_bound = target.family.lower_bound
    if lower_bound is None:
        raise NotApplicable(f"FlyMC needs a lower bound of the likelihood; {target.family!r} offers none")
    d, width, temper = target.dim, target.y_column, target.temper

    def fill(rows: np.ndarray, block: Rows) -> tuple[np.ndarray, np.ndarray]:
        X, y, weight = block.X, block.y, weight_of(block, temper)
        below = lower_bound(y, None if centre is None else X.matvec(centre))
        columns = FIREFLY_ROW.columns(rows, width=width)
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
