"""Exactness by enumeration: detailed balance to 1e-9, and a negative control that must fail."""

import numpy as np
import pytest
from finite import (
    dense_problem,
    neighbour_problem,
    ordinal_problem,
    poisson_problem,
    softmax_problem,
    student_problem,
)
from scipy import stats

from tunamh import (
    MH,
    MHSS,
    AustereMH,
    FactorizedMH,
    FlyMC,
    GaussianMixture,
    LogisticRegression,
    MHMinibatch,
    Normal,
    PoissonMH,
    RobustRegression,
    TunaMH,
)
from tunamh.acceptance.thinning import Thinning
from tunamh.theory import (
    FiniteProblem,
    acceptance,
    chi_for_gap,
    detailed_balance_error,
    expected_batch,
    full_acceptance,
    gap_for_chi,
    least_batch,
    optimal_chi,
    spectral_gap,
    stationary_law,
    thinned_acceptance,
    total_variation,
    transition_matrix,
)

TESTS = [
    MH(),
    *(TunaMH(chi=chi, full_share=np.inf) for chi in (0.01, 0.3, 2.0)),
    TunaMH(chi=0.3, full_share=0.5),
    *(MHSS(floor=floor, delayed=delayed, full_share=np.inf) for floor in (0.0, 2.0) for delayed in (False, True)),
    FactorizedMH(truncation=np.inf),
    FactorizedMH(truncation=1.5),
    PoissonMH(0.5),
    PoissonMH(4.0),
]
INEXACT = [AustereMH(0.1, 2), MHMinibatch(2)]


@pytest.mark.parametrize("test", TESTS, ids=repr)
@pytest.mark.parametrize("tight", [True, False], ids=["tight", "slack"])
@pytest.mark.parametrize("seed", range(5))
def test_detailed_balance(test, tight, seed):
    for problem in (neighbour_problem(seed, tight=tight)[0], dense_problem(seed, tight=tight)):
        transition = transition_matrix(problem, test)
        assert np.all(transition >= 0)
        assert detailed_balance_error(transition, problem.posterior()) < 1e-9
        assert stationary_law(transition) == pytest.approx(problem.posterior(), abs=1e-8)


