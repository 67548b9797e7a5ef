"""Rows of a regression with a position for every effect that they have."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..rows.source import Rows
from ..targets.designs import IndexedDesign
from ..targets.designs.base import Design
from ..targets.designs.curved import layout_of
from ..targets.designs.dense import DenseBlock
from ..targets.designs.indexed import NOWHERE, IndexedBlock
from ..targets.designs.multi_predictor import MultiPredictorBlock, MultiPredictorLayout, Term
from ..targets.designs.with_offset import BlockWithOffset, DesignWithOffset
from ..targets.glm import GLM
from ..targets.observations.observed import TransformedRows
from .grouping import Grouping


def with_groups(base: GLM, groupings: list[Grouping], begins: int) -> tuple[Any, TransformedRows]:
    """Rows with one more position for every column of effects, behind those of the base.

    Of a design with several predictors, the first block of columns has the coefficients, and gets the effects. Effects
    on one predictor are a block of their own, which factors with the same codes share, and a term for every factor.
    """
    observations = base.observations
    design = observations.design
    if any(one.predictor is not None for one in groupings):
        return _in_predictors(observations, groupings, begins)
    if isinstance(design, MultiPredictorLayout):
        of, columns = design.blocks[0][0], design.dims[0]  # type: ignore[index]
    else:
        of, columns = design.numbers, base.dim
    dim = begins + sum(one.groups * one.q for one in groupings)
    count = int(of.positions) + sum(one.q for one in groupings)
    gathered: Design = layout_of(int(of.columns), count, True, dim, of.curves)
    if of.shifted:
        gathered = DesignWithOffset(gathered, np.zeros(0))
    starts = np.concatenate([[begins], begins + np.cumsum([one.groups * one.q for one in groupings])])

    def grouped(given: Any, which: slice) -> Any:
        plain: Any = given.block if isinstance(given, BlockWithOffset) else given
        made: Any = _with_positions(plain, which, groupings, starts, dim)
        return BlockWithOffset(made, given.matvec(np.zeros(columns)), gathered.numbers.width) if of.shifted else made

    layout: Any = gathered
    if isinstance(design, MultiPredictorLayout):
        layout = MultiPredictorLayout(
            [(gathered.numbers, dim), *design.blocks[1:]], design.terms, design.predictors, design.known
        )

    def change(rows: Rows) -> Rows:
        which = slice(rows.start, rows.start + len(rows.y))
        if not isinstance(rows.X, MultiPredictorBlock):
            return rows._replace(X=grouped(rows.X, which))
        first, *others = rows.X.blocks
        return rows._replace(X=MultiPredictorBlock((grouped(first, which), *others), layout, len(rows.y)))

    return layout, TransformedRows(observations, layout, change)


def _in_predictors(observations: Any, groupings: list[Grouping], begins: int) -> tuple[Any, TransformedRows]:
    """`with_groups` where every factor adds to one predictor."""
    design = observations.design
    assert isinstance(design, MultiPredictorLayout)
    blocks, terms = list(design.blocks), list(design.terms)
    kinds: list[Grouping] = []
    for one in groupings:
        assert one.predictor is not None
        place = next((k for k, kind in enumerate(kinds) if kind.codes is one.codes and kind.Z is one.Z), len(kinds))
        if place == len(kinds):
            kinds.append(one)
            size, empty = one.groups * one.q, np.zeros((1, one.q))
            blocks.append((IndexedDesign(np.empty((1, 0)), empty, empty, size).numbers, size))
        terms.append(Term(one.predictor, len(design.blocks) + place, begins))
        begins += one.groups * one.q
    layout = MultiPredictorLayout(blocks, terms, design.predictors, design.known)

    def change(rows: Rows) -> Rows:
        which = slice(rows.start, rows.start + len(rows.y))
        own = [
            IndexedBlock(
                np.empty((len(rows.y), 0)),
                np.ascontiguousarray((one.codes[which, None] * one.q + np.arange(one.q)).astype(np.int32)),
                np.ascontiguousarray(one.Z[which]),
                one.groups * one.q,
            )
            for one in kinds
        ]
        return rows._replace(X=MultiPredictorBlock((*rows.X.blocks, *own), layout, len(rows.y)))

    return layout, TransformedRows(observations, layout, change)


def _with_positions(
    block: DenseBlock | IndexedBlock, which: slice, groupings: list[Grouping], starts: np.ndarray, dim: int
) -> IndexedBlock:
    if isinstance(block, DenseBlock):
        nothing = np.empty((len(block.X), 0))
        block = IndexedBlock(np.asarray(block.X, dtype=np.float64), nothing.astype(np.int32), nothing, dim)
    positions = [block.positions]
    values = [block.values if block.values.size else np.where(block.positions == NOWHERE, 0.0, 1.0)]
    for start, one in zip(starts, groupings, strict=False):
        codes = one.codes[which]
        positions.append((start + codes[:, None] * one.q + np.arange(one.q)).astype(np.int32))
        values.append(one.Z[which])
    return replace(
        block,
        whole=np.ascontiguousarray(block.whole),
        positions=np.ascontiguousarray(np.concatenate(positions, axis=1)),
        values=np.ascontiguousarray(np.concatenate(values, axis=1)),
        dim=dim,
    )
