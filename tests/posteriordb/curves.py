"""Gaussian processes of a few points, as energies of one's own (`energies.py`)."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
from energies import Walked, positive, square


@numba.njit
def _root(x, height, width, nugget):
    """The Cholesky factor of ``height^2 exp(-(x_i - x_j)^2 / (2 width^2))`` with a nugget; NaN where there is none."""
    n = x.size
    factor = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            left = height**2 * math.exp(-square(x[i], x[j], width)) + (nugget if i == j else 0.0)
            for k in range(j):
                left -= factor[i, k] * factor[j, k]
            if i == j:
                factor[i, i] = math.sqrt(left) if left > 0.0 else math.nan
            else:
                factor[i, j] = left / factor[j, j]
    return factor


@numba.njit
def _curve_prior(theta):
    """Of log rho, whose rho is Gamma(25, rate 4), and log alpha, whose alpha is half-normal of scale 2."""
    return 4.0 * math.exp(theta[0]) - 25.0 * theta[0] + square(math.exp(theta[1]), 0.0, 2.0) - theta[1]


@numba.njit
def _curve(theta, row):
    """log rho, log alpha, log of the errors' variance (called sigma); row: all x, all y."""
    n, variance = row.size // 2, math.exp(theta[2])
    factor = _root(row[:n], math.exp(theta[1]), math.exp(theta[0]), variance)
    total = 0.0
    white = np.empty(n)
    for i in range(n):
        left = row[n + i]
        for k in range(i):
            left -= factor[i, k] * white[k]
        white[i] = left / factor[i, i]
        total += 0.5 * white[i] ** 2 + math.log(factor[i, i])
    total += _curve_prior(theta) + square(variance, 0.0, 1.0) - theta[2]
    return math.inf if math.isnan(total) else total


def curve(d: Any) -> Walked:
    return Walked(_curve, np.concatenate([d.x, d.y]), [1.5, 0.0, 0.0], positive(["rho", "alpha", "sigma"]))


_JITTER = 1e-10


@numba.njit
def _counts(theta, row):
    """log rho, log alpha, and white numbers, one for every count; row: all x, all counts."""
    n = row.size // 2
    factor = _root(row[:n], math.exp(theta[1]), math.exp(theta[0]), _JITTER)
    total = _curve_prior(theta)
    for i in range(n):
        height = 0.0
        for k in range(i + 1):
            height += factor[i, k] * theta[2 + k]
        total += math.exp(height) - row[n + i] * height + square(theta[2 + i], 0.0, 1.0)
    return math.inf if math.isnan(total) else total


def counts(d: Any) -> Walked:
    def natural(at: np.ndarray) -> dict[str, np.ndarray]:
        rho, alpha = np.exp(at[..., 0]), np.exp(at[..., 1])
        apart = (d.x[:, None] - d.x) ** 2
        covariance = alpha[..., None, None] ** 2 * np.exp(-0.5 * apart / rho[..., None, None] ** 2)
        factor = np.linalg.cholesky(covariance + _JITTER * np.eye(len(d.x)))
        heights = (factor @ at[..., 2:, None])[..., 0]
        return {"rho": rho, "alpha": alpha} | {f"f[{i + 1}]": heights[..., i] for i in range(len(d.x))}

    return Walked(_counts, np.concatenate([d.x, d.k]), [1.5, 0.0, *np.zeros(len(d.x))], natural)
