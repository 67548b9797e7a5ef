"""The group ``observed_data`` of results: some responses as they were given, by their row numbers."""

import numpy as np
import pandas as pd
import pytest
import xarray

import tunamh
from tunamh.targets.observations.observed import MOST_ROWS

pytestmark = pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")  # runs are short

RNG = np.random.default_rng(4)
N = 300
TABLE = pd.DataFrame({"x": RNG.normal(size=N), "g": RNG.integers(8, size=N).astype(str)})
TABLE["y"] = TABLE["x"] + RNG.normal(size=N)
TABLE["k"] = RNG.binomial(5, 0.4, N)
TABLE["m"] = 5
TABLE["word"] = np.where(TABLE["y"] > 0, "yes", "no")
TABLE["grade"] = pd.cut(TABLE["y"], [-99, -1, 1, 99], labels=["low", "mid", "high"])
SHORT = {"draws": 20, "tune": 20, "chains": 2, "rng": 1, "progressbar": False}


def seen(target, **more):
    return tunamh.sample(target, **SHORT, **more)["observed_data"]


def of(formula, table=TABLE, **given):
    return seen(tunamh.regression(formula, table, **given))


def test_a_formula_has_its_response_by_name_and_row():
    found = of("y ~ x")
    np.testing.assert_array_equal(found["y"], TABLE["y"])
    assert found.attrs["rows"] == "all 300 rows"
    assert found["row"].values.tolist() == list(range(N))
    grouped = of("y ~ x + (1 | g)")
    np.testing.assert_array_equal(grouped["y"], TABLE["y"])
    assert list(of("log(m + k) ~ x").data_vars) == ["log(m + k)"]
    ratio = of("k / m ~ x")
    assert list(ratio.data_vars) == ["k ÷ m"]  # no file has a slash in a name


def test_rows_that_were_left_out_do_not_count():
    holes = TABLE.assign(x=TABLE["x"].where(np.arange(N) % 3 != 0))
    for formula in ("y ~ x", "y ~ x + (1 | g)"):
        found = of(formula, holes, missing="drop")
        np.testing.assert_array_equal(found["y"], TABLE["y"][found["row"].values])
        assert found["row"].values.tolist() == [i for i in range(N) if i % 3]


def test_labels_classes_and_counts_of_trials():
    np.testing.assert_array_equal(of("word ~ x", family="logistic")["word"], TABLE["word"] == "yes")
    np.testing.assert_array_equal(of("k | trials(m) ~ x", family="logistic")["k"], TABLE["k"])
    np.testing.assert_array_equal(of("k | trials(m) ~ x", family="probit")["k"], TABLE["k"])
    grade = of("grade ~ x", family="ordinal")["grade"]
    assert grade.attrs["classes"] == "0: low, 1: mid, 2: high"
    np.testing.assert_array_equal(grade, TABLE["grade"].cat.codes)
    numbers = of("c ~ x", TABLE.assign(c=TABLE["grade"].cat.codes + 1), family="ordinal")["c"]
    assert (int(numbers.min()), int(numbers.max()), numbers.dtype) == (1, 3, np.int64)


def test_arrays():
    found = seen(tunamh.GLM(TABLE[["x"]], TABLE["y"], tunamh.Gaussian()))
    np.testing.assert_array_equal(found["y"], TABLE["y"])
    mixed = tunamh.MixedModel(TABLE[["x"]], TABLE["k"], tunamh.Logistic(), groups=TABLE["g"], trials=5)
    np.testing.assert_array_equal(seen(mixed)["y"], TABLE["k"])


def test_of_many_rows_a_subsample_that_is_always_the_same():
    n = 3 * MOST_ROWS
    many = pd.DataFrame({"x": np.arange(n) % 7, "y": np.arange(n, dtype=float)})
    found, again = of("y ~ x", many), seen(tunamh.regression("y ~ x", many))
    assert found.attrs["rows"] == "10,000 of 30,000 rows, drawn at random"
    np.testing.assert_array_equal(found["y"], many["y"][found["row"].values])
    np.testing.assert_array_equal(found["row"], again["row"])
    assert len(set(found["row"].values.tolist())) == MOST_ROWS


def test_stores_files_and_rows_on_disk(tmp_path):
    target = tunamh.regression("y ~ x", TABLE)
    first = tunamh.sample(target, **SHORT, store=tmp_path / "run")
    longer = tunamh.resume(tmp_path / "run", target, draws=30, progressbar=False)
    for tree in (first, longer):
        np.testing.assert_array_equal(tree["observed_data"]["y"], TABLE["y"])
    assert "observed_data" not in tunamh.read_store(tmp_path / "run").children  # a store has no data
    longer.to_netcdf(tmp_path / "run.nc", engine="h5netcdf")
    with xarray.open_datatree(tmp_path / "run.nc", engine="h5netcdf") as saved:
        xarray.testing.assert_equal(saved["observed_data"].to_dataset(), longer["observed_data"].to_dataset())
    TABLE[["x", "y"]].to_parquet(tmp_path / "rows.parquet")
    read = tunamh.regression("y ~ x", tunamh.open_rows(tmp_path / "rows.parquet"))
    np.testing.assert_array_equal(seen(read)["y"], TABLE["y"])  # the columns fit into memory
    passes = tunamh.open_rows(tmp_path / "rows.parquet", memory=1)
    blocks = tunamh.sample(tunamh.regression("y ~ x", passes, family=tunamh.Gaussian(1.0)), **SHORT)
    assert "observed_data" not in blocks.children


def test_targets_without_responses_have_none():
    assert "observed_data" not in tunamh.sample(tunamh.GaussianMixture([0.0, 1.0]), **SHORT).children


def test_arviz_compares_replicas_with_what_was_observed():
    arviz_plots = pytest.importorskip("arviz_plots")
    target = tunamh.regression("y ~ x", TABLE)
    tree = tunamh.replicate(tunamh.sample(target, **SHORT), TABLE, rows=50, rng=1, extend=True)
    assert tree["observed_data"]["y"].dims == ("row",)
    assert tree["posterior_predictive"]["y"].dims == ("chain", "draw", "row")
    np.testing.assert_array_equal(tree["observed_data"]["row"], tree["posterior_predictive"]["row"])
    arviz_plots.plot_ppc_dist(tree, backend="none")
