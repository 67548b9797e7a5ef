"""Columns of text: coded once for a table, or read in codes as the file has them, they are the same levels and rows."""

import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made import CARRIER, LATE, TABLE, N, X, write

import tunamh
from tunamh.rows import parquet
from tunamh.rows.pieces import Reading
from tunamh.tables.columns import Factor
from tunamh.tables.levels import TextAtOnce, read_factor

RNG = np.random.default_rng(4)
TEXT = np.array(["ü", "b", "a", "zz"], object)[RNG.integers(4, size=3000)]
TEXT[::7] = None
TEXT[1000:2000] = None
TEXT[2000:][TEXT[2000:] == "a"] = "b"
PARTS = [slice(0, 1000), slice(1000, 2000), slice(2000, 3000), slice(500, 900)]


def same(found, expected):
    assert isinstance(found, Factor)
    assert (found.levels, found.ordered, found.absent, found.kind) == (expected.levels, False, (), "text")
    assert found.codes.dtype == expected.codes.dtype
    assert (found.codes == expected.codes).all()


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
@pytest.mark.parametrize("chunks", [1, 3])
def test_levels_of_every_block_are_those_that_occur_in_it(kind, chunks):
    column = pa.chunked_array([pa.array(part, kind) for part in np.array_split(TEXT, chunks)])
    table = pa.table({"g": column, "coded": column.dictionary_encode(), "x": np.arange(3000.0)})
    found = TextAtOnce(table)
    for part in PARTS:
        expected = read_factor(table["g"].slice(part.start, part.stop - part.start), "g")
        if expected is None:  # no value at all: such a column holds numbers
            assert found.of("g", part) is None
        else:
            same(found.of("g", part), expected)
    assert found.of("x", PARTS[0]) is None
    assert found.of("coded", PARTS[0]) is None
    assert found.of("not there", PARTS[0]) is None
    assert TextAtOnce({"g": TEXT}).of("g", PARTS[0]) is None


def blocks(path, columns, in_codes):
    rows = tunamh.open_rows(path)
    return [one for piece in rows.pieces for one in Reading().blocks(piece, 0, columns, in_codes=in_codes)]


def test_a_file_gives_codes_of_few_texts_and_texts_of_many(tmp_path):
    many = np.array([f"person {k}" for k in RNG.permutation(3000)])
    table = pa.table({"g": TEXT, "many": many, "kind": pa.array(TEXT).dictionary_encode(), "x": np.arange(3000.0)})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=1000)
    columns = ["g", "many", "kind", "x"]
    plain, coded = (blocks(tmp_path / "t.parquet", columns, in_codes) for in_codes in (False, True))
    assert [pa.types.is_dictionary(one.table.schema.field("g").type) for one in (plain[0], coded[0])] == [False, True]
    for one, other in zip(plain, coded, strict=True):
        assert other.table["many"].equals(one.table["many"])
        assert other.text("many") is None or other.text("many").levels == one.text("many").levels
        assert other.text("kind") is None
        assert (other.text("g") is None) == (one.text("g") is None)
        if one.text("g") is not None:
            same(other.text("g"), one.text("g"))


def test_a_file_of_many_row_groups_is_opened_once_for_its_codes(tmp_path, monkeypatch):
    """Its footer tells of all row groups: to read it for each of them would take the square of their number."""
    path, made, form = write(tmp_path, group=1000), [], parquet.parquet_format
    rows = tunamh.open_rows(path)
    monkeypatch.setattr(parquet, "parquet_format", lambda *how, **more: made.append(more) or form(*how, **more))
    tables = [list(piece.coded_tables(["carrier"], ["carrier"])) for piece in rows.pieces]
    assert len(tables) == 40
    assert made == [{"dictionary_columns": ["carrier"]}]
    (last,) = pickle.loads(pickle.dumps(rows.pieces[-1])).coded_tables(["carrier"], ["carrier"])
    assert last["carrier"].to_pylist() == CARRIER[39_000:].tolist()


def test_texts_of_too_many_levels_come_back_as_texts(monkeypatch):
    from tunamh.tables import levels

    monkeypatch.setattr(levels, "_MOST_LEVELS", 2)
    table = pa.table({"g": pa.array(TEXT).dictionary_encode()})
    found = TextAtOnce(table, ["g"])
    assert found.of("g", PARTS[0]) is None
    assert found.table["g"].to_pylist() == list(TEXT)
    assert found.table_of_text() is found.table


def test_codes_are_texts_again_for_whoever_asks_for_texts():
    table = pa.table({"g": pa.array(TEXT).dictionary_encode(), "x": np.arange(3000.0)})
    found = TextAtOnce(table, ["g"])
    assert found.table is table
    assert found.table_of_text()["g"].type == pa.string()
    assert found.table_of_text()["g"].to_pylist() == list(TEXT)


@pytest.mark.parametrize("memory", ["1MiB", "1GiB"])
def test_levels_are_sorted_where_numbers_are_missing_too(tmp_path, memory):
    """Then columns are read from the table itself, whose dictionary has the order of the file."""
    holes = pa.array(X[:, 0], mask=np.arange(N) % 11 == 0)
    order = np.argsort(CARRIER)[::-1]
    table = TABLE.set_column(0, "a", holes).take(order)
    rows = tunamh.open_rows(write(tmp_path, table=table), memory=memory)
    found = tunamh.regression("late ~ a + carrier", rows, family="logistic", missing="drop")
    assert found.names == ["Intercept", "a", "carrier[BB]", "carrier[CC]", "carrier[DD]"]


def test_nobody_but_the_library_sees_codes(tmp_path):
    path, seen = write(tmp_path), []

    def kinds(block):
        return block.table["carrier"].type

    def change(table):
        seen.append(table["carrier"].type)
        return table

    assert set(tunamh.open_rows(path).map(kinds, ["carrier"])) == {pa.string()}
    tunamh.LogisticRegression(tunamh.open_rows(path, change=change, memory="1MiB")[["a", "carrier"]], y="late")
    assert set(seen) == {pa.string()}


@pytest.mark.parametrize("door", ["columns", "formula"])
def test_the_rows_of_files_are_those_of_arrays_with_text_bit_for_bit(tmp_path, door):
    path, memory = write(tmp_path), {"a": X[:, 0], "b": X[:, 1], "carrier": CARRIER, "late": LATE}
    rows = tunamh.open_rows(path, memory="1MiB")
    if door == "columns":
        of_file = tunamh.LogisticRegression(rows[["a", "b", "carrier"]], y="late")
        held = tunamh.LogisticRegression(tunamh.open_rows([TABLE])[["a", "b", "carrier"]], y="late")
    else:
        of_file, held = (
            tunamh.regression("late ~ a + b + carrier", table, family="logistic") for table in (rows, memory)
        )
    at = np.linspace(-0.3, 0.4, of_file.dim)
    one, other = of_file.expansion(at), held.expansion(at)
    assert of_file.names == held.names
    assert (one.energy, N) == (other.energy, of_file.observations.n_rows)
    assert (one.gradient == other.gradient).all()
    assert (one.hessian == other.hessian).all()
