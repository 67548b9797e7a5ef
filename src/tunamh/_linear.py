"""Linear algebra of precisions whose columns may be measured in very different units."""

from __future__ import annotations

import numpy as np


def scaled_eigen(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``scale, values, vectors`` with ``matrix = S V diag(values) V' S``, ``S = diag(scale)``.

    Scaled to a unit diagonal first, so that columns measured in other units do not pass for flat directions.
    """
    symmetric = 0.5 * (matrix + matrix.T)
    diagonal = np.abs(np.diag(symmetric))
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    values, vectors = np.linalg.eigh(symmetric / np.outer(scale, scale))
    return scale, values, vectors


def metric_root(precision: np.ndarray) -> np.ndarray:
    """Upper triangular R with ``R'R = A``, A being ``precision`` made safely positive definite."""
    scale, values, vectors = scaled_eigen(precision)
    lifted = np.maximum(values, 1e-8 * max(float(values.max()), 1e-8))
    root = np.linalg.cholesky((vectors * lifted) @ vectors.T).T
    return np.ascontiguousarray(root * scale)
