"""Rows of columns of numbers, as a matrix."""

from __future__ import annotations

import numpy as np

from ..._linear import Frame
from .base import lengths_of_rows


class DenseBlock:
    """Rows as a matrix in double precision, packed in single precision if they came so."""

    def __init__(self, X: np.ndarray, single: bool = False):
        self.X, self.single = X, single

    def dense(self) -> np.ndarray:
        return self.X

    def pack(self, rows: np.ndarray) -> None:
        d = self.X.shape[1]
        features = rows.view(np.float32) if self.single else rows
        features[:, d : 2 * ((d + 1) // 2) if self.single else d] = 0.0  # the other half of an odd feature
        features[:, :d] = self.X

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        return self.X @ theta

    def matvecs(self, points: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray((self.X @ points.T).T)

    def matmat(self, matrix: np.ndarray) -> np.ndarray:
        return self.X @ matrix

    def abs_matvec(self, vector: np.ndarray) -> np.ndarray:
        return np.abs(self.X) @ np.abs(vector)

    def rmatvec(self, values: np.ndarray) -> np.ndarray:
        return values @ self.X

    def sandwich(self, weight: np.ndarray, frame: Frame | None = None) -> np.ndarray:
        Z = self.X if frame is None else self.X @ frame.columns
        return Z.T @ (weight[:, None] * Z)

    def column_squares(self, kept: np.ndarray | None = None) -> np.ndarray:
        X = self.X if kept is None else self.X[kept]
        return np.einsum("ij,ij->j", X, X)

    def row_norms(self) -> np.ndarray:
        return np.sqrt(np.einsum("ij,ij->i", self.X, self.X))

    def whitened_norms(self, factor: np.ndarray) -> np.ndarray:
        return lengths_of_rows(self.matmat(factor))

    def row_max(self) -> np.ndarray:
        return np.abs(self.X).max(axis=1)
