"""Questions to the posterior of a living table: forgotten rows are in no answer; the evidence is that of the rest."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from days import living, table_of_day, write_day

import tunamh
from tunamh.formula.living_tables import ids_of
from tunamh.living.kept_rows import ROWS_OF_A_PIECE

FORMULA = "late ~ a + b"


@pytest.fixture(scope="module")
def forgotten(tmp_path_factory):
    """Three days of which half of the rows are forgotten; its target, a result, and the rows that remain."""
    folder = tmp_path_factory.mktemp("forgotten")
    for day in range(3):
        write_day(folder, day)
    living(folder, folder / "cache.tunamh", FORMULA)
    tunamh.forget(folder / "cache.tunamh", where="person < 50")
    target = living(folder, folder / "cache.tunamh", FORMULA)
    result = tunamh.sample(target, draws=300, tune=200, rng=1, progressbar=False)
    rest = pa.concat_tables([table_of_day(day) for day in range(3)])
    return folder, target, result, rest.filter(pc.greater_equal(rest["person"], 50))


def opened(folder):
    return tunamh.open_rows(str(folder / "*.parquet"), cache=folder / "cache.tunamh")


def test_forgotten_rows_are_in_no_answer(forgotten):
    folder, target, result, rest = forgotten
    assert target.n_rows == rest.num_rows == json.loads(result.posterior.attrs["settings"])["data_rows"]
    for ask in (
        lambda rows: tunamh.predictions(result, rows, average_by="carrier"),
        lambda rows: tunamh.comparisons(result, rows, {"a": "sd"}, average_by=True),
    ):
        np.testing.assert_allclose(ask(opened(folder))["mean"], ask(rest)["mean"], rtol=1e-10)
    one, other = (tunamh.loo(result, rows, rows=5000) for rows in (opened(folder), rest))
    assert one.n_rows == rest.num_rows
    np.testing.assert_allclose(one.elpd, other.elpd, rtol=1e-10)
    found = tunamh.influence(result, opened(folder), rows=200, rng=1)
    person = np.concatenate([table_of_day(day)["person"].to_numpy() for day in range(3)])
    assert (person[found["row"]] >= 50).all()
    assert tunamh.check(result, opened(folder), rows=300, rng=1) is not None


def test_the_evidence_of_kept_sums_is_that_of_all_rows(forgotten):
    _, target, result, rest = forgotten
    assert target.kept.mode.away > 0.1  # the centre is that of all rows
    found = tunamh.evidence(target, result, rng=1)
    whole = tunamh.evidence(tunamh.regression(FORMULA, rest, family=tunamh.Logistic()), rng=2)
    assert abs(found.log_evidence - whole.log_evidence) < 4 * np.hypot(found.se, whole.se)


def test_rows_that_had_a_say_in_the_centre_are_not_drawn_by_chains(forgotten):
    rows = forgotten[1].kept.expanded.gathered
    rows.expect(2)
    for dealt, piece in zip(rows._order(5), rows.pieces, strict=True):
        np.testing.assert_array_equal(np.sort(dealt), np.arange(ROWS_OF_A_PIECE, len(piece.rows)))


def test_rows_are_not_added_under_a_prior_with_unknown_scales():
    X = np.random.default_rng(0).standard_normal((200, 2))
    target = tunamh.LogisticRegression(X, (X[:, 0] > 0).astype(float), prior=tunamh.priors.Ridge())
    with pytest.raises(tunamh.NotApplicable, match="prior with unknown scales"):
        target.with_rows(X[:5], np.ones(5))


def test_rows_of_copies_of_a_file_are_drawn_independently(tmp_path):
    for name in ("p", "q"):
        (tmp_path / name).mkdir()
    write_day(tmp_path / "p", 0)
    shutil.copy2(tmp_path / "p" / "000.parquet", tmp_path / "q" / "000.parquet")
    tables = tunamh.open_rows([str(tmp_path / name / "000.parquet") for name in "pq"], cache=tmp_path / "c")
    keys = [one.key for one in ids_of(tables)]
    assert keys[0] != keys[1]
    assert keys == [one.key for one in ids_of(tables)]
    target = tunamh.regression(FORMULA, tables, family=tunamh.Logistic())
    assert target.n_rows == 4000
    one, other = target.kept.expanded.gathered.pieces
    np.testing.assert_allclose(one.total, other.total)
    assert not np.array_equal(one.places, other.places)


def test_numbers_that_floats_do_not_tell_apart_forget_nothing(tmp_path):
    table = table_of_day(0)
    large = pa.array([2**53 + k for k in range(table.num_rows)], pa.int64())
    pq.write_table(table.append_column("id", large), tmp_path / "0.parquet")
    living(tmp_path, tmp_path / "c", FORMULA)
    with pytest.raises(tunamh.FormulaError, match="cannot distinguish neighbouring"):
        tunamh.forget(tmp_path / "c", where=f"id == {2**53 + 1}")
    assert living(tmp_path, tmp_path / "c", FORMULA).n_rows == table.num_rows


def test_missing_values_and_text_are_compared_as_in_formulas(tmp_path):
    table = table_of_day(0)
    n = table.num_rows
    text = [None if k % 5 == 0 else f"x{k % 7}" for k in range(n)]
    numbers = np.where(np.arange(n) % 3 == 0, np.nan, np.arange(n) % 4)
    pq.write_table(table.append_column("t", pa.array(text)).append_column("v", numbers[None]), tmp_path / "0.parquet")
    living(tmp_path, tmp_path / "c", FORMULA)
    wanted = {
        't == "x3"': sum(one == "x3" for one in text),
        't != "x3"': sum(one not in (None, "x3") for one in text),
        "v == 2": int((numbers == 2).sum()),
    }
    for where, rows in wanted.items():
        assert tunamh.forget(tmp_path / "c", where=where).rows == rows
