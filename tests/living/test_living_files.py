"""Nights over files that come, change and go: what is read, what is kept, what is refused."""

import os
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from days import FORMULA, counted_reads, fresh, living, table_of_day, write_day

import tunamh
from tunamh.living import cache as caches
from tunamh.living import set_up
from tunamh.living.set_up import Night
from tunamh.targets.expansion.foreseen import CHEAP, TIMES, why_move_in_files


@pytest.fixture(scope="module")
def year(tmp_path_factory):
    """Six days, and the cache of a first night."""
    folder = tmp_path_factory.mktemp("days")
    for day in range(6):
        write_day(folder, day)
    living(folder, folder / "cache.tunamh")
    return folder


@pytest.fixture
def days(year, tmp_path):
    """A copy, with the dates of its files."""
    return shutil.copytree(year, tmp_path / "days", copy_function=shutil.copy2)


def night(days, **how):
    return living(days, days / "cache.tunamh", **how)


def quadratic(target):
    expanded = target.kept.expanded
    return expanded.reference, expanded.metric.factor @ expanded.metric.factor.T


def test_the_same_script_again_reads_no_row(days, monkeypatch):
    with counted_reads(monkeypatch) as read:
        target = night(days)
        tunamh.sample(target, rng=1, draws=500, tune=100, progressbar=False)
    assert read == []
    assert target.kept.told.startswith("0 new files of 6 mapped; centre of ")
    assert tunamh.history(days / "cache.tunamh")["rows_read"].iloc[-1] == 0


def test_the_result_says_what_was_kept(days):
    tree = tunamh.sample(night(days), rng=1, draws=300, tune=100, progressbar=False)
    assert "0 new files of 6 mapped; centre of" in tree.posterior.attrs["choice"]


def test_a_new_file_is_mapped_alone(days, monkeypatch):
    before = night(days)
    new = write_day(days, 6)
    with counted_reads(monkeypatch) as read:
        after = night(days)
    assert {os.path.basename(path) for path in read} == {new.name}
    assert "1 new file of 7 mapped; centre of" in after.kept.told
    assert after.kept.told.endswith("kept")
    np.testing.assert_array_equal(after.kept.expanded.centre, before.kept.expanded.centre)
    assert after.n_rows == 14_000


def test_sums_at_the_old_centre_are_those_of_all_rows(days):
    write_day(days, 6)
    kept = night(days).kept.expanded
    whole = fresh(days)
    exact = whole.expansion(kept.centre)
    np.testing.assert_allclose(kept.at_centre.energy, exact.energy, rtol=1e-12)
    np.testing.assert_allclose(kept.at_centre.gradient, exact.gradient, rtol=1e-9, atol=1e-8)
    np.testing.assert_allclose(kept.at_centre.plain_hessian, exact.plain_hessian, rtol=1e-10, atol=1e-9)


def test_a_changed_file_is_mapped_again_and_its_old_part_left_out(days, monkeypatch):
    pq.write_table(table_of_day(77, rows=1500), days / "002.parquet")
    with counted_reads(monkeypatch) as read:
        target = night(days)
    assert {os.path.basename(path) for path in read} == {"002.parquet"}
    assert target.n_rows == 11_500
    exact = fresh(days).expansion(target.kept.expanded.centre)
    np.testing.assert_allclose(target.kept.expanded.gradient, exact.gradient, rtol=1e-9, atol=1e-8)


def test_a_file_of_the_same_size_and_statistics_is_noticed_by_its_date(days, monkeypatch):
    """Numbers change places: the size of the file and the statistics of its columns stay."""
    path, table = days / "002.parquet", table_of_day(2)
    pq.write_table(table, path, compression="none", use_dictionary=False)
    before, size = night(days).kept.expanded.gradient.copy(), path.stat().st_size
    a = np.array(table["a"]).copy()
    a[:20] = np.roll(a[:20], 1)
    moved = table.set_column(0, "a", pa.array(a))
    pq.write_table(moved, path, compression="none", use_dictionary=False)
    assert path.stat().st_size == size
    with counted_reads(monkeypatch) as read:
        target = night(days)
    assert {os.path.basename(one) for one in read} == {"002.parquet"}
    assert np.abs(target.kept.expanded.gradient - before).max() > 0.1


