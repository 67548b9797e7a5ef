"""Rows from a source that are read once and kept: whatever needs rows in any order takes them as it takes arrays."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from made import CARRIER, LATE, NOISY, TABLE, WEIGHTS, N, X, write

import tunamh
from tunamh.rows.in_memory import load_columns

FRAME = TABLE.to_pandas()


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Row groups that are no whole numbers of blocks: draws from rows that are held do not depend on them."""
    return write(tmp_path_factory.mktemp("held"), group=7000)


@pytest.fixture
def flights(path):
    return tunamh.open_rows(path)


@pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")
def same_draws(one, other, **given):
    settings = {"draws": 20, "tune": 60, "chains": 2, "rng": 1, **given}
    found, wanted = (tunamh.sample(target, **settings) for target in (one, other))
    assert found.posterior.attrs["choice"] == wanted.posterior.attrs["choice"]
    assert list(found.posterior.data_vars) == list(wanted.posterior.data_vars)
    for name in found.posterior.data_vars:
        assert (found.posterior[name].values == wanted.posterior[name].values).all()
    return found


def test_group_effects_by_name(flights):
    slopes = tunamh.GroupEffects("carrier", ["b"], name="slopes", scale=tunamh.HalfNormal(2.0))
    ours = tunamh.MixedModel(flights[["a"]], "noisy", tunamh.Gaussian(1.5), ["carrier", slopes], weights="weights")
    slopes = tunamh.GroupEffects(FRAME["carrier"], FRAME[["b"]], name="slopes", scale=tunamh.HalfNormal(2.0))
    groups = [FRAME["carrier"], slopes]
    wanted = tunamh.MixedModel(FRAME[["a"]], NOISY, tunamh.Gaussian(1.5), groups, weights=WEIGHTS)
    found = same_draws(ours, wanted)
    assert "group_effect" in found.posterior
    assert [one.name for one in ours.groupings] == ["carrier", "slopes"]


def test_codes_of_groups_are_no_features_unless_they_are_named(path):
    rows = tunamh.open_rows(path, columns=["a", "b", "carrier", "late"])
    assert tunamh.MixedModel(rows, "late", tunamh.Logistic(), "carrier").base.names == ["a", "b"]
    with pytest.raises(TypeError, match=r"the codes of a group must be a column, .* got 'carrier'"):
        tunamh.MixedModel(X, LATE, tunamh.Logistic(), "carrier")


def test_further_predictors_by_name(flights):
    ours = tunamh.GLM(flights[["a", "c"]], "noisy", tunamh.Gaussian(), predictors={"scale": flights[["b", "carrier"]]})
    carrier = pd.Categorical(CARRIER)
    described = pd.DataFrame({"b": X[:, 1], "carrier": carrier})
    same_draws(ours, tunamh.GLM(X[:, [0, 2]], NOISY, tunamh.Gaussian(), predictors={"scale": described}))


def test_thin_levels_are_taken_as_groups(tmp_path):
    """As those of the same rows in a data frame."""
    rng = np.random.default_rng(4)
    codes = np.where(rng.random(N) < 0.003, rng.integers(1, 30, N), 0)
    table = pa.table({"one": np.ones(N), "a": X[:, 0], "level": np.char.add("l", codes.astype(str)), "late": LATE})
    rows, columns = tunamh.open_rows(write(tmp_path, table=table)), ["one", "a", "level"]
    frame = table.to_pandas()[columns].astype({"level": "category"})
    prior = tunamh.Normal(scale=3.0)
    found = same_draws(
        tunamh.LogisticRegression(rows[columns], y="late", prior=prior),
        tunamh.LogisticRegression(frame, LATE, prior=prior),
    )
    assert "treated as groups" in found.posterior.attrs["choice"]


@pytest.mark.parametrize("test", [tunamh.FlyMC(), tunamh.AustereMH(), tunamh.MHMinibatch()], ids=repr)
@pytest.mark.parametrize("memory", ["4.5MiB", "2GiB"])
def test_lists_of_all_rows(path, test, memory):
    rows = tunamh.open_rows(path, memory=memory)
    ours = tunamh.LogisticRegression(rows[["a", "b", "c"]], y="late")
    assert ours.user_rows.in_process == (memory == "2GiB")
    given = {"test": test, "proposal": tunamh.RandomWalk(0.02), "draws": 3, "tune": 0}
    if memory == "2GiB":
        same_draws(ours, tunamh.LogisticRegression(X, LATE), **given)
    else:
        tunamh.sample(ours, chains=1, rng=1, **given)


def test_rows_are_read_once(flights, monkeypatch):
    maps, map = [], type(flights).map

    def counted(self, function, columns=None):
        maps.append(columns)
        return map(self, function, columns)

    monkeypatch.setattr(type(flights), "map", counted)
    target = tunamh.LogisticRegression(flights[["a", "carrier"]], y="late")
    tunamh.sample(target, draws=20, chains=2, rng=1)
    assert maps == [["a", "carrier", "late"]]


def test_what_does_not_fit_is_told_in_bytes(path):
    small = tunamh.open_rows(path, memory="1MiB")
    told = r"40,000 rows of 3 columns take about [\d,]+ bytes, .* 1,048,576 are allowed. Give open_rows memory='\d+MB'"
    with pytest.raises(tunamh.NotApplicable, match=f"group effects need all rows in memory: {told}") as refused:
        tunamh.MixedModel(small[["a"]], "late", tunamh.Logistic(), "carrier")
    with pytest.raises(tunamh.NotApplicable, match=f"further predictors need all rows in memory: {told}"):
        tunamh.GLM(small[["a"]], "noisy", tunamh.Gaussian(), predictors={"scale": ["b"]})
    enough = str(refused.value).split("memory='")[1].split("'")[0]
    tunamh.MixedModel(tunamh.open_rows(path, memory=enough)[["a"]], "late", tunamh.Logistic(), "carrier")


def test_missing_groups_and_columns_of_two_kinds_are_named(tmp_path):
    gap = pa.array([None if k == 20_000 else "x" for k in range(N)])
    rows = tunamh.open_rows(write(tmp_path, table=TABLE.append_column("gap", gap)))
    where = r"column gap has a missing value in row 3616 of row group 1 of .*rows.parquet \(row 20000 of all"
    with pytest.raises(tunamh.SourceError, match=where):
        tunamh.MixedModel(rows[["a"]], "late", tunamh.Logistic(), "gap")
    blocks = [{"a": X[:100, 0]}, {"a": CARRIER[:100]}]
    with pytest.raises(tunamh.SourceError, match="column a holds numbers in some blocks and text in others"):
        load_columns(tunamh.open_rows(blocks), ["a"])


@pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")
def test_a_formula_with_groups_and_its_predictions(path):
    """Of files by a pattern, as of the table that they hold."""
    rows = tunamh.open_rows(f"{path.parent}/*.parquet")
    ours, wanted = (
        tunamh.regression("late ~ a + (1 + b | carrier)", data, family=tunamh.Logistic()) for data in (rows, FRAME)
    )
    found = same_draws(ours, wanted)
    for kind in ("mean", "linear"):
        one, other = (tunamh.predict(found, data, kind=kind, rng=1) for data in (rows, FRAME))
        for name in one.data_vars:
            np.testing.assert_allclose(one[name], other[name], rtol=1e-12)
