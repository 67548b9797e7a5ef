"""A smooth law of a few numbers, learned from draws: normal kernels about some of them (West 1993).

Kernels are drawn towards the mean, ``m_k = mean + a (x_k - mean)``, ``a^2 = 1 - h^2``, and are as wide as ``h`` times
the draws' covariance. So the mixture has the mean and the covariance of the draws, for any ``h``: of many numbers it is
nearly a normal law, and of few numbers it follows their skewness.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

_KERNELS = 300
_WIDER = 1.1  # than the draws: of their standard deviations
_LEAST = 1e-6


class KernelLaw:
    """A law made of normal kernels about points (n, m). For m = 0 it has nothing to draw, and its log density is 0."""

    def __init__(self, points: np.ndarray):
        n, m = points.shape
        self.m = m
        if m == 0:
            return
        self.mean = points.mean(axis=0)
        deviations = np.maximum(points.std(axis=0), _LEAST)
        correlation = np.atleast_2d(np.cov(points / deviations, rowvar=False)) + _LEAST * np.eye(m)
        root = _WIDER * deviations[:, None] * np.linalg.cholesky(correlation)
        some = points[np.unique(np.linspace(0, n - 1, min(n, _KERNELS)).astype(int))]
        width = min(0.95, (4 / (m + 2)) ** (1 / (m + 4)) * len(some) ** (-1 / (m + 4)))
        self.at = self.mean + _WIDER * np.sqrt(1 - width**2) * (some - self.mean)
        self.root = width * root
        self.centres = solve_triangular(self.root, self.at.T, lower=True)
        self.volume = np.log(np.diag(self.root)).sum() + 0.5 * m * np.log(2 * np.pi) + np.log(len(some))

    @property
    def centre(self) -> np.ndarray:
        return self.mean if self.m else np.empty(0)

    def draws(self, n: int, rng: np.random.Generator) -> np.ndarray:
        if self.m == 0:
            return np.empty((n, 0))
        which = rng.integers(len(self.at), size=n)
        return self.at[which] + rng.standard_normal((n, self.m)) @ self.root.T

    def log_density(self, points: np.ndarray) -> np.ndarray:
        if self.m == 0:
            return np.zeros(len(points))
        whitened = solve_triangular(self.root, points.T, lower=True)
        squares = np.square(whitened[:, :, None] - self.centres[:, None, :]).sum(axis=0)
        return np.asarray(np.logaddexp.reduce(-0.5 * squares, axis=1)) - self.volume
