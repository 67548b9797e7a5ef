"""A run on disk: written in whole chunks, read while it grows, extended, and refused where it is another."""

import json
import os
import signal
import threading
import time

import arviz_stats
import numba
import numpy as np
import pytest

import tunamh
from conftest import logistic_data
from tunamh.sampling import destination as stored
from tunamh.sampling.run import ChainRun, Size
from tunamh.store import Store, StoreError, identity
from tunamh.store.files import Lock

X, Y = logistic_data(2000, 3)
pytestmark = pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")  # a hundred draws are few
SIZE = {"draws": 100, "tune": 50, "chains": 2, "rng": 3}


def new_target(prior=None):
    return tunamh.LogisticRegression(X, Y, prior=prior or tunamh.Normal(scale=10.0))


def same(one, other, name="theta"):
    return np.array_equal(one.posterior[name], other.posterior[name])


# ---------------------------------------------------------------------------------------------------- the same draws


def scaled():
    rng = np.random.default_rng(4)
    return tunamh.GLM(X, X @ [1.0, 0.0, 2.0] + 2 * rng.standard_t(4, len(X)), tunamh.StudentT(df=4))


def grouped(keep):
    groups = tunamh.GroupEffects(np.arange(len(X)) % 20)
    return tunamh.MixedModel(X, Y, tunamh.Logistic(), groups=groups, keep_effects=keep)


CASES = {
    "automatic": (new_target, {}),
    "MH": (new_target, {"test": tunamh.MH(), "proposal": tunamh.RandomWalk()}),
    "FlyMC": (new_target, {"test": tunamh.FlyMC(q=0.1, tuned=True), "thin": 3}),
    "an unknown scale": (scaled, {}),
    "unknown prior scales": (lambda: new_target(tunamh.priors.Horseshoe()), {}),
    "control": (new_target, {"control": tunamh.Taylor(order=1), "test": tunamh.TunaMH()}),
    "init": (new_target, {"init": np.ones((2, 3))}),
    "without warm-up": (new_target, {"tune": 0}),
    "group effects": (lambda: grouped(True), {}),
    "group effects summed up": (lambda: grouped(False), {}),
}


@pytest.mark.parametrize("case", CASES)
def test_draws_in_a_store_are_those_in_memory_and_go_on_from_it(path, case):
    make, choices = CASES[case]
    settings = SIZE | choices
    wanted = tunamh.sample(make(), **settings)
    shorter = tunamh.sample(make(), **(settings | {"draws": 37}), store=path)
    again = {name: choices[name] for name in ("test", "proposal", "control") if name in choices}
    longer = tunamh.resume(path, make(), draws=100, **again)
    read = tunamh.read_store(path)
    for name in wanted.posterior.data_vars:
        assert same(longer, wanted, name)
        assert same(read, wanted, name)
        assert np.array_equal(shorter.posterior[name], wanted.posterior[name][:, :37])
    assert longer.posterior.attrs.keys() == wanted.posterior.attrs.keys()
    if "group_effects" in wanted.children:
        assert longer["group_effects"].identical(wanted["group_effects"])
    for name in set(wanted.sample_stats.data_vars) - {"elapsed"}:
        np.testing.assert_allclose(longer.sample_stats[name], wanted.sample_stats[name], rtol=1e-14)
        assert np.array_equal(longer.sample_stats[name], read.sample_stats[name], equal_nan=True)
    assert (np.diff(longer.sample_stats["elapsed"]) > 0).all()  # also across the two sessions


def test_only_a_chunk_of_each_chain_is_in_memory(path, monkeypatch):
    held, keep = [], ChainRun._keep
    monkeypatch.setattr(ChainRun, "_keep", lambda run: (keep(run), held.append(len(run.draws)))[0])
    tunamh.sample(new_target(), **SIZE, store=path)
    assert set(held) == {16}
    assert len(list(path.glob("chain-1-*.npz"))) == 7
    tunamh.sample(new_target(), **SIZE)
    assert set(held) == {16, 100}


@pytest.mark.parametrize(
    "rng", [np.random.SeedSequence([5, 6], spawn_key=(1, 2), pool_size=8), np.random.default_rng(9), None]
)
def test_every_kind_of_seed_is_written_down(path, rng):
    if isinstance(rng, np.random.SeedSequence):
        rng.spawn(3)
    first = tunamh.sample(new_target(), **(SIZE | {"draws": 20, "rng": rng}), store=path)
    for chunk in path.glob("*.npz"):
        chunk.unlink()
    assert same(tunamh.resume(path, new_target()), first)