def test_a_missing_file_is_left_out_and_nothing_is_read(days, monkeypatch):
    (days / "003.parquet").unlink()
    with counted_reads(monkeypatch) as read:
        target = night(days)
    assert read == []
    assert target.n_rows == 10_000
    assert "1 left out that is gone" in target.kept.told
    exact = fresh(days).expansion(target.kept.expanded.centre)
    np.testing.assert_allclose(target.kept.expanded.gradient, exact.gradient, rtol=1e-9, atol=1e-8)


def test_the_centre_stays_while_steps_are_cheap_however_many_rows_there_are(days, monkeypatch):
    for day in range(6, 13):
        write_day(days, day)
    with counted_reads(monkeypatch) as read:
        target = night(days)
    assert target.kept.told.endswith("kept")
    assert len(set(read)) == 7


def test_the_centre_moves_when_the_rows_have_doubled_and_steps_read_many(days):
    """Coefficients of the new days are elsewhere: the mean moves by many standard deviations."""
    for day in range(6, 12):
        write_day(days, day, drift=0.1)
    target = night(days)
    assert "because a step would read" in target.kept.told


def test_the_centre_does_not_move_again_before_the_rows_have_doubled(days, monkeypatch):
    """The mean moves far, but 2,000 rows to 12,000 are few: steps read more of the rows that are kept."""
    write_day(days, 6, drift=0.1)
    seen, whole = [], set_up.foreseen_rows
    monkeypatch.setattr(set_up, "foreseen_rows", lambda *given: seen.append(whole(*given)) or seen[-1])
    with counted_reads(monkeypatch) as read:
        target = night(days)
    assert target.kept.told.endswith("kept")
    assert {os.path.basename(path) for path in read} == {"006.parquet"}
    ((now, fresh),) = seen
    assert now > max(CHEAP, TIMES * fresh)


@pytest.mark.parametrize(
    ("now", "fresh", "rows", "born", "kept", "why"),
    [
        (1.9, 0.1, 9000, 1000, 1 << 17, None),
        (2.1, 0.1, 1999, 1000, 1 << 17, None),
        (2.1, 0.1, 2000, 1000, 1 << 17, "a step would read"),
        (4.1, 3.0, 2000, 1000, 1 << 17, None),
        (4.1, 0.1, 501, 1000, 1 << 17, None),
        (4.1, 0.1, 500, 1000, 1 << 17, "a step would read"),
        (7.8, 0.1, 1100, 1000, 1 << 17, "more than are kept for a run"),
        (7.8, 4.0, 1100, 1000, 1 << 17, None),
        (7.6, 0.1, 1100, 1000, 1 << 17, None),
    ],
)
def test_why_the_centre_moves(now, fresh, rows, born, kept, why):
    found = why_move_in_files(now, fresh, rows, born, kept)
    assert found is None if why is None else why in found


def test_moves_at_every_chance_read_a_row_fewer_than_three_times():
    """A file a night, and steps that would always like a fresh centre."""
    born, read = 1, 1
    for n in range(2, 3000):
        read += 1
        if why_move_in_files(5.0, 0.1, n, born, 1 << 17) is not None:
            born, read = n, read + n
        assert read < 3 * n


