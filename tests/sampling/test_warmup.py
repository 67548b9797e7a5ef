"""Warm-up is a pure function of what the chain recorded, in compiled code."""

import json
import math
import sys

import arviz_stats
import numba
import numpy as np
import pytest

from conftest import logistic_data
from tunamh import MH, ConvergenceWarning, EnergyTarget, FlyMC, LogisticRegression, RandomWalk, TunaMH, sample
from tunamh.acceptance.thinning import Thinning
from tunamh.chains.guard import new_work
from tunamh.chains.loop import ChainSetup, ChainState, advance
from tunamh.chains.metropolis import MOVE_BOUND, RATE, REPORT, joined
from tunamh.compiled import Goals, Learned
from tunamh.rows.supply import open_stream
from tunamh.sampling.warmup import WINDOW, first_state, goals_of, steps_left, update, warm_up

RUN, WARMUP = sys.modules["tunamh.sampling.run"], sys.modules["tunamh.sampling.warmup"]
X, Y = logistic_data(2000, 3)


@pytest.fixture(scope="module")
def target():
    return LogisticRegression(X, Y)


def opened(target, test, proposal):
    setup = ChainSetup(target.model(), joined(proposal.bind(target), test.bind(target)), new_work())
    seeds = np.random.SeedSequence(3).spawn(2)
    here = np.linspace(-1, 1, 3)
    chain = ChainState(here, np.random.default_rng(seeds[0]), open_stream(seeds[1]), setup.kernel.first_memory)
    return setup, first_state(setup, chain, np.random.default_rng(4))


def test_update_is_robbins_monro_with_an_average_over_the_last_third(rng):
    goals = Goals(95, True, 0.25, 2.0, RATE, MOVE_BOUND)
    learned = Learned(0, 0.1, math.nan, 0, 0.0, 0, 0.0)
    log_step, done, steps, move_bounds = 0.1, 0, [], []
    for n in [10] * 9 + [5]:
        record = rng.random((n, REPORT + 1))
        record[rng.random(n) < 0.5, MOVE_BOUND] = np.nan
        learned = update(learned, record, goals)
        done += n
        log_step = min(log_step + min(n * done**-0.6, 1.0) * (record[:, RATE].mean() - 0.25), math.log(2.0))
        assert learned.done == done
        assert learned.log_step == pytest.approx(log_step)
        assert learned.adapts_to == pytest.approx(np.nanmean(record[:, MOVE_BOUND]))
        if done > 2 * 95 / 3:
            steps.append(log_step)
            move_bounds.append(np.nanmean(record[:, MOVE_BOUND]))
    assert learned.late_windows == len(steps)
    assert learned.late_log_steps == pytest.approx(sum(steps))
    assert learned.late_total / learned.late_means == pytest.approx(np.mean(move_bounds))


def test_update_changes_nothing_it_was_given(rng):
    goals, learned = Goals(100, True, 0.25, math.inf, RATE, MOVE_BOUND), Learned(0, 0.0, math.nan, 0, 0.0, 0, 0.0)
    record = rng.random((10, REPORT + 1))
    copy = record.copy()
    assert update(learned, record, goals) == update(learned, record, goals)
    assert np.array_equal(record, copy)


@pytest.mark.parametrize("learn_shape", [False, True])
@pytest.mark.parametrize("steps", [1, 7, 10, 205])
def test_windows_one_by_one_or_all_at_once(target, steps, learn_shape):
    ends = []
    for windows in (1, 3, 1000):
        setup, state = opened(target, TunaMH(), RandomWalk(learn_shape=learn_shape))
        goals = goals_of(setup.kernel, steps)
        while steps_left(state, goals):
            warm_up(state, setup, goals, windows)
        ends.append((state.chain.steps, *state.chain.here, *state.proposal_knobs, *state.knobs))
    assert ends[0][0] == steps
    assert ends[0] == ends[1] == ends[2]


def test_draws_do_not_depend_on_the_length_of_chunks(target, monkeypatch):
    settings = {"test": TunaMH(), "draws": 60, "tune": 303, "chains": 2, "rng": 6}
    whole = sample(target, **settings)
    monkeypatch.setattr(RUN, "_SECONDS_PER_CHUNK", 1e-4)
    pieces = sample(target, **settings)
    assert np.array_equal(whole.posterior["theta"], pieces.posterior["theta"])
    knobs = [json.loads(tree.posterior.attrs["settings"])["knobs"] for tree in (whole, pieces)]
    assert knobs[0] == knobs[1]


