"""Groups that decide by themselves while their rows are read together: compiled decisions held to exact ones."""

import numba
import numpy as np
import pytest
from finite import neighbour_matrix, table_prior
from test_groups import REPEATS, _frequency, table_of, transition

import tunamh
from tunamh.acceptance.base import accepts
from tunamh.acceptance.grouped import GroupDecisions, GroupMove, finite_acceptance, group_in_order, read_groups
from tunamh.chains.guard import new_work
from tunamh.compiled import NO_FAULT
from tunamh.theory import FiniteProblem


@numba.njit
def _frequencies_of_each(repeats, rng, log_rho, move):
    totals = move.table.totals
    accepted, owner = np.zeros(totals.size), np.arange(totals.size)
    for _ in range(repeats):
        log_ratios = np.full(totals.size, log_rho)
        seen = read_groups(rng, move, GroupDecisions(log_ratios, owner))
        if seen.fault != NO_FAULT:
            return accepted - 1.0
        for g in range(totals.size):
            accepted[g] += accepts(rng, log_ratios[g])
    return accepted / repeats


def tall_problem(*, in_order):
    """Groups of 16 rows of two kinds: so many that a stream of them is cheaper, so few kinds that all add up."""
    rng = np.random.default_rng(0)
    kinds = 0.2 * rng.standard_normal((6, 3)) + np.outer([1, 1, -1, -1, 0, 0], 0.1 * np.arange(3))
    energies, groups = np.repeat(kinds, 8, axis=0), np.repeat(np.arange(3), 16)
    c = 1.2 * np.abs(np.diff(energies, axis=1)).max(axis=1)
    log_prior = np.array([0.0, 0.3, -0.2])
    distance = np.abs(np.arange(3.0)[:, None] - np.arange(3.0))
    problem = FiniteProblem(energies, c, distance, neighbour_matrix(3), log_prior)
    distances = np.stack([distance, 1.1 * distance, distance])
    if in_order:
        distances[1] = np.where(distance > 0, np.inf, 0.0)
    return problem, tunamh.FiniteWalk(table=energies, c=c, prior=table_prior(log_prior)), groups, distances


@pytest.mark.parametrize("in_order", [False, True])
def test_compiled_decisions_of_each_group(in_order):
    """Every group decides by its own rows: the other groups' do not count, though they are read together."""
    problem, target, groups, distances = tall_problem(in_order=in_order)
    model, work = target.model(), new_work()
    table = table_of(problem, groups)
    assert [group_in_order(t * d, 16) for t, d in zip(table.totals, distances[:, 0, 1], strict=True)] == [
        False,
        in_order,
        False,
    ]
    for here, there in ((0, 1), (2, 1)):
        theta, prop = np.array([float(here)]), np.array([float(there)])
        move = GroupMove(theta, prop, table, np.ascontiguousarray(distances[:, here, there]), 1.0, model, work)
        found = _frequencies_of_each(REPEATS, np.random.default_rng(6), problem.log_rho(here, there), move)
        for g in range(3):
            rows = groups == g
            own = FiniteProblem(
                problem.energies[rows], problem.c[rows], problem.distance, problem.proposal, problem.log_prior
            )
            wanted = finite_acceptance(own, np.zeros(rows.sum(), int), distances[g][None], 1.0, here, there)
            assert abs(found[g] - wanted) < 4.5 * np.sqrt(max(wanted * (1 - wanted), 1e-4) / REPEATS)


@pytest.mark.parametrize("in_order", [False, True])
@pytest.mark.parametrize("beta", [1.0, 1.2])
def test_compiled_decisions_over_all_groups_that_draw_rows(beta, in_order):
    """Groups large enough that their rows are drawn, not read in order."""
    problem, target, groups, distances = tall_problem(in_order=in_order)
    model, work = target.model(), new_work()
    table = table_of(problem, groups)
    for here, there in ((0, 1), (2, 1)):
        of_groups = np.ascontiguousarray(distances[:, here, there])
        assert not group_in_order(beta * table.totals[0] * of_groups[0], 16)
        wanted = finite_acceptance(problem, groups, distances, beta, here, there)
        theta, prop = np.array([float(here)]), np.array([float(there)])
        move = GroupMove(theta, prop, table, of_groups, beta, model, work)
        found = _frequency(REPEATS, np.random.default_rng(8), problem.log_rho(here, there), move)
        assert abs(found - wanted) < 4.5 * np.sqrt(max(wanted * (1 - wanted), 1e-4) / REPEATS)


@pytest.mark.parametrize("in_order", [False, True])
def test_detailed_balance_where_rows_are_drawn(in_order):
    problem, _, groups, distances = tall_problem(in_order=in_order)
    flow = problem.posterior()[:, None] * transition(problem, groups, distances, 1.0)
    assert np.abs(flow - flow.T).max() < 1e-9
