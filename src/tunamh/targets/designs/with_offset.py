"""An offset: a known number added to a row's linear predictor (exposure, a value known from elsewhere)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._linear import Frame
from .base import Block, Design


class BlockWithOffset:
    """A block of another design whose predictors have an offset. The columns do not change."""

    def __init__(self, block: Block, offset: np.ndarray, width: int):
        self.block, self.offset, self.width = block, offset, width

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        return self.block.matvec(theta) + self.offset

    def matvecs(self, points: np.ndarray) -> np.ndarray:
        return self.block.matvecs(points) + self.offset

    def some(self, which: np.ndarray) -> BlockWithOffset:
        """Return the block with some of the rows."""
        block: Any = self.block
        return BlockWithOffset(block.some(which), self.offset[which], self.width)

    def pack(self, rows: np.ndarray) -> None:
        self.block.pack(rows)
        rows[:, : self.width][:, -1] = self.offset  # the last of the features

    def dense(self) -> np.ndarray:
        return self.block.dense()

    def matmat(self, matrix: np.ndarray) -> np.ndarray:
        return self.block.matmat(matrix)

    def abs_matvec(self, vector: np.ndarray) -> np.ndarray:
        return self.block.abs_matvec(vector)

    def rmatvec(self, values: np.ndarray) -> np.ndarray:
        return self.block.rmatvec(values)

    def sandwich(self, weight: np.ndarray, frame: Frame | None = None) -> np.ndarray:
        return self.block.sandwich(weight, frame)

    def column_squares(self, kept: np.ndarray | None = None) -> np.ndarray:
        return self.block.column_squares(kept)

    def row_norms(self) -> np.ndarray:
        return self.block.row_norms()

    def whitened_norms(self, factor: np.ndarray) -> np.ndarray:
        return self.block.whitened_norms(factor)

    def row_max(self) -> np.ndarray:
        return self.block.row_max()


class DesignWithOffset(Design):
    """A design with an offset. In a packed row the offset comes after the features."""

    def __init__(self, design: Design, offset: np.ndarray):
        self.design, self.offset = design, offset
        self.n_rows, self.dim, self.parts, self.factors = design.n_rows, design.dim, design.parts, design.factors
        self.numbers = design.numbers._replace(width=design.numbers.width + 1, shifted=True)
        self.table = design.table

    def block(self, rows: Any) -> Block:
        return BlockWithOffset(self.design.block(rows), self.offset[rows], self.numbers.width)

    def take(self, index: np.ndarray) -> Design:
        return DesignWithOffset(self.design.take(index), self.offset[index])

    def on_columns(self, which: np.ndarray) -> Design:
        return DesignWithOffset(self.design.on_columns(which), self.offset)

    def arrays(self, what: str = "X") -> dict[str, np.ndarray]:
        return {**self.design.arrays(what), "offset": self.offset}
