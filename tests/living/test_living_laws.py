"""The posterior of a living table is that of its rows: over nights with drift, after forgetting, after kills."""

import os
import shutil
from contextlib import nullcontext
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from days import FORMULA, counted_reads, fresh, killed_after, living, sampled, table_of_day, write_day, z_scores
from scipy import stats

import tunamh
from tunamh.living import cache as caches
from tunamh.living import set_up
from tunamh.living.kept_rows import SERVING, KeptRows
from tunamh.living.sums import mapped
from tunamh.rows.servings import Served
from tunamh.targets.expansion import audit

NIGHTS, DRIFT = 20, 0.01


@pytest.fixture(scope="module")
def nights(tmp_path_factory):
    """A file a night, with coefficients that drift: living draws and fresh draws of each night, and what was told."""
    folder, found = tmp_path_factory.mktemp("nights"), []
    for day in range(NIGHTS):
        write_day(folder, day, drift=DRIFT)
        target = living(folder, folder / "cache.tunamh")
        if day % 2:
            found.append((target.kept.told, sampled(target, day), sampled(fresh(folder), 100 + day)))
        else:
            found.append((target.kept.told, None, None))
    return folder, found


def test_the_law_of_every_night_is_that_of_a_fresh_run(nights):
    _, found = nights
    z = np.concatenate([z_scores(one, other) for _, one, other in found if one is not None])
    assert len(z) == 100
    assert np.abs(z).max() < 4.2
    assert stats.chi2.sf(np.sum(z**2), len(z)) > 1e-3


def test_a_night_that_misses_a_piece_is_found_out(nights, tmp_path, monkeypatch):
    """The negative control: sums without the last file, whose rows are 1/20 of all."""
    folder, found = nights
    folder = shutil.copytree(folder, tmp_path / "copy", copy_function=shutil.copy2)
    joined = set_up.joined
    monkeypatch.setattr(set_up, "joined", lambda pieces: joined(pieces[:-1]))
    wrong = sampled(living(folder, folder / "cache.tunamh"), 1)
    assert np.abs(z_scores(wrong, found[-1][2])).max() > 6


def test_the_centre_was_kept_on_most_nights(nights):
    folder, found = nights
    kept = [told for told, _, _ in found if told.endswith("kept")]
    assert len(kept) >= NIGHTS // 2
    assert any("every file mapped around a new centre" in told for told, _, _ in found)
    frame = tunamh.history(folder / "cache.tunamh")
    once_a_night = frame.groupby("night")[["rows_read", "rows"]].first()
    assert once_a_night["rows_read"].sum() < 6 * once_a_night["rows"].iloc[-1]
    assert len(once_a_night) == NIGHTS
    assert set(frame["coefficient"]) == {
        "Intercept",
        "a",
        "b",
        "carrier[BB]",
        "carrier[CC]",
    }


def test_the_history_is_that_of_the_posteriors(nights):
    folder, found = nights
    frame = tunamh.history(folder / "cache.tunamh")
    last = frame[frame["night"] == NIGHTS - 1].set_index("coefficient")
    exact = found[-1][2]
    assert (np.abs(last["mean"] - exact["mean"]) < 0.1 * exact["sd"]).all()
    assert (np.abs(last["sd"] / exact["sd"] - 1) < 0.1).all()


def test_the_history_is_plotted(nights):
    pytest.importorskip("matplotlib").use("Agg")
    folder, _ = nights
    axes = tunamh.plot_history(folder / "cache.tunamh", coefficients=["a", "b"])
    assert [axis.get_title() for axis in axes[:2]] == ["a", "b"]
    assert len(axes[0].lines[0].get_xdata()) == NIGHTS
    with pytest.raises(ValueError, match="there is no coefficient 'zz'"):
        tunamh.plot_history(folder / "cache.tunamh", coefficients=["zz"])


def test_the_audit_says_which_rows_are_in_a_posterior(nights):
    folder, _ = nights
    last, first = tunamh.audit(folder / "cache.tunamh"), tunamh.audit(folder / "cache.tunamh", night=0)
    assert len(last) == NIGHTS
    assert len(first) == 1
    assert last["rows"].sum() == last.attrs["rows"] == NIGHTS * 2000
    assert last["first"].tolist() == list(range(NIGHTS))
    assert last.attrs["data"] == living(folder, folder / "cache.tunamh").fingerprint