def test_arviz_and_the_summary_read_it(path):
    posterior = tunamh.sample(new_target(), **SIZE, store=path)
    read = tunamh.read_store(path)
    assert arviz_stats.summary(read).equals(arviz_stats.summary(posterior))
    assert len(tunamh.summary(read)) == 3
    settings = json.loads(read.posterior.attrs["settings"])
    assert (settings["stopped"], settings["draws"], settings["seed"]) == ("finished", 100, "3")


# ------------------------------------------------------------------------------------------------------------- endings


@pytest.mark.filterwarnings("ignore:interrupted")
def test_ctrl_c_leaves_a_store_that_goes_on(path, hears_ctrl_c, monkeypatch):
    keep, drawing = ChainRun._keep, set()

    def interrupted(run):
        if run.kept > 20:
            drawing.add(run.number)
        if len(drawing) == 2:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.2)
        run._chunk = 5
        return keep(run)

    with monkeypatch.context() as patch:
        patch.setattr(ChainRun, "_keep", interrupted)
        patch.setattr("tunamh.sampling.run._SECONDS_PER_CHUNK", 0.001)
        cut = tunamh.sample(new_target(), **(SIZE | {"draws": 2000}), store=path)
    assert json.loads(cut.posterior.attrs["settings"])["stopped"] == "interrupted"
    assert 0 < cut.posterior.sizes["draw"] < 2000
    assert same(tunamh.resume(path, new_target()), tunamh.sample(new_target(), **(SIZE | {"draws": 2000})))


def test_max_seconds_leaves_a_store_that_goes_on_also_from_warm_up(path, monkeypatch):
    settings = {"test": tunamh.MH(), "proposal": tunamh.RandomWalk()}
    long = {"draws": 50, "tune": 30_000, "chains": 2, "rng": 3}
    warm_up, over = ChainRun._warm_up, threading.Event()

    def some(run):
        over.set()
        run._chunk = 10
        return warm_up(run)

    with monkeypatch.context() as patch:
        patch.setattr(ChainRun, "_warm_up", some)
        patch.setattr("tunamh.sampling.run._SECONDS_PER_CHUNK", 0.001)
        patch.setattr("tunamh.sampling.clock.Clock.over", property(lambda clock: over.is_set()))
        with pytest.raises(tunamh.NoDraws, match=r"tunamh\.resume\(.*continues from here"):
            tunamh.sample(new_target(), **settings, **long, store=path, max_seconds=1e6, cores=1)
    with pytest.raises(tunamh.NoDraws, match=r"chain 0 .* has no draw yet, after [\d,]+ steps, of which 30,000 are"):
        tunamh.read_store(path)
    assert Store.open(path).survey(0)[1].state.warmed > 0
    assert same(tunamh.resume(path, new_target(), **settings), tunamh.sample(new_target(), **settings, **long))


def test_an_error_leaves_a_store_that_goes_on(path, monkeypatch):
    keep = ChainRun._keep

    def fail(run):
        run._chunk = 5
        if run.kept > 40:
            raise RuntimeError("out of order")
        return keep(run)

    with monkeypatch.context() as patch:
        patch.setattr(ChainRun, "_keep", fail)
        with pytest.raises(RuntimeError, match="out of order"):
            tunamh.sample(new_target(), **SIZE, store=path)
    assert Store.open(path).survey(0)[1].stop >= 32
    assert same(tunamh.resume(path, new_target()), tunamh.sample(new_target(), **SIZE))


def test_a_finished_run_is_returned_at_once(path, monkeypatch):
    first = tunamh.sample(new_target(), **SIZE, store=path)
    before = {file.name: file.read_bytes() for file in path.iterdir()}
    monkeypatch.setattr(ChainRun, "_keep", None)  # no step is made
    assert same(tunamh.resume(path, new_target()), first)
    with pytest.raises(ValueError, match=r"draws can only be increased: the run in .* has draws=100, got 99"):
        tunamh.resume(path, new_target(), draws=99)
    assert before.keys() == {file.name for file in path.iterdir()}


# ------------------------------------------------------------------------------------------------------- another run


def refused(path, target, match, **choices):
    before = {file.name: file.read_bytes() for file in path.iterdir()}
    with pytest.raises(StoreError, match=match):
        tunamh.resume(path, target, draws=200, **choices)
    assert before == {file.name: file.read_bytes() for file in path.iterdir()}


def test_another_run_is_refused_with_the_reason(path, monkeypatch):
    tunamh.sample(new_target(), **SIZE, store=path)
    other = X.copy()
    other[1234, 1] = np.nextafter(other[1234, 1], 9.0)
    prior = tunamh.Normal(scale=10.0)
    refused(path, tunamh.LogisticRegression(other, Y, prior=prior), "has other data: their fingerprint")
    refused(path, tunamh.GLM(X, Y, tunamh.Probit(), prior=prior), "has another target: LogisticRegression")
    refused(path, new_target(tunamh.Normal(scale=9.0)), r"has another target: .*Normal")
    refused(path, new_target(), "has another test: MHSS.*now it is MH", test=tunamh.MH())
    refused(path, new_target(), "has another target: Taylor.*2.*control", control=tunamh.Taylor(order=1))
    refused(path, new_target(), "has another proposal", proposal=tunamh.Autoregressive(rho=0.5))
    monkeypatch.setattr(stored, "DRAWS", "9.9.9")
    refused(path, new_target(), r"draws for a fixed seed have changed .*this is version 9.9.9")


