"""The user's process is as it was: BLAS threads, forks; and the draws do not depend on it."""

import os
import subprocess
import sys
import threading

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import tunamh
from conftest import logistic_data
from tunamh.process import blas as _blas
from tunamh.process.blas import one_blas_thread
from tunamh.rows.passes import over_blocks


def blas_threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def run(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=3600, env=os.environ | environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_last_one_out_puts_the_blas_threads_back():
    with threadpool_limits(2, "blas"):
        before = blas_threads()
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        assert blas_threads() == {1}
        first.__exit__(None, None, None)
        assert blas_threads() == {1}  # the second goes on
        second.__exit__(None, None, None)
        assert blas_threads() == before


def test_another_thread_can_hold_and_release_them():
    """threadpoolctl ignores, in silence, all threads but the one that was first to set a number."""
    seen = []

    def hold():
        with one_blas_thread():
            seen.append(blas_threads())

    with threadpool_limits(2, "blas"):
        before = blas_threads()
        thread = threading.Thread(target=hold)
        thread.start()
        thread.join()
        assert seen == [{1}]
        assert blas_threads() == before


def test_libraries_with_a_setting_per_thread_are_held_in_each_thread(monkeypatch):
    class OpenMP(threading.local):
        threads = 4

        def get_num_threads(self):
            return self.threads

        def set_num_threads(self, threads):
            self.threads = threads

    library, seen = OpenMP(), []
    monkeypatch.setattr(_blas, "_libraries", lambda with_scipy: _blas._Libraries([], [library]))

    def hold():
        with one_blas_thread():
            seen.append(library.threads)
        seen.append(library.threads)

    with one_blas_thread():
        thread = threading.Thread(target=hold)
        thread.start()
        thread.join()
        with one_blas_thread():
            assert library.threads == 1
        assert library.threads == 1
    assert (seen, library.threads) == ([1, 4], 4)


def test_passes_use_one_blas_thread_and_leave_nothing_behind_when_given_up():
    with threadpool_limits(2, "blas"):
        before = blas_threads()
        passes = [over_blocks(lambda block: blas_threads(), 10_000) for _ in range(2)]
        assert [next(results) for results in passes] == [{1}, {1}]
        for results in passes:  # in the order in which they began, and not to the end
            results.close()
        assert blas_threads() == before


def test_blas_threads_come_back_after_sampling_in_threads():
    X, y = logistic_data(20_000, 5)
    target = tunamh.LogisticRegression(X, y)
    with threadpool_limits(2, "blas"):
        before = blas_threads()
        threads = [
            threading.Thread(target=tunamh.sample, args=(target,), kwargs={"draws": 50, "tune": 50, "rng": k})
            for k in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert blas_threads() == before


WIDE = """
import hashlib, numpy as np, tunamh
rng = np.random.default_rng(1)
X = rng.standard_normal((3000, 230))
y = (rng.random(3000) < 1 / (1 + np.exp(-X[:, 0]))).astype(float)
target = tunamh.LogisticRegression(X, y, prior=tunamh.Normal(scale=1.0))
draws = tunamh.sample(target, draws=20, tune=20, chains=2, rng=1).posterior["theta"].values
print(hashlib.sha256(draws.tobytes()).hexdigest())
"""


@pytest.mark.long
def test_wide_data_give_the_same_bits_on_any_number_of_blas_threads():
    assert run(WIDE, OPENBLAS_NUM_THREADS="1") == run(WIDE, OPENBLAS_NUM_THREADS="2")


FORKS = """
import os, signal, sys, threading, time
import numba, numpy as np, tunamh
rng = np.random.default_rng(1)
X = rng.standard_normal((5000, 4))
y = (rng.random(5000) < 0.5).astype(float)

def prior():
    @numba.njit
    def log_prior(theta):
        return -0.5 * np.sum(theta**2)
    return log_prior

def work(seed):  # a new function each time, so the compiler is busy
    target = tunamh.LogisticRegression(X, y, prior=prior())
    tunamh.sample(target, test=tunamh.MH(), draws=20, tune=20, chains=2, rng=seed)

work(0)
stop = threading.Event()

def busy():
    while not stop.is_set():
        work(1)

thread = threading.Thread(target=busy)
thread.start()
codes = []
for k in range(6):
    time.sleep(0.15 * k)
    child = os.fork()
    if child == 0:
        signal.alarm(3600)  # a child that hangs is killed
        work(k)
        os._exit(0)
    codes.append(os.waitpid(child, 0)[1])
stop.set()
thread.join()
print(codes)
"""


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_children_forked_while_another_thread_samples_can_sample():
    assert run(FORKS).strip() == "[0, 0, 0, 0, 0, 0]"


def test_a_forked_child_has_its_blas_threads_back():
    code = """
import os, sys
from threadpoolctl import threadpool_info, threadpool_limits
from tunamh.process.blas import one_blas_thread
def threads(): return {i["num_threads"] for i in threadpool_info() if i["user_api"] == "blas"}
threadpool_limits(2, "blas")
before = threads()
holder = one_blas_thread()
holder.__enter__()
child = os.fork()
if child == 0:
    os._exit(0 if threads() == before else 1)
print(os.waitpid(child, 0)[1])
"""
    if not hasattr(os, "fork"):
        pytest.skip("there is no fork here")
    assert run(code).strip() == "0"
