"""Once sampling is over, nothing may take the draws: no argument, no broken end, no Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

import tunamh
from conftest import logistic_data
from tunamh import LogisticRegression, sample
from tunamh.results.layout import plain_layout

ENDING = sys.modules["tunamh.sampling.completion"]
X, Y = logistic_data(500, 3)


@pytest.fixture(scope="module")
def target():
    return LogisticRegression(X, Y)


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.02)  # Python calls the handler here


def test_counts_may_be_numpy_integers(target):
    tree = sample(target, draws=np.int64(20), tune=np.int32(10), thin=np.uint8(2), chains=np.int16(2), rng=1)
    settings = json.loads(tree.posterior.attrs["settings"])
    assert (settings["draws"], settings["tune"], settings["thin"]) == (20, 10, 2)
    assert np.array_equal(
        tree.posterior["theta"], sample(target, draws=20, tune=10, thin=2, chains=2, rng=1).posterior.theta
    )


def test_settings_that_json_does_not_know_are_written_as_text(target):
    from tunamh.chains.kernel import Statistics
    from tunamh.chains.metropolis import statistics_of
    from tunamh.results.tree import ChainResult, to_datatree

    result = ChainResult(np.zeros((3, 1)), np.zeros((3, 7)), np.zeros(3), 1.0)
    settings = {"test": "MH()", "proposal": "p", "why": "w", "odd": np.float32(2.0), "odder": {1, 2}}
    layout, statistics = plain_layout([("theta", ["x"])]), Statistics(statistics_of(None))
    tree = to_datatree([result], layout, exact=True, statistics=statistics, settings=settings)
    assert json.loads(tree.posterior.attrs["settings"])["odd"] == "2.0"


@pytest.mark.parametrize("what", ["to_datatree", "judge"])
def test_an_end_that_fails_still_returns_the_draws(target, monkeypatch, what):
    def fail(*arguments, **settings):
        raise RuntimeError("out of order")

    wanted = sample(target, draws=200, tune=10, rng=1).posterior["theta"].values
    monkeypatch.setattr(ENDING, what, fail)
    with pytest.warns(UserWarning, match="out of order"):
        result = sample(target, draws=200, tune=10, rng=1)
    assert np.array_equal(np.asarray(result["posterior"]["theta"]), wanted)


def test_a_warning_that_a_filter_makes_an_error_carries_the_draws(target):
    with warnings.catch_warnings():
        warnings.simplefilter("error", tunamh.ConvergenceWarning)
        with pytest.raises(tunamh.ConvergenceWarning, match="not converged") as caught:
            sample(target, test=tunamh.MH(), proposal=tunamh.RandomWalk(1e-4), draws=150, tune=0, rng=1)
    assert caught.value.posterior.posterior["theta"].shape == (4, 150, 3)


def test_ctrl_c_after_the_last_draw_takes_nothing(target, monkeypatch, hears_ctrl_c):
    finish = ENDING.to_datatree

    def interrupted(*arguments, **settings):
        interrupt()
        return finish(*arguments, **settings)

    monkeypatch.setattr(ENDING, "to_datatree", interrupted)
    tree = sample(target, draws=20, tune=10, rng=1)
    assert tree.posterior["theta"].shape == (4, 20, 3)
    assert json.loads(tree.posterior.attrs["settings"])["stopped"] == "finished"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_and_a_third_ctrl_c_take_nothing(target, ctrl_c_when):
    ctrl_c_when(lambda run: run.kept > 0, chains=2, times=4)
    with pytest.warns(UserWarning, match="interrupted"):
        tree = sample(target, draws=10_000_000, tune=10, chains=2, rng=1)
    assert tree.posterior["theta"].shape[1] > 0


def test_a_users_own_handler_is_called_and_decides(target, monkeypatch, hears_ctrl_c):
    heard = []
    signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    finish = ENDING.to_datatree
    monkeypatch.setattr(ENDING, "to_datatree", lambda *a, **s: (interrupt(), finish(*a, **s))[1])
    tree = sample(target, draws=20, tune=10, rng=1)
    assert heard == [signal.SIGINT]
    assert tree.posterior["theta"].shape == (4, 20, 3)


COMPILE_INTERRUPTED = """
import os, signal, numba
from numba.core.codegen import CPUCodeLibrary
from tunamh.extend import Distance, part

signal.signal(signal.SIGINT, signal.default_int_handler)
armed = [True]

def keep(library, code):
    # called by LLVM when a function is compiled: an exception here is swallowed by ctypes
    if code is not None and armed:
        armed.clear()
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000):
            pass
    library.__dict__["kept"] = code

CPUCodeLibrary._compiled_object = property(lambda library: library.__dict__.get("kept"), keep)

@part(Distance)
def gap(here, there, hyper):
    return abs(here[0] - there[0])

import numpy as np
point, other, none = np.zeros(1), np.ones(1), np.empty(0)
none.flags.writeable = False
try:
    gap.__wrapper_address__()
except KeyboardInterrupt:
    print("interrupted")
print(gap(point, other, none))
"""


def test_ctrl_c_while_compiling_is_raised_and_leaves_nothing_half_made(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(COMPILE_INTERRUPTED)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["interrupted", "1.0"]
