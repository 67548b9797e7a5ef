"""Stores and result files that a stranger made: one sentence, at once, whatever they promise."""

import json
import os
import shutil

import h5py
import numpy as np
import pytest
import xarray
from test_store import SIZE, new_target

import tunamh
from tunamh.results.netcdf import read_saved
from tunamh.store import Store, StoreError
from tunamh.store.chunks import _checksum as chunk_checksum
from tunamh.store.header import _checksum

pytestmark = pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")  # a hundred draws are few


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("forged") / "run"
    tunamh.sample(new_target(), **SIZE, store=path)
    return path


@pytest.fixture
def copy(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "run")


def forge_header(path, **changes):
    held = json.loads((path / "header.json").read_text())
    held["header"] |= changes
    held["checksum"] = _checksum(held["header"])
    (path / "header.json").write_text(json.dumps(held))


def forge_chunk(path, **changes):
    """The last chunk of chain 0, with a checksum that fits."""
    name = sorted(path.glob("chain-0-*.npz"))[-1]
    with np.load(name) as file:
        arrays = {key: file[key] for key in file.files if key != "checksum"} | changes
    run, first = Store.open(path).header.run, int(name.stem.split("-")[-1])
    np.savez(name, **arrays, checksum=chunk_checksum(arrays, run, 0, first))


def variables(name="theta", dims=("parameter",), columns=(0, 1, 2), attributes=None, labels=("a", "b", "c")):
    """The header's variables, of which a part may be nonsense."""
    plain = [list(part) if isinstance(part, tuple) else part for part in (dims, columns, labels)]
    return {"labels": {"parameter": plain[2]}, "variables": [[name, plain[0], plain[1], attributes or {}]]}