# -------------------------------------------------------------------------------------------------------- forgetting


@pytest.fixture(scope="module")
def six_days(tmp_path_factory):
    folder = tmp_path_factory.mktemp("six")
    for day in range(6):
        write_day(folder, day)
    living(folder, folder / "cache.tunamh")
    return folder


@pytest.fixture
def days(six_days, tmp_path):
    return shutil.copytree(six_days, tmp_path / "days", copy_function=shutil.copy2)


def without(days, keep, to):
    """The files without some rows."""
    import pyarrow.parquet as pq

    to.mkdir()
    for path in sorted(days.glob("*.parquet")):
        table = pq.read_table(path)
        pq.write_table(table.filter(keep(table)), to / path.name)
    return to


def test_forgetting_one_percent_of_the_rows(days, tmp_path):
    import pyarrow.compute as pc

    found = tunamh.forget(days / "cache.tunamh", where="person == 17")
    other = without(days, lambda table: pc.not_equal(table["person"], 17), tmp_path / "other")
    target, whole = living(days, days / "cache.tunamh"), fresh(other)
    assert target.n_rows == whole.n_rows == 12_000 - found.rows
    exact = whole.expansion(target.kept.expanded.centre)
    np.testing.assert_allclose(target.kept.expanded.gradient, exact.gradient, rtol=1e-9, atol=1e-8)
    z = z_scores(sampled(target, 1), sampled(whole, 2))
    assert np.abs(z).max() < 3.8
    audited = tunamh.audit(days / "cache.tunamh")
    assert audited["forgotten"].sum() == found.rows
    assert audited.attrs["forgotten"][0]["where"] == "person == 17"


def test_forgetting_a_whole_group_takes_its_coefficient_away(days, tmp_path):
    import pyarrow.compute as pc

    tunamh.forget(days / "cache.tunamh", where='carrier == "CC"')
    other = without(days, lambda table: pc.not_equal(table["carrier"], "CC"), tmp_path / "other")
    target, whole = living(days, days / "cache.tunamh"), fresh(other)
    assert target.names == whole.names == ["Intercept", "a", "b", "carrier[BB]"]
    assert np.abs(z_scores(sampled(target, 1), sampled(whole, 2))).max() < 3.8
    assert tunamh.check_bounds(target.kept.expanded, pairs=5, rng=1) <= 1.0


def test_what_was_kept_of_forgotten_rows_is_deleted_at_once(days):
    """Pieces without such rows keep their records, and nothing of them is read again."""
    import pyarrow.parquet as pq

    table = table_of_day(3)
    person = np.array(table["person"]).copy()
    person[:] = 5
    person[0] = 4711
    pq.write_table(table.set_column(4, "person", [person]), days / "003.parquet")
    living(days, days / "cache.tunamh")
    model = next((days / "cache.tunamh").glob("model-*"))
    value = np.array(table["a"])[0].tobytes()
    assert any(value in path.read_bytes() for path in model.glob("map-*"))
    found = tunamh.forget(days / "cache.tunamh", where="(person == 4711) * (late < 2)")
    assert (found.rows, found.files) == (1, 1)
    assert not any(value in path.read_bytes() for path in model.glob("*"))
    assert len(list(model.glob("map-*"))) == 5


def test_a_rule_holds_for_files_that_come_later(days, monkeypatch):
    tunamh.forget(days / "cache.tunamh", where="person < 50")
    living(days, days / "cache.tunamh")
    write_day(days, 6)
    with counted_reads(monkeypatch) as read:
        target = living(days, days / "cache.tunamh")
    assert {os.path.basename(path) for path in read} == {"006.parquet"}
    assert target.n_rows < 7 * 1100


