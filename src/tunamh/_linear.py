"""Linear algebra of precisions whose columns may be measured in very different units."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

SMALLEST_BEND = 1e-12
"""Curvatures below this share of the largest (in units of the diagonal) are rounding, and count as this share."""


def scaled_eigen(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``scale, values, vectors`` with ``matrix = S V diag(values) V' S``, ``S = diag(scale)``.

    Scaled to a unit diagonal first, so that columns measured in other units do not pass for flat directions.
    """
    symmetric = 0.5 * (matrix + matrix.T)
    diagonal = np.abs(np.diag(symmetric))
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    values, vectors = np.linalg.eigh(symmetric / np.outer(scale, scale))
    return scale, values, vectors


class Metric(NamedTuple):
    """``A = L^-T L^-1``: a precision made safely positive definite, and the coordinates in which it is the identity.

    ``factor`` is L, ``inverse`` its inverse; ``kept`` is the diagonal of ``L' precision L``: 1 where the curvature was
    kept as it is, less where it was lifted, -1 where it was negative.
    """

    factor: np.ndarray
    inverse: np.ndarray
    kept: np.ndarray


def metric(precision: np.ndarray) -> Metric:
    """The metric of ``precision``: curvatures count by their size, and none below `SMALLEST_BEND` of the largest."""
    scale, values, vectors = scaled_eigen(precision)
    vectors = vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(len(values))])
    bend = np.maximum(np.abs(values), SMALLEST_BEND * max(float(np.abs(values).max()), SMALLEST_BEND))
    root = np.sqrt(bend)
    return Metric(vectors / root / scale[:, None], (vectors * root).T * scale, values / bend)
