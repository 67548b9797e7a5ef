"""Groups over files that come and go: the rows are those of a fresh run bit for bit, and so is the posterior."""

import os
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from days import counted_reads, killed_after, z_scores
from scipy import stats

import tunamh
from tunamh.formula import living_rows
from tunamh.formula.living_reading import LivingPiece
from tunamh.formula.parser import parse_expression
from tunamh.living import cache as caches
from tunamh.living.kept_columns import as_record, column_of, has_columns, there
from tunamh.living.records import as_bytes, from_bytes
from tunamh.process import scratch
from tunamh.process.scratch import is_in_file
from tunamh.tables.columns import Factor, Numbers

FORMULA, ROWS = "late ~ a + b + (1 | person)", 600
EFFECTS = np.random.default_rng(5).standard_normal(400)


def table_of_day(day, persons=(0, 40), rows=ROWS, levels=("AA", "BB")):
    rng = np.random.default_rng(70 + day)
    x, person = rng.standard_normal((rows, 2)), rng.integers(*persons, size=rows)
    eta = -0.5 + x @ [0.6, -0.4] + EFFECTS[person]
    late = (rng.random(rows) < 1 / (1 + np.exp(-eta))).astype(int)
    columns = {"a": x[:, 0], "b": x[:, 1].astype(np.float32), "late": late, "carrier": rng.choice(levels, rows)}
    return pa.table({**columns, "person": [f"p{k:03d}" for k in person], "cost": eta + rng.normal(size=rows)})


def write_day(folder, day, **how):
    path = folder / f"{day:03d}.parquet"
    pq.write_table(table_of_day(day, **how), path)
    return path


def night(folder, formula=FORMULA, family="logistic", cache="cache.tunamh", rows=None, **how):
    opened = tunamh.open_rows(str(folder / "*.parquet"), cache=folder / cache, **(rows or {}))
    return tunamh.regression(formula, opened, family=family, **how)


def fresh(folder, formula=FORMULA, family="logistic", keep=None, **how):
    """The same model of the rows as they are in the files, read into memory; ``keep`` says which."""
    table = pa.concat_tables([pq.read_table(path) for path in sorted(folder.glob("*.parquet"))])
    return tunamh.regression(formula, table if keep is None else table.filter(keep(table)), family=family, **how)


def levels_of(target, k=0):
    return list(target.groupings[k].levels)


def summary(target, seed):
    tree = tunamh.sample(target, rng=seed, draws=1500, tune=300, progressbar=False)
    found = tunamh.summary(tree)[["mean", "sd", "mcse_mean", "mcse_sd"]].astype(float)
    return found.drop(index=[name for name in found.index if "[p" in name and not name.endswith(("p000]", "p045]"))])


@pytest.fixture(scope="module")
def year(tmp_path_factory):
    folder = tmp_path_factory.mktemp("groups")
    for day in range(4):
        write_day(folder, day)
    night(folder)
    return folder


@pytest.fixture
def days(year, tmp_path):
    return shutil.copytree(year, tmp_path / "days", copy_function=shutil.copy2)


# ----------------------------------------------------------------------------------------------------- what is read


def test_a_new_file_is_read_alone_and_the_rows_are_those_of_a_fresh_run(days, monkeypatch):
    new = write_day(days, 4, persons=(30, 60))
    with counted_reads(monkeypatch) as read:
        target = night(days)
        result = tunamh.sample(target, rng=1, draws=100, tune=50, progressbar=False)
    assert {os.path.basename(path) for path in read} == {new.name}
    assert "1 new file of 5 read; set up from the effects of" in result.posterior.attrs["choice"]
    whole = fresh(days)
    assert target.fingerprint == whole.fingerprint
    assert levels_of(target) == levels_of(whole)
    assert len(levels_of(target)) == 60


def test_the_same_script_again_reads_nothing_and_gives_the_same_draws(days, monkeypatch):
    write_day(days, 4, persons=(30, 60))
    settings = {"rng": 3, "draws": 100, "tune": 50, "progressbar": False}
    first = tunamh.sample(night(days), **settings).posterior
    with counted_reads(monkeypatch) as read:
        again = tunamh.sample(night(days), **settings).posterior
    assert read == []
    assert list(first.data_vars) == list(again.data_vars)
    for name in first.data_vars:
        np.testing.assert_array_equal(first[name], again[name])


