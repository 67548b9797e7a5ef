"""Kernels of one's own: the page docs/kernels.md, run as a file of a user's, and kernels in turn."""

import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import tunamh
from conftest import logistic_data
from tunamh import MH, FlyMC, InTurn, LogisticRegression, MetropolisHastings, NeighbourWalk, RandomWalk, TunaMH, sample
from tunamh.extend import (
    NO_FAULT,
    NO_ROWS,
    Adapt,
    Kernel,
    Memory,
    OverSteps,
    ReadyKernel,
    ReadyTest,
    Statistic,
    Step,
    fixed,
    part,
)
from tunamh.theory import detailed_balance_error, invariance_error

PAGE = Path(__file__).parents[2] / "docs" / "kernels.md"
X, Y = logistic_data(500, 2)
FEW = {"draws": 60, "tune": 60, "chains": 2, "rng": 3, "progressbar": False}


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """The page's blocks, one after the other, as a module."""
    file = tmp_path_factory.mktemp("own") / "own_kernels.py"
    file.write_text("\n\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)))
    spec = importlib.util.spec_from_file_location("own_kernels", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def target():
    return LogisticRegression(X, Y)


# ------------------------------------------------------------------------------------------------ exact, by enumeration


def test_the_pages_kernel_is_exact_by_enumeration(own):
    for points in (1, 2, 3, 7):
        transition = own.GridGibbs(1.0, points).finite_transition(own.problem)
        assert transition.sum(axis=1) == pytest.approx(np.ones(6))
        assert detailed_balance_error(transition, own.problem.posterior()) < 1e-15
    assert invariance_error(own.both.finite_transition(own.problem), own.problem.posterior()) < 1e-15
    assert detailed_balance_error(own.both.finite_transition(own.problem), own.problem.posterior()) > 1e-3


def test_a_kernel_that_is_not_exact_is_found_by_enumeration(own):
    """Negative control: the state is always the first point of its grid."""

    class OneSided(own.GridGibbs):
        def finite_transition(self, problem):
            law, transition = problem.posterior(), np.zeros((6, 6))
            for here in range(6):
                grid = np.arange(here, min(here + self.points, 6))
                transition[here, grid] = law[grid] / law[grid].sum()
            return transition

    wrong = InTurn(MetropolisHastings(test=MH()), OneSided(1.0))
    assert invariance_error(wrong.finite_transition(own.problem), own.problem.posterior()) > 0.01


def largest_score(own, kernel, transition):
    """The largest standard score of how often transitions occur, against a matrix."""
    tree = sample(own.walk, kernel=kernel, draws=60_000, tune=0, chains=1, init=[0.0], rng=1, progressbar=False)
    states = tree.posterior["theta"].values[0, :, 0].astype(int)
    counts = np.zeros((6, 6))
    np.add.at(counts, (states[:-1], states[1:]), 1)
    visits = counts.sum(axis=1, keepdims=True)
    possible = transition > 1e-12
    assert (counts[~possible] == 0).all()
    spread = np.sqrt(visits * transition * (1 - transition))
    return np.abs((counts - visits * transition)[possible] / spread[possible]).max()


@pytest.mark.parametrize("test", [None, MH(), TunaMH(chi=0.5, full_share=np.inf)], ids=repr)
def test_compiled_kernels_make_transitions_as_often_as_enumerated(own, test):
    kernel = own.mine if test is None else InTurn(own.mine, MetropolisHastings(NeighbourWalk(), test))
    assert largest_score(own, kernel, kernel.finite_transition(own.problem)) < 4.5


def test_the_scores_tell_kernels_apart(own):
    """Negative control of the test above: a kernel with one point more."""
    assert largest_score(own, own.GridGibbs(1.0, 4), InTurn(own.mine, own.mine).finite_transition(own.problem)) > 20


def test_an_energy_that_is_not_renewed_would_be_found(own):
    """Negative control of the memory: MH goes on with the energy of the state before the other kernel's move."""

    class Stale(MetropolisHastings):
        def bind(self, target):
            return super().bind(target)._replace(memory_is=Memory.APART)

    kernel = InTurn(own.mine, Stale(NeighbourWalk(), MH()))
    assert largest_score(own, kernel, kernel.finite_transition(own.problem)) > 10


# ------------------------------------------------------------------------------------------------------ kernels in turn


@part(Step)
def _nothing(rng, place, model, stream, own, work, statistics):
    return NO_FAULT


@dataclass(frozen=True)
class Nothing(Kernel):
    def bind(self, target):
        return ReadyKernel(_nothing)


def same(one, other):
    return np.array_equal(one.posterior["theta"], other.posterior["theta"])


@pytest.mark.parametrize("test", [TunaMH(), MH()], ids=repr)
def test_a_kernel_that_does_nothing_changes_no_draw(target, test):
    """So the loop of any kernels and the one of a test alone make the same steps, in warm-up too."""
    alone = sample(target, test=test, thin=3, **FEW)
    for kernel in (
        MetropolisHastings(RandomWalk(), test),
        InTurn(MetropolisHastings(RandomWalk(), test)),
        InTurn(Nothing(), MetropolisHastings(RandomWalk(), test)),
        InTurn(MetropolisHastings(RandomWalk(), test), Nothing()),
        InTurn(Nothing(), InTurn(MetropolisHastings(RandomWalk(), test), Nothing())),
    ):
        found = sample(target, kernel=kernel, thin=3, **FEW)
        assert same(alone, found), kernel
        for name in alone.sample_stats.data_vars:
            if name != "elapsed":
                assert np.array_equal(alone.sample_stats[name], found.sample_stats[name], equal_nan=True), name


def test_statistics_have_their_own_names(own, target):
    kernel = InTurn(own.GridGibbs(0.1), MetropolisHastings(RandomWalk(), TunaMH()))
    stats = sample(target, kernel=kernel, thin=2, **FEW).sample_stats
    mine, theirs = {"batch_size", "grid_distance"}, {"accepted", "acceptance_rate", "batch_size_2", "bound_ratio"}
    assert mine | theirs | {"full_data_step", "step_size", "elapsed"} == set(stats.data_vars)
    assert (stats["batch_size"] == 3 * 500).all()
    assert set(np.unique(stats["grid_distance"])) <= {0.0, 0.5, 1.0, 1.5, 2.0}
    assert stats["accepted"].dtype == bool
    alone = sample(target, kernel=own.GridGibbs(0.1), **FEW).sample_stats
    assert set(alone.data_vars) == {*mine, "elapsed"}


def test_a_run_with_a_kernel_of_ones_own_goes_on_with_the_same_draws(own, target, tmp_path):
    walks = (MetropolisHastings(RandomWalk(), test) for test in (MH(), TunaMH()))
    kernel = InTurn(own.GridGibbs(0.1), *walks)
    whole = sample(target, kernel=kernel, **FEW)
    sample(target, kernel=kernel, **{**FEW, "draws": 25}, store=tmp_path / "run")
    with pytest.raises(tunamh.StoreError, match="another kernel"):
        tunamh.resume(tmp_path / "run", target, kernel=InTurn(own.GridGibbs(0.2), *kernel.kernels[1:]), draws=60)
    found = tunamh.resume(tmp_path / "run", target, kernel=kernel, draws=60)
    assert same(whole, found)
    read = tunamh.read_store(tmp_path / "run")
    assert same(whole, read)
    for name in set(whole.sample_stats.data_vars) - {"elapsed"}:
        for tree in (found, read):
            assert np.array_equal(whole.sample_stats[name], tree.sample_stats[name], equal_nan=True), name


def test_the_posterior_of_kernels_in_turn(own, target):
    kernel = InTurn(own.GridGibbs(0.2), MetropolisHastings(RandomWalk(), MH()))
    theta = sample(target, kernel=kernel, draws=4000, tune=500, rng=1, progressbar=False).posterior["theta"]
    truth = sample(target, draws=4000, rng=2, progressbar=False).posterior["theta"]
    sd = truth.std(("chain", "draw"))
    assert (abs(theta.mean(("chain", "draw")) - truth.mean(("chain", "draw"))) < 0.1 * sd).all()
    assert (abs(theta.std(("chain", "draw")) / sd - 1) < 0.1).all()


# ------------------------------------------------------------------------------------------------- knobs and statistics


@part(Step)
def _counted(rng, place, model, stream, own, work, statistics):
    own.memory[0] += 1.0
    statistics[0], statistics[1], statistics[2] = own.memory[0], own.memory[0] % 2, own.knobs[0]
    return NO_FAULT


@part(Adapt)
def _newest(knobs, mean):
    knobs[0] = mean


@dataclass(frozen=True)
class Counted(Kernel):
    """Counts steps; its knob is the mean count of the newest window."""

    exact = False

    def bind(self, target):
        names = Statistic("most", OverSteps.MAX), Statistic("odd", OverSteps.ANY), Statistic("knob")
        return ReadyKernel(
            _counted,
            names,
            knobs=fixed([0.0]),
            memory=np.zeros(1),
            memory_is=Memory.APART,
            adapt=_newest,
            adapts_to="most",
        )


def test_knobs_are_adapted_to_the_statistic_that_a_kernel_names(target):
    tree = sample(target, kernel=InTurn(MetropolisHastings(), Counted()), **{**FEW, "tune": 30, "chains": 1}, thin=2)
    stats = tree.sample_stats
    assert stats["most"].values[0, :3].tolist() == [32, 34, 36]  # the memory goes on from warm-up
    assert stats["odd"].values.all()
    assert (stats["knob"] == 25.5).all()  # steps 21 to 30 are the last third
    assert tree.posterior.attrs["exact"] == 0


# ------------------------------------------------------------------------------------------------------------- refusals


@dataclass(frozen=True)
class Secretive:
    exact = True

    def bind(self, target):
        return ReadyTest(MH().bind(target).decide, fixed([]), np.array([np.nan]), NO_ROWS)


def test_memories_that_others_would_spoil_are_refused(target):
    for test, reason in ((FlyMC(), "part of the state"), (Secretive(), "does not say what must be done with it")):
        kernel = InTurn(Nothing(), MetropolisHastings(RandomWalk(), test))
        with pytest.raises(tunamh.NotApplicable, match=reason):
            sample(target, kernel=kernel, **FEW)
    sample(target, kernel=InTurn(MetropolisHastings(RandomWalk(), Secretive())), **FEW)  # alone it may keep its secret


def test_two_laws_of_rows_are_refused():
    mixture = tunamh.GaussianMixture(np.linspace(-1, 1, 50), temper=0.1)
    kernel = InTurn(MetropolisHastings(test=TunaMH()), MetropolisHastings(test=tunamh.PoissonMH(5.0)))
    with pytest.raises(tunamh.NotApplicable, match="with different probabilities"):
        sample(mixture, kernel=kernel, **FEW)


def test_what_is_no_kernel_is_refused(target):
    with pytest.raises(TypeError, match=r"kernel must be a kernel such as MetropolisHastings.*TunaMH"):
        sample(target, kernel=TunaMH(), **FEW)
    with pytest.raises(TypeError, match=r"InTurn takes kernels.*RandomWalk"):
        InTurn(RandomWalk())
    with pytest.raises(ValueError, match="at least one kernel"):
        InTurn()
    with pytest.raises(TypeError, match="replaces test= and proposal="):
        sample(target, kernel=Nothing(), test=MH(), **FEW)
    with pytest.raises(TypeError, match="test must be an acceptance test"):
        sample(target, test=Nothing(), **FEW)
    with pytest.raises(tunamh.NotApplicable, match="no transition matrix"):
        Nothing().finite_transition(None)


def test_a_statistic_whose_name_is_taken_is_refused_before_the_run(target):
    class Named(Nothing):
        def bind(self, target):
            return ReadyKernel(_nothing, (Statistic("draw"),))

    with pytest.raises(ValueError, match="results already have a draw"):
        sample(target, kernel=Named(), **FEW)


def test_a_model_with_groups_is_moved_by_its_own_kernel_alone():
    model = tunamh.MixedModel(X, Y, tunamh.Logistic(), np.arange(500) % 7)
    with pytest.raises(tunamh.NotApplicable, match="has its own sampler"):
        sample(model, kernel=MetropolisHastings(RandomWalk(), MH()), **FEW)
    with pytest.raises(tunamh.NotApplicable, match=r"works only with the kernel Sweep\(full=False\)"):
        sample(model, kernel=Nothing(), **FEW)
