"""The compiled code held to the enumerated probabilities by frequency."""

from functools import cache

import numba
import numpy as np
import pytest
from finite import neighbour_problem, ordinal_problem, poisson_problem, softmax_problem, student_problem
from scipy import stats

import tunamh
from tunamh import (
    MH,
    MHSS,
    AustereMH,
    FactorizedMH,
    FiniteWalk,
    FlyMC,
    LogisticRegression,
    MHMinibatch,
    NeighbourWalk,
    PoissonMH,
    TunaMH,
)
from tunamh.theory import FiniteProblem, acceptance, expected_batch, total_variation, transition_matrix, walk_law

STEPS = 400_000


def path(target, test, *, steps=STEPS, seed=1, proposal=None, init=None):
    """States and statistics of one long chain, every step kept."""
    tree = tunamh.sample(
        target,
        test=test,
        proposal=proposal,
        draws=steps,
        tune=0,
        chains=1,
        rng=seed,
        init=[0.0] if init is None else init,
    )
    return tree.posterior["theta"].values[0, :, 0].astype(int), tree.sample_stats


def transition_scores(states, transition):
    """Standard scores of the observed transition counts against a transition matrix."""
    K = len(transition)
    counts = np.zeros((K, K))
    np.add.at(counts, (states[:-1], states[1:]), 1)
    visits = counts.sum(axis=1, keepdims=True)
    assert (visits > 1000).all()
    possible = (transition > 1e-12) & (transition < 1 - 1e-12)
    assert (counts[transition < 1e-12] == 0).all()
    spread = np.sqrt(visits * transition * (1 - transition))
    return ((counts - visits * transition)[possible]) / spread[possible]


@pytest.mark.parametrize(
    "test",
    [
        MH(),
        TunaMH(chi=0.05, full_share=np.inf),
        TunaMH(chi=1.0, full_share=np.inf),
        TunaMH(chi=0.3, full_share=0.5),
        MHSS(floor=2.0, delayed=False, full_share=np.inf),
        MHSS(full_share=np.inf),
        FactorizedMH(truncation=np.inf),
        FactorizedMH(truncation=1.0),
        PoissonMH(1.0),
        AustereMH(0.1, 2),
        MHMinibatch(2),
    ],
    ids=repr,
)
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("tight", [True, False], ids=["tight", "slack"])
def test_transitions_occur_as_often_as_enumerated(test, seed, tight):
    problem, target = neighbour_problem(seed, tight=tight)
    states, _ = path(target, test)
    scores = transition_scores(states, transition_matrix(problem, test))
    assert np.abs(scores).max() < 4.5
    assert stats.chi2.sf((scores**2).sum(), scores.size) > 1e-5


def point_proposal(points, q):
    """A proposal between a few points of the plane, by a matrix of probabilities."""
    K = len(points)

    @numba.njit
    def propose(rng, theta, prop):
        here = 0
        for k in range(K):
            if theta[0] == points[k, 0] and theta[1] == points[k, 1]:
                here = k
        u, there = rng.random(), 0
        while there < K - 1 and u >= q[here, there]:
            u -= q[here, there]
            there += 1
        prop[:] = points[there]
        return np.log(q[there, here] / q[here, there])

    return propose


@cache
def three_classes():
    """One of them for all tests: a proposal is compiled for every function anew."""
    problem, target, points, _ = softmax_problem(2)
    return problem, target, points, point_proposal(points, problem.proposal)


@pytest.mark.parametrize(
    "test",
    [
        MH(),
        TunaMH(chi=0.05, full_share=np.inf),
        TunaMH(chi=1.0, full_share=np.inf),
        MHSS(full_share=np.inf),
        FactorizedMH(truncation=np.inf),
    ],
    ids=repr,
)
def test_classes_expanded_to_the_second_order_move_as_often_as_enumerated(test):
    problem, target, points, propose = three_classes()
    tree = tunamh.sample(target, test=test, proposal=propose, init=points[0], draws=STEPS, tune=0, chains=1, rng=3)
    states = np.argmin(np.abs(tree.posterior["theta"].values[0, :, :1] - points[:, 0]), axis=1)
    scores = transition_scores(states, transition_matrix(problem, test))
    assert np.abs(scores).max() < 4.5
    assert stats.chi2.sf((scores**2).sum(), scores.size) > 1e-5
    if test != MH():  # the battery can tell tests apart
        assert np.abs(transition_scores(states, transition_matrix(problem, MH()))).max() > 6


