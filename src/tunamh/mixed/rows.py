"""Rows of a regression with a position for every effect that they have."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.source import Rows
from ..targets.designs import GatheredDesign
from ..targets.designs.dense import DenseBlock
from ..targets.designs.gathered import NOWHERE, GatheredBlock
from ..targets.designs.shifted import ShiftedBlock, ShiftedDesign
from ..targets.glm import GLM
from ..targets.observations import Arranged
from .groups import Grouping


def with_groups(base: GLM, groupings: list[Grouping], begins: int) -> tuple[Any, Arranged]:
    """Rows with one more position for every column of effects, behind those of the base."""
    observations = base.observations
    of, dim = observations.design.numbers, begins + sum(one.groups * one.q for one in groupings)
    shifted = bool(of.shifted)
    columns = int(of.columns) if of.positions else base.dim
    count = int(of.positions) + sum(one.q for one in groupings)
    layout: Any = GatheredDesign(np.empty((1, columns)), np.zeros((1, count)), np.zeros((1, count)), dim)
    if shifted:
        layout = ShiftedDesign(layout, np.zeros(1))
    starts = np.concatenate([[begins], begins + np.cumsum([one.groups * one.q for one in groupings])])

    def change(rows: Rows) -> Rows:
        block: Any = rows.X.block if isinstance(rows.X, ShiftedBlock) else rows.X
        which = slice(rows.start, rows.start + len(rows.y))
        positions, values = [], []
        if isinstance(block, DenseBlock):
            whole = np.asarray(block.X, dtype=np.float64)
        else:
            whole, there = block.whole, block.positions
            positions.append(there)
            values.append(block.values if block.values.size else np.where(there == NOWHERE, 0.0, 1.0))
        for start, one in zip(starts, groupings, strict=False):
            codes = one.codes[which]
            positions.append((start + codes[:, None] * one.q + np.arange(one.q)).astype(np.int32))
            values.append(one.Z[which])
        made: Any = GatheredBlock(
            np.ascontiguousarray(whole),
            np.ascontiguousarray(np.concatenate(positions, axis=1)),
            np.ascontiguousarray(np.concatenate(values, axis=1)),
            dim,
        )
        if shifted:
            made = ShiftedBlock(made, rows.X.dot(np.zeros(base.dim)), layout.numbers.width)
        return rows._replace(X=made)

    return layout, Arranged(observations, layout, change)
