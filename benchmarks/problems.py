"""The regressions that samplers are compared on, with their posterior modes; the same data whoever asks.

A problem is named by family and size: ``logistic-1e5x50``, ``student-1e6x100``, or ``mnist79`` (sevens and nines of
MNIST, 50 principal components, 12,214 rows).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

DF = 4.0
_BLOCK = 50_000


class Problem(NamedTuple):
    """Rows, responses, and the Laplace approximation: where peers start and in which units they sample."""

    family: str
    X: np.ndarray
    y: np.ndarray
    mode: np.ndarray
    covariance: np.ndarray

    @property
    def sd(self) -> np.ndarray:
        return np.sqrt(np.diag(self.covariance))


def make(name: str) -> Problem:
    """Data from a fixed seed, the mode by Newton's method."""
    if name == "mnist79":
        family, (X, y) = "logistic", mnist79()
    else:
        family, size = name.split("-")
        n_rows, d = size.split("x")
        X, y = simulate(family, int(float(n_rows)), int(d))
    return Problem(family, X, y, *find_mode(family, X, y))


def simulate(family: str, n_rows: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """``x ~ N(0, I)``, ``theta ~ N(0, I / d)``; labels by the logistic law, or noise with 4 degrees of freedom.

    Made in blocks: nothing but X and y is ever of their size.
    """
    rng = np.random.default_rng([seed, n_rows, d])
    theta = rng.standard_normal(d) / np.sqrt(d)
    X, y = np.empty((n_rows, d)), np.empty(n_rows)
    for start in range(0, n_rows, _BLOCK):
        block = slice(start, min(start + _BLOCK, n_rows))
        rng.standard_normal(out=X[block])
        eta = X[block] @ theta
        if family == "logistic":
            y[block] = rng.random(eta.size) < 1 / (1 + np.exp(-eta))
        else:
            y[block] = eta + rng.standard_t(DF, eta.size)
    return X, y


def find_mode(family: str, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mode under a flat prior and the inverse Hessian there, by Newton's method with halved steps.

    It starts from least squares, near enough for the Student-t energy to be convex.
    """
    derivatives = {"logistic": _logistic, "student": _student}[family]
    theta = np.zeros(X.shape[1]) if family == "logistic" else np.linalg.solve(X.T @ X, X.T @ y)
    energy, gradient, hessian = _sums(derivatives, theta, X, y)
    for _ in range(50):
        move = -np.linalg.solve(hessian, gradient)
        decrement = -gradient @ move
        if decrement < 1e-12:
            break
        for _ in range(30):
            trial = _sums(derivatives, theta + move, X, y)
            if trial[0] <= energy + 1e-9 * abs(energy):
                break
            move = move / 2
        theta, (energy, gradient, hessian) = theta + move, trial
    else:
        raise RuntimeError(f"Newton's method did not settle: the last decrement was {decrement:g}")
    return theta, np.linalg.inv(hessian)


def _sums(derivatives: Callable, theta: np.ndarray, X: np.ndarray, y: np.ndarray) -> tuple:
    """Energy, gradient and Hessian, block by block."""
    d = X.shape[1]
    energy, gradient, hessian = 0.0, np.zeros(d), np.zeros((d, d))
    for start in range(0, len(y), _BLOCK):
        x = X[start : start + _BLOCK]
        f, slope, curvature = derivatives(x @ theta, y[start : start + _BLOCK])
        energy += f.sum()
        gradient += slope @ x
        hessian += x.T @ (curvature[:, None] * x)
    return energy, gradient, hessian


def _logistic(eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    p = 0.5 * (1 + np.tanh(0.5 * eta))
    return np.logaddexp(0, eta) - y * eta, p - y, p * (1 - p)


def _student(eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r = y - eta
    q = DF + r * r
    return 0.5 * (DF + 1) * np.log(q / DF), -(DF + 1) * r / q, (DF + 1) * (DF - r * r) / q**2


def mnist79() -> tuple[np.ndarray, np.ndarray]:
    """The training images' features, which ship with the library's experiments."""
    from paper.make_mnist import load  # here, not at the top: the peers' environment has no tunamh

    digits = load()
    return digits.X, digits.y