@pytest.mark.parametrize(
    ("where", "error", "match"),
    [
        ("person ==", tunamh.FormulaError, "something is missing"),
        ("__import__('os')", tunamh.FormulaError, "is not known"),
        ("1 == 1", tunamh.FormulaError, "contains no column"),
        ("persom == 3", tunamh.FormulaError, "Is person meant"),
        (lambda row: True, TypeError, "must be a condition"),
    ],
)
def test_a_condition_is_parsed_and_never_evaluated(days, where, error, match):
    with pytest.raises(error, match=match):
        tunamh.forget(days / "cache.tunamh", where=where)
    assert caches.Cache(days / "cache.tunamh").rules() == []


def test_rules_that_cannot_be_read_stop_the_night(days):
    """Rows that somebody wanted forgotten must not come back."""
    tunamh.forget(days / "cache.tunamh", where="person == 17")
    (days / "cache.tunamh" / "forgotten.json").write_text("[{")
    with pytest.raises(tunamh.CacheError, match="says which rows are forgotten"):
        living(days, days / "cache.tunamh")


# ------------------------------------------------------------------------------------------------------------- kills


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_twenty_kills_and_the_next_night_is_right(days, tmp_path, monkeypatch):
    """Rows have doubled, so that the night maps new files, and then all of them about a new centre."""
    monkeypatch.setattr(set_up, "_ROWS_KEPT", 2000)
    for day in range(6, 13):
        write_day(days, day, drift=0.1)
    alone = shutil.copytree(days, tmp_path / "alone", copy_function=shutil.copy2)
    expected = living(alone, alone / "cache.tunamh").kept.expanded
    killed = 0
    for writes in range(20):
        copy = shutil.copytree(days, tmp_path / f"copy{writes}", copy_function=shutil.copy2)
        killed += killed_after(writes, living, copy, copy / "cache.tunamh")
        found = living(copy, copy / "cache.tunamh").kept.expanded
        np.testing.assert_array_equal(found.centre, expected.centre)
        np.testing.assert_array_equal(found.hessian, expected.hessian)
        assert found.total_bound == expected.total_bound
        shutil.rmtree(copy)
    assert killed == 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
@pytest.mark.parametrize("writes", [0, 1, 2, 5])
def test_rows_are_forgotten_as_a_whole_or_not_at_all_if_that_is_killed(days, writes):
    """Before the rule is written nothing is forgotten; from then on the next night is without these rows."""
    for day in (0, 1, 3):  # of these files nothing is forgotten, so that their records are renamed
        table = table_of_day(day)
        person = pc.if_else(pc.equal(table["person"], 17), 18, table["person"])
        pq.write_table(table.set_column(4, "person", person), days / f"{day:03d}.parquet")
    living(days, days / "cache.tunamh")
    assert killed_after(writes, partial(tunamh.forget, days / "cache.tunamh", where="person == 17"))
    target = living(days, days / "cache.tunamh")
    theirs = sum((np.array(pq.read_table(path)["person"]) == 17).sum() for path in days.glob("*.parquet"))
    assert theirs > 0
    assert target.n_rows == 12_000 - (theirs if writes else 0)
    if not writes:
        assert tunamh.forget(days / "cache.tunamh", where="person == 17").rows == theirs
        target = living(days, days / "cache.tunamh")
    rows = pa.concat_tables([pq.read_table(path) for path in sorted(days.glob("*.parquet"))])
    whole = tunamh.regression(FORMULA, rows.filter(pc.not_equal(rows["person"], 17)), family=tunamh.Logistic())
    exact = whole.expansion(target.kept.expanded.centre)
    np.testing.assert_allclose(target.kept.expanded.gradient, exact.gradient, rtol=1e-9, atol=1e-8)
    kept = list(next((days / "cache.tunamh").glob("model-*")).glob("map-*"))
    assert len(kept) == 6


# -------------------------------------------------------------------------------------------------- the rows' own law


@pytest.fixture(scope="module")
def few_rows(tmp_path_factory):
    """Two files of few rows, of which very many are kept."""
    folder = tmp_path_factory.mktemp("few")
    for day in range(2):
        write_day(folder, day, rows=30 + 20 * day)
    return living(folder, folder / "cache.tunamh", formula="late ~ a + b")


def bounds_of_all(target):
    """``c`` of every row, by packing them all."""
    rows = target.kept.expanded.gathered
    return np.concatenate([rows.pack(block)[:, rows.column] for block in blocks_of(target)])


