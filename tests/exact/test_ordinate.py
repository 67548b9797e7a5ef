"""The density at a point from acceptance probabilities, by enumeration: exact for every test with detailed balance."""

from dataclasses import replace

import numpy as np
import pytest
from finite import dense_problem
from scipy import special

import tunamh
from tunamh.marginal.pairs import MinibatchTest
from tunamh.theory import FiniteProblem

TESTS = [
    tunamh.MHSS(floor=3.0, delayed=False, full_share=np.inf),
    tunamh.MHSS(floor=0.0, delayed=False),
    tunamh.TunaMH(chi=0.7),
    tunamh.MH(),
]


def independent(seed: int) -> tuple[FiniteProblem, np.ndarray, np.ndarray]:
    """A small problem whose proposals do not depend on the state, their law, and the posterior."""
    problem = dense_problem(seed, tight=False)
    K = problem.energies.shape[1]
    q = np.random.default_rng(seed + 50).dirichlet(np.full(K, 2.0))
    log_density = problem.log_prior - problem.energies.sum(axis=0)
    return replace(problem, proposal=np.tile(q, (K, 1))), q, special.softmax(log_density)


@pytest.mark.parametrize("test", TESTS, ids=repr)
@pytest.mark.parametrize("seed", range(4))
def test_the_ordinate_is_exact(seed, test):
    problem, q, pi = independent(seed)
    K = len(q)
    a = np.array([[test.finite_acceptance(problem, x, y) if x != y else 1.0 for y in range(K)] for x in range(K)])
    for t in range(K):
        found = q[t] * (pi @ a[:, t]) / (q @ a[t])
        np.testing.assert_allclose(found, pi[t], rtol=1e-9)
    swapped = [q[t] * (pi @ a[t]) / (q @ a[:, t]) for t in range(K)]  # negative control
    assert np.abs(np.array(swapped) / pi - 1).max() > 1e-3


def test_pairs_have_the_acceptance_probability_that_is_enumerated():
    """The compiled mean of ``min(1, r)`` over batches, of a logistic regression with six rows."""
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((6, 1)), rng.integers(0, 2, 6).astype(float)
    target = tunamh.GLM(X, y, tunamh.Logistic(), prior=tunamh.Normal(scale=1.0))
    points = np.array([[0.2], [0.9]])
    q = np.array([0.3, 0.7])
    problem = FiniteProblem.of(target, points, np.tile(q, (2, 1)))
    floor = 4.0
    test = MinibatchTest(target, floor, np.random.SeedSequence(3))
    n = 40_000
    for x, z in ((0, 1), (1, 0)):
        exact = tunamh.MHSS(floor=floor, delayed=False).finite_acceptance(problem, x, z)
        here, there = (np.broadcast_to(points[k], (n, 1)) for k in (x, z))
        found = test.decide(here, there, np.full(n, np.log(q[x] / q[z]))).accepted
        assert abs(found.mean() - exact) < 4.5 * found.std() / np.sqrt(n) + 1e-12