def test_groups_of_a_file_that_is_gone_are_gone(days, monkeypatch):
    write_day(days, 4, persons=(30, 60))
    assert len(levels_of(night(days))) == 60
    (days / "004.parquet").unlink()
    with counted_reads(monkeypatch) as read:
        target = night(days)
    assert read == []
    assert "1 left out that is gone" in target.set_up_told
    assert levels_of(target) == [f"p{k:03d}" for k in range(40)]
    assert target.fingerprint == fresh(days).fingerprint
    model = next((days / "cache.tunamh").glob("model-*"))
    assert not any(b"p055" in path.read_bytes() for path in model.glob("*.record"))


def test_the_search_begins_where_the_night_before_ended(days):
    before = night(days)
    write_day(days, 4, persons=(30, 60))
    target = night(days)
    start, ended = target.search_start, before.laplace_centre.at
    np.testing.assert_allclose(start.common, ended.common, rtol=1e-12)
    np.testing.assert_allclose(start.effects[0][:40], before.centre.at.effects[0], rtol=1e-12)
    assert (start.effects[0][40:] == 0).all()
    np.testing.assert_allclose(target.laplace_centre.at.common, fresh(days).laplace_centre.at.common, atol=5e-3)


# ---------------------------------------------------------------------------------------------------------- the law


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """Nights with new groups, then a file that is gone: draws of the last night, and of a fresh run."""
    folder = tmp_path_factory.mktemp("nights")
    for day in range(5):
        write_day(folder, day, persons=(10 * day, 10 * day + 30))
        if day > 1:
            night(folder)
    (folder / "003.parquet").unlink()
    return folder, summary(night(folder), 1), summary(fresh(folder), 2)


def test_the_law_is_that_of_a_fresh_run(compared):
    _, living, whole = compared
    assert list(living.index) == list(whole.index)
    z = z_scores(living, whole)
    assert np.abs(z).max() < 3.8
    assert stats.chi2.sf(np.sum(z**2), len(z)) > 1e-3


def test_a_night_that_misses_a_piece_is_found_out(compared, monkeypatch, tmp_path):
    """The negative control: a quarter of the rows is not there."""
    folder, _, whole = compared
    copy = shutil.copytree(folder, tmp_path / "copy", copy_function=shutil.copy2)
    complete = living_rows._in_memory
    monkeypatch.setattr(living_rows, "_in_memory", lambda records, how: complete(records[:-1], how))
    wrong = summary(night(copy), 1)
    together = [name for name in whole.index if name in wrong.index]
    assert np.abs(z_scores(wrong.loc[together], whole.loc[together])).max() > 6


def test_the_history_and_the_audit_tell_of_groups(days):
    write_day(days, 4, persons=(30, 60))
    target = night(days)
    frame = tunamh.history(days / "cache.tunamh")
    last = frame[frame["night"] == 1].set_index("coefficient")
    assert list(last.index) == ["Intercept", "a", "b", "group_scale[person]"]
    assert last["rows_read"].tolist() == [ROWS] * 4
    np.testing.assert_allclose(last["mean"].iloc[:3], target.centre.at.common, rtol=1e-9)
    audited = tunamh.audit(days / "cache.tunamh")
    assert audited["first"].tolist() == [0, 0, 0, 0, 1]
    assert audited.attrs["data"] == target.fingerprint


# ------------------------------------------------------------------------------------------------------- forgetting


def test_forgetting_everything_of_one_group(days):
    """The group has no effect any more, and no number of it is left in the cache, at once."""
    table = table_of_day(7, persons=(50, 51), rows=5)
    pq.write_table(pa.concat_tables([table_of_day(2), table]), days / "002.parquet")
    assert "p050" in levels_of(night(days))
    model, value = next((days / "cache.tunamh").glob("model-*")), np.array(table["a"])[3].tobytes()

    def somewhere(data):
        return [path.name for path in model.glob("*") if data in path.read_bytes()]

    assert somewhere(value)
    assert {name.partition("-")[0] for name in somewhere(b"p050")} == {"columns", "start"}
    assert tunamh.forget(days / "cache.tunamh", where='person == "p050"').rows == 5
    assert not somewhere(value)
    assert not somewhere(b"p050")
    target = night(days)
    assert "1 read again; set up without earlier results" in target.set_up_told
    whole = fresh(days, keep=lambda rows: pc.not_equal(rows["person"], "p050"))
    assert levels_of(target) == levels_of(whole) == [f"p{k:03d}" for k in range(40)]
    assert target.fingerprint == whole.fingerprint
    assert tunamh.audit(days / "cache.tunamh")["forgotten"].sum() == 5
    assert not somewhere(b"p050")