def test_a_first_night_maps_every_piece_once(tmp_path, monkeypatch):
    """A Newton step over all rows leads from the mode of a few of them to a centre that stays."""
    for day in range(4):
        write_day(tmp_path, day)
    monkeypatch.setattr(set_up, "_ROWS_FOR_A_CENTRE", 1500)
    mapped, whole = [], Night.map_missing
    monkeypatch.setattr(Night, "map_missing", lambda self, centre: mapped.append(whole(self, centre)) or mapped[-1])
    target = night(tmp_path)
    assert mapped == [[0, 1, 2, 3]]
    assert target.kept.mode.away < 0.5
    monkeypatch.setattr(Night, "_stepped", lambda self, sample, mode: (mode.point, mode.posterior.metric().factor))
    assert living(tmp_path, tmp_path / "other").kept.mode.away > 1


def test_a_cache_made_anew_gives_the_same_draws(days):
    draws = [
        tunamh.sample(living(days, days / name), rng=3, draws=200, tune=100, progressbar=False).posterior
        for name in ("one.tunamh", "other.tunamh")
    ]
    for name in draws[0].data_vars:
        np.testing.assert_array_equal(draws[0][name], draws[1][name])


def test_every_bound_holds_at_an_old_centre_in_todays_metric(days):
    """All rows are read for that: new ones, and old ones whose bounds are those of another metric."""
    for day in (6, 7, 8):
        write_day(days, day)
    target = night(days)
    assert "kept" in target.kept.told
    assert 0.05 < tunamh.check_bounds(target.kept.expanded, pairs=10, rng=1) <= 1.0


def test_other_samplers_of_the_same_target_are_exact_too(days):
    """A mode that was extrapolated from the centre would have sums that are wrong by the remainders."""
    for day in (6, 7, 8):
        write_day(days, day, drift=0.01)
    target = night(days)
    assert target.kept.told.endswith("kept")
    assert target.kept.mode.away > 0.3
    exact = fresh(days)
    for control in (tunamh.Taylor(), tunamh.Taylor(order=1)):
        expanded = control(target)
        slope = exact.expansion(expanded.centre).gradient
        np.testing.assert_allclose(expanded.at_centre.gradient, slope, rtol=1e-9, atol=1e-8)


def test_bounds_without_the_factor_of_the_metric_are_found_out(days, monkeypatch):
    """The negative control: rows that went make the metric wider than the one in which rows were bounded."""
    for day in range(5):
        (days / f"{day:03d}.parquet").unlink()
    for name in ("why_move", "why_move_in_files"):
        monkeypatch.setattr(set_up, name, lambda *numbers: None)
    assert tunamh.check_bounds(night(days).kept.expanded, pairs=20, rng=1) <= 1.0
    svd = np.linalg.svd
    monkeypatch.setattr(np.linalg, "svd", lambda *a, **k: np.ones(4) if k.get("compute_uv") is False else svd(*a, **k))
    shrunk = night(days)
    with pytest.raises(tunamh.BoundViolation):
        tunamh.check_bounds(shrunk.kept.expanded, pairs=200, rng=1)


# ------------------------------------------------------------------------------------------------------------- levels


def test_a_new_level_gets_a_coefficient_and_old_files_are_not_read(days, monkeypatch):
    write_day(days, 6, rows=600, levels=("AA", "BB", "CC", "A0"))
    with counted_reads(monkeypatch) as read:
        target = night(days)
    assert {os.path.basename(path) for path in read} == {"006.parquet"}
    assert target.names == ["Intercept", "a", "b", "carrier[BB]", "carrier[CC]", "carrier[A0]"]
    whole = fresh(days, FORMULA.replace("carrier", 'C(carrier, ref="AA")'))
    order = [whole.names.index(name.replace("carrier", 'C(carrier, ref="AA")')) for name in target.names]
    exact = whole.expansion(target.kept.expanded.centre[np.argsort(order)])
    np.testing.assert_allclose(target.kept.expanded.gradient, exact.gradient[order], rtol=1e-9, atol=1e-8)
    hessian = exact.plain_hessian[np.ix_(order, order)]
    np.testing.assert_allclose(target.kept.expanded.hessian, hessian, rtol=1e-9, atol=1e-8)
    assert tunamh.check_bounds(target.kept.expanded, pairs=5, rng=1) <= 1.0
    again = night(days)
    np.testing.assert_array_equal(again.kept.expanded.hessian, target.kept.expanded.hessian)


