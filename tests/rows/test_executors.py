"""Where blocks are read and computed with changes nothing: threads, processes, a Dask cluster; and workers that die."""

import threading
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import dask.dataframe as dd
import distributed
import numpy as np
import pyarrow.parquet as parquet
import pytest
from made import BOUNDS, LATE, TABLE, X, read_and_die_once, read_slice, write

import tunamh
from tunamh.rows import executors
from tunamh.sampling import session

COLUMNS = ["a", "b", "carrier"]
STEPS = {"test": tunamh.MHSS(floor=40, delayed=False), "proposal": tunamh.Autoregressive(rho=0.0)}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write(tmp_path_factory.mktemp("executors"))


@pytest.fixture(scope="module")
def processes():
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        yield pool


@pytest.fixture(scope="module")
def client():
    quiet = {"distributed.worker.daemon": False, "distributed.admin.tick.limit": "1h"}
    import dask

    with dask.config.set(quiet):
        cluster = distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None)
        with cluster, distributed.Client(cluster) as client:
            client.run(add_to_path, __file__)
            yield client


def add_to_path(file):
    """Workers import the readers from where the tests are."""
    import os
    import sys

    sys.path.insert(0, os.path.dirname(file))


def draws(tables, y="late", family=None, n=40):
    target = tunamh.GLM(tables[COLUMNS], y, family or tunamh.Logistic())
    return tunamh.sample(target, draws=n, chains=2, rng=1, **STEPS).posterior["theta"].values


@pytest.fixture(scope="module")
def expected(path):
    return {memory: draws(tunamh.open_rows(path, memory=memory)) for memory in ("1MiB", "4MiB", "1GiB")}


@pytest.mark.parametrize("memory", ["1MiB", "4MiB", "1GiB"])
@pytest.mark.parametrize("workers", [1, 2])
def test_threads(path, expected, memory, workers):
    with ThreadPoolExecutor(workers) as pool:
        assert (draws(tunamh.open_rows(path, executor=pool, memory=memory)) == expected[memory]).all()


@pytest.mark.parametrize("memory", ["1MiB", "4MiB", "1GiB"])
def test_processes(path, expected, memory, processes):
    assert (draws(tunamh.open_rows(path, executor=processes, memory=memory)) == expected[memory]).all()


def own_energy(eta, y):
    return np.log(1 + np.exp(eta)) - y * eta


def test_a_family_of_ones_own_and_unknown_scales_in_processes(path, processes):
    for y, family in (("late", tunamh.family(own_energy, convex=True)), ("noisy", tunamh.StudentT(4))):
        one, other = (
            tunamh.GLM(tunamh.open_rows(path, executor=pool, memory="3MiB")[["a"]], y, family).modes[0].point
            for pool in (processes, None)
        )
        assert (one == other).all()


def test_what_is_sent_is_small(path, processes, monkeypatch):
    """Functions of blocks hold no data: but for the row numbers of a sample."""
    sizes, pickled = [], executors.pickled

    def weighed(function):
        sizes.append(len(pickled(function)))
        return pickled(function)

    monkeypatch.setattr(executors, "pickled", weighed)
    draws(tunamh.open_rows(path, executor=processes, memory="1MiB"))
    assert len(sizes) > 5
    assert max(sizes) < 60_000


def test_another_data_set_has_other_draws(path, expected):
    """Negative control."""
    other = tunamh.open_rows([TABLE.slice(0, 32_768), TABLE.slice(32_767)], memory="1MiB")
    assert not (draws(other) == expected["1MiB"]).all()


@pytest.mark.parametrize("memory", ["1MiB", "4MiB"])
def test_a_dask_cluster(path, expected, memory, client):
    rows = tunamh.open_rows(path, executor=client.get_executor(), memory=memory)
    assert (draws(rows) == expected[memory]).all()


@pytest.mark.long
def test_four_workers_of_a_cluster(path, expected, client):
    client.cluster.scale(4)
    client.wait_for_workers(4)
    client.run(add_to_path, __file__)
    try:
        rows = tunamh.open_rows(path, executor=client.get_executor(), memory="1MiB")
        assert (draws(rows) == expected["1MiB"]).all()
    finally:
        client.cluster.scale(2)


def test_dask_frames_and_arrays(expected, client):
    frame = dd.from_map(read_frame, BOUNDS)
    assert (draws(tunamh.open_rows(frame, memory="1MiB")) == expected["1MiB"]).all()
    import dask.array as da

    whole = da.from_array(np.column_stack([X, LATE]), chunks=(16_384, 2))
    one = tunamh.LogisticRegression(tunamh.open_rows(whole)[["0", "1"]], y="3").modes[0].point
    assert (one == tunamh.LogisticRegression(X[:, :2], LATE).modes[0].point).all()


def read_frame(bounds):
    return read_slice(bounds).to_pandas()


def test_dask_without_a_cluster(expected):
    frame = dd.from_map(read_frame, BOUNDS)
    with pytest.raises(TypeError, match="X is a Dask collection: open it as rows"):
        tunamh.LogisticRegression(frame[["a", "b"]], frame["late"])
    one = tunamh.LogisticRegression(tunamh.open_rows(frame)[["a", "b"]], y="late").modes[0].point
    assert (one == tunamh.LogisticRegression(X[:, :2], LATE).modes[0].point).all()