def test_the_law_without_forgotten_rows_is_that_of_the_others(days):
    tunamh.forget(days / "cache.tunamh", where="a > 0.7")
    target, whole = night(days), fresh(days, keep=lambda rows: pc.less_equal(rows["a"], 0.7))
    assert target.fingerprint == whole.fingerprint
    assert np.abs(z_scores(summary(target, 1), summary(whole, 2))).max() < 3.8


def test_rows_keep_their_numbers_for_questions_about_the_data(tmp_path):
    """Of rows that are forgotten or lack a value, none is asked about; the others are where the files have them."""
    for day in range(2):
        table = table_of_day(day)
        a = np.array(table["a"]).copy()
        a[::7] = np.nan
        pq.write_table(table.set_column(0, "a", pa.array(a, from_pandas=True)), tmp_path / f"{day}.parquet")
    with pytest.raises(tunamh.FormulaError, match="values are missing in a"):
        night(tmp_path)
    night(tmp_path, missing="drop")
    tunamh.forget(tmp_path / "cache.tunamh", where="b < -1")
    target = night(tmp_path, missing="drop")
    table = pa.concat_tables([pq.read_table(path) for path in sorted(tmp_path.glob("*.parquet"))])
    stays = np.array(table["b"]) >= -1
    lacking = np.isnan(np.array(table["a"].fill_null(np.nan)))
    seen = target.seen_responses
    np.testing.assert_array_equal(seen.rows, np.flatnonzero(stays & ~lacking))
    np.testing.assert_array_equal(seen.values, np.array(table["late"])[seen.rows])
    assert target.formula.dropped == (stays & lacking).sum()
    result = tunamh.sample(target, rng=1, draws=200, tune=100, progressbar=False)
    opened = tunamh.open_rows(str(tmp_path / "*.parquet"), cache=tmp_path / "cache.tunamh")
    found = tunamh.influence(result, opened, rows=200, rng=1)
    assert (stays & ~lacking)[found["row"]].all()


class PieceInParts:
    """A large row group, which is read as several tables."""

    place = "somewhere"

    def tables(self, columns):
        for part in ([1.0, None, -5.0, 2.0], [-5.0, 3.0], [None, 4.0]):
            yield pa.table({"a": pa.array(part, pa.float64()), "g": [str(value) for value in part]}).select(columns)


def test_a_piece_that_is_read_in_parts():
    how = LivingPiece(("a", "g"), (parse_expression("a < 0"),))
    record = living_rows._ReadColumns(how)(PieceInParts())
    assert {name: record.words[name] for name in ("n", "lost", "forgotten", "holes")} == {
        "n": 4,
        "lost": 2,
        "forgotten": 2,
        "holes": {"a": 2},
    }
    np.testing.assert_array_equal(np.flatnonzero(there(record)), [0, 3, 5, 7])
    np.testing.assert_array_equal(column_of(record, 0).values, [1, 2, 3, 4])
    names = column_of(record, 1)
    assert [names.levels[code] for code in names.codes] == ["1.0", "2.0", "3.0", "4.0"]


# ------------------------------------------------------------------------------------------------------------ kills


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_after_a_kill_the_next_night_is_right(days, tmp_path):
    """Header, two files, levels, two starts and the journal are written; after each the start is the same."""
    night(days, FORMULA + " + carrier")
    write_day(days, 4, persons=(30, 60), levels=("AA", "BB", "CC"))
    write_day(days, 5, persons=(30, 70))
    alone = shutil.copytree(days, tmp_path / "alone", copy_function=shutil.copy2)
    expected = night(alone, FORMULA + " + carrier")
    killed = 0
    for writes in range(8):
        copy = shutil.copytree(days, tmp_path / f"copy{writes}", copy_function=shutil.copy2)
        killed += killed_after(writes, night, copy, FORMULA + " + carrier")
        found = night(copy, FORMULA + " + carrier")
        assert found.fingerprint == expected.fingerprint
        np.testing.assert_array_equal(found.centre.at.common, expected.centre.at.common)
        np.testing.assert_array_equal(found.centre.at.effects[0], expected.centre.at.effects[0])
        assert len(tunamh.history(copy / "cache.tunamh", model=_of_carriers(copy))["night"].unique()) == 2
    assert killed == 7


