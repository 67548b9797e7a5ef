"""Random problems small enough to add up every acceptance probability."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy import special, stats

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
    """A prior by its logarithm at every state; compiled once for a table."""
    return _table_prior(tuple(float(v) for v in log_prior))


@cache
def _table_prior(values: tuple[float, ...]):
    import numba

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


# ----------------------------------------------------------------------- further parameters, and ladders of trust radii


def ordinal_problem(seed: int, *, white: bool = False):
    """Three categories of one column: two predictors per row, and a closed form of the cutpoints.

    As `softmax_problem`; the points are those of a user.
    """
    rng = np.random.default_rng(seed)
    X, y, K = 1.5 * rng.normal(size=(4, 1)), np.array([0.0, 1.0, 2.0, float(rng.integers(3))]), 4
    weights = rng.uniform(0.5, 1.5, 4)
    family = tunamh.Ordinal(tunamh.Normal(scale=2.0))
    target = tunamh.GLM(X, y, family, prior=tunamh.Normal(scale=1.0), weights=weights)
    points = np.column_stack([rng.normal(size=K), np.sort(1.5 * rng.normal(size=(K, 2)), axis=1)])
    below = special.expit(points[:, 1:, None] - points[:, :1, None] * X[:, 0])
    edges = np.concatenate([np.zeros((K, 1, 4)), below, np.ones((K, 1, 4))], axis=1)
    chance = np.diff(edges, axis=1)[:, y.astype(int), np.arange(4)]
    log_law = np.log(chance) @ weights - 0.5 * points[:, 0] ** 2 - 0.5 * (points[:, 1:] ** 2).sum(axis=1) / 4
    return _found(tunamh.Taylor(order=2, centre=np.array([0.3, -0.5, 0.8]))(target), points, log_law, rng, white)


def student_problem(seed: int, *, white: bool = False):
    """Student-t errors of unknown scale; the law has the Jacobian ``scale^3`` of the coordinates that are walked."""
    rng = np.random.default_rng(seed)
    X, K, prior = rng.normal(size=(5, 1)) + 0.5, 4, tunamh.HalfNormal(1.5)
    y = 0.5 * X[:, 0] + rng.standard_t(4, 5)
    target = tunamh.GLM(X, y, tunamh.StudentT(4, prior), prior=tunamh.Normal(scale=1.0))
    points = np.column_stack([0.5 + 0.4 * rng.normal(size=K), np.exp(0.25 * rng.normal(size=K))])
    beta, scale = points[:, :1], points[:, 1:]
    log_law = stats.t(4, beta * X[:, 0], scale).logpdf(y).sum(axis=1) - 0.5 * beta[:, 0] ** 2
    log_law += stats.halfnorm(scale=1.5).logpdf(scale[:, 0]) + 3 * np.log(scale[:, 0])
    return _found(tunamh.Taylor(order=2)(target), points, log_law, rng, white)


ON_A_LADDER = -0.5, -0.98, -1.02, -1.998, -2.002, -3.0, -6.0, -9.0
"""In first radii: two points on the first rung, two on the second, two on the third, one on the last, one beyond."""


def poisson_problem(seed: int, *, white: bool = False, away=ON_A_LADDER):
    """Counts, expanded where they are large: the points lie on every rung of the ladder and beyond the last.

    Pairs on either side of a radius are so near to each other that they are decided by a minibatch.
    """
    rng = np.random.default_rng(seed)
    X, y = np.array([[2.0], [1.6], [1.8], [1.5]]), np.array([0.0, 0.0, 1.0, 0.0])
    weights = rng.uniform(0.2, 0.3, 4)
    target = tunamh.GLM(X, y, tunamh.Poisson(), prior=tunamh.Normal(scale=4.0), weights=weights)
    expanded = tunamh.Taylor(order=2, centre=np.array([1.2]))(target)
    first = np.sqrt(expanded.trust.radii_squared[0]) * float(np.linalg.norm(expanded.metric.factor))
    points = 1.2 + first * np.array(away)[:, None]
    eta = points * X[:, 0]
    log_law = stats.poisson(np.exp(eta)).logpmf(y) @ weights - 0.5 * points[:, 0] ** 2 / 16
    return _found(expanded, points, log_law, rng, white)


def _found(expanded, points, log_law, rng, white):
    """The problem, the target, the user's points, and the law on these; points of the problem are those walked."""
    target = expanded.whitened() if white else expanded
    K = len(points)
    walked = np.array([target.to_chain(point) for point in points])
    law = np.exp(log_law - log_law.max())
    problem = FiniteProblem.of(target, walked, rng.dirichlet(np.full(K, 3.0), size=K))
    return problem, target, points, law / law.sum()
