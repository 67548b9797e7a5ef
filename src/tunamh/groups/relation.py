"""Effects of levels that are related: ``v ~ N(0, s^2 K)`` with a known matrix ``K`` (spec 5q).

With ``H = diag(H_g)`` the groups' curvatures and ``K = L L'``, let ``U D U' = L'H L`` and ``T = L U``. Then

    T'K^-1 T = I,      T'H T = D,      v = T w,   w ~ N(0, s^2 I):

in ``w`` prior and quadratic are both diagonal, as those of groups that have nothing to do with each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are asked for, not at import

_SINGULAR = 1e-10  # the least eigenvalue of a correlation matrix


class Basis(NamedTuple):
    """The basis of related levels: ``T``, ``T^-1`` and the diagonal of ``D``."""

    out: np.ndarray
    into: np.ndarray
    curvature: np.ndarray

    def turned(self, of: Any) -> Any:
        """Return a `tunamh.groups.sums.OfFactor` for ``w_j`` in place of ``v_g``. Its curvature is ``D``."""
        return of._replace(
            gradient=self.out.T @ of.gradient,
            curvature=self.curvature[:, None, None].copy(),
            cross=(self.out.T @ of.cross[:, 0])[:, None],
        )


@dataclass(frozen=True, eq=False)
class Relation:
    """The covariance ``K`` of all levels in their order, also of levels without rows."""

    covariance: np.ndarray

    @property
    def size(self) -> int:
        return len(self.covariance)

    @cached_property
    def root(self) -> np.ndarray:
        return np.linalg.cholesky(self.covariance)

    @cached_property
    def root_inverse(self) -> np.ndarray:
        return scipy.linalg.solve_triangular(self.root, np.eye(self.size), lower=True)

    @cached_property
    def precision(self) -> np.ndarray:
        return self.root_inverse.T @ self.root_inverse

    @property
    def variances(self) -> np.ndarray:
        """Return the variance of every level's effect if ``s = 1``."""
        return np.diag(self.covariance)

    def whitened(self, effects: np.ndarray) -> np.ndarray:
        """Return ``L^-1 v``, an array (G, 1): independent numbers with variance ``s^2``."""
        return self.root_inverse @ effects

    def basis(self, curvature: np.ndarray) -> Basis:
        """Return the basis for groups with these curvatures, which must not be negative."""
        values, vectors = np.linalg.eigh(self.root.T @ (curvature[:, None] * self.root))
        return Basis(self.root @ vectors, vectors.T @ self.root_inverse, np.maximum(values, 0.0))

    @cached_property
    def dominating(self) -> np.ndarray:
        """Return a diagonal ``D`` with ``D - K^-1`` positive semidefinite.

        It is the smallest multiple of ``diag K^-1``.
        """
        own = np.diag(self.precision)
        unit = 1 / np.sqrt(own)
        return own * np.linalg.eigvalsh(self.precision * np.outer(unit, unit))[-1]

    @cached_property
    def excess_root(self) -> np.ndarray:
        """Return ``R`` with ``R R' = D - K^-1``."""
        values, vectors = np.linalg.eigh(np.diag(self.dominating) - self.precision)
        return vectors * np.sqrt(np.maximum(values, 0.0))


def least_correlation(matrix: np.ndarray) -> float:
    """Return the least eigenvalue of the correlation matrix that belongs to a covariance or precision."""
    unit = 1 / np.sqrt(np.diag(matrix))
    return float(np.linalg.eigvalsh(matrix * np.outer(unit, unit))[0])


def is_definite(matrix: np.ndarray) -> bool:
    """Return True if the matrix is positive definite by more than rounding."""
    return bool((np.diag(matrix) > 0).all()) and least_correlation(matrix) > _SINGULAR