def _of_carriers(folder):
    found = [k for k in (0, 1) if "carrier[BB]" in set(tunamh.history(folder / "cache.tunamh", model=k)["coefficient"])]
    return found[0]


# ------------------------------------------------------------------------------------------------- levels and models


def test_the_reference_of_a_factor_stays_when_a_level_comes_before_it(days):
    formula = "late ~ a + carrier + (1 + carrier | person)"
    night(days, formula)
    write_day(days, 4, levels=("A0", "BB"))
    target = night(days, formula)
    assert target.base.names == ["Intercept", "a", "carrier[BB]", "carrier[A0]"]
    assert target.groupings[0].columns == ["Intercept", "carrier[BB]", "carrier[A0]"]
    table = pa.concat_tables([pq.read_table(path) for path in sorted(days.glob("*.parquet"))])
    named = formula.replace("carrier", 'C(carrier, ref="AA")')
    whole = tunamh.regression(named, table, family="logistic")
    assert sorted(whole.base.names) == sorted(
        name.replace("carrier", 'C(carrier, ref="AA")') for name in target.base.names
    )


def test_new_levels_may_be_refused_but_groups_are_always_welcome(days):
    formula = FORMULA + " + carrier"
    night(days, formula)
    write_day(days, 4, persons=(40, 60))
    assert len(levels_of(night(days, formula, rows={"new_levels": "refuse"}))) == 60
    write_day(days, 5, levels=("AA", "CC"))
    with pytest.raises(tunamh.FormulaError, match=r"level 'CC', which no file had before"):
        night(days, formula, rows={"new_levels": "refuse"})
    assert "carrier[CC]" in night(days, formula).base.names


@pytest.mark.parametrize(
    ("formula", "family", "how"),
    [
        ("cost ~ a + (1 + a | person) + (1 | carrier)", None, {}),
        ("cost ~ s(a) + scale(b) + (1 | person)", None, {}),
        ("cost ~ a + (1 | person)", "gaussian", {"predictors": {"scale": "~ 1 + (1 | carrier)"}}),
        ("carrier ~ a + (1 | person)", "categorical", {}),
        ("late ~ a + b + (1 | person)", "logistic", {"prior": tunamh.priors.Ridge()}),
        ("late ~ a:carrier + (1 | person)", "logistic", {"weights": "w"}),
    ],
)
def test_models_that_need_all_rows_work_with_groups(tmp_path, formula, family, how):
    for day in range(3):
        table = table_of_day(day, rows=300, persons=(0, 12 + 2 * day), levels=("AA", "BB", "CC"))
        pq.write_table(table.append_column("w", pa.array(np.linspace(1, 2, 300))), tmp_path / f"{day}.parquet")
        if day == 1:
            night(tmp_path, formula, family, **how)
    target, whole = night(tmp_path, formula, family, **how), fresh(tmp_path, formula, family, **how)
    assert "set up from the effects of" in target.set_up_told
    assert target.search_start is not None
    assert target.fingerprint == whole.fingerprint
    assert target.variables == whole.variables
    assert np.isfinite(target.centre.sums.energy)
    tree = tunamh.sample(target, rng=1, draws=50, tune=50, chains=1, progressbar=False)
    assert np.isfinite(tree.posterior.to_dataset().to_array()).all()


def test_what_is_not_in_the_files_is_refused(days):
    opened = tunamh.open_rows(str(days / "*.parquet"), cache=days / "x")
    with pytest.raises(tunamh.FormulaError, match="weights must be a column of the files"):
        tunamh.regression(FORMULA, opened, family="logistic", weights=np.ones(4 * ROWS))
    with pytest.raises(tunamh.NotApplicable, match="group effects need all rows in memory"):
        night(days, rows={"memory": "1kB"})