def test_small_files_of_a_dask_frame_stay_apart(tmp_path):
    """Dask's optimizer joins those of which few columns are read: partitions had other rows in every map."""
    for k in range(4):
        parquet.write_table(TABLE.slice(9_000 * k, 9_000), tmp_path / f"{k}.parquet")
    rows = tunamh.open_rows(dd.read_parquet(tmp_path))
    assert rows.lengths == [9_000] * 4
    target = tunamh.regression("late ~ a", rows, family=tunamh.Logistic())
    wanted = tunamh.regression("late ~ a", TABLE.slice(0, 36_000), family=tunamh.Logistic())
    np.testing.assert_allclose(target.modes[0].point, wanted.modes[0].point, rtol=1e-9)


# ------------------------------------------------------------------------------------------------------- lost workers


@pytest.mark.long
def test_a_lost_worker_of_a_cluster_changes_nothing(expected, client, tmp_path):
    """During the first map, and during a gather: the cluster does the work again."""
    marker = tmp_path / "died"
    tasks = [(str(marker), bounds) for bounds in BOUNDS]
    rows = tunamh.open_rows(tasks, reader=read_and_die_once, executor=client.get_executor(), memory="1MiB")
    assert marker.exists()
    target = tunamh.LogisticRegression(rows[COLUMNS], y="late")
    target.modes
    gathered, batch = [], tunamh.rows.gathered_rows.Batch

    def dying(source, k, streams):
        if not gathered:
            marker.unlink()
        gathered.append(k)
        return batch(source, k, streams)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tunamh.rows.gathered_rows.Batch", dying)
        found = tunamh.sample(target, draws=40, chains=2, rng=1, **STEPS).posterior["theta"].values
    assert marker.exists()
    assert gathered[0] == 0
    assert (found == expected["1MiB"]).all()


def test_a_lost_process_is_named_by_its_block(tmp_path):
    tasks = [(str(tmp_path / "died"), bounds) for bounds in BOUNDS]
    lost = pytest.raises(tunamh.SourceError, match=r"lost while it read block [01] .*tunamh.resume")
    with ProcessPoolExecutor(1, get_context("spawn")) as pool, lost:
        tunamh.open_rows(tasks, reader=read_and_die_once, executor=pool)


# --------------------------------------------------------------------------------------------- strangers' executors


class Strange:
    """An executor that does its work at once, until ``spoil`` takes the place of ``submit``."""

    def __init__(self):
        self.calls, self.after, self.spoil = 0, None, None

    def submit(self, function, *arguments):
        self.calls += 1
        if self.after is not None and self.calls > self.after:
            return self.spoil(function, *arguments)
        future = Future()
        try:
            future.set_result(function(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future


def refused(*_):
    raise RuntimeError("cannot schedule new futures after shutdown")


def with_result(value):
    def submit(*_):
        future = Future()
        future.set_result(value)
        return future

    return submit


def failed(*_):
    future = Future()
    future.set_exception(OSError("the queue is gone"))
    return future


SPOILT = {
    "shut down": (refused, tunamh.SourceError, "did not accept .*RuntimeError: cannot schedule"),
    "nothing": (lambda *_: None, TypeError, "must return a future.*got None"),
    "a number": (lambda *_: 3, TypeError, "must return a future.*got 3"),
    "a future of nonsense": (with_result("banana"), tunamh.SourceError, "gave back 'banana'"),
    "a future of another block": (with_result(executors.Answer("block 7", [])), tunamh.SourceError, "gave back"),
    "a future that failed": (failed, tunamh.SourceError, "failed on .*OSError: the queue is gone"),
}


@pytest.mark.parametrize("name", SPOILT)
def test_executors_that_raise_or_give_back_nonsense_are_told(path, name):
    pool = Strange()
    rows = tunamh.open_rows(path, executor=pool)
    pool.after, (pool.spoil, kind, told) = pool.calls + 2, SPOILT[name]
    with pytest.raises(kind, match=told):
        tunamh.LogisticRegression(rows[COLUMNS], y="late").modes[0]


def test_an_executor_that_was_shut_down_is_told(path):
    with ThreadPoolExecutor(1) as pool:
        rows = tunamh.open_rows(path, executor=pool)
    with pytest.raises(tunamh.SourceError, match=r"did not accept .*open the rows again"):
        tunamh.LogisticRegression(rows[COLUMNS], y="late")


def test_what_goes_wrong_in_a_task_comes_through(path):
    def wrong(block):
        raise ZeroDivisionError("mine")

    for pool in (Strange(), ThreadPoolExecutor(1), None):
        with pytest.raises(ZeroDivisionError, match="mine"):
            list(tunamh.open_rows(path, executor=pool).map(wrong))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_executor_that_never_answers_does_not_outlive_the_time(path, monkeypatch):
    """Also after the last draw, when the distance from Laplace's law is measured on rows that are gathered."""
    over = threading.Event()

    def silent(*_):
        over.set()
        return Future()

    pool = Strange()
    target = tunamh.LogisticRegression(tunamh.open_rows(path, executor=pool, memory="1MiB")[COLUMNS], y="late")
    settings = {"draws": 300, "tune": 100, "chains": 2, "rng": 1, **STEPS}
    monkeypatch.setattr("tunamh.sampling.clock.Clock.over", property(lambda clock: over.is_set()))
    assemble, pool.spoil = session.assemble_result, silent

    def from_now_on(*arguments):
        pool.after = 0
        return assemble(*arguments)

    monkeypatch.setattr(session, "assemble_result", from_now_on)
    found = tunamh.sample(target, max_seconds=1e6, **settings)
    assert over.is_set()
    assert found.posterior.sizes["draw"] == 300
    over.clear()
    pool.calls, pool.after = 0, 2
    with pytest.raises(tunamh.NoDraws, match="ran out during set-up"):
        tunamh.sample(target, max_seconds=1e6, **settings)