@pytest.mark.parametrize("test", [test for test in TESTS if not isinstance(test, PoissonMH)], ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_detailed_balance_of_classes_expanded_to_the_second_order(test, seed):
    """Rows of several predictors, by the remainders and bounds of the compiled code; the law is that of NumPy."""
    problem, _, _, law = softmax_problem(seed)
    assert problem.posterior() == pytest.approx(law, abs=1e-12)
    rise = np.abs(problem.energies[:, :, None] - problem.energies[:, None, :])
    assert 0.1 < (rise / (problem.c[:, None, None] * problem.distance + np.eye(4))).max() <= 1
    transition = transition_matrix(problem, test)
    assert detailed_balance_error(transition, law) < 1e-9
    assert stationary_law(transition) == pytest.approx(law, abs=1e-8)


EXPANDED = [test for test in TESTS if not isinstance(test, PoissonMH)]


@pytest.mark.parametrize("test", EXPANDED, ids=repr)
@pytest.mark.parametrize("white", [False, True], ids=["own coordinates", "whitened"])
@pytest.mark.parametrize("make", [ordinal_problem, student_problem], ids=["ordinal", "Student-t"])
def test_detailed_balance_with_further_parameters(test, white, make):
    """Rows, closed form, priors and expansion together have the law that SciPy's densities make."""
    for seed in range(2):
        problem, _, _, law = make(seed, white=white)
        assert problem.posterior() == pytest.approx(law, abs=1e-9)
        rise = np.abs(problem.energies[:, :, None] - problem.energies[:, None, :])
        assert 0.02 < (rise / (problem.c[:, None, None] * problem.distance + np.eye(4))).max() <= 1
        transition = transition_matrix(problem, test)
        assert detailed_balance_error(transition, law) < 1e-9
        assert stationary_law(transition) == pytest.approx(law, abs=1e-8)


LADDER = [
    MH(),
    TunaMH(chi=0.01, full_share=20.0),
    TunaMH(chi=0.1, full_share=20.0),
    *(MHSS(floor=floor, delayed=delayed, full_share=20.0) for floor in (0.0, 2.0) for delayed in (False, True)),
    FactorizedMH(truncation=50.0),
    FactorizedMH(),
]


@pytest.mark.parametrize("test", LADDER, ids=repr)
@pytest.mark.parametrize("white", [False, True], ids=["own coordinates", "whitened"])
def test_detailed_balance_on_a_ladder_and_beyond(test, white):
    """Pairs on the same rung, on different ones, and beyond the last, where bounds are infinite and all rows are read.

    The choice between a minibatch and all rows looks at the pair alone, in either order: so it may.
    """
    problem, target, _, law = poisson_problem(1, white=white)
    assert problem.posterior() == pytest.approx(law, abs=1e-9)
    assert law.min() > 1e-4
    last, M, factors = len(law) - 1, problem.distance, np.array(target.trust.factors)
    assert np.isfinite(M[:-1, :-1]).all()
    assert (M[-1, :-1] == np.inf).all()
    assert factors[0] == 1.0
    assert (np.diff(factors[:-1]) > 0).all()
    assert factors[-1] == np.inf
    np.testing.assert_allclose(M, M.T, rtol=1e-9)
    transition = transition_matrix(problem, test)
    assert detailed_balance_error(transition, law) < 1e-9
    assert stationary_law(transition) == pytest.approx(law, abs=1e-8)
    for k in range(last):
        assert acceptance(problem, test, k, last) == full_acceptance(problem, k, last)
    if isinstance(test, TunaMH | MHSS):  # on one rung and across the first two radii not all rows are read
        thinned = [test.thinning(4).mean_batch(problem.c.sum() * M[pair]) for pair in ((0, 1), (1, 2), (3, 4))]
        assert max(thinned) < test.thinning(4).limit


@pytest.mark.parametrize(
    "test", [TunaMH(chi=1.0, full_share=np.inf), MHSS(full_share=np.inf), FactorizedMH(truncation=np.inf)], ids=repr
)
def test_beyond_the_last_rung_all_rows_are_read_even_if_they_never_should_be(test):
    problem = poisson_problem(1)[0]
    last = len(problem.log_prior) - 1
    for k in range(last):
        assert acceptance(problem, test, k, last) == full_acceptance(problem, k, last)
        assert acceptance(problem, test, last, k) == full_acceptance(problem, last, k)


def test_a_ladder_without_its_factors_shows():
    """Negative control: to the right, where energies bend more, the first rung's bounds do not serve on the third."""
    problem, target, _, _ = poisson_problem(1, away=(0.5, 3.9))
    short = problem.distance / target.trust.factors[2]
    wrong = FiniteProblem(problem.energies, problem.c, short, problem.proposal, problem.log_prior)
    with pytest.raises(ValueError, match="exceeds its bound"):
        acceptance(wrong, MHSS(full_share=np.inf), 0, 1)
    rise = np.abs(problem.energies[:, 1] - problem.energies[:, 0])
    assert (rise <= problem.c * problem.distance[0, 1]).all()


def test_classes_beyond_their_bounds_have_no_rate():
    """Negative control: constants five times too small."""
    problem = softmax_problem(0)[0]
    short = FiniteProblem(problem.energies, problem.c / 5, problem.distance, problem.proposal, problem.log_prior)
    with pytest.raises(ValueError, match="exceeds its bound"):
        transition_matrix(short, TunaMH(chi=0.01, full_share=np.inf))


@pytest.mark.parametrize("test", INEXACT, ids=repr)
def test_the_inexact_tests_fail_the_same_battery(test):
    """Batches of 2, else they would see all rows and be exact."""
    errors, distances = [], []
    for seed in range(5):
        problem = neighbour_problem(seed, tight=True)[0]
        transition = transition_matrix(problem, test)
        errors.append(detailed_balance_error(transition, problem.posterior()))
        distances.append(total_variation(stationary_law(transition), problem.posterior()))
    assert min(errors) > 1e-5
    assert max(distances) > 0.005


@pytest.mark.parametrize("test", [AustereMH(0.1, 10), MHMinibatch(10)], ids=repr)
def test_with_all_rows_in_one_batch_they_are_exact(test):
    problem = neighbour_problem(1, tight=True)[0]
    assert detailed_balance_error(transition_matrix(problem, test), problem.posterior()) < 1e-7


@pytest.mark.parametrize("seed", range(10))
def test_spectral_gaps_are_ordered_at_equal_batch(seed):
    """Theorem B: gamma = 0 before 1/2 before 1, the mean batch C M being the same for all three."""
    problem = dense_problem(seed, tight=True)
    gaps = [spectral_gap(transition_matrix(problem, Thinning(gamma=gamma))) for gamma in (0.0, 0.5, 1.0)]
    assert gaps[0] >= gaps[1] - 1e-12
    assert gaps[1] >= gaps[2] - 1e-12


def firefly_problems():
    X, y = np.array([[1.0, 0.3], [-0.5, 1.2], [0.7, -0.8]]), np.array([1.0, 0.0, 1.0])
    points = np.array([[0.0, 0.0], [0.6, -0.4], [-0.3, 0.8]])
    q = np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3], [0.1, 0.6, 0.3]])
    targets = [
        LogisticRegression(X, y, prior=Normal(scale=1.0)),
        RobustRegression(X, 2 * y, weights=[1.0, 2.0, 0.5], scale=1.0),
        GaussianMixture(X[:, 0]),
    ]
    settings = [FlyMC(q=0.3), FlyMC(q=0.05, tuned=True), FlyMC(q=1.0), FlyMC(q=0.2, centre=[0.6, -0.4])]
    return [pytest.param(t, f, points, q, id=f"{type(t).__name__}-{f.q}") for t in targets for f in settings]