def test_one_changed_row_of_many_is_refused(path):
    """Results show a fingerprint of a thousand rows; a store knows all of them."""
    rows = np.random.default_rng(2).normal(size=5000)

    @numba.njit
    def energy(theta, row):
        return np.log1p((row[0] - theta[0]) ** 2)

    def posterior():
        return tunamh.EnergyTarget(energy, rows.copy(), c=1.0, dim=1)

    first = posterior()
    tunamh.sample(first, **SIZE, init=[0.0], store=path)
    rows[4321] += 1e-9
    assert posterior().fingerprint == first.fingerprint
    refused(path, posterior(), "has other data")
    rows[4321] = first.rows[4321, 0]
    tunamh.resume(path, posterior(), draws=200)


def own_proposal(width):
    @numba.njit
    def propose(rng, theta, prop):
        prop[0] = theta[0] + rng.uniform(-width, width)
        return 0.0

    return propose


def test_a_changed_function_of_the_users_is_refused(path):
    """Its description is the same; the first steps are not."""
    tunamh.sample(new_target(), **SIZE, proposal=own_proposal(0.1), store=path)
    refused(path, new_target(), "first steps, made again, give other results", proposal=own_proposal(0.11))
    tunamh.resume(path, new_target(), proposal=own_proposal(0.1), draws=101)


def test_the_first_steps_leave_the_chain_as_it_is():
    runs = []
    for look in (False, True):
        target, kernel, _ = stored_choice()
        run = ChainRun(target, kernel.bind(target), np.random.SeedSequence(1), 0, None, Size(30, 20))
        run.open()
        if look:
            assert identity.first_steps(run.state, run.setup) == identity.first_steps(run.state, run.setup)
        while not run.finished:
            run.work()
        runs.append(run.draws)
    assert np.array_equal(*runs)


def stored_choice():
    from tunamh.sampling.choice import choose

    return choose(new_target(), tunamh.TunaMH(), None, None)


def test_names_that_are_taken_and_what_is_no_store(path, tmp_path):
    tunamh.sample(new_target(), **SIZE, store=path)
    with pytest.raises(StoreError, match=r"there is a run in .* already: tunamh\.resume"):
        tunamh.sample(new_target(), **SIZE, store=path)
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("one")
    (tmp_path / "file").write_text("one")
    for name in ("thesis", "file"):
        with pytest.raises(StoreError, match="exists and is not a stored run"):
            tunamh.sample(new_target(), **SIZE, store=tmp_path / name)
        with pytest.raises(StoreError, match="there is no stored run in"):
            tunamh.resume(tmp_path / name, new_target())
    with pytest.raises(StoreError, match="there is no folder"):
        tunamh.sample(new_target(), **SIZE, store=tmp_path / "no" / "run")
    with pytest.raises(TypeError, match="store must be the name of a folder, got 3"):
        tunamh.sample(new_target(), **SIZE, store=3)
    with pytest.raises(StoreError, match="there is no stored run"):
        tunamh.read_store(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    tunamh.sample(new_target(), **SIZE, store=tmp_path / "empty")


# ----------------------------------------------------------------------------------------------- two processes at once


def test_one_process_writes_at_a_time(path):
    tunamh.sample(new_target(), **SIZE, store=path)
    with Lock(path), pytest.raises(StoreError, match="another process writes to"):
        tunamh.resume(path, new_target(), draws=200)
    tunamh.resume(path, new_target(), draws=200)


def test_it_can_be_read_while_it_grows(path):
    wanted = tunamh.sample(new_target(), **(SIZE | {"draws": 3000}))
    seen, problems, over = [], [], threading.Event()

    def look():
        while not over.is_set():
            try:
                read = tunamh.read_store(path).posterior["theta"]
            except tunamh.NoDraws:
                continue
            except Exception as error:
                problems.append(str(error))
                continue
            seen.append(read.sizes["draw"])
            if not np.array_equal(read, wanted.posterior["theta"][:, : read.sizes["draw"]]):
                problems.append("other draws")

    reader = threading.Thread(target=look)
    reader.start()
    try:
        tunamh.sample(new_target(), **(SIZE | {"draws": 3000}), store=path)
    finally:
        over.set()
        reader.join()
    assert all("there is no stored run" in problem for problem in problems)
    assert len(set(seen)) > 1