def nearest_proposal(states, q):
    """As `point_proposal`, between states of any dimension that are met up to rounding."""
    K = len(states)

    @numba.njit
    def propose(rng, here, there):
        k, best = 0, np.inf
        for m in range(K):
            away = np.sum((here - states[m]) ** 2)
            if away < best:
                k, best = m, away
        u, m = rng.random(), 0
        while m < K - 1 and u >= q[k, m]:
            u -= q[k, m]
            m += 1
        there[:] = states[m]
        return np.log(q[m, k] / q[k, m])

    return propose


def few_rungs(seed, *, white):
    """One point on the first rung, one on the second, two on the third, one beyond the last."""
    return poisson_problem(seed, white=white, away=(-0.98, -1.02, -2.002, -3.0, -9.0))


FURTHER = {"ordinal": (ordinal_problem, 1), "Student-t": (student_problem, 1), "Poisson": (few_rungs, 1)}


@cache
def further(name, white):
    """One of each for all tests, as `three_classes`."""
    make, seed = FURTHER[name]
    problem, target, points, _ = make(seed, white=white)
    states = np.array([target.state_at(target.to_chain(point)) for point in points])
    return problem, target, points, nearest_proposal(states, problem.proposal)


@pytest.mark.parametrize(
    "test", [MH(), TunaMH(chi=0.1, full_share=20.0), MHSS(full_share=20.0), FactorizedMH(truncation=50.0)], ids=repr
)
@pytest.mark.parametrize("white", [False, True], ids=["own coordinates", "whitened"])
@pytest.mark.parametrize("name", FURTHER)
def test_further_parameters_and_ladders_move_as_often_as_enumerated(name, white, test):
    """Beyond the last rung, where bounds are infinite, too: every pair of points is met."""
    problem, target, points, propose = further(name, white)
    tree = tunamh.sample(target, test=test, proposal=propose, init=points[0], draws=STEPS, tune=0, chains=1, rng=3)
    visited = np.argmin(np.abs(tree.posterior["theta"].values[0, :, :1] - points[:, 0]), axis=1)
    scores = transition_scores(visited, transition_matrix(problem, test))
    assert np.abs(scores).max() < 4.5
    assert stats.chi2.sf((scores**2).sum(), scores.size) > 1e-5
    if name == "Poisson" and test != MH():
        to_the_last = visited[1:][visited[:-1] == len(points) - 1]
        assert tree.sample_stats["full_data_step"].values[0].any()
        assert len(np.unique(to_the_last)) == len(points)


@cache
def three_points():
    points = np.array([[0.0, 0.0], [0.6, -0.4], [-0.3, 0.8]])
    q = np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3], [0.1, 0.6, 0.3]])
    return points, q, point_proposal(points, q)


