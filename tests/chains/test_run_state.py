"""A run's state is one record: saved as arrays and loaded into a fresh run, it goes on with the same draws."""

import io

import numba
import numpy as np
import pytest

from conftest import logistic_data
from tunamh import MH, FlyMC, InTurn, LogisticRegression, MetropolisHastings, RandomWalk, TunaMH
from tunamh.chains.state import RunState
from tunamh.compiled.random import generator_from_words, words_of_generator
from tunamh.results.tree import ChainResult
from tunamh.rows.supply import RING
from tunamh.sampling.choice import choose
from tunamh.sampling.run import ChainRun, Size
from tunamh.sampling.warmup import steps_left

DRAWS, TUNE, THIN = 30, 105, 7


@numba.njit
def uniform_steps(rng, theta, prop):
    for j in range(theta.size):
        prop[j] = theta[j] + rng.uniform(-0.05, 0.05)
    return 0.0


IN_TURN = InTurn(MetropolisHastings(RandomWalk(), TunaMH()), MetropolisHastings(RandomWalk(), MH()))
CHOICES = {
    "TunaMH": (TunaMH(), RandomWalk()),
    "automatic": (None, None),
    "FlyMC": (FlyMC(q=0.1, tuned=True), None),
    "own proposal": (TunaMH(chi=0.1), uniform_steps),
    "in turn": (None, None, IN_TURN),
}
DRAWS_ROWS = {"TunaMH", "automatic", "own proposal", "in turn"}


def made_ready(test, proposal, kernel=None):
    """The target and the kernel that `sample` would make of these choices."""
    target, kernel, _ = choose(LogisticRegression(*logistic_data(2000, 3)), test, proposal, None, kernel)
    target = kernel.prepare(target)
    return target, kernel.bind(target)


@pytest.fixture(scope="module", params=CHOICES)
def choices(request):
    return request.param, made_ready(*CHOICES[request.param])


def new_run(ready):
    return ChainRun(*ready, np.random.SeedSequence(7), 0, None, Size(DRAWS, TUNE, THIN))


def go_on(run, chunk):
    """One chunk of about so many steps."""
    run._chunk = chunk
    if steps_left(run.state, run.goals):
        run._warm_up()
    else:
        run._keep()


def finished(run, chunk=10_000):
    while not run.finished:
        go_on(run, chunk)
    return run


def saved(run):
    """State and draws, by way of a file."""
    file = io.BytesIO()
    np.savez(file, **run.state.to_arrays())
    file.seek(0)
    with np.load(file, allow_pickle=False) as arrays:
        return RunState.from_arrays(dict(arrays)), ChainResult(*(np.copy(part) for part in run.result()))


STOPS = {
    "within warm-up": (10, lambda state: 0 < state.warmed < TUNE),
    "right after warm-up": (40, lambda state: state.warmed == TUNE),
    "within the first draw": (3, lambda state: state.part.steps == 3),
    "within a later draw": (3, lambda state: state.kept == 4 and state.part.steps == 6),
    "between kept draws": (2 * THIN, lambda state: state.kept == 12),
}


@pytest.mark.parametrize("stop", STOPS)
def test_a_loaded_run_goes_on_with_the_same_draws(choices, stop):
    name, ready = choices
    chunk, reached = STOPS[stop]
    whole = new_run(ready)
    whole.open()
    finished(whole)
    first = new_run(ready)
    first.open()
    while not reached(first.state):
        go_on(first, chunk)
    assert (first.state.chain.stream.cursor[0] < RING) == (name in DRAWS_ROWS)  # rows drawn ahead are waiting
    state, result = saved(first)
    go_on(first, 50)  # what was saved is a copy
    second = new_run(ready)
    second.resume(state, result)
    finished(second, 11)
    assert np.array_equal(whole.draws, second.draws)
    assert np.array_equal(whole.record, second.record, equal_nan=True)  # means do not depend on how steps were cut
    for key, value in whole.state.to_arrays().items():
        assert np.array_equal(value, second.state.to_arrays()[key], equal_nan=value.dtype.kind == "f"), key


def test_a_state_may_be_loaded_more_than_once(choices):
    _, ready = choices
    first = new_run(ready)
    first.open()
    go_on(first, 60)
    arrays, result = first.state.to_arrays(), first.result()
    draws = []
    for _ in range(2):
        run = new_run(ready)
        run.resume(RunState.from_arrays(arrays), result)
        draws.append(finished(run).draws)
    assert np.array_equal(*draws)


def test_the_time_of_draws_goes_on():
    ready = made_ready(*CHOICES["TunaMH"])
    first = new_run(ready)
    first.open()
    while first.kept < 5:
        go_on(first, THIN)
    first.elapsed[4] = 1000.0
    second = new_run(ready)
    second.resume(*saved(first))
    finished(second)
    assert np.array_equal(second.elapsed[:5], first.elapsed[:5])
    assert (second.elapsed[5:] > 1000.0).all()


def test_a_state_of_other_choices_is_refused():
    one, other = made_ready(*CHOICES["TunaMH"]), made_ready(*CHOICES["FlyMC"])
    run = new_run(one)
    run.open()
    with pytest.raises(ValueError, match="another target, test, proposal or size"):
        new_run(other).resume(*saved(run))


def test_the_words_of_a_generator_are_all_of_it():
    rng = np.random.default_rng(5)
    rng.integers(10, size=3, dtype=np.uint32)  # leaves half a word for the next
    assert rng.bit_generator.state["has_uint32"]
    copy = generator_from_words(words_of_generator(rng))
    assert copy.bit_generator.state == rng.bit_generator.state
    assert np.array_equal(rng.integers(10, size=5, dtype=np.uint32), copy.integers(10, size=5, dtype=np.uint32))
    assert np.array_equal(rng.standard_normal(5), copy.standard_normal(5))