def test_a_new_level_is_refused_where_that_was_asked(days):
    write_day(days, 6, levels=("AA", "BB", "CC", "DD"))
    with pytest.raises(tunamh.FormulaError, match=r"level 'DD', which no file had before.*new_levels=\"grow\""):
        night(days, new_levels="refuse")
    assert night(days).names[-1] == "carrier[DD]"


def test_a_level_that_went_leaves_the_model(days):
    write_day(days, 6, levels=("AA", "BB", "CC", "DD"))
    assert "carrier[DD]" in night(days).names
    (days / "006.parquet").unlink()
    target = night(days)
    assert "carrier[DD]" not in target.names
    exact = fresh(days).expansion(target.kept.expanded.centre)
    np.testing.assert_allclose(target.kept.expanded.gradient, exact.gradient, rtol=1e-9, atol=1e-8)
    assert tunamh.check_bounds(target.kept.expanded, pairs=5, rng=1) <= 1.0


def test_files_are_mapped_again_where_the_reference_went(days, tmp_path):
    folder = tmp_path / "few"
    folder.mkdir()
    write_day(folder, 0)
    write_day(folder, 1, levels=("BB", "CC"))
    night(folder)
    (folder / "000.parquet").unlink()
    target = night(folder)
    assert target.names == ["Intercept", "a", "b", "carrier[CC]"]
    exact = fresh(folder).expansion(target.kept.expanded.centre)
    np.testing.assert_allclose(target.kept.expanded.gradient, exact.gradient, rtol=1e-9, atol=1e-8)


# ----------------------------------------------------------------------------------------------------- the folder


def test_a_record_that_was_changed_is_mapped_again(days, monkeypatch):
    model = next((days / "cache.tunamh").glob("model-*"))
    wrong = sorted(model.glob("map-*"))[2]
    data = bytearray(wrong.read_bytes())
    data[-9] ^= 1
    wrong.write_bytes(bytes(data))
    before = quadratic(fresh_night(days))
    with counted_reads(monkeypatch) as read:
        after = night(days)
    assert len(set(read)) == 1
    np.testing.assert_allclose(quadratic(after)[1], before[1], rtol=1e-6)


def fresh_night(days):
    return living(days, days / "another.tunamh")


def test_records_of_a_version_that_computes_differently_are_thrown_away(days, monkeypatch):
    monkeypatch.setattr(caches, "COMPUTES", "another")
    with counted_reads(monkeypatch) as read:
        night(days)
    assert len({os.path.basename(path) for path in read}) == 6


def test_a_cache_can_be_thrown_away(days):
    shutil.rmtree(days / "cache.tunamh")
    assert "6 new files of 6 mapped around a first centre" in night(days).kept.told


def test_a_folder_with_something_else_in_it_is_no_cache(days):
    other = days / "other"
    other.mkdir()
    (other / "thesis.tex").write_text("important")
    with pytest.raises(tunamh.CacheError, match="is not empty and is not a cache of tunamh"):
        living(days, other)


def test_one_process_writes_at_a_time(days):
    with caches.Cache(days / "cache.tunamh").lock(), pytest.raises(tunamh.CacheError, match="another process writes"):
        night(days)


def test_the_size_of_a_cache_is_bounded(days):
    """Some 131,072 rows, and a 32nd part of all; records of pieces and centres that are gone are removed."""
    model = next((days / "cache.tunamh").glob("model-*"))
    for day in range(6, 13):
        write_day(days, day)
        night(days)
    width = 12
    size = sum(path.stat().st_size for path in model.glob("*.record"))
    assert size < 3 * 131_072 * (width + 1) * 8
    assert len(list(model.glob("map-*"))) == len(list(model.glob("look-*"))) == 13


