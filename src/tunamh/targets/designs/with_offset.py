"""An offset: a known number added to a row's linear predictor (exposure, a value known from elsewhere)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._linear import Frame
from .base import Block, Design


class ShiftedBlock:
    """A block of another design whose predictors have an offset; its columns are the same."""

    def __init__(self, block: Block, offset: np.ndarray, width: int):
        self.block, self.offset, self.width = block, offset, width

    def dot(self, theta: np.ndarray) -> np.ndarray:
        return self.block.dot(theta) + self.offset

    def dots(self, points: np.ndarray) -> np.ndarray:
        return self.block.dots(points) + self.offset

    def pack(self, rows: np.ndarray) -> None:
        self.block.pack(rows)
        rows[:, : self.width][:, -1] = self.offset  # the last of the features

    def dense(self) -> np.ndarray:
        return self.block.dense()

    def times(self, matrix: np.ndarray) -> np.ndarray:
        return self.block.times(matrix)

    def reach(self, vector: np.ndarray) -> np.ndarray:
        return self.block.reach(vector)

    def moment(self, values: np.ndarray) -> np.ndarray:
        return self.block.moment(values)

    def sandwich(self, weight: np.ndarray, frame: Frame | None = None) -> np.ndarray:
        return self.block.sandwich(weight, frame)

    def squares(self, kept: np.ndarray | None = None) -> np.ndarray:
        return self.block.squares(kept)

    def lengths(self) -> np.ndarray:
        return self.block.lengths()

    def norms(self, factor: np.ndarray) -> np.ndarray:
        return self.block.norms(factor)

    def largest(self) -> np.ndarray:
        return self.block.largest()


class ShiftedDesign(Design):
    """A design with an offset, which lies behind its features."""

    def __init__(self, design: Design, offset: np.ndarray):
        self.design, self.offset = design, offset
        self.n_rows, self.dim, self.parts, self.factors = design.n_rows, design.dim, design.parts, design.factors
        self.numbers = design.numbers._replace(width=design.numbers.width + 1, shifted=True)

    def block(self, rows: Any) -> Block:
        return ShiftedBlock(self.design.block(rows), self.offset[rows], self.numbers.width)

    def take(self, index: np.ndarray) -> Design:
        return ShiftedDesign(self.design.take(index), self.offset[index])

    def on_columns(self, which: np.ndarray) -> Design:
        return ShiftedDesign(self.design.on_columns(which), self.offset)

    def arrays(self, what: str = "X") -> dict[str, np.ndarray]:
        return {**self.design.arrays(what), "offset": self.offset}
