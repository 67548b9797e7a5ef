"""The law that independent proposals are drawn from: normal, or a mixture of normals about several modes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import logsumexp


class NormalMixture(NamedTuple):
    """A mixture of normal laws: ``sum_k weight_k N(mean_k, factor_k factor_k')``.

    A factor may be any square root of its covariance.
    """

    log_weights: np.ndarray
    means: np.ndarray
    factors: np.ndarray

    @classmethod
    def of_one(cls, mean: np.ndarray, factor: np.ndarray) -> NormalMixture:
        return cls(np.zeros(1), mean[None], factor[None])

    @property
    def centre(self) -> np.ndarray:
        """Return the mean of the component with the largest weight."""
        return self.means[int(np.argmax(self.log_weights))]

    def draws(self, n: int, rng: np.random.Generator) -> np.ndarray:
        which = rng.choice(len(self.log_weights), size=n, p=np.exp(self.log_weights - logsumexp(self.log_weights)))
        standard = rng.standard_normal((n, self.means.shape[1]))
        return self.means[which] + np.einsum("nij,nj->ni", self.factors[which], standard)

    def log_density(self, points: np.ndarray) -> np.ndarray:
        """Return the normalised log density at points (n, d)."""
        parts = np.stack(
            [_normal(points - mean, factor) for mean, factor in zip(self.means, self.factors, strict=True)]
        )
        return logsumexp(parts + (self.log_weights - logsumexp(self.log_weights))[:, None], axis=0)


def _normal(away: np.ndarray, factor: np.ndarray) -> np.ndarray:
    root = np.linalg.cholesky(factor @ factor.T)
    z = solve_triangular(root, away.T, lower=True)
    volume = float(np.log(np.abs(np.diag(root))).sum())
    return -0.5 * np.einsum("dn,dn->n", z, z) - volume - 0.5 * away.shape[1] * np.log(2 * np.pi)
