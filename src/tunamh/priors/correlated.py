"""Normal priors with a full covariance."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..compiled import LogPrior, fixed, part
from .potential import PriorExpansion, ReadyPrior, nothing


def _packed(mean: np.ndarray, root: np.ndarray) -> np.ndarray:
    """``hyper`` of `_correlated`: the mean (d) and a lower triangle ``R`` (d x d) with ``R'R`` the precision."""
    d = len(mean)
    if root.shape != (d, d):
        raise ValueError(f"the root of the precision must have shape {(d, d)}, got {root.shape}")
    return fixed(np.concatenate([mean, root.ravel()]))


@part(LogPrior)
def _correlated(theta, hyper):
    """``-|R (theta - mean)|^2 / 2``."""
    d = theta.size
    total = 0.0
    for j in range(d):
        z = 0.0
        for k in range(j + 1):
            z += hyper[d + j * d + k] * (theta[k] - hyper[k])
        total -= 0.5 * z * z
    return total


@dataclass(frozen=True, eq=False)
class ReadyCorrelated(ReadyPrior):
    root: np.ndarray

    @property
    def gaussian(self) -> bool:
        return True

    def expansion(self, theta: np.ndarray, width: np.ndarray) -> PriorExpansion:
        z = self.root @ (theta - self.mean)
        return PriorExpansion(0.5 * float(z @ z), self.root.T @ z, self.root.T @ self.root)

    def without(self, at: np.ndarray, expansion: PriorExpansion) -> ReadyPrior:
        return replace(self, log_prior=nothing, hyper=fixed([]))


def ready_correlated(mean: np.ndarray, covariance: np.ndarray) -> ReadyCorrelated:
    d, deviation = len(mean), np.sqrt(np.diag(covariance))
    scaled = np.linalg.cholesky(covariance / np.outer(deviation, deviation))
    root = np.linalg.inv(scaled) / deviation
    precision = np.einsum("ij,ij->j", root, root)
    return ReadyCorrelated(_correlated, _packed(mean, root), mean, precision, np.zeros(d, dtype=np.bool_), root)
