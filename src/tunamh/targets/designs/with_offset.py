"""An offset: a known number added to a row's linear predictor (exposure, a value known from elsewhere)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import Block, Design


class ShiftedBlock:
    """A block of another design whose predictors have an offset; its columns are the same."""

    def __init__(self, block: Block, offset: np.ndarray, width: int):
        self.block, self.offset, self.width = block, offset, width

    def __getattr__(self, name: str) -> Any:
        return getattr(self.block, name)

    def dot(self, theta: np.ndarray) -> np.ndarray:
        return self.block.dot(theta) + self.offset

    def dots(self, points: np.ndarray) -> np.ndarray:
        return self.block.dots(points) + self.offset

    def pack(self, rows: np.ndarray) -> None:
        self.block.pack(rows)
        rows[:, : self.width][:, -1] = self.offset  # the last of the features


class ShiftedDesign:
    """A design with an offset, which lies behind its features."""

    def __init__(self, design: Design, offset: np.ndarray):
        self.design, self.offset = design, offset
        self.n_rows, self.dim, self.parts = design.n_rows, design.dim, design.parts
        self.numbers = design.numbers._replace(width=design.numbers.width + 1, shifted=True)

    def block(self, rows: Any) -> Block:
        return ShiftedBlock(self.design.block(rows), self.offset[rows], self.numbers.width)

    def take(self, index: np.ndarray) -> Design:
        return ShiftedDesign(self.design.take(index), self.offset[index])

    def on_columns(self, which: np.ndarray) -> Design:
        return ShiftedDesign(self.design.on_columns(which), self.offset)

    def arrays(self) -> dict[str, np.ndarray]:
        return {**self.design.arrays(), "offset": self.offset}