@pytest.mark.parametrize(("target", "test", "points", "q"), firefly_problems())
def test_the_joint_law_of_flymc_is_stationary(target, test, points, q):
    problem = FiniteProblem.of(test.prepare(target), points, q)
    assert (problem.energies <= 1e-12).all()  # the lower bounds hold
    transition, joint = test.joint_transition_matrix(problem)
    assert np.abs(transition.sum(axis=1) - 1).max() < 1e-12
    assert np.abs(joint @ transition - joint).max() < 1e-12
    marginal = joint.reshape(len(points), -1).sum(axis=1)
    assert marginal == pytest.approx(FiniteProblem.of(target, points, q).posterior(), abs=1e-12)


class InvertedRatio(FiniteProblem):
    """The proposal ratio as the paper prints it: q(prop|theta) / q(theta|prop)."""

    def log_rho(self, here, there):
        right = super().log_rho(here, there)
        return right - 2 * np.log(self.proposal[there, here] / self.proposal[here, there])


@pytest.mark.parametrize("seed", range(5))
def test_the_ratio_as_the_paper_prints_it_fails(seed):
    right = neighbour_problem(seed, tight=True)[0]
    wrong = InvertedRatio(right.energies, right.c, right.distance, right.proposal, right.log_prior)
    transition = transition_matrix(wrong, TunaMH(chi=0.3))
    assert detailed_balance_error(transition, right.posterior()) > 1e-3
    assert 0.5 * np.abs(stationary_law(transition) - right.posterior()).sum() > 0.02


def test_a_row_beyond_its_bound_has_no_rate():
    problem = neighbour_problem(0, tight=True)[0]
    c = problem.c.copy()
    c[0] *= 0.5
    short = FiniteProblem(problem.energies, c, problem.distance, problem.proposal, problem.log_prior)
    with pytest.raises(ValueError, match="exceeds its bound"):
        transition_matrix(short, TunaMH(chi=0.01, full_share=np.inf))


def test_enumeration_against_brute_force():
    """The two-halves sum against every combination of counts, one by one."""
    rise, bound = np.array([0.3, -0.2, 0.1]), np.array([0.4, 0.2, 0.3])
    beta, gamma, log_rho = 1.4, 0.5, -0.3
    forward = (1 - gamma) * (beta * bound + np.minimum(0, rise)) + gamma * ((beta - 1) * bound + np.maximum(0, rise))
    total = 0.0
    for counts in np.ndindex(14, 14, 14):
        chance = np.prod(stats.poisson.pmf(counts, forward))
        total += chance * min(1.0, np.exp(log_rho) * np.prod(((forward - rise) / forward) ** counts))
    assert thinned_acceptance(log_rho, rise, bound, beta=beta, gamma=gamma) == pytest.approx(total, abs=1e-10)


@pytest.mark.parametrize("seed", range(20))
def test_larger_symmetric_parts_never_lower_acceptance(seed):
    """Theorem B: at equal batch (beta) acceptance falls from gamma = 0 to 1/2 to 1, and it grows with beta."""
    rng = np.random.default_rng(seed)
    bound = rng.uniform(0.1, 0.5, 4)
    rise = bound * rng.uniform(-1, 1, 4)
    log_rho = rng.normal()

    def accepts(beta, gamma):
        return thinned_acceptance(log_rho, rise, bound, beta=beta, gamma=gamma)

    assert accepts(1.3, 0.0) >= accepts(1.3, 0.5) - 1e-12 >= accepts(1.3, 1.0) - 2e-12
    assert accepts(2.0, 0.5) >= accepts(1.3, 0.5) - 1e-12


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("chi", [0.2, 1.0])
def test_spectral_gap_keeps_its_guarantee(seed, chi):
    """Theorem C: gap(TunaMH) / gap(MH) >= 1 - sqrt(1 - exp(-1 / (4 chi))), which exceeds the paper's bound."""
    problem = neighbour_problem(seed, tight=True)[0]

    def gap(test):
        return spectral_gap(transition_matrix(problem, test))

    ratio = gap(TunaMH(chi=chi, full_share=np.inf)) / gap(MH())
    assert gap_for_chi(chi, paper=True) < gap_for_chi(chi) <= ratio <= 1 + 1e-12


