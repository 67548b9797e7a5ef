"""Rows in groups with bounds of their own: detailed balance to 1e-9, and compiled decisions held to it by frequency."""

import numba
import numpy as np
import pytest
from finite import neighbour_problem

from tunamh.acceptance.base import accepts
from tunamh.acceptance.grouped import GroupDecisions, GroupMove, GroupRows, finite_acceptance, read_groups
from tunamh.chains.guard import new_work
from tunamh.compiled import NO_FAULT
from tunamh.groups.cells import places_of
from tunamh.theory import FiniteProblem, thinned_acceptance

BETAS = [1.0, 4.0]


def grouped_problem(seed, *, in_order=False):
    """A problem whose rows lie in three groups; distances of groups are unequal, and one may be unknown."""
    problem, target = neighbour_problem(seed, tight=True)
    rng = np.random.default_rng(100 + seed)
    n, K = problem.energies.shape
    groups = np.arange(n) % 3
    distances = np.empty((3, K, K))
    for g in range(3):
        slack = rng.uniform(1.0, 2.0, (K, K))
        distances[g] = problem.distance * (slack + slack.T) / 2
    if in_order:
        distances[1] = np.where(problem.distance > 0, np.inf, 0.0)
    return problem, target, groups, distances


def transition(problem, groups, distances, beta, decide=finite_acceptance):
    K = len(problem.log_prior)
    P = np.zeros((K, K))
    for k in range(K):
        for m in range(K):
            if k != m and problem.proposal[k, m] > 0:
                P[k, m] = problem.proposal[k, m] * decide(problem, groups, distances, beta, k, m)
        P[k, k] = 1 - P[k].sum()
    return P


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("in_order", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_detailed_balance(seed, in_order, beta):
    problem, _, groups, distances = grouped_problem(seed, in_order=in_order)
    flow = problem.posterior()[:, None] * transition(problem, groups, distances, beta)
    assert np.abs(flow - flow.T).max() < 1e-9


def test_a_bound_that_depends_on_the_direction_shows():
    """Negative control: groups whose distance is larger one way than back."""
    problem, _, groups, distances = grouped_problem(1)
    distances[0] = np.triu(distances[0]) * 3 + np.tril(distances[0])
    flow = problem.posterior()[:, None] * transition(problem, groups, distances, 1.0)
    assert np.abs(flow - flow.T).max() > 1e-6


def test_one_group_is_the_kernel_without_groups():
    problem, _, _, _ = grouped_problem(2)
    one = np.zeros(len(problem.c), int)
    bound = problem.c * problem.distance[0, 1]
    rise = problem.energies[:, 1] - problem.energies[:, 0]
    wanted = thinned_acceptance(problem.log_rho(0, 1), rise, bound, beta=1.0, gamma=0.0)
    small = FiniteProblem(problem.energies, problem.c, problem.distance * 1.0, problem.proposal, problem.log_prior)
    found = finite_acceptance(small, one, problem.distance[None], 1.0, 0, 1)
    whole = bound.sum() >= 0.4 * len(bound)  # then all rows are read
    assert whole or found == pytest.approx(wanted, abs=1e-12)


@numba.njit
def _frequency(repeats, rng, log_rho, move):
    accepted, log_ratio, owner = 0, np.empty(1), np.zeros(move.distances.size, np.int64)
    for _ in range(repeats):
        log_ratio[0] = log_rho
        seen = read_groups(rng, move, GroupDecisions(log_ratio, owner))
        if seen.fault != NO_FAULT:
            return -1.0
        accepted += accepts(rng, log_ratio[0])
    return accepted / repeats


def table_of(problem, groups):
    first, places = places_of(groups, problem.c, 3)
    return GroupRows(first.astype(float), places, np.bincount(groups, problem.c, minlength=3), np.zeros(3), np.zeros(3))


REPEATS = 100_000


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("in_order", [False, True])
def test_compiled_decisions_over_all_groups(in_order, beta):
    problem, target, groups, distances = grouped_problem(3, in_order=in_order)
    distances = np.where(np.isfinite(distances), distances * 0.999999 + 0.0, distances)
    distances = np.maximum(distances, problem.distance[None])
    model, work = target.model(), new_work()
    table = table_of(problem, groups)
    rng = np.random.default_rng(5)
    for here, there in ((0, 1), (1, 0), (1, 2)):
        wanted = finite_acceptance(problem, groups, distances, beta, here, there)
        theta, prop = np.array([float(here)]), np.array([float(there)])
        move = GroupMove(theta, prop, table, np.ascontiguousarray(distances[:, here, there]), beta, model, work)
        found = _frequency(REPEATS, rng, problem.log_rho(here, there), move)
        assert abs(found - wanted) < 4.5 * np.sqrt(max(wanted * (1 - wanted), 1e-4) / REPEATS)


def test_decisions_group_by_group_keep_the_posterior():
    """Given the rest, groups are independent: deciding each by itself leaves the product of their laws unchanged."""
    problems = [grouped_problem(seed)[0] for seed in (0, 1)]
    kernels, laws = [], []
    for problem in problems:
        zeros = np.zeros(len(problem.c), int)
        kernels.append(transition(problem, zeros, problem.distance[None], 1.0))
        laws.append(problem.posterior())
    joint = np.outer(*laws).ravel()
    together = np.kron(*kernels)
    assert np.abs(joint @ together - joint).max() < 1e-12
    flow = joint[:, None] * together
    assert np.abs(flow - flow.T).max() < 1e-9


def test_a_row_beyond_its_groups_bound_is_named():
    problem, target, groups, _distances = grouped_problem(3)
    model, work = target.model(), new_work()
    table = table_of(problem, groups)
    small = np.full(3, 1e-3 * problem.distance[0, 1])
    move = GroupMove(np.array([0.0]), np.array([1.0]), table, small, 1000.0, model, work)
    assert _frequency(1000, np.random.default_rng(7), 0.0, move) == -1.0
