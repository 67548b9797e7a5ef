"""Random problems small enough to add up every acceptance probability."""

from __future__ import annotations

import numpy as np

import tunamh
from tunamh.targets.families.categorical import Categorical
from tunamh.theory import FiniteProblem


def neighbour_matrix(K: int) -> np.ndarray:
    """The lazy neighbour walk: asymmetric at the ends."""
    q = np.diag(np.full(K, 0.5))
    for k in range(K):
        neighbours = [m for m in (k - 1, k + 1) if 0 <= m < K]
        q[k, neighbours] = 0.5 / len(neighbours)
    return q


def neighbour_problem(seed: int, *, tight: bool, scale: float = 0.4) -> tuple[FiniteProblem, tunamh.FiniteWalk]:
    """A table of energies on a line of states, as the compiled library and as the enumeration see it."""
    rng = np.random.default_rng(seed)
    n_rows, K = int(rng.integers(3, 6)), int(rng.integers(3, 7))
    energies = scale * rng.standard_normal((n_rows, K)) * rng.uniform(0.2, 1.0, (n_rows, 1))
    smallest = np.abs(np.diff(energies, axis=1)).max(axis=1)
    c = smallest if tight else smallest * rng.uniform(1.0, 2.5, n_rows)
    log_prior = 0.5 * rng.standard_normal(K)
    states = np.arange(K)
    distance = np.abs(states[:, None] - states).astype(float)
    problem = FiniteProblem(energies, c, distance, neighbour_matrix(K), log_prior)
    return problem, tunamh.FiniteWalk(table=energies, c=c, prior=table_prior(log_prior))


def table_prior(log_prior: np.ndarray):
    import numba

    values = tuple(float(v) for v in log_prior)

    @numba.njit
    def prior(theta):
        state = int(theta[0])
        return values[state] if 0 <= state < len(values) else -np.inf

    return prior


def dense_problem(seed: int, *, tight: bool) -> FiniteProblem:
    """Any state proposes any other, with unequal probabilities; the distance is a random symmetric matrix."""
    rng = np.random.default_rng(seed)
    n_rows, K = int(rng.integers(3, 6)), int(rng.integers(3, 7))
    energies = 0.2 * rng.standard_normal((n_rows, K))
    half = rng.uniform(0.3, 1.0, (K, K))
    distance = (half + half.T) / 2
    np.fill_diagonal(distance, 0.0)
    rise = np.abs(energies[:, :, None] - energies[:, None, :])
    off = ~np.eye(K, dtype=bool)
    c = (rise[:, off] / distance[off]).max(axis=1)
    q = rng.dirichlet(np.ones(K), size=K)
    return FiniteProblem(energies, c if tight else c * rng.uniform(1, 2, n_rows), distance, q, rng.standard_normal(K))


def softmax_problem(seed: int) -> tuple[FiniteProblem, tunamh.Target, np.ndarray, np.ndarray]:
    """Three classes of one column, expanded, at a few points of the plane.

    As the enumeration and as the compiled library see them, with the points and the posterior's law on these by NumPy.
    """
    rng = np.random.default_rng(seed)
    X, y, K = 2 * rng.normal(size=(4, 1)), np.array([0.0, 1.0, 2.0, float(rng.integers(3))]), 4
    weights = rng.uniform(0.5, 1.5, 4)
    target = tunamh.GLM(X, y, Categorical(), prior=tunamh.Normal(scale=1.5), weights=weights)
    expanded = tunamh.Taylor(order=2, centre=np.zeros(2))(target)  # not at the mode: remainders are larger
    points = rng.normal(size=(K, 2))
    q = rng.dirichlet(np.full(K, 3.0), size=K)
    eta = np.concatenate([np.zeros((K, 4, 1)), points[:, None, :] * X], axis=2)
    log_likelihood = (eta - np.log(np.exp(eta).sum(axis=2, keepdims=True)))[:, np.arange(4), y.astype(int)]
    log_law = log_likelihood @ weights - 0.5 * (points**2).sum(axis=1) / 1.5**2
    law = np.exp(log_law - log_law.max())
    return FiniteProblem.of(expanded, points, q), expanded, points, law / law.sum()
