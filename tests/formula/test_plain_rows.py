"""Formulas of columns as they are: rows are copies of these, the same bits as by the interpreter of expressions."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tunamh
from tunamh.formula.plain_rows import PlainRows
from tunamh.formula.tables import opened
from tunamh.rows.pieces import Reading
from tunamh.rows.source import Factored
from tunamh.tables.columns import Factor

N = 5000
RNG = np.random.default_rng(2)
TABLE = pa.table(
    {
        "a": RNG.standard_normal(N),
        "b": RNG.standard_normal(N).astype(np.float32),
        "whole": RNG.integers(5, size=N),
        "carrier": RNG.choice(["AA", "DL", "UA"], N),
        "day": RNG.choice(["Mo", "Tu"], N),
        "late": RNG.integers(2, size=N),
    }
)
PLAIN = ["a", "a + b + whole", "0 + a + carrier", "a + carrier + day", "carrier", "0 + carrier + day + b"]
OTHERS = ["log(whole + 1)", "a:b", "a:carrier", "carrier:day", "C(whole)", "a + offset(b)", "scale(a)", "s(a, k=5)"]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    found = tmp_path_factory.mktemp("plain") / "rows.parquet"
    pq.write_table(TABLE, found, row_group_size=2000)
    return found


def model_and_blocks(path, right, **named):
    rows = tunamh.open_rows(path, memory="20kB")
    target = tunamh.regression(f"late ~ {right}", rows, family="logistic", **named)
    read = target.user_rows.source.read
    blocks = [one for piece in rows.pieces for one in Reading().blocks(piece, 0, read.names, in_codes=True)]
    return read, blocks


@pytest.mark.parametrize("right", PLAIN)
def test_rows_are_those_of_the_interpreter(path, right):
    read, blocks = model_and_blocks(path, right)
    plain = PlainRows.of_model(read.model)
    object.__setattr__(read, "plain", None)  # the long way
    for block in blocks:
        complete = opened(block, read.names)
        expected = read.of_rows(complete, block.start)
        factors = {name: column for name, column in complete.columns.items() if isinstance(column, Factor)}
        of_columns = plain.of_columns(block.numbers, factors)._replace(start=block.start)
        for found in (plain.of_block(block), plain.of_complete(complete, block.start), of_columns):
            assert found.start == expected.start
            assert (found.y == expected.y).all()
            assert isinstance(found.X, Factored) == isinstance(expected.X, Factored) == ("carrier" in right)
            parts = zip(found.X, expected.X, strict=True) if "carrier" in right else [(found.X, expected.X)]
            for part, other in parts:
                assert np.array_equal(part, other)
                if isinstance(part, np.ndarray):
                    assert part.dtype == other.dtype
                    assert part.flags.f_contiguous == other.flags.f_contiguous


@pytest.mark.parametrize("right", OTHERS)
def test_whatever_is_computed_goes_the_long_way(path, right):
    read, _ = model_and_blocks(path, right)
    assert PlainRows.of_model(read.model) is None


def test_so_do_weights_and_rows_that_may_be_left_out(path, tmp_path):
    read, _ = model_and_blocks(path, "a", weights="whole")
    assert PlainRows.of_model(read.model) is None
    holes = TABLE.set_column(0, "a", pa.array(TABLE["a"].to_numpy(), mask=np.arange(N) % 9 == 0))
    pq.write_table(holes, tmp_path / "holes.parquet")
    read, _ = model_and_blocks(tmp_path / "holes.parquet", "a + carrier", missing="drop")
    assert PlainRows.of_model(read.model) is None


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
def test_a_block_with_a_value_that_is_no_use_is_looked_at_more_closely(path, value):
    read, blocks = model_and_blocks(path, "a + carrier")
    wrong = blocks[0].numbers["a"].copy()
    wrong[17] = value
    plain = PlainRows.of_model(read.model)
    assert plain.of_block(blocks[0]) is not None
    assert plain.of_block(blocks[0]._replace(numbers={**blocks[0].numbers, "a": wrong})) is None
    assert plain.of_block(blocks[0]._replace(text=lambda name: None)) is None


def test_so_is_a_block_with_a_new_level_or_a_missing_one(path):
    read, blocks = model_and_blocks(path, "a + carrier")
    plain, factor = PlainRows.of_model(read.model), blocks[0].text("carrier")
    renamed = type(factor)(factor.codes, ("AA", "DL", "ZZ"), kind="text")
    gap = type(factor)(np.where(np.arange(len(factor)) == 3, -1, factor.codes), factor.levels, kind="text")
    for other in (renamed, gap):
        assert plain.of_block(blocks[0]._replace(text=lambda name, other=other: other)) is None