def blocks_of(target):
    source, observations = target.observations.source, target.observations
    return [
        observations._blocks(rows._replace(start=rows.start + start))
        for k, start in enumerate(source.starts)
        for rows in source.blocks_of(k)
    ]


def p_value(numbers, law):
    counts = np.bincount(numbers, minlength=len(law))
    return stats.chisquare(counts, law / law.sum() * counts.sum()).pvalue


def test_rows_kept_of_a_piece_have_the_law_of_its_bounds(few_rows):
    rows = few_rows.kept.expanded.gathered
    c = bounds_of_all(few_rows)
    for piece, start in zip(rows.pieces, rows.starts.tolist(), strict=True):
        own = c[start : start + piece.sums.n_rows]
        assert len(piece.rows) > 20_000
        assert p_value(piece.places, own) > 1e-3
        assert p_value(piece.places, np.ones(len(own))) < 1e-6


def test_rows_kept_over_many_blocks_have_the_same_law(few_rows, monkeypatch):
    """Blocks of seven rows: places take rows of later blocks by their share of the bounds so far."""
    night = set_up.map_of(few_rows, centre_of(few_rows))
    given = [rows for k in range(2) for rows in seven_at_a_time(few_rows, k)]
    record = night(given, 100_000, (1, 2), list(few_rows.names))
    piece = mapped(record, centre_of(few_rows), few_rows.observations.design.numbers)
    c = bounds_of_all(few_rows)
    assert p_value(piece.places, c) > 1e-3
    np.testing.assert_allclose(piece.total, c.sum())


def test_kept_rows_are_the_rows_at_their_places(few_rows):
    """With the features, responses and bounds of these rows."""
    rows = few_rows.kept.expanded.gathered
    packed = np.concatenate([rows.pack(block) for block in blocks_of(few_rows)])
    for piece, start in zip(rows.pieces, rows.starts.tolist(), strict=True):
        np.testing.assert_allclose(piece.rows, packed[start + piece.places], rtol=1e-12, atol=0)


@pytest.mark.parametrize("distance", [1.0, 0.001])
def test_a_map_holds_every_row_against_its_bound(few_rows, monkeypatch, distance):
    """The control: distances that are a thousand times too short are found out."""
    night, whole = set_up.map_of(few_rows, centre_of(few_rows)), audit.second_order
    monkeypatch.setattr(audit, "second_order", lambda *products: distance * whole(*products))
    found = nullcontext() if distance == 1 else pytest.raises(tunamh.BoundViolation, match="row")
    with found:
        night(few_rows.observations.source.blocks_of(1), 100, (1, 2), list(few_rows.names))


def seven_at_a_time(target, k):
    source = target.observations.source
    for rows in source.blocks_of(k):
        for start in range(0, len(rows.y), 7):
            part = slice(start, start + 7)
            yield rows._replace(start=source.starts[k] + rows.start + start, X=rows.X[part], y=rows.y[part])


def centre_of(target):
    expanded = target.kept.expanded
    return set_up.Centre.at(
        list(target.names),
        expanded.centre,
        expanded.metric.factor,
        set_up.ladder_of(3, local=True).radii,
        rows=80,
        date="",
        mean=expanded.centre,
        frame=None,
    )


def test_streams_have_the_law_of_all_bounds_and_share_no_kept_row(few_rows):
    """Chains take kept rows in turn; where these are used up, pieces are read again, and the law is the same."""
    rows: KeptRows = few_rows.kept.expanded.gathered
    c = bounds_of_all(few_rows)
    rows.expect(2)
    seen = []
    for chain in (0, 1):
        pool = type("Asks", (), {"served": Served(5, (chain, 1))})()
        numbers = np.concatenate([rows.take(k, pool)[1] for k in range(30)])
        assert len(numbers) == 30 * SERVING
        assert p_value(numbers, c) > 1e-3
        seen.append(numbers)
    again = np.concatenate([rows.take(k, pool)[1] for k in (7, 3)])
    np.testing.assert_array_equal(again, np.concatenate([seen[1][k * SERVING : (k + 1) * SERVING] for k in (7, 3)]))
    assert not np.array_equal(*seen)
    assert few_rows.observations.source.rows_read > 0