def test_warm_up_enters_compiled_code_a_handful_of_times(target, monkeypatch):
    """Two hundred windows, each of which was a call from Python once."""
    calls = []
    learn = WARMUP._learn
    monkeypatch.setattr(WARMUP, "_learn", lambda *arguments: (calls.append(arguments), learn(*arguments)))
    monkeypatch.setattr(RUN, "_SECONDS_PER_CHUNK", 100.0)
    sample(target, test=TunaMH(), draws=10, tune=200 * WINDOW, chains=1, rng=1)
    assert len(calls) <= 6


def test_a_tests_own_number_is_not_taken_for_its_reach(target):
    """FlyMC reports its bright rows; warm-up adapts to move_bounds, and FlyMC has none."""
    firefly = FlyMC().prepare(target)
    setup, state = opened(firefly, FlyMC(), RandomWalk(0.05))
    draws, record = np.empty((30, 3)), setup.new_record(30)
    advance(state.chain, setup, draws, record)
    assert np.isnan(record[:, MOVE_BOUND]).all()
    assert record[-1, REPORT] == state.chain.memory[0] > 0
    tree = sample(target, test=FlyMC(), draws=20, tune=20, chains=1, rng=1)
    assert tree.sample_stats["bright_rows"].min() > 0


def test_a_fault_in_warm_up_names_its_step(target):
    setup, state = opened(target, MH(), RandomWalk())
    state.chain.here[0] = state.chain.there[0] = np.nan
    with pytest.raises(Exception, match="step"):
        warm_up(state, setup, goals_of(setup.kernel, 20), 2)


def test_chi_is_not_adapted_to_a_proposal_without_a_bound():
    """Beyond a distance of 1 this target knows no bound: a mean with infinity in it would make chi zero."""

    @numba.njit
    def energy(theta, row):
        return np.log(np.cosh(row[0] - theta[0]))

    @numba.njit
    def near(theta, prop):
        return abs(prop[0] - theta[0]) if abs(prop[0] - theta[0]) < 1.0 else np.inf

    rows = np.random.default_rng(1).standard_normal(300)
    target = EnergyTarget(energy, rows, 1.0, dim=1, distance=near)
    setup = ChainSetup(target.model(), joined(RandomWalk(1.0).bind(target), TunaMH().bind(target)), new_work())
    chain = ChainState(np.zeros(1), np.random.default_rng(1), open_stream(np.random.SeedSequence(2)), np.empty(0))
    state = first_state(setup, chain, np.random.default_rng(4))
    chi = state.knobs[Thinning._fields.index("chi")]
    assert 1 / 300 < chi < 1 / 30  # 1 / (C M), C = 300 and M below 1
    tree = sample(target, test=TunaMH(), proposal=RandomWalk(1.0), draws=200, tune=200, chains=1, init=[0.0], rng=1)
    assert json.loads(tree.posterior.attrs["settings"])["knobs"]


@numba.njit
def stretched_energy(theta, row):
    """Gaussian of 100 rows, of which the last coordinate is known a hundred times better, the first two together."""
    total = 0.005 * (theta[0] - theta[1]) ** 2 / 0.04
    for j in range(theta.size):
        total += 0.005 * theta[j] ** 2 * (1e4 if j == theta.size - 1 else 1.0)
    return total + 0.0 * row[0]


def stretched(dim):
    return EnergyTarget(stretched_energy, np.zeros(100), np.inf, dim=dim)


@pytest.mark.parametrize("dim", [3, 25])
def test_the_shape_of_steps_is_learned_and_frozen(dim):
    """By coordinate and, of few coordinates, with correlations: with one number for all, the longest never moves."""
    target = stretched(dim)
    walk = target.default_proposal()
    tree = sample(target, test=MH(), proposal=walk, draws=6000, tune=6000, chains=2, init=np.zeros(dim), rng=1)
    values = tree.posterior["theta"].values
    precision = np.diag([1.0] * (dim - 1) + [1e4])
    precision[:2, :2] += np.array([[1.0, -1.0], [-1.0, 1.0]]) / 0.04
    truth = np.sqrt(np.diag(np.linalg.inv(precision)))
    for j in (0, 1, 2) if dim == 3 else (2, dim - 1):
        effective = float(arviz_stats.ess(values[:, :, j]))
        assert effective > (300 if dim == 3 else 40)
        assert abs(values[:, :, j].mean()) < 4.5 * truth[j] / np.sqrt(effective)
        assert values[:, :, j].std() == pytest.approx(truth[j], rel=4.5 / np.sqrt(2 * effective))


def test_one_number_for_all_coordinates_does_not_do():
    """The negative control of the test above."""
    with pytest.warns(ConvergenceWarning):
        tree = sample(
            stretched(3), test=MH(), proposal=RandomWalk(), draws=6000, tune=6000, chains=2, init=[0.0] * 3, rng=1
        )
    values = tree.posterior["theta"].values
    assert float(arviz_stats.ess(values[:, :, 0])) < 50