def test_two_models_of_one_cache_do_not_meet(days):
    one, other = night(days), night(days, formula="late ~ a")
    assert one.names != other.names
    with pytest.raises(ValueError, match="has 2 models: set model="):
        tunamh.history(days / "cache.tunamh")
    found = [set(tunamh.history(days / "cache.tunamh", model=k)["coefficient"]) for k in (0, 1)]
    assert {"Intercept", "a"} in found


# --------------------------------------------------------------------------------------------------- other columns


def test_offsets_weights_and_missing_values(tmp_path):
    for day in range(3):
        table, rng = table_of_day(day), np.random.default_rng(day)
        n = table.num_rows
        a = table["a"].to_numpy().copy()
        a[rng.random(n) < 0.02] = np.nan
        counts = rng.poisson(np.exp(0.3 * np.nan_to_num(a)))
        table = table.set_column(0, "a", pa.array(a, from_pandas=True)).append_column("n", pa.array(counts))
        table = table.append_column("w", pa.array(rng.uniform(0.5, 2, n))).append_column(
            "e", pa.array(rng.normal(size=n))
        )
        pq.write_table(table, tmp_path / f"{day}.parquet")
    formula = "n | weights(w) ~ a + b:carrier + offset(0.1 * e)"
    with pytest.raises(tunamh.FormulaError, match="values are missing in a"):
        living(tmp_path, tmp_path / "c", formula, tunamh.Poisson())
    target = living(tmp_path, tmp_path / "c", formula, tunamh.Poisson(), missing="drop")
    data = pa.concat_tables([pq.read_table(path) for path in sorted(tmp_path.glob("*.parquet"))])
    whole = tunamh.regression(formula, data, family=tunamh.Poisson(), missing="drop")
    assert target.n_rows == whole.n_rows
    assert target.names == whole.names
    exact = whole.expansion(target.kept.expanded.centre)
    np.testing.assert_allclose(target.kept.expanded.gradient, exact.gradient, rtol=1e-9, atol=1e-8)
    assert tunamh.check_bounds(target.kept.expanded, pairs=3, rng=1) <= 1.0


def test_what_cannot_be_opened_with_a_cache_is_refused(days):
    with pytest.raises(tunamh.NotApplicable, match="Write each block to a Parquet file"):
        tunamh.open_rows([{"a": np.ones(3)}], cache=days / "x")
    with pytest.raises(tunamh.NotApplicable, match="cannot tell when your function changes"):
        tunamh.open_rows(str(days), change=lambda table: table, cache=days / "x")
    with pytest.raises(ValueError, match="new_levels must be"):
        tunamh.open_rows(str(days), cache=days / "x", new_levels="ignore")
    with pytest.raises(ValueError, match="a place beside that folder"):
        tunamh.open_rows(str(days), cache=days / "x")
    rows = tunamh.open_rows(str(days / "*.parquet"), cache=days / "x")
    with pytest.raises(tunamh.NotApplicable, match=r"tunamh\.regression"):
        tunamh.LogisticRegression(rows[["a", "b"]], y="late")


def test_columns_that_say_the_same_are_refused(tmp_path):
    table = table_of_day(0)
    pq.write_table(table.append_column("again", table["a"]), tmp_path / "0.parquet")
    with pytest.raises(tunamh.FormulaError, match="cannot separate these coefficients: a, again"):
        living(tmp_path, tmp_path / "c", "late ~ a + again")


def test_a_night_is_one_value_that_is_not_changed_by_the_next(days):
    before = night(days)
    n_rows, gradient = before.n_rows, before.kept.expanded.gradient.copy()
    write_day(days, 6)
    night(days)
    assert before.n_rows == n_rows
    np.testing.assert_array_equal(before.kept.expanded.gradient, gradient)
    assert isinstance(Night, type)