@pytest.mark.parametrize("test", [FlyMC(q=0.3), FlyMC(q=0.05, tuned=True), FlyMC(q=1.0)], ids=repr)
def test_flymc_moves_as_often_as_its_joint_chain(test):
    points, q, propose = three_points()
    target = LogisticRegression([[1.0, 0.3], [-0.5, 1.2], [2.0, -0.8]], [1, 0, 1])
    transition, joint = test.joint_transition_matrix(FiniteProblem.of(test.prepare(target), points, q))
    flow = (joint[:, None] * transition).reshape(3, 8, 3, 8).sum(axis=(1, 3))
    tree = tunamh.sample(target, test=test, proposal=propose, init=points[0], draws=STEPS, tune=0, chains=1, rng=2)
    theta = tree.posterior["theta"].values[0]
    states = np.argmin(np.abs(theta[:, :1] - points[:, 0]), axis=1)
    pairs = (3 * states[:-1] + states[1:])[: (STEPS - 1) // 100 * 100].reshape(100, -1)
    share = np.stack([(pairs == k).mean(axis=1) for k in range(9)])
    scores = (share.mean(axis=1) - flow.ravel()) / (share.std(axis=1, ddof=1) / 10)
    assert np.abs(scores).max() < 4.5
    assert tree.sample_stats["bright_rows"].max() <= 3


def test_the_battery_can_fail():
    """Negative control: TunaMH's path does not pass for MH's, nor for TunaMH with another chi."""
    problem, target = neighbour_problem(0, tight=True)
    states, _ = path(target, TunaMH(chi=0.05, full_share=np.inf))
    for other in (MH(), TunaMH(chi=1.0, full_share=np.inf)):
        assert np.abs(transition_scores(states, transition_matrix(problem, other))).max() > 10


def test_one_move_is_accepted_as_often_as_enumerated():
    """A proposal that always tries 0 -> 1 from state 0, with an asymmetric ratio stated by the user."""
    problem, target = neighbour_problem(3, tight=False)

    @numba.njit
    def there_and_back(rng, theta, prop):
        prop[0] = 1.0 if theta[0] == 0.0 else 0.0
        return np.log(0.5) if theta[0] == 0.0 else np.log(2.0)

    test = TunaMH(chi=0.2, full_share=np.inf)
    states, statistics = path(target, test, proposal=there_and_back)
    q = np.zeros_like(problem.proposal)
    q[0, 1], q[1, 0] = 0.5, 0.25  # only the ratio 1/2 of these matters to acceptance
    asymmetric = type(problem)(problem.energies, problem.c, problem.distance, q, problem.log_prior)
    before = np.concatenate([[0], states[:-1]])
    for here, there in ((0, 1), (1, 0)):
        exact = acceptance(asymmetric, test, here, there)
        tried = before == here
        accepted = statistics["accepted"].values[0][tried]
        rate = statistics["acceptance_rate"].values[0][tried]
        error = np.sqrt(exact * (1 - exact) / tried.sum())
        assert abs(accepted.mean() - exact) < 4.5 * error
        assert abs(rate.mean() - exact) < 4.5 * error


def test_mean_batch_is_the_papers():
    x = np.array([-1.0] * 5 + [5.0])
    target = FiniteWalk(x, states=30)
    chi = 0.7
    _, statistics = path(target, TunaMH(chi=chi, full_share=np.inf))
    batch = statistics["batch_size"].values[0]
    mean = 0.5 * expected_batch(chi, target.total_bound)  # every other proposal stays, at no cost
    second = 0.5 * (expected_batch(chi, target.total_bound) + expected_batch(chi, target.total_bound) ** 2)
    assert abs(batch.mean() - mean) < 4.5 * np.sqrt((second - mean**2) / batch.size)
    assert target.total_bound == pytest.approx(10 / 6)


@pytest.mark.parametrize("test", [MH(), TunaMH(chi=0.1), TunaMH(chi=1.0)], ids=repr)
def test_the_papers_walk_is_uniform_ends_included(test):
    """x in {-1, 5}: the energies cancel, so the posterior is uniform; the ends need their Hastings factor."""
    K = 10
    target = FiniteWalk([-1.0] * 50 + [5.0] * 10, states=K)
    states, _ = path(target, test, steps=1_000_000, proposal=NeighbourWalk())
    blocks = states.reshape(100, -1)
    share = np.stack([(blocks == k).mean(axis=1) for k in range(K)])
    error = share.std(axis=1, ddof=1) / np.sqrt(100)
    assert np.abs((share.mean(axis=1) - 1 / K) / error).max() < 4
    assert share.mean(axis=1)[[0, -1]] == pytest.approx([1 / K, 1 / K], rel=0.05)


def test_without_the_hastings_factor_the_ends_lose_half_their_mass():
    """Negative control for the walk."""
    K = 10
    target = FiniteWalk([-1.0] * 50 + [5.0] * 10, states=K)

    @numba.njit
    def careless(rng, theta, prop):
        prop[0] = theta[0]
        if rng.random() < 0.5:
            if theta[0] == 0.0:
                prop[0] = 1.0
            elif theta[0] == 9.0:
                prop[0] = 8.0
            else:
                prop[0] = theta[0] + (1.0 if rng.random() < 0.5 else -1.0)
        return 0.0

    states, _ = path(target, TunaMH(chi=1.0), steps=1_000_000, proposal=careless)
    assert (states == 0).mean() < 0.07


@numba.njit
def upwards(rng, theta, prop):
    prop[0] = theta[0] + 1.0
    return 0.0


@numba.njit
def downwards(rng, theta, prop):
    prop[0] = theta[0] - 1.0
    return 0.0


@pytest.mark.parametrize(
    ("test", "up", "down", "tolerance"),
    [(AustereMH(0.01, 30), 0.9975, 0.9834, 0.0015), (MHMinibatch(30, 5.0), 0.4967, 0.5033, 0.006)],
    ids=["AustereMH", "MHMinibatch"],
)
def test_inexact_tests_on_the_papers_walk(test, up, down, tolerance):
    """The counterexample: MH would always accept; these drift (spec 2.9)."""
    target = FiniteWalk([-1.0] * 5000 + [5.0] * 1000, states=1_000_000)
    rates = []
    for way in (upwards, downwards):
        tree = tunamh.sample(target, test=test, proposal=way, draws=100_000, tune=0, chains=2, rng=3, init=[500_000.0])
        rates.append(float(tree.sample_stats["accepted"].mean()))
    assert rates[0] == pytest.approx(up, abs=tolerance)
    assert rates[1] == pytest.approx(down, abs=tolerance)
    if isinstance(test, AustereMH):
        distance = total_variation(walk_law(rates[0] / rates[1], 200), np.full(200, 1 / 200))
        assert distance == pytest.approx(0.32, abs=0.02)


def test_inexact_results_say_so():
    target = FiniteWalk([-1.0] * 50 + [5.0] * 10, states=10)
    for test in (AustereMH(0.05, 10), MHMinibatch(10)):
        tree = tunamh.sample(target, test=test, draws=10, tune=0, rng=1)
        assert tree.sample_stats.attrs["exact"] == 0
        assert "INEXACT" in type(test).__doc__
        assert list(tunamh.summary(tree).index) == ["theta[state] (inexact)"]
    assert tunamh.sample(target, test=MH(), draws=10, tune=0, rng=1).sample_stats.attrs["exact"] == 1


TWO_VALUED = [
    (FactorizedMH(truncation=np.inf), 2.0, 0.3679),
    (FactorizedMH(truncation=np.inf), 5.0, 0.0821),
    (TunaMH(chi=0.1, full_share=np.inf), 5.0, 0.2612),
    (TunaMH(chi=1.0, full_share=np.inf), 20.0, 0.622),
    (TunaMH(chi=10.0, full_share=np.inf), 2.0, 0.876),
    (MH(), 20.0, 1.0),
]


@numba.njit
def step(rng, theta, prop):
    prop[0] = theta[0] + (1.0 if rng.random() < 0.5 else -1.0)
    return 0.0


@pytest.mark.parametrize(("test", "move_bound", "expected"), TWO_VALUED, ids=[f"{t!r}-{m:g}" for t, m, _ in TWO_VALUED])
def test_statement_1_of_the_paper_compiled(test, move_bound, expected):
    """x = +-M/N, half each: MH always accepts, TFMH with exp(-M/2), TunaMH by its closed form."""
    target = FiniteWalk(np.repeat([move_bound, -move_bound], 50), states=100_000)
    tree = tunamh.sample(target, test=test, proposal=step, init=[50_000.0], draws=40_000, tune=0, chains=1, rng=4)
    accepted = tree.sample_stats["accepted"].values
    assert abs(accepted.mean() - expected) < 4.5 * np.sqrt(expected * (1 - expected) / accepted.size) + 6e-4
