"""Normal priors with a full covariance."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..compiled import LogPrior, fixed, part
from ..compiled.layouts import Layout
from .potential import PriorExpansion, ReadyPrior, nothing

_NUMBERS = Layout("Correlated", "d", mean=("d",), root=("d", "d"))
"""``hyper`` of `_correlated`: the mean and a lower triangle ``R`` with ``R'R`` the precision."""

_numbers_at = _NUMBERS.reader()


@part(LogPrior)
def _correlated(theta, hyper):
    """``-|R (theta - mean)|^2 / 2``."""
    d, total = theta.size, 0.0
    own = _numbers_at(hyper, 0, d)
    mean, root = own.mean, own.root
    for j in range(d):
        z = 0.0
        for k in range(j + 1):
            z += root[j, k] * (theta[k] - mean[k])
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
    return ReadyCorrelated(
        _correlated, fixed(_NUMBERS.pack(mean=mean, root=root)), mean, precision, np.zeros(d, dtype=np.bool_), root
    )
