"""Groups that decide by themselves while their rows are read together: compiled decisions held to exact ones."""

import numba
import numpy as np
import pytest
from test_groups import REPEATS, grouped_problem, table_of

from tunamh._jit import NO_FAULT
from tunamh.acceptance.base import accepts
from tunamh.acceptance.grouped import batch_of, finite_acceptance
from tunamh.guard import new_work
from tunamh.mixed.each import each_group
from tunamh.theory import FiniteProblem


@numba.njit
def _frequencies_of_each(repeats, rng, theta, prop, log_rho, totals, distances, beta, table, model, work):
    accepted, batches = np.zeros(totals.size), np.zeros(totals.size, np.int64)
    for _ in range(repeats):
        log_ratios = np.full(totals.size, log_rho)
        for g in range(totals.size):
            batches[g] = batch_of(rng, totals[g], distances[g], beta, table.first[g + 1] - table.first[g])
        seen = each_group(rng, theta, prop, log_ratios, batches, distances, beta, table, model, work)
        if seen.fault != NO_FAULT:
            return accepted - 1.0
        for g in range(totals.size):
            accepted[g] += accepts(rng, log_ratios[g])
    return accepted / repeats


@pytest.mark.parametrize("in_order", [False, True])
def test_compiled_decisions_of_each_group(in_order):
    """Every group decides by its own rows: the other groups' do not count, though they are read together."""
    problem, target, groups, distances = grouped_problem(4, in_order=in_order)
    model, work = target.model(), new_work()
    table, totals = table_of(problem, groups)
    for here, there in ((0, 1), (2, 1)):
        theta, prop = np.array([float(here)]), np.array([float(there)])
        of_groups = np.ascontiguousarray(distances[:, here, there])
        found = _frequencies_of_each(
            REPEATS, np.random.default_rng(6), theta, prop, problem.log_rho(here, there), totals, of_groups,
            4.0, table, model, work,
        )  # fmt: skip
        for g in range(3):
            rows = groups == g
            parts = problem.energies[rows], problem.c[rows], problem.distance, problem.proposal, problem.log_prior
            own = FiniteProblem(*parts)
            wanted = finite_acceptance(own, np.zeros(rows.sum(), int), distances[g][None], 4.0, here, there)
            assert abs(found[g] - wanted) < 4.5 * np.sqrt(max(wanted * (1 - wanted), 1e-4) / REPEATS)
