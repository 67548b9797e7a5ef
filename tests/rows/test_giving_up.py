"""Ctrl-C and `max_seconds` end a map between blocks; what exists is kept, and goes on bit for bit."""

import os
import signal
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from made import write

import tunamh
from tunamh.acceptance import out_of_core as elsewhere
from tunamh.errors import PassGivenUp
from tunamh.process.stages import watching
from tunamh.rows import executors
from tunamh.rows import gathered_rows as batches
from tunamh.rows import servings as gathering
from tunamh.sampling import clock

STEPS = {"test": tunamh.MHSS(floor=40, delayed=False), "proposal": tunamh.Autoregressive(rho=0.0)}
BLOCKS = 400
ROWS = {"x": np.zeros(BLOCKS * 8192, np.float32)}


class Slow:
    """A function of blocks that notes how often it was called; its first calls ask for the pass to be ended."""

    def __init__(self, end):
        self.calls, self.end = 0, end

    def __call__(self, block):
        self.calls += 1
        if self.calls == 3:
            self.end()
        if self.calls >= 3:
            wait_until_given_up()
        return block.start


def wait_until_given_up():
    """In a thread that computes: until nobody wants what it computes any more, however long that takes."""
    pass_given_up = getattr(executors._of_thread, "given_up", None)
    assert pass_given_up is None or pass_given_up.wait(3600)


def ctrl_c():
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("executor", [None, ThreadPoolExecutor], ids=["own threads", "executor"])
def test_ctrl_c_ends_a_map_after_a_block(executor, hears_ctrl_c):
    """One piece of 400 blocks: neither is it finished, nor does anything run on."""
    pool = None if executor is None else executor(2)
    rows, slow = tunamh.open_rows(ROWS, executor=pool), Slow(ctrl_c)
    with pytest.raises(KeyboardInterrupt):
        list(rows.map(slow))
    calls = slow.calls
    assert calls < BLOCKS // 2
    time.sleep(0.05)
    assert slow.calls == calls
    if pool is not None:
        pool.shutdown()


def test_whoever_watches_ends_a_map_while_it_is_waited_for():
    """The time of a set-up runs out in the middle of a piece."""
    over = threading.Event()
    rows, slow = tunamh.open_rows(ROWS), Slow(over.set)

    def refuse(report):
        if over.is_set():
            raise PassGivenUp("over")

    with watching(refuse), pytest.raises(PassGivenUp):
        list(rows.map(slow))
    assert slow.calls < BLOCKS // 2


def nothing(block):
    return block.start


def sleeping(block):
    time.sleep(0.05)


def test_processes_are_not_waited_for():
    """Tasks that wait are cancelled, and the executor can be used again."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        rows = tunamh.open_rows([ROWS["x"][:8192, None]] * 40, executor=pool)
        results = rows.map(sleeping)
        next(results)
        results.close()
        assert list(rows.map(nothing)) == [8192 * k for k in range(40)]


# ------------------------------------------------------------------------------------------------------- sampling


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write(tmp_path_factory.mktemp("given-up"))


def target(path):
    return tunamh.LogisticRegression(tunamh.open_rows(path, memory="1MiB")[["a", "b", "carrier"]], y="late")


def sampled(path, n, **given):
    return tunamh.sample(target(path), draws=n, tune=100, chains=2, rng=1, **{**STEPS, **given})


def same(one, other):
    return (one.posterior["theta"].values == other.posterior["theta"].values).all()


class Held:
    """In the place of a function of blocks: from a moment on, each waits until the run is given up.

    The first of them ends the run, when every chain has come as far as a batch of rows.
    """

    def __init__(self, monkeypatch, kind, end, batch=-1):
        self.from_now_on, self.calls, self.gathered, self.end, self.batch = threading.Event(), 0, None, end, batch
        compute, begin = kind.__call__, batches.GatheredRows.begin

        def held(task, block):
            if self.from_now_on.is_set():
                self.calls += 1
                if self.calls == 1:
                    while any(pool.batch < self.batch for pool in self.gathered._pools):
                        time.sleep(0.01)
                    self.end()
                assert self.gathered.given_up.wait(3600)
                wait_until_given_up()
            return compute(task, block)

        def begun(gathered, *later):
            self.gathered = gathered
            return begin(gathered, *later)

        monkeypatch.setattr(kind, "__call__", held)
        monkeypatch.setattr(batches.GatheredRows, "begin", begun)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("by", ["Ctrl-C", "max_seconds"])
def test_a_gather_is_ended_and_the_run_goes_on_bit_for_bit(path, tmp_path, monkeypatch, hears_ctrl_c, by):
    monkeypatch.setattr(batches, "FIRST_BATCH", 1)
    whole = sampled(path, 900)
    with monkeypatch.context() as patch:
        over, gather = threading.Event(), batches.GatheredRows._gather
        held = Held(patch, gathering.OfPackedBlock, ctrl_c if by == "Ctrl-C" else over.set, batch=1)
        patch.setattr(clock.Clock, "over", property(lambda self: over.is_set()))

        def later(gathered, k, wanting):
            if k == 2:
                held.from_now_on.set()
            return gather(gathered, k, wanting)

        patch.setattr(batches.GatheredRows, "_gather", later)
        found = sampled(path, 900, store=tmp_path / "run", max_seconds=1e6)
    kept = found.posterior.sizes["draw"]
    assert 0 < kept < 900
    assert held.calls < 5  # of five blocks
    assert (found.posterior["theta"].values == whole.posterior["theta"].values[:, :kept]).all()
    assert same(whole, tunamh.resume(tmp_path / "run", target(path), **STEPS))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_step_on_all_rows_is_ended_too(path, tmp_path, monkeypatch, hears_ctrl_c):
    """Every step of Metropolis-Hastings is a map; the part of a draw that was made is kept in the store."""
    given = {"test": tunamh.MH(), "proposal": tunamh.RandomWalk(0.01), "thin": 3, "chains": 1, "tune": 20, "rng": 1}
    whole = tunamh.sample(target(path), draws=12, **given)
    with monkeypatch.context() as patch:
        held = Held(patch, gathering.OfPackedBlock, ctrl_c)
        sum_over, steps = elsewhere.AllRows.__call__, []

        def later(rows, *move):
            steps.append(move)
            held.gathered = rows.gathered
            time.sleep(0.03)  # so that chunks of the run have few steps, as with maps that take long
            if len(steps) == 40:
                held.from_now_on.set()
            return sum_over(rows, *move)

        patch.setattr(elsewhere.AllRows, "__call__", later)
        found = tunamh.sample(target(path), draws=12, store=tmp_path / "run", **given)
    kept = found.posterior.sizes["draw"]
    assert 0 < kept < 12
    assert held.calls < 5
    more = tunamh.resume(tmp_path / "run", target(path), test=given["test"], proposal=given["proposal"])
    assert same(whole, more)
