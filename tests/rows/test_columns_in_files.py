"""Columns that grow block by block in files: the same columns as those that are joined in memory."""

from __future__ import annotations

import numpy as np
import pytest

import tunamh
from tunamh.process import scratch
from tunamh.process.scratch import large_arrays_in, stretches
from tunamh.rows.columns_in_files import as_one_matrix, levels_of
from tunamh.rows.in_memory import load_columns
from tunamh.tables.columns import Factor, Numbers
from tunamh.tables.frames import Frame
from tunamh.tables.levels import every_level

RNG = np.random.default_rng(4)
WORDS = np.array(["mon", "tue", "wed", "thu"])


def _block(n, kind, words):
    return {
        "x": RNG.standard_normal(n).astype(kind),
        "k": RNG.integers(-3, 4, n).astype(np.int32 if kind is np.float32 else np.float64),
        "day": RNG.choice(words, n),
    }


BLOCKS = [_block(40, np.float32, WORDS[2:]), _block(7, np.float64, WORDS[:1]), _block(60, np.float32, WORDS[1:3])]


@pytest.fixture(autouse=True)
def small_stretches(monkeypatch):
    monkeypatch.setattr(scratch, "_SMALL", 0)
    monkeypatch.setattr(scratch, "_AT_ONCE", 16)


def _both(blocks, folder):
    tables = tunamh.open_rows(blocks)
    expected = load_columns(tables, list(blocks[0]))
    with large_arrays_in(str(folder)):
        return expected, load_columns(tables, list(blocks[0]))


def test_columns_are_those_of_blocks_joined_in_memory(tmp_path):
    expected, found = _both(BLOCKS, tmp_path)
    for name in ("x", "k"):
        np.testing.assert_array_equal(found.columns[name].values, expected.columns[name].values)
        assert found.columns[name].values.dtype == expected.columns[name].values.dtype
    assert found.columns["day"].levels == expected.columns["day"].levels == tuple(sorted(WORDS))
    np.testing.assert_array_equal(found.columns["day"].codes, expected.columns["day"].codes)


@pytest.mark.parametrize("order", [1, -1])
def test_numbers_and_text_in_one_column_are_refused(tmp_path, order):
    blocks = [{"a": np.arange(3.0)}, {"a": np.array(["x", "y", "z"])}][::order]
    with large_arrays_in(str(tmp_path)), pytest.raises(tunamh.SourceError, match="column a holds numbers in some"):
        load_columns(tunamh.open_rows(blocks), ["a"])


@pytest.mark.parametrize("values", [[3, 1, 2, 1], [2.0, -1.0, 2.0], [0.5, 2.0, 0.5], [True, False, True]])
def test_levels_are_those_of_a_column_in_memory(values):
    array = np.tile(np.array(values), 20)
    expected, found = every_level(array, "g"), levels_of(Numbers(array))
    assert isinstance(found, Factor)
    assert found.levels == expected.levels
    np.testing.assert_array_equal(found.codes, expected.codes)


def test_text_is_not_put_into_a_matrix():
    frame = Frame({"a": Numbers(np.arange(3.0)), "b": Factor(np.zeros(3, np.int64), ("x",))}, 3)
    assert as_one_matrix(frame) is frame
    matrix = as_one_matrix(frame.select(["a"])).whole
    np.testing.assert_array_equal(matrix, np.arange(3.0)[:, None])


def test_stretches_cover_all_rows_once():
    rows = np.concatenate([np.arange(100)[which] for which in stretches(100)])
    np.testing.assert_array_equal(rows, np.arange(100))