HEADERS = {
    "text for a number": {"draws": "many"},
    "chunks of terabytes": {"chunk_draws": 10**12},
    "columns of terabytes": {"columns": [10**12, 3]},
    "a negative number of columns": {"columns": [-1, 3]},
    "columns that are text": {"columns": ["a", "b"]},
    "no run": {"run": None},
    "a seed that is none": {"seed": {"entropy": "x"}},
    "a seed of terabytes": {"seed": {"entropy": 1, "spawn_key": [], "pool_size": 10**12, "n_children_spawned": 0}},
    "a list for a seed": {"seed": [1]},
    "points that are text": {"points": ["ab", "cd"]},
    "points of lists": {"points": [[[1.0]], None]},
    "a rule of nonsense": {"until": {"ess": "x"}},
    "a rule of other words": {"until": {"a": 1}},
    "variables that are a text": {"variables": "theta"},
    "variables of before, fewer than columns": {"variables": [["theta", ["a", "b"]]]},
    "variables of before, labels of numbers": {"variables": [["theta", [1, 2, 3]]]},
    "variables of before, without labels": {"variables": ["theta"]},
    "no labels": {"variables": {"variables": []}},
    "labels that are a text": {"variables": variables(labels="abc")},
    "labels of numbers": {"variables": variables(labels=[2, 3, 4])},
    "a variable without a name": {"variables": variables(name=1)},
    "attributes that are a list": {"variables": variables(attributes=["a"])},
    "an unknown dimension": {"variables": variables(dims=["nowhere"])},
    "columns of another shape": {"variables": variables(columns=[0, 1])},
    "columns of text": {"variables": variables(columns=["a", "b", "c"])},
    "a column twice": {"variables": variables(columns=[0, 1, 1])},
    "columns far away": {"variables": variables(columns=[0, 1, 10**12])},
    "fewer names than columns": {"variables": variables(labels=["a"], columns=[0])},
    "a name that is taken": {"variables": variables(name="chain")},
    "exactly": {"exact": "yes"},
    "a statistic of no name": {"extra": ["a"]},
    "a statistic whose name is taken": {"statistics": [["draw", "MEAN", False, True]] * 7},
    "a statistic of before, whose name is taken": {"statistics": None, "extra": "draw"},
    "a statistic that is kept in no known way": {"statistics": [["a", "MEDIAN", False, True]] * 7},
    "a statistic that is a number": {"statistics": [[1, "MEAN", False, True]] * 7},
    "statistics without end": {"statistics": [["a", "MEAN", False, True]] * 2000},
    "fewer statistics than columns": {"statistics": []},
    "settings that are a list": {"settings": []},
    "no settings": {"settings": {}},
    "no identity": {"identity": None},
    "an identity of numbers": {"identity": {"draws": 1}},
    "nothing known": {"unknown": 1},
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_forged_header_is_one_sentence(copy, name):
    forge_header(copy, **HEADERS[name])
    with pytest.raises(StoreError):
        tunamh.read_store(copy)
    if "taken" not in name:  # resume makes the names itself
        with pytest.raises(StoreError):
            tunamh.resume(copy, new_target())


def test_a_header_of_before_goes_on(copy):
    """Variables were a list of names with labels, statistics those of a test."""
    there = tunamh.read_store(copy).posterior["theta"]
    forge_header(copy, variables=[["theta", there["parameter"].values.tolist()]], statistics=None, extra=None)
    assert tunamh.read_store(copy).posterior["theta"].identical(there)
    longer = tunamh.resume(copy, new_target(), draws=120, progressbar=False).posterior["theta"]
    assert np.array_equal(longer, tunamh.sample(new_target(), **{**SIZE, "draws": 120}).posterior["theta"])


def test_points_of_another_size_do_not_reach_compiled_code(copy):
    forge_header(copy, points=[[0.0] * 10**6, None])
    with pytest.raises(StoreError, match="initial states with another number of parameters"):
        tunamh.resume(copy, new_target(), draws=200)


CHUNKS = {
    "seconds that are a list": {"seconds": np.ones(3)},
    "seconds that are text": {"seconds": np.array("x")},
    "kept that is a list": {"state.kept": np.ones(3)},
    "steps that are text": {"state.steps": np.array("x")},
    "no generator": {"state.rng": np.zeros(2, np.uint64)},
    "a generator of text": {"state.rng": np.array(list("abcdef"))},
    "draws of text": {"draws": np.array([["a"]])},
    "complex draws": {"draws": np.zeros((16, 3), complex)},
    "one number for draws": {"draws": np.array(1.0)},
}


@pytest.mark.parametrize("name", CHUNKS)
def test_a_forged_chunk_is_damaged(copy, name):
    forge_chunk(copy, **CHUNKS[name])
    for read in (tunamh.read_store, lambda path: tunamh.resume(path, new_target(), draws=200)):
        with pytest.raises(StoreError, match="is damaged or does not belong to this run"):
            read(copy)


@pytest.mark.parametrize(
    "state",
    [
        {"state.here": np.zeros(3, complex)},
        {"state.here": np.zeros(3, np.int64)},
        {"state.learned.done": np.array("x")},
        {"state.learned.log_step": np.array(1)},
        {"state.test_knobs": np.array(["a"])},
    ],
    ids=lambda state: next(iter(state)),
)
def test_a_state_of_other_kinds_does_not_reach_compiled_code(copy, state):
    forge_chunk(copy, **state)
    with pytest.raises(StoreError, match="cannot continue from draw"):
        tunamh.resume(copy, new_target(), draws=200)


@pytest.mark.parametrize("name", ["header.json", "chain-0-000000000000.npz"])
@pytest.mark.parametrize("kind", ["a pipe", "a device", "a file of a terabyte"])
def test_files_without_an_end_are_not_read(copy, name, kind):
    (copy / name).unlink(missing_ok=True)
    if kind == "a pipe":
        os.mkfifo(copy / name)
    elif kind == "a device":
        (copy / name).symlink_to("/dev/zero")
    else:
        with (copy / name).open("wb") as file:
            file.truncate(1 << 40)
    with pytest.raises(StoreError, match=r"it is not a regular file|bytes, where at most"):
        tunamh.read_store(copy)


def test_a_folder_deleted_under_a_run_is_not_said_to_go_on(path, monkeypatch):
    from tunamh.sampling.run import ChainRun

    keep = ChainRun._keep

    def deleted(run):
        shutil.rmtree(path, ignore_errors=True)
        return keep(run)

    monkeypatch.setattr(ChainRun, "_keep", deleted)
    with pytest.raises(StoreError, match="does not exist any more") as caught:
        tunamh.sample(new_target(), **SIZE, store=path)
    assert "continues with the same draws" not in str(caught.value)


@pytest.mark.parametrize("name", ["a\0b", "a\ud800b"])
def test_names_that_no_file_can_have(tmp_path, name):
    with pytest.raises(ValueError, match="store must be the name of a folder"):
        tunamh.sample(new_target(), store=str(tmp_path / name))
    table = {"y": np.random.default_rng(1).normal(size=60), "g": np.array(["a", "b", name] * 20)}
    target = tunamh.regression("y ~ g", table, family=tunamh.Gaussian(1.0))
    with pytest.raises(ValueError, match="has a character that no file can hold"):
        tunamh.sample(target)


# ------------------------------------------------------------------------------------------------------- netCDF files


def a_group_of_itself(file):
    file["posterior"] = file["/"]


def a_link_elsewhere(file):
    file["posterior"] = h5py.ExternalLink("other.nc", "/posterior")


def a_soft_link(file):
    file["posterior"] = h5py.SoftLink("/posterior")


def terabytes_of_zeros(file):
    file.create_dataset("posterior/theta", (10**6, 10**6), "f8", fillvalue=1.0, chunks=(1000, 1000))


def a_chunk_of_terabytes(file):
    file.create_dataset("posterior/theta", (1,), "f8", maxshape=(None,), chunks=(1 << 28,))


def data_elsewhere(file):
    layout = h5py.VirtualLayout((100,), "f8")
    layout[:] = h5py.VirtualSource("other.nc", "x", (100,))
    file.create_virtual_dataset("posterior/theta", layout)


def groups_without_an_end(file):
    file.create_group("/".join("posterior" for _ in range(200)))


FILES = [
    a_group_of_itself,
    a_link_elsewhere,
    a_soft_link,
    terabytes_of_zeros,
    a_chunk_of_terabytes,
    data_elsewhere,
    groups_without_an_end,
]


@pytest.mark.parametrize("forge", FILES, ids=lambda forge: forge.__name__)
def test_a_forged_netcdf_file_is_one_sentence(tmp_path, forge):
    path = tmp_path / "forged.nc"
    with h5py.File(path, "w") as file:
        forge(file)
    with pytest.raises(ValueError, match=r"without end|another place|more numbers"):
        read_saved(path)
    with pytest.raises(ValueError, match="could not be read as a netCDF file of a run"):
        tunamh.report(path, tmp_path / "report.html")


@pytest.mark.parametrize(
    "change", [{"family": None}, {"family": []}, {"groups": 3}, {"factors": [1]}, {"dim": "x"}, {"groups": [{}]}]
)
def test_a_forged_model_is_one_sentence(whole, change):
    tree = tunamh.read_store(whole)
    model = json.loads(tree["posterior"].attrs["model"])
    tree["posterior"].attrs["model"] = json.dumps(model | change)
    with pytest.raises(tunamh.NotApplicable, match="prediction needs the result"):
        tunamh.predict(tree, np.zeros((2, 3)))


def test_columns_outside_a_forged_model_do_not_reach_compiled_code():
    from tunamh.formula import FormulaError
    from tunamh.formula.right_side import Columns

    for columns in (
        Columns(np.zeros((2, 0)), np.array([[10**9], [0]], np.int32), None, 3),
        Columns(np.zeros((2, 0)), np.array([[-2], [0]], np.int32), None, 3),
        Columns(np.zeros((2, 5)), np.zeros((2, 0), np.int32), None, 3),
    ):
        with pytest.raises(FormulaError, match="columns outside its 3"):
            columns.dense()


def test_a_pipe_is_no_result(tmp_path):
    os.mkfifo(tmp_path / "pipe.nc")
    with pytest.raises(ValueError, match="not a regular file"):
        tunamh.report(tmp_path / "pipe.nc", tmp_path / "report.html")


def test_compressed_and_cut_files(tmp_path):
    """What other libraries compress is read; a file that is cut, at any place, is no result."""
    posterior = xarray.Dataset({"theta": (("chain", "draw"), np.zeros((2, 100_000)))})
    tree = xarray.DataTree.from_dict({"posterior": posterior})
    tree.to_netcdf(tmp_path / "small.nc", engine="h5netcdf", encoding={"/posterior": {"theta": {"zlib": True}}})
    assert (tmp_path / "small.nc").stat().st_size < 100_000
    assert read_saved(tmp_path / "small.nc").posterior.sizes["draw"] == 100_000
    data = (tmp_path / "small.nc").read_bytes()
    for end in (0, 10, 600, len(data) // 2, len(data) - 1):
        (tmp_path / "cut.nc").write_bytes(data[:end])
        with pytest.raises((ValueError, OSError)):
            read_saved(tmp_path / "cut.nc")
