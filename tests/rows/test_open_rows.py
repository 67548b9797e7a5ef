"""Tables in blocks: what is read, how it is named, what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from made import BOUNDS, CARRIER, LATE, NOISY, TABLE, WEIGHTS, N, X, read_or_fail, read_slice, write

import tunamh
from tunamh.extend import Rows
from tunamh.rows.table_source import RowsOfTables
from tunamh.tables.libraries import count_rows


def draws(target, n=30, **given):
    return tunamh.sample(target, draws=n, chains=2, rng=1, **given).posterior


@pytest.fixture
def flights(tmp_path):
    return tunamh.open_rows(write(tmp_path))


BLOCK_BY_BLOCK = "4.5MiB"
"""Packed rows fit, and are made by maps; beside the columns that they are made of they do not."""


@pytest.fixture
def in_blocks(tmp_path):
    return tunamh.open_rows(write(tmp_path), memory=BLOCK_BY_BLOCK)


@pytest.mark.parametrize("memory", [BLOCK_BY_BLOCK, "2GiB"])
def test_a_file_gives_the_draws_of_the_same_rows_in_arrays(tmp_path, memory):
    """Bit for bit: row groups are whole numbers of blocks."""
    rows = tunamh.open_rows(write(tmp_path), memory=memory)
    target = tunamh.LogisticRegression(rows[["a", "b", "c"]], y="late")
    assert target.user_rows.in_process == (memory == "2GiB")
    one = draws(target)
    other = draws(tunamh.LogisticRegression(X, LATE))
    assert (one["theta"].values == other["theta"].values).all()


@pytest.mark.parametrize("memory", [BLOCK_BY_BLOCK, "2GiB"])
def test_columns_of_text_are_the_codes_of_a_column_of_categories(tmp_path, memory):
    flights = tunamh.open_rows(write(tmp_path), memory=memory)
    frame = pd.DataFrame({"a": X[:, 0], "carrier": pd.Categorical(CARRIER)})
    one = draws(tunamh.GLM(flights[["a", "carrier"]], "noisy", tunamh.StudentT(4), weights="weights"))
    other = draws(tunamh.GLM(frame, NOISY, tunamh.StudentT(4), weights=WEIGHTS))
    assert (one["theta"].values == other["theta"].values).all()
    assert (one["scale"].values == other["scale"].values).all()


@pytest.mark.parametrize(
    "family",
    [tunamh.Probit(), tunamh.Cloglog(), tunamh.Poisson(), tunamh.Gaussian(), tunamh.Huber(), tunamh.LogisticErrors()],
    ids=repr,
)
def test_families_of_one_predictor(in_blocks, family):
    y = "noisy" if hasattr(family, "scale") else "late"
    mode = tunamh.GLM(in_blocks[["a", "b"]], y, family).modes[0].point
    same = tunamh.GLM(X[:, :2], TABLE[y].to_numpy(), family).modes[0].point
    assert (mode == same).all()


def test_trials_and_offsets_by_name(tmp_path):
    rng = np.random.default_rng(1)
    trials = rng.integers(1, 5, N).astype(float)
    k = rng.binomial(trials.astype(int), 0.3).astype(float)
    path = write(tmp_path, table=pa.table({"a": X[:, 0], "k": k, "n": trials, "o": X[:, 1]}))
    for family in (tunamh.Logistic(), tunamh.Cloglog(), tunamh.Probit()):
        wanted = tunamh.GLM(X[:, :1], k, family, trials=trials, offset=X[:, 1]).expansion(np.full(1, 0.1))
        for memory in (BLOCK_BY_BLOCK, "2GiB"):
            rows = tunamh.open_rows(path, memory=memory)
            found = tunamh.GLM(rows[["a"]], "k", family, trials="n", offset="o").expansion(np.full(1, 0.1))
            assert found.energy == pytest.approx(wanted.energy, rel=1e-12)
            assert found.gradient == pytest.approx(wanted.gradient, rel=1e-10)
    wrong = pa.table({"a": X[:, 0], "k": k + 1, "n": np.zeros(N)})
    rows = tunamh.open_rows(write(tmp_path, "wrong.parquet", wrong), memory=BLOCK_BY_BLOCK)
    with pytest.raises(tunamh.SourceError, match=r"row 0 of .* has y = .* of 0 trials"):
        tunamh.GLM(rows[["a"]], "k", tunamh.Probit(), trials="n")


@pytest.mark.parametrize(
    "family", [tunamh.Gaussian(1.0), tunamh.LogNormal(0.7), tunamh.Exponential(), tunamh.Weibull(1.3)], ids=repr
)
def test_censored_responses_are_censored_in_blocks_that_are_not_held(family):
    rng = np.random.default_rng(0)
    x, c = rng.standard_normal(4000), (rng.random(4000) < 0.4) * 1.0
    y = np.exp(1 + 0.5 * x + 0.7 * rng.standard_normal(4000))
    blocks = [{"x": x[rows], "y": y[rows], "c": c[rows]} for rows in (slice(2000), slice(2000, None))]
    whole = tunamh.GLM(x[:, None], y, family, censored=c)
    rows = tunamh.open_rows(blocks, memory=20_000)
    in_blocks = tunamh.GLM(rows[["x"]], "y", family, censored="c")
    assert not in_blocks.user_rows.in_process
    points = np.array([[0.5], [0.1]])
    np.testing.assert_allclose(np.diff(in_blocks.energies_at(points)), np.diff(whole.energies_at(points)))


def test_single_precision_is_kept(tmp_path):
    names = ["a", "b", "c"]
    columns = {name: X[:, j].astype(np.float32) for j, name in enumerate(names)}
    rows = tunamh.open_rows(write(tmp_path, table=pa.table({**columns, "late": LATE})))
    one = draws(tunamh.LogisticRegression(rows[names], y="late"))
    other = draws(tunamh.LogisticRegression(X.astype(np.float32), LATE))
    assert (one["theta"].values == other["theta"].values).all()


def blocks_of(kind):
    parts = [read_slice(bounds) for bounds in BOUNDS]
    return {
        "pyarrow": lambda: parts,
        "pandas": lambda: [part.to_pandas() for part in parts],
        "polars": lambda: [pl.from_arrow(part) for part in parts],
        "dict": lambda: [{name: part[name].to_numpy() for name in part.column_names} for part in parts],
    }[kind]()


@pytest.mark.parametrize("kind", ["pyarrow", "pandas", "polars", "dict"])
def test_blocks_of_your_own_are_the_file(flights, kind):
    rows = tunamh.open_rows(blocks_of(kind))
    assert rows.names == flights.names
    one, other = (tunamh.LogisticRegression(tables[["a", "carrier"]], y="late") for tables in (rows, flights))
    assert one.names == other.names
    assert (one.modes[0].point == other.modes[0].point).all()


def test_matrices_have_numbers_for_names(flights):
    whole = np.column_stack([X, LATE])
    rows = tunamh.open_rows([whole[start:stop] for start, stop in BOUNDS])
    one = tunamh.LogisticRegression(rows[["0", "1", "2"]], y="3")
    assert (one.modes[0].point == tunamh.LogisticRegression(flights[["a", "b", "c"]], y="late").modes[0].point).all()


class Again:
    """Blocks that can be iterated over as often as one likes, but not asked for by number."""

    def __iter__(self):
        return iter([read_slice(bounds) for bounds in BOUNDS])


def test_blocks_that_are_iterated_over(flights):
    one, other = (tunamh.LogisticRegression(rows[["a"]], y="late") for rows in (tunamh.open_rows(Again()), flights))
    assert (one.modes[0].point == other.modes[0].point).all()


def test_a_reader_makes_the_blocks(flights):
    rows = tunamh.open_rows(BOUNDS, reader=read_slice)
    one, other = (tunamh.LogisticRegression(tables[["b", "a"]], y="late") for tables in (rows, flights))
    assert one.names == ["b", "a"]
    assert (one.modes[0].point == other.modes[0].point).all()


def test_folders_patterns_and_lists_are_the_same_rows(tmp_path):
    for k, (start, stop) in enumerate(BOUNDS):
        write(tmp_path, f"part-{k}.parquet", TABLE.slice(start, stop - start))
    opened = [
        tunamh.open_rows(tmp_path),
        tunamh.open_rows(f"{tmp_path}/*.parquet"),
        tunamh.open_rows([tmp_path / f"part-{k}.parquet" for k in range(3)]),
    ]
    assert len({rows.fingerprint for rows in opened}) == 1
    assert {rows.n_rows for rows in opened} == {N}
    backwards = tunamh.open_rows([tmp_path / f"part-{k}.parquet" for k in (2, 1, 0)])
    assert backwards.fingerprint != opened[0].fingerprint
    assert backwards.first().table["a"][0].as_py() == X[BOUNDS[2][0], 0]


def test_the_fingerprint_tells_other_numbers(tmp_path, flights):
    other = np.array(LATE)
    other[123] = 1 - other[123]
    table = TABLE.set_column(TABLE.column_names.index("late"), "late", pa.array(other))
    assert tunamh.open_rows(write(tmp_path, table=table, group=8192)).fingerprint != flights.fingerprint
    blocks = [tunamh.open_rows([one]) for one in (TABLE, table)]
    assert blocks[0].fingerprint != blocks[1].fingerprint


def test_a_large_row_group_is_read_in_parts(tmp_path, monkeypatch, flights):
    monkeypatch.setattr("tunamh.rows.parquet._WHOLE", 8192)
    monkeypatch.setattr("tunamh.rows.parquet._PART", 8192)
    rows = tunamh.open_rows(write(tmp_path, group=N))
    assert len(rows.pieces) == 1
    sizes = list(rows.map(lambda block: (block.start, count_rows(block.table)), ["a"]))
    assert sizes == [(start, min(8192, N - start)) for start in range(0, N, 8192)]


def test_only_the_columns_asked_for_are_read(flights):
    assert next(flights.map(lambda block: block.table.column_names, ["b", "a"])) == ["b", "a"]


def change(table):
    kept = table.filter(pc.greater(table["a"], -1.0))
    return kept.append_column("twice", pc.multiply(kept["a"], 2.0))


def test_tables_may_be_changed_as_they_are_read(tmp_path):
    rows = tunamh.open_rows(write(tmp_path), columns=["a", "b", "late"], change=change)
    keep = X[:, 0] > -1
    assert (rows.n_rows, rows.names) == (keep.sum(), ("a", "b", "late", "twice"))
    target = tunamh.LogisticRegression(rows[["twice", "b"]], y="late")
    same = tunamh.LogisticRegression(np.column_stack([2 * X[keep, 0], X[keep, 1]]), LATE[keep])
    assert target.modes[0].point == pytest.approx(same.modes[0].point, abs=1e-6)


def read_two(block):
    """What a formula would do: numbers from columns, by a function that can be sent elsewhere."""
    a, b = (np.asarray(block.table[name]) for name in ("a", "b"))
    return Rows(block.start, np.column_stack([np.ones(len(a)), a, a * b]), np.asarray(block.table["late"]))


def test_a_function_of_ones_own_sits_between_tables_and_rows(flights):
    source = RowsOfTables(flights, read_two, ["one", "a", "a:b"], ["a", "b", "late"])
    target = tunamh.GLM(source, family=tunamh.Logistic())
    same = tunamh.LogisticRegression(np.column_stack([np.ones(N), X[:, 0], X[:, 0] * X[:, 1]]), LATE)
    assert (target.modes[0].point == same.modes[0].point).all()
    assert target.names == ["one", "a", "a:b"]


# ------------------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("values", "what"),
    [
        (pa.array([None if k == 20_000 else 1.5 for k in range(N)]), "a missing value"),
        (pa.array(np.where(np.arange(N) == 20_000, np.nan, 1.5)), "a missing value"),
        (pa.array([None if k == 20_000 else "x" for k in range(N)]), "a missing value"),
        (pa.array(np.where(np.arange(N) == 20_000, np.inf, 1.5)), "inf, which is too large"),
    ],
    ids=["null", "NaN", "text", "infinite"],
)
def test_missing_values_are_named_by_file_block_row_and_column(tmp_path, values, what):
    path = write(tmp_path, table=TABLE.append_column("gap", values))
    where = rf"column gap has {what}.* in row 3616 of row group 1 of .*rows.parquet \(row 20000 of all"
    for memory in ("1MiB", "2GiB"):
        with pytest.raises(tunamh.SourceError, match=where):
            tunamh.LogisticRegression(tunamh.open_rows(path, memory=memory)[["a", "gap"]], y="late")


def test_what_cannot_be_read_is_refused_in_words(tmp_path, flights):
    with pytest.raises(TypeError, match="columns are chosen by name"):
        flights[0:5]
    (tmp_path / "none.parquet").write_text("hello")
    with pytest.raises(tunamh.SourceError, match=r"none.parquet cannot be opened"):
        tunamh.open_rows(tmp_path / "none.parquet")
    with pytest.raises(KeyError, match="no column 'speed' in these rows, whose columns are a, b"):
        flights[["speed"]]
    with pytest.raises(KeyError, match="no column 'speed' for y"):
        tunamh.LogisticRegression(flights[["a"]], y="speed")
    with pytest.raises(TypeError, match="y is missing"):
        tunamh.LogisticRegression(flights[["a"]])
    with pytest.raises(TypeError, match="weights must be the name of a column"):
        tunamh.LogisticRegression(flights[["a"]], y="late", weights=WEIGHTS)
    with pytest.raises(ValueError, match="which is y"):
        tunamh.LogisticRegression(flights[["a", "late"]], y="late")
    with pytest.raises(ValueError, match="labels in y must be 0 or 1"):
        tunamh.LogisticRegression(flights[["a"]], y="noisy")
    with pytest.raises(FileNotFoundError, match="no file matches"):
        tunamh.open_rows(f"{tmp_path}/*.csv")
    with pytest.raises(FileNotFoundError, match="no file or folder"):
        tunamh.open_rows(tmp_path / "nothing")
    with pytest.raises(TypeError, match="read more than once"):
        tunamh.open_rows(iter([TABLE]))
    with pytest.raises(ValueError, match="memory must be a size"):
        tunamh.open_rows(TABLE, memory="lots")
    with pytest.raises(TypeError, match="executor must be"):
        tunamh.open_rows(TABLE, executor=2)
    with pytest.raises(TypeError, match=r"the codes of groups\[0\] must be names of columns"):
        tunamh.MixedModel(flights[["a"]], "late", tunamh.Logistic(), groups=CARRIER)


def test_a_reader_that_fails_is_named_by_its_block():
    with pytest.raises(tunamh.SourceError, match=r"reading block 1 \(\(16384, 32768\).*the disk said no"):
        tunamh.open_rows(BOUNDS, reader=read_or_fail)


def test_a_file_that_is_gone_or_changed_is_named(tmp_path):
    path = write(tmp_path)
    target = tunamh.LogisticRegression(tunamh.open_rows(path, memory="3MiB")[["a"]], y="late")
    path.unlink()
    with pytest.raises(
        tunamh.SourceError, match=r"rows.parquet does not exist any more, so its row group 0 .* Restore the file"
    ):
        target.modes
    write(tmp_path, table=TABLE.slice(0, 30_000))
    with pytest.raises(tunamh.SourceError, match=r"rows.parquet was changed since .* make a new target"):
        target.modes


def test_a_damaged_page_is_noticed_where_the_writer_made_checksums(tmp_path):
    path = tmp_path / "sums.parquet"
    pq.write_table(TABLE, path, row_group_size=16_384, write_page_checksum=True)
    held = path.read_bytes()
    path.write_bytes(held[:100_000] + b"0" * 1000 + held[101_000:])
    with pytest.raises(tunamh.SourceError, match=r"row group 0 of .*sums.parquet cannot be read"):
        tunamh.LogisticRegression(tunamh.open_rows(path)[["a", "b", "c"]], y="late")


def test_files_with_other_columns_are_refused(tmp_path):
    write(tmp_path, "1.parquet")
    write(tmp_path, "2.parquet", TABLE.drop_columns(["b"]))
    with pytest.raises(tunamh.SourceError, match=r"2.parquet has no column 'b'"):
        tunamh.open_rows(tmp_path)
