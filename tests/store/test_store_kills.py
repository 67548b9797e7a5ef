"""Kill -9 at any moment, in warm-up and within a thinned draw too: resumed, the draws are those of a run left alone."""

import itertools
import json
import multiprocessing
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import numba
import numpy as np
import pytest

import tunamh
from conftest import logistic_data
from tunamh.sampling import destination as stored
from tunamh.sampling.run import ChainRun
from tunamh.sampling.warmup import steps_left
from tunamh.store import Store, files, folder

DRAWS, TUNE, THIN, CHAINS = 40, 300, 20, 2
CHOICES = {"TunaMH": {"test": tunamh.TunaMH(), "proposal": tunamh.RandomWalk()}, "automatic": {}}
WORKED = itertools.count()
FORK = multiprocessing.get_context("fork")


def new_target():
    return tunamh.LogisticRegression(*logistic_data(2000, 3))


def small_steps(run):
    """In the place of `ChainRun.work`: so few steps at once that any machine is killed among them, all saved.

    After seven of them a life waits for its kill, however busy the machine is: twenty lives do not finish the run.
    """
    if next(WORKED) >= 7:
        threading.Event().wait()
    if not run.opened:
        run.open()
    run._chunk = 13
    if steps_left(run.state, run.goals):
        run._warm_up()
    else:
        run._keep()
    run.save()
    time.sleep(0.002)


def life(path, choices):
    """What is killed: begin, or go on."""
    global WORKED
    ChainRun.work, WORKED = small_steps, itertools.count()
    if path.exists():
        tunamh.resume(path, new_target(), **choices)
    else:
        tunamh.sample(new_target(), **choices, draws=DRAWS, tune=TUNE, thin=THIN, chains=CHAINS, rng=3, store=path)


def states(path):
    """Where each chain is, as another process sees it."""
    if not path.exists():
        return []
    store = Store.open(path)
    lasts = [store.survey(chain)[1] for chain in range(CHAINS)]
    return [last.state for last in lasts if last is not None]


def steps_in(path):
    return sum(state.chain.steps for state in states(path))


@pytest.mark.parametrize("name", CHOICES)
def test_twenty_kills_and_resumes_change_no_draw(tmp_path, monkeypatch, name):
    monkeypatch.setattr(stored, "chunk_draws_for", lambda *sizes: 10)
    choices, path, rng = CHOICES[name], tmp_path / "run", np.random.default_rng(20)
    wanted = tunamh.sample(new_target(), **choices, draws=DRAWS, tune=TUNE, thin=THIN, chains=CHAINS, rng=3)
    met = set()
    for kill in range(20):
        wanted_steps = steps_in(path) + 13 * rng.integers(2, 6)
        process = FORK.Process(target=life, args=(path, choices))
        process.start()
        while process.is_alive() and kill > 0 and steps_in(path) < wanted_steps:
            time.sleep(0.001)
        time.sleep(rng.uniform(0, 0.02))
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL, "the run was over before twenty kills"
        for state in states(path):
            met.add("warm-up" if state.learned[0].done < TUNE else "within a draw" if state.part.steps else "draws")
    assert {"warm-up", "within a draw"} <= met
    resumed = tunamh.resume(path, new_target(), **choices)
    assert np.array_equal(resumed.posterior["theta"], wanted.posterior["theta"])
    for name in ("batch_size", "acceptance_rate", "bound_ratio"):
        assert np.array_equal(resumed.sample_stats[name], wanted.sample_stats[name], equal_nan=True), name
    assert np.array_equal(tunamh.read_store(path).posterior["theta"], wanted.posterior["theta"])
    assert len(list(path.glob("chain-0-*.npz"))) == 4
    assert not list(path.glob(f"*{files.UNFINISHED}"))


class Killed(BaseException):
    """What no code of the library catches, as it would not survive a kill."""


@pytest.mark.parametrize("moment", ["half written", "written", "renamed"])
@pytest.mark.parametrize("after", [0, 1, 2, 3, 6])
def test_a_kill_at_each_moment_of_a_write(tmp_path, monkeypatch, moment, after):
    """The writes of a run are those of the header's two files, then of chunks."""
    monkeypatch.setattr(stored, "chunk_draws_for", lambda *sizes: 10)
    monkeypatch.setattr(folder, "SECONDS_BETWEEN", 0.0)
    path, target, settings = tmp_path / "run", new_target(), {"draws": 50, "tune": 40, "chains": 1, "rng": 3}
    wanted = tunamh.sample(target, **settings)
    writes, fsync, replace = [], os.fsync, os.replace

    def killed_before_sync(file):
        if moment == "half written" and stat.S_ISREG(os.fstat(file).st_mode) and len(writes) == after:
            os.ftruncate(file, os.fstat(file).st_size // 2)
            raise Killed
        fsync(file)

    def killed_at_rename(source, goal):
        writes.append(goal)
        if len(writes) > after and moment == "written":
            raise Killed
        replace(source, goal)
        if len(writes) > after and moment == "renamed":
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", killed_before_sync)
        patch.setattr(os, "replace", killed_at_rename)
        with pytest.raises(Killed):
            tunamh.sample(target, **settings, store=path)
    assert path.exists() == (after >= 2)  # no store before its header
    again = tunamh.resume(path, target) if path.exists() else tunamh.sample(target, **settings, store=path)
    assert np.array_equal(again.posterior["theta"], wanted.posterior["theta"])


SCRIPT = """
import sys
sys.path[:0] = {tests!r}
import test_store_kills as kills
target = kills.new_target()
import tunamh
settings = dict(proposal=kills.uniform_steps, test=tunamh.TunaMH(chi=0.1))
how = dict(draws=4_000, tune=2000, thin=3, chains=2, rng=8)
path = {path!r}
if __name__ == "__main__":
    import os
    print("ready", flush=True)
    tree = tunamh.resume(path, target, **settings) if os.path.exists(path) else tunamh.sample(
        target, **settings, **how, store=path)
    print("done", flush=True)
"""


@numba.njit
def uniform_steps(rng, theta, prop):
    for j in range(theta.size):
        prop[j] = theta[j] + rng.uniform(-0.05, 0.05)
    return 0.0


def test_another_process_goes_on_where_one_was_killed(tmp_path):
    """Also with a proposal of the user's own, whose description has an address that no other process has."""
    path = tmp_path / "run"
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(tests=[str(Path(__file__).parent), str(Path(__file__).parents[1])], path=str(path)))
    process = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    while not steps_in(path):
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert done.stdout.split() == ["ready", "done"], done.stderr
    tree = tunamh.read_store(path)
    assert json.loads(tree.posterior.attrs["settings"])["stopped"] == "finished"
    settings = {"proposal": uniform_steps, "test": tunamh.TunaMH(chi=0.1)}
    wanted = tunamh.sample(new_target(), **settings, draws=4_000, tune=2000, thin=3, chains=2, rng=8)
    assert np.array_equal(tree.posterior["theta"], wanted.posterior["theta"])