@pytest.mark.parametrize(
    ("chi", "paper", "sharp"), [(0.1, 2.3e-7, 0.0419), (1, 0.0696, 0.530), (5, 0.389, 0.779), (100, 0.838, 0.950)]
)
def test_gap_bounds_of_the_spec_table(chi, paper, sharp):
    assert gap_for_chi(chi, paper=True) == pytest.approx(paper, rel=0.02)
    assert gap_for_chi(chi) == pytest.approx(sharp, abs=6e-4)


@pytest.mark.parametrize("kappa", [0.1, 0.5, 0.9, 0.99])
def test_chi_for_a_wanted_gap(kappa):
    sharp, paper = chi_for_gap(kappa), chi_for_gap(kappa, paper=True)
    assert gap_for_chi(sharp) == pytest.approx(kappa, rel=1e-9)
    assert gap_for_chi(paper, paper=True) >= kappa
    assert paper > 5 * sharp
    assert TunaMH.for_gap(kappa).chi == sharp
    assert TunaMH.for_gap(kappa, paper=True).chi == paper


@pytest.mark.parametrize("kappa", [0.0, 1.0, -1, 2, float("nan")])
def test_chi_for_an_impossible_gap(kappa):
    with pytest.raises(ValueError, match="kappa"):
        TunaMH.for_gap(kappa)


ACCEPTANCE_OF_THE_PAPERS_EXAMPLE = {  # E min(1, (1 + 1/(chi M))^(n+ - n-)), n+ and n- Poisson
    (1, 0.1): 0.621, (1, 1): 0.711, (1, 10): 0.879,
    (5, 0.1): 0.261, (5, 1): 0.635, (5, 10): 0.875,
    (20, 0.5): 0.490, (20, 5): 0.824,
}  # fmt: skip


@pytest.mark.parametrize(("move_bound", "chi"), ACCEPTANCE_OF_THE_PAPERS_EXAMPLE)
def test_closed_form_of_the_two_valued_example(move_bound, chi):
    """x = +-M/N, half each: as one row of each sign, the rates add up."""
    rise, bound = np.array([move_bound / 2, -move_bound / 2]), np.full(2, move_bound / 2)
    value = thinned_acceptance(0.0, rise, bound, beta=1 + chi * move_bound, gamma=0.5)
    assert value == pytest.approx(ACCEPTANCE_OF_THE_PAPERS_EXAMPLE[move_bound, chi], abs=6e-4)


def test_statement_1_of_the_paper():
    """On the two-valued example TFMH accepts exp(-M/2), MH always."""
    for move_bound in (1.0, 5.0):
        rise, bound = np.array([move_bound / 2, -move_bound / 2]), np.full(2, move_bound / 2)
        factorised = thinned_acceptance(0.0, rise, bound, beta=1.0, gamma=1.0)
        assert factorised == pytest.approx(np.exp(-move_bound / 2), abs=1e-12)


@pytest.mark.parametrize("move_bound", [1e-6, 0.01, 1.0, 100.0, 1e6])
def test_the_true_minimiser_of_the_papers_objective(move_bound):
    def objective(chi):
        return np.log(chi * move_bound**2 + move_bound) + 1 / chi + 2 * np.sqrt(np.log(2) / chi)

    best = optimal_chi(move_bound)
    around = [objective(best * factor) for factor in (0.9, 0.99, 1.01, 1.1)]
    assert objective(best) < min(around)
    if move_bound == 1e6:
        assert best == pytest.approx(2.248, abs=1e-3)
        assert objective(optimal_chi(move_bound, paper=True)) > objective(best) + 100


def test_lower_bound_is_below_what_tunamh_reads():
    for kappa in (0.1, 0.5, 0.9):
        for move_bound in (0.1, 10.0):
            assert least_batch(kappa, move_bound) < expected_batch(chi_for_gap(kappa), move_bound)
