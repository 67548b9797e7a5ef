"""The command line on files: what it writes, what it says, and that nothing is lost."""

import contextlib
import io
import json
import os
import re
import resource
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray
from typer.testing import CliRunner

import tunamh
from conftest import draws_of
from tunamh.cli import app

RNG = np.random.default_rng(8)
N = 400


@pytest.fixture(scope="module")
def table():
    found = pd.DataFrame(
        {"distance": RNG.gamma(2, 500, N), "carrier": RNG.choice(["AA", "BB", "CC"], N), "n": RNG.poisson(2, N)}
    )
    found["late"] = np.where(RNG.random(N) < 1 / (1 + np.exp(1 - found["distance"] / 1000)), "yes", "no")
    return found


@pytest.fixture
def here(tmp_path, table, monkeypatch):
    """A folder with files, in which the command runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CI", "1")
    table.to_csv("flights.csv", index=False)
    return tmp_path


def run(*arguments):
    found = CliRunner().invoke(app, [str(one) for one in arguments])
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found


SAMPLE = ("sample", "flights.csv", "late ~ distance + C(carrier)", "--family", "logistic", "--seed", 1)
NAMES = "Intercept", "distance", "C(carrier)"
SHORT = ("--draws", 100, "--tune", 100, "--chains", 2)


def test_survival_from_the_shell(here):
    times = RNG.exponential(10, 300)
    seen = pd.DataFrame({"time": times.clip(0.1, 20), "died": times < 20, "x": RNG.normal(size=300)})
    seen.to_csv("seen.csv", index=False)
    sampled = ("sample", "seen.csv", "Surv(time, died) ~ x", "--family", "piecewise-exponential", "--seed", 1, *SHORT)
    assert "300 rows, split into " in run(*sampled, "--out", "run.nc").stdout
    assert (
        run("predict", "run.nc", "seen.csv", "--kind", "survival", "--times", "5,10", "--out", "p.csv").exit_code == 0
    )
    found = pd.read_csv("p.csv")
    assert found["time"].tolist() == [5.0, 10.0] * 300
    assert abs(found["mean"].iloc[::2].mean() - np.exp(-0.5)) < 0.1
    assert "--times 12,24" in run("predict", "run.nc", "seen.csv", "--kind", "hazard", "--out", "q.csv").output
    wrong = run("predict", "run.nc", "seen.csv", "--kind", "hazard", "--times", "5;10", "--out", "q.csv")
    assert wrong.exit_code == 2
    assert "numbers with commas" in wrong.output


def test_from_a_file_to_draws_a_summary_and_predictions(here, table):
    found = run(*SAMPLE, "--draws", 300, "--out", "run.nc")
    assert found.exit_code == 0, found.output
    for words in ("400 rows", "'yes' counts as 1", "reference is 'AA'", "C(carrier)[BB]", "wrote run.nc"):
        assert words in found.output
    with xarray.open_datatree("run.nc") as saved:
        target = tunamh.regression("late ~ distance + C(carrier)", table, family=tunamh.Logistic())
        wanted = tunamh.sample(target, draws=300, rng=1, progressbar=False)
        np.testing.assert_array_equal(*(draws_of(tree, *NAMES) for tree in (saved, wanted)))
    assert "\ndistance " in run("summary", "run.nc").output
    table.head(7).drop(columns="late").to_csv("new.csv", index=False)
    assert run("predict", "run.nc", "new.csv", "--out", "predicted.csv").exit_code == 0
    predicted = pd.read_csv("predicted.csv")
    assert predicted.columns.tolist() == ["row", "mean", "sd", "q5", "q50", "q95"]
    np.testing.assert_allclose(predicted["mean"], tunamh.predict(wanted, table.head(7))["mean"])
    assert sorted(os.listdir()) == ["flights.csv", "new.csv", "predicted.csv", "run.nc"]  # no parts are left


def test_a_stored_run_goes_on(here):
    assert run(*SAMPLE, *SHORT, "--store", "run", "--prior", "distance=normal(0, 0.1)").exit_code == 0
    assert "\ndistance " in run("summary", "run").output
    found = run("resume", "run", "--draws", 150, "--out", "longer.nc")
    assert found.exit_code == 0, found.output
    whole = run(
        *SAMPLE, "--draws", 150, "--tune", 100, "--chains", 2, "--prior", "distance=normal(0, 0.1)", "--out", "whole.nc"
    )
    assert whole.exit_code == 0
    with xarray.open_datatree("longer.nc") as longer, xarray.open_datatree("whole.nc") as at_once:
        np.testing.assert_array_equal(*(draws_of(tree, *NAMES) for tree in (longer, at_once)))


def test_a_moved_file_is_named_and_other_data_are_refused(here, table):
    assert run(*SAMPLE, *SHORT, "--store", "run").exit_code == 0
    os.rename("flights.csv", "moved.csv")
    found = run("resume", "run")
    assert found.exit_code == 2
    assert "there is no file" in found.output
    assert run("resume", "run", "--data", "moved.csv", "--draws", 120).exit_code == 0
    table.assign(distance=table["distance"] + 1).to_csv("other.csv", index=False)
    found = run("resume", "run", "--data", "other.csv")
    assert found.exit_code == 2
    assert "another" in found.output or "other data" in found.output


def test_priors_as_the_shell_writes_them():
    from tunamh.cli.names import priors_named

    found = priors_named(["distance=normal(0, 0.1)", "correlation (x | g)=lkj(2)"])
    assert found == {"distance": tunamh.Normal(mean=0.0, scale=0.1), "correlation (x | g)": 2.0}


def test_files_of_every_kind(here, table):
    table.to_parquet("t.parquet")
    table.to_csv("t.tsv", index=False, sep="\t")
    table.to_csv("t.csv.gz", index=False)
    late = (table["late"] == "yes").to_numpy()
    np.savez("t.npz", late=late, distance=table["distance"], carrier=table["carrier"].to_numpy(dtype="U"))
    for name in ("flights.csv", "t.parquet", "t.tsv", "t.csv.gz", "t.npz"):
        found = run("check", name, "late ~ distance + C(carrier)", "--family", "logistic")
        assert found.exit_code == 0, found.output
        assert "4 coefficients" in found.output
    in_order = run("check", "t.parquet", "late ~ C(carrier) + distance", "--family", "logistic").output
    assert in_order.index("C(carrier)[") < in_order.index("distance", in_order.index("coefficients:"))
    np.save("t.npy", np.column_stack([late, table["distance"]]))
    assert "2 coefficients" in run("check", "t.npy", "x0 ~ x1", "--family", "logistic").output
    np.savez("m.npz", y=late, X=RNG.standard_normal((N, 3)))
    assert "4 coefficients" in run("check", "m.npz", "y ~ X0 + X1 + X2", "--family", "logistic").output


def test_a_folder_of_parquet_files_is_read_in_blocks(here, table):
    (here / "parts").mkdir()
    table.head(150).to_parquet("parts/a.parquet")
    table.tail(N - 150).to_parquet("parts/b.parquet")
    arguments = ("late ~ distance * carrier", "--family", "logistic", "--seed", 1, *SHORT)
    assert run("sample", "flights.csv", *arguments, "--out", "whole.nc").exit_code == 0
    for name, out in (("parts", "a.nc"), ("parts/*.parquet", "b.nc")):
        assert run("sample", name, *arguments, "--out", out).exit_code == 0
        with xarray.open_datatree(out) as parts, xarray.open_datatree("whole.nc") as whole:
            assert parts.posterior["carrier_dim"].values.tolist() == whole.posterior["carrier_dim"].values.tolist()
            names = "Intercept", "distance", "carrier", "distance:carrier"
            ours, theirs = (draws_of(tree, *names) for tree in (parts, whole))
            off = (ours - theirs).mean() / theirs.std()
            assert abs(float(off)) < 0.5
    assert "read block by block" in run("check", "parts", *arguments[:3]).output
    few = run("check", "parts", *arguments[:3], "--memory", "10kB")
    assert few.exit_code == 0, few.output
    assert run("predict", "a.nc", "parts", "--out", "p.csv").exit_code == 0
    assert len(pd.read_csv("p.csv")) == N


def test_group_effects_of_files_in_blocks(here, table):
    (here / "parts").mkdir()
    table.head(150).to_parquet("parts/a.parquet")
    table.tail(N - 150).to_parquet("parts/b.parquet")
    arguments = ("parts/*.parquet", "late ~ distance + (1 | carrier)", "--family", "logistic", "--seed", 1, *SHORT)
    refused = run("sample", *arguments, "--out", "no.nc", "--memory", "10kB")
    assert refused.exit_code == 2
    assert "10,000 are allowed" in refused.output
    assert "--memory" in refused.output
    assert run("sample", *arguments, "--store", "run", "--out", "a.nc", "--memory", "100MB").exit_code == 0
    assert run("sample", "flights.csv", *arguments[1:], "--out", "whole.nc").exit_code == 0
    with xarray.open_datatree("a.nc") as parts, xarray.open_datatree("whole.nc") as whole:
        assert (parts.posterior["1|carrier_sigma"].values == whole.posterior["1|carrier_sigma"].values).all()
    more = run("resume", "run", "--draws", 200, "--out", "more.nc")
    assert more.exit_code == 0, more.output
    assert run("predict", "a.nc", "parts", "--out", "p.csv").exit_code == 0
    assert len(pd.read_csv("p.csv")) == N
    assert (
        "--memory works only with Parquet"
        in run("sample", "flights.csv", *arguments[1:], "--out", "c.nc", "--memory", "1GB").output
    )


def test_check_tells_what_is_wrong(here, table):
    table.assign(late=np.where(table["distance"] > 800, "yes", "no")).to_csv("separated.csv", index=False)
    formula = ("separated.csv", "late ~ distance", "--family", "logistic")
    found = run("check", *formula)
    assert found.exit_code == 0
    assert "remark: the data are separated along" in found.output
    found = run("check", *formula, "--prior", "distance=flat()", "--prior", "Intercept=flat()")
    assert found.exit_code == 2
    assert "problem: the data are separated" in found.output
    table.assign(distance=table["distance"].mask(table["distance"] > 2000)).to_csv("holes.csv", index=False)
    found = run("check", "holes.csv", "late ~ distance", "--family", "logistic")
    assert found.exit_code == 2
    assert "missing" in found.output
    assert "--missing drop" in found.output
    assert run("check", "holes.csv", "late ~ distance", "--family", "logistic", "--missing", "drop").exit_code == 0


def test_check_tells_codes_for_missing_values(here):
    rating = np.where(np.arange(300) % 50 == 7, 99, np.arange(300) % 10 + 1)
    pd.DataFrame({"y": np.sin(np.arange(300.0)), "rating": rating}).to_csv("codes.csv", index=False)
    found = run("check", "codes.csv", "y ~ rating")
    assert "remark: rating: 99 (in 6 rows) is far from the others (1 to 10)" in found.output
    assert "remark: y" not in found.output


def write_hostile(folder, table):
    (folder / "empty.csv").write_text("")
    (folder / "header.csv").write_text("late,distance\n")
    (folder / "one.csv").write_text("late,distance\n1,2.0\n")
    (folder / "semicolons.csv").write_text("late;distance\n1;2.0\n0;3.0\n")
    (folder / "bytes.csv").write_bytes(bytes(range(256)) * 4)
    (folder / "bytes.parquet").write_bytes(b"PAR1" + bytes(100))
    (folder / "bytes.npz").write_bytes(b"not a zip")
    (folder / "bytes.nc").write_bytes(b"not a netcdf")
    (folder / "data.xlsx").write_bytes(b"x")
    (folder / "folder").mkdir()
    (folder / "taken.nc").write_text("precious")
    (folder / "taken").mkdir()
    (folder / "taken" / "file").write_text("precious")
    np.save(folder / "objects.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    np.save(folder / "cube.npy", np.ones((2, 2, 2)))
    xarray.Dataset({"a": 1}).to_netcdf(folder / "other.nc", engine="h5netcdf")


LOGISTIC = ("--family", "logistic")
HOSTILE = [
    (("sample", "nosuch.csv", "late ~ distance", *LOGISTIC, "--out", "o.nc"), "there is no file nosuch.csv"),
    (("sample", "folder", "late ~ distance", *LOGISTIC, "--out", "o.nc"), "is a folder without Parquet"),
    (("sample", "empty.csv", "late ~ distance", *LOGISTIC, "--out", "o.nc"), "is empty"),
    (("sample", "header.csv", "late ~ distance", *LOGISTIC, "--out", "o.nc"), "no rows"),
    (("sample", "one.csv", "late ~ distance", *LOGISTIC, "--out", "o.nc"), "in every row"),
    (("sample", "semicolons.csv", "late ~ distance", *LOGISTIC, "--out", "o.nc"), "separated by commas"),
    (("sample", "bytes.csv", "late ~ distance", *LOGISTIC, "--out", "o.nc"), "error: "),
    (("sample", "bytes.parquet", "late ~ distance", *LOGISTIC, "--out", "o.nc"), "cannot be read as .parquet"),
    (("sample", "bytes.npz", "late ~ distance", *LOGISTIC, "--out", "o.nc"), "cannot be read as .npz"),
    (("sample", "objects.npy", "late ~ distance", *LOGISTIC, "--out", "o.nc"), "cannot be read as .npy"),
    (("sample", "cube.npy", "late ~ distance", *LOGISTIC, "--out", "o.nc"), "shape (2, 2, 2)"),
    (("sample", "data.xlsx", "late ~ distance", *LOGISTIC, "--out", "o.nc"), "not the ending of a file"),
    (("sample", "flights.csv", "late ~ nosuch", *LOGISTIC, "--out", "o.nc"), "no column nosuch"),
    (("sample", "flights.csv", "late ~", *LOGISTIC, "--out", "o.nc"), "something is missing"),
    (("sample", "flights.csv", "late ~ eval(distance)", *LOGISTIC, "--out", "o.nc"), "eval is not known"),
    (("sample", "flights.csv", "carrier ~ distance", *LOGISTIC, "--out", "o.nc"), "3 levels"),
    (("sample", "flights.csv", "late ~ distance", "--family", "poison", "--out", "o.nc"), "no family 'poison'"),
    (("sample", "flights.csv", "late ~ distance", "--family", "poisson", "--out", "o.nc"), "is for numbers"),
    (("sample", "flights.csv", "late ~ distance", "--out", "o.nc"), "set --family logistic for two classes"),
    (("sample", "flights.csv", "late ~ distance", *LOGISTIC), "where to save the draws"),
    (("sample", "flights.csv", "late ~ distance", *LOGISTIC, "--out", "taken.nc"), "exists already"),
    (("sample", "flights.csv", "late ~ distance", *LOGISTIC, "--store", "taken"), "exists already"),
    (("sample", "flights.csv", "late ~ distance", *LOGISTIC, "--out", "folder"), "exists already"),
    (("sample", "flights.csv", "late ~ distance", *LOGISTIC, "--out", "run.csv"), "must end in .nc"),
    (("sample", "flights.csv", "late ~ distance", *LOGISTIC, "--out", "nowhere/run.nc"), "no folder nowhere"),
    (("sample", "flights.csv", "late ~ distance", *LOGISTIC, "--out", "o.nc", "--prior", "distance"), "cannot be read"),
    (
        ("sample", "flights.csv", "late ~ distance", *LOGISTIC, "--out", "o.nc", "--prior", "distance=normal(0)"),
        "takes 2 numbers",
    ),
    (
        ("sample", "flights.csv", "late ~ distance", *LOGISTIC, "--out", "o.nc", "--prior", "distance=exit()"),
        "cannot be read",
    ),
    (
        ("sample", "flights.csv", "late ~ distance", *LOGISTIC, "--out", "o.nc", "--prior", "hour=normal(0, 1)"),
        "not a term of the formula",
    ),
    (("sample", "flights.csv", "late ~ distance", *LOGISTIC, "--out", "o.nc", "--missing", "no"), "missing must be"),
    (("sample", "flights.csv", "late ~ distance", *LOGISTIC, "--out", "o.nc", "--weights", "w"), "no column w"),
    (("summary", "nosuch.nc"), "no file or folder"),
    (("summary", "bytes.nc"), "cannot be read as a result"),
    (("summary", "other.nc"), "has no group 'posterior'"),
    (("summary", "taken"), "no stored run"),
    (("resume", "nosuch"), "no stored run"),
    (("resume", "taken"), "no stored run"),
    (("predict", "taken.nc", "flights.csv", "--out", "p.csv"), "cannot be read as a result"),
    (("report", "nosuch.nc"), "error: "),
]


@pytest.mark.parametrize(("arguments", "said"), HOSTILE, ids=[" ".join(map(str, one[:3])) for one, _ in HOSTILE])
def test_one_message_exit_code_2_and_nothing_touched(here, table, arguments, said):
    write_hostile(here, table)
    before = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    found = run(*arguments)
    assert found.exit_code == 2, found.output
    assert said in found.output
    assert "Traceback" not in found.output
    assert {path: path.read_bytes() for path in here.rglob("*") if path.is_file()} == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_to(here):
    (here / "closed").mkdir(mode=0o500)
    found = run(*SAMPLE, "--out", "closed/run.nc")
    assert found.exit_code == 2
    assert "cannot be written to" in found.output


def test_draws_are_not_lost_if_the_file_cannot_be_written(here, monkeypatch):
    from tunamh.cli import files

    write_new = files.write_new

    def full(out, write):
        if out == Path("run.nc"):
            raise OSError(28, "No space left on device")
        write_new(out, write)

    monkeypatch.setattr(files, "write_new", full)
    found = run(*SAMPLE, *SHORT, "--out", "run.nc")
    assert found.exit_code == 2
    spare = re.search(r"the draws are in (\S+run\.nc)", found.output)[1]
    with xarray.open_datatree(spare) as saved:
        assert saved.posterior.sizes["draw"] == 100


def started(*arguments, **settings):
    """The command as a process of its own."""
    source = str(Path(tunamh.__file__).parent.parent)
    command = [sys.executable, "-m", "tunamh", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": source}
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, env=environment, **settings)


def saved_draws(path):
    with xarray.open_datatree(path) as saved:
        return saved.posterior.sizes["draw"]


def nobody_reads():
    reads, writes = os.pipe()
    os.close(reads)
    return os.fdopen(writes, "w")


STREAMS = {
    "a reader who left": (nobody_reads, 0, ""),
    "a full disk": (lambda: os.fdopen(os.open("/dev/full", os.O_WRONLY), "w"), 1, "No space left"),
    "a closed stream": (lambda: None, 1, "it is closed"),
}


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("first", ["sample", "resume"])
def test_draws_are_saved_whoever_reads_what_is_printed(here, monkeypatch, capsys, first, name):
    """`tunamh sample ... | head -1`, `> /dev/full` and `>&-`."""
    if first == "resume":
        assert run(*SAMPLE, *SHORT, "--store", "run").exit_code == 0
    arguments = {"sample": (*SAMPLE, *SHORT, "--out", "run.nc"), "resume": ("resume", "run", "--out", "run.nc")}[first]
    make, code, told = STREAMS[name]
    stream = make()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", stream)
        with pytest.raises(SystemExit) as ended:
            app([str(one) for one in arguments])
    with contextlib.suppress(OSError):
        if stream is not None:
            stream.close()
    assert ended.value.code == code
    assert saved_draws("run.nc") == 100
    assert told in capsys.readouterr().err


def test_draws_are_saved_where_warnings_are_errors(here):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = run(*SAMPLE, "--draws", 120, "--tune", 10, "--out", "run.nc")  # fewer effective draws than wanted
    assert found.exit_code == 2
    assert "error: the chains have not converged" in found.output
    assert saved_draws("run.nc") == 120


def test_a_process_ends_quietly_when_its_reader_left(here):
    with nobody_reads() as pipe:
        found = started(*SAMPLE, *SHORT, "--out", "run.nc", stdout=pipe)
    assert found.returncode == 0
    assert "ipe" not in found.stderr
    assert saved_draws("run.nc") == 100


def test_a_file_too_large_is_one_message(here):
    """HDF5 that writes to such a file ends in a segmentation fault."""

    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))

    found = started(*SAMPLE, *SHORT, "--out", "run.nc", stdout=subprocess.DEVNULL, preexec_fn=small_files)
    assert found.returncode == 2
    assert "run.nc could not be written (File too large)" in found.stderr
    assert not [name for name in os.listdir() if name.endswith(".nc")]


def test_a_name_that_the_terminal_cannot_show_is_shown_by_its_number(here, monkeypatch, table):
    table.rename(columns={"distance": "größe"}).to_csv("flights.csv", index=False)
    shown = io.TextIOWrapper(io.BytesIO(), "ascii")
    monkeypatch.setattr(sys, "stdout", shown)
    with pytest.raises(SystemExit) as ended:
        app(["check", "flights.csv", "late ~ größe", "--family", "logistic"])
    assert ended.value.code == 0
    assert b"gr\\xf6\\xdfe" in shown.buffer.getvalue()


def test_a_run_from_python_says_how_it_goes_on(here, table):
    target = tunamh.regression("n ~ distance", table, family=tunamh.Poisson())
    tunamh.sample(target, draws=10, tune=10, store="run", rng=1, progressbar=False)
    found = run("resume", "run")
    assert found.exit_code == 2
    assert "tunamh.resume(store, target)" in found.output


@pytest.mark.parametrize(
    "origin", ["x", {"data": 3}, {"data": "flights.csv", "formula": ["a"], "family": "logistic"}, {"formula": "y ~ x"}]
)
def test_a_stranger_s_store_is_read_and_never_run(here, origin):
    assert run(*SAMPLE, *SHORT, "--store", "run").exit_code == 0
    from tunamh.store.header import _checksum

    held = json.loads((here / "run" / "header.json").read_text())
    held["header"]["settings"]["model"]["origin"] = origin
    held["checksum"] = _checksum(held["header"])
    (here / "run" / "header.json").write_text(json.dumps(held))
    found = run("resume", "run")
    assert found.exit_code == 2
    assert "error: " in found.output


def test_two_results_are_compared(here):
    sample = ("--family", "logistic", "--seed", 1, *SHORT, "--evidence")
    assert run("sample", "flights.csv", "late ~ distance", *sample, "--out", "a.nc").exit_code == 0
    found = run("sample", "flights.csv", "late ~ 1", *sample, "--out", "b.nc")
    assert "log evidence" in found.output
    found = run("compare", "a.nc", "b.nc", "flights.csv", "--rows", 100, "--seed", 1)
    assert found.exit_code == 0, found.output
    for words in ("elpd_diff", "a.nc predicts better than b.nc", "log_evidence", "posterior probability"):
        assert words in found.output
    assert run("compare", "a.nc", "flights.csv").exit_code == 2
    flat = run("sample", "flights.csv", "late ~ distance", *sample, "--prior", "distance=flat()", "--out", "c.nc")
    assert flat.exit_code == 2
    assert "improper" in flat.stderr


def test_errors_go_to_stderr_without_a_traceback(here):
    source = str(Path(tunamh.__file__).parent.parent)
    command = [sys.executable, "-m", "tunamh", "sample", "nosuch.csv", "y ~ x", "--family", "gaussian", "--out", "o.nc"]
    found = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": source})
    assert found.returncode == 2
    assert found.stderr == "error: there is no file nosuch.csv.\n"
    assert found.stdout == ""


@pytest.mark.parametrize(
    "name", ["sample", "resume", "check", "summary", "predict", "report", "compare", "demo", "reproduce"]
)
def test_every_command_has_help(name):
    found = run(name, "--help")
    assert found.exit_code == 0
    assert name in ("demo", "reproduce") or f"tunamh {name}" in found.output.split("Example")[1]
