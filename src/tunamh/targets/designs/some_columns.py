"""Blocks of which only some columns, or directions, are looked at: what questions about a design ask."""

from __future__ import annotations

from typing import Any

import numpy as np


class SomeColumns:
    """A block with several predictors in which some parameters are zero, for questions about the others."""

    def __init__(self, block: Any, which: np.ndarray):
        self.block, self.which = block, which

    def _whole(self, part: np.ndarray) -> np.ndarray:
        whole = np.zeros((len(self.which), *part.shape[1:]))
        whole[self.which] = part
        return whole

    def dense(self) -> np.ndarray:
        return self.block.dense()[..., self.which]

    def matmat(self, matrix: np.ndarray) -> np.ndarray:
        return self.block.matmat(self._whole(matrix))

    def abs_matvec(self, vector: np.ndarray) -> np.ndarray:
        return self.block.abs_matvec(self._whole(vector))

    def column_squares(self, kept: np.ndarray | None = None) -> np.ndarray:
        return self.block.column_squares(kept)[self.which]


class SomeDirections(SomeColumns):
    """A block with several predictors whose parameters are given along directions, the columns of a matrix."""

    def __init__(self, directions: np.ndarray, block: Any, which: np.ndarray):
        super().__init__(block, which)
        self.directions = directions

    def _whole(self, part: np.ndarray) -> np.ndarray:
        return self.directions @ part

    def dense(self) -> np.ndarray:
        return self.block.matmat(self.directions)

    def abs_matvec(self, vector: np.ndarray) -> np.ndarray:
        return self.block.abs_matvec(np.abs(self.directions) @ np.abs(vector))

    def column_squares(self, kept: np.ndarray | None = None) -> np.ndarray:
        X = self.dense()
        return np.einsum("kij,kij->j", X, X) if kept is None else np.einsum("kij,kij->j", X[:, kept], X[:, kept])