@pytest.mark.parametrize(
    "model", [(FORMULA, "logistic"), ("cost ~ a + carrier + s(b) + (1 + a | person) + (1 | carrier)", "gaussian")]
)
def test_large_arrays_go_into_files(days, tmp_path, monkeypatch, model):
    """Also columns of the cache, with rows left out and levels that one file lacks; draws are those of memory."""
    table = table_of_day(4, levels=("BB", "CC"))
    holes = pa.array(np.where(np.arange(ROWS) % 7 == 0, np.nan, table["a"].to_numpy()), from_pandas=True)
    pq.write_table(table.set_column(0, "a", holes), days / "004.parquet")
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(scratch, "_SMALL", 0)
    one = night(days, *model, missing="drop")
    kept, made = [], living_rows._in_large_arrays
    monkeypatch.setattr(living_rows, "_in_large_arrays", lambda *given: kept.append(made(*given)) or kept[0])
    other = night(days, *model, rows={"memory": "600kB", "scratch": tmp_path / "scratch"}, missing="drop")
    assert one.scratch is None
    assert other.scratch is not None
    arrays = [getattr(found, "codes", getattr(found, "values", None)) for found in kept[0].columns.values()]
    assert all(is_in_file(array) for array in [*arrays, kept[0].keep])
    assert other.fingerprint == one.fingerprint
    assert other.formula.to_json() == one.formula.to_json()
    draws = [tunamh.sample(model, rng=1, draws=40, tune=30, chains=1, progressbar=False) for model in (one, other)]
    for name, values in draws[0].posterior.data_vars.items():
        np.testing.assert_array_equal(draws[1].posterior[name], values, err_msg=str(name))


def test_a_record_that_goes_while_it_is_read_is_an_error(days, tmp_path, monkeypatch):
    """Where columns go into files, records are read twice: without the second, rows would be missing."""
    monkeypatch.setattr(scratch, "_SMALL", 0)
    read, seen = caches.ModelFolder.read, set()

    def gone(folder, name):
        again = name.startswith("columns-") and name in seen
        seen.add(name)
        return None if again else read(folder, name)

    monkeypatch.setattr(caches.ModelFolder, "read", gone)
    with pytest.raises(tunamh.CacheError, match="has changed or gone"):
        night(days, rows={"memory": "600kB", "scratch": tmp_path})


# -------------------------------------------------------------------------------------------------------- the cache


def test_a_damaged_record_is_read_again(days, monkeypatch):
    model = next((days / "cache.tunamh").glob("model-*"))
    wrong = sorted(model.glob("columns-*"))[1]
    data = bytearray(wrong.read_bytes())
    data[-9] ^= 1
    wrong.write_bytes(bytes(data))
    (model / "start-found.record").write_bytes(b"nothing")
    with counted_reads(monkeypatch) as read:
        target = night(days)
    assert len(set(read)) == 1
    assert target.fingerprint == fresh(days).fingerprint


def test_a_version_that_computes_differently_reads_everything(days, monkeypatch):
    monkeypatch.setattr(caches, "COMPUTES", "another")
    with counted_reads(monkeypatch) as read:
        assert "set up without earlier results" in night(days).set_up_told
    assert len({os.path.basename(path) for path in read}) == 4


def test_the_cache_is_no_larger_than_the_columns_of_the_rows(days):
    model = next((days / "cache.tunamh").glob("model-*"))
    for day in range(4, 7):
        write_day(days, day)
        night(days)
        (days / f"{day - 4:03d}.parquet").unlink()
    night(days)
    assert len(list(model.glob("columns-*"))) == 4
    size = sum(path.stat().st_size for path in model.glob("columns-*"))
    assert size < 4 * (ROWS * (8 + 4 + 1 + 1) + 2000)  # a, b, late, person


def test_numbers_are_kept_bit_for_bit_in_few_bytes():
    rng = np.random.default_rng(0)
    columns = {
        "whole": (np.arange(-100.0, 28), 1),
        "more": (np.arange(128.0) * 200, 2),
        "large": (np.arange(128.0) * 1e6, 4),
        "single": (rng.standard_normal(128).astype(np.float32).astype(np.float64), 4),
        "double": (rng.standard_normal(128), 8),
        "zero": (np.where(np.arange(128) % 2, -0.0, 0.0), 4),
        "tiny": (np.full(128, 5e-324), 8),
    }
    factor = Factor(np.arange(128) % 3, ("x", "y", "z"), True, kind="text")
    given = {name: Numbers(values) for name, (values, _) in columns.items()} | {"f": factor}
    record = from_bytes(as_bytes(as_record(given, np.array([3, 129]), {"n": 128})))
    assert has_columns(record, list(given))
    assert not has_columns(record, ["f", *columns])
    assert np.flatnonzero(~there(record)).tolist() == [3, 129]
    for k, (values, size) in enumerate(columns.values()):
        assert record.arrays[f"column{k}"].itemsize == size
        assert column_of(record, k).values.tobytes() == values.tobytes()
    found = column_of(record, len(columns))
    np.testing.assert_array_equal(found.codes, factor.codes)
    assert (found.levels, found.ordered, found.kind) == (factor.levels, True, "text")
