"""A known covariance among levels, as a user gives it: a matrix with labels, or by the levels' numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..tables.frames import column_names
from ..tables.libraries import is_sparse
from ..tables.matrices import as_matrix
from .relation import Relation, is_definite

_MOST = 3_000
"""Levels: a sweep multiplies matrices of their size with vectors, and set-up finds their eigenvectors."""

_SYMMETRIC = 1e-8


class Related(NamedTuple):
    """All levels of a matrix in its order, also those without rows; the code of every row; and the relation of the
    levels.
    """

    codes: np.ndarray
    levels: list[str]
    relation: Relation


def related_levels(covariance: Any, precision: Any, name: str, codes: np.ndarray, levels: list[str]) -> Related:
    """Return the levels of a covariance or precision matrix, which replace the levels that occur in the rows."""
    word = "precision" if covariance is None else "covariance"
    if covariance is not None and precision is not None:
        raise ValueError(f"{name} has both a covariance and a precision among levels: give one of them.")
    matrix, labels = _matrix(covariance if precision is None else precision, f"the {word} of {name}")
    if not is_definite(matrix):
        raise ValueError(f"the {word} of {name} is not positive definite. {_ADVICE[word]}")
    if word == "precision":
        matrix = np.linalg.inv(matrix)
        matrix = 0.5 * (matrix + matrix.T)
    places = _places(labels, len(matrix), levels, f"the {word} of {name}")
    every = [str(k) for k in range(len(matrix))] if labels is None else labels
    return Related(np.ascontiguousarray(places[codes]), every, Relation(np.ascontiguousarray(matrix)))


_ADVICE = {
    "covariance": "If two levels have equal rows in the matrix (twins, clones), make them one level. If the matrix "
    "was rounded, or estimated from few markers, add a small number such as 0.01 to its diagonal.",
    "precision": "An intrinsic autoregression (the degrees of a map minus its neighbours) says nothing about the sum "
    "of the effects. Pass covariance=pinv(degrees - neighbours) + 1, which adds a common number to all "
    "effects, or a proper precision, such as rho * (degrees - neighbours) + (1 - rho) * identity with "
    "rho = 0.95.",
}


def _matrix(given: Any, what: str) -> tuple[np.ndarray, list[str] | None]:
    """Symmetric and finite, and its labels."""
    labels = column_names(given)
    matrix = given.toarray() if is_sparse(given) else as_matrix(given, what)
    matrix = np.asarray(matrix, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{what} must have as many rows as columns, one of each for every level, got {matrix.shape}.")
    if len(matrix) > _MOST:
        raise ValueError(f"{what} has {len(matrix):,} levels; up to {_MOST:,} are sampled.")
    if not np.isfinite(matrix).all():
        raise ValueError(f"{what} has an entry that is not a number.")
    index = getattr(given, "index", None)  # of pandas; a method of lists, which have no labels
    if labels is not None and index is not None and [str(one) for one in index] != labels:
        raise ValueError(f"the rows of {what} must have the labels of its columns, in the same order.")
    size = np.abs(matrix).max(initial=0.0)
    if np.abs(matrix - matrix.T).max(initial=0.0) > _SYMMETRIC * size:
        i, j = np.argwhere(np.abs(matrix - matrix.T) > _SYMMETRIC * size)[0]
        raise ValueError(
            f"{what} is not symmetric: {matrix[i, j]:.6g} in row {i}, column {j}, {matrix[j, i]:.6g} back."
        )
    return 0.5 * (matrix + matrix.T), labels


def _places(labels: list[str] | None, size: int, levels: Sequence[str], what: str) -> np.ndarray:
    """Of every level, its row of the matrix."""
    if labels is None:
        known = {str(k): k for k in range(size)}
        told = f"it has no labels, so that levels must be its row numbers, 0 to {size - 1}: give a data frame"
    else:
        if len(set(labels)) < len(labels):
            raise ValueError(f"the labels of {what} are not all different.")
        known = {label: k for k, label in enumerate(labels)}
        told = f"its labels are {', '.join(labels[:5])}{', ...' if size > 5 else ''}"
    missing = [level for level in levels if str(level) not in known]
    if missing:
        some = ", ".join(map(repr, missing[:3]))
        raise ValueError(f"{what} lacks {len(missing)} of {len(levels)} levels, such as {some}; {told}.")
    return np.array([known[str(level)] for level in levels])
