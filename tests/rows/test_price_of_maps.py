"""What `sample(target)` chooses where passes over all rows are maps: by a stated price, not by memory or a clock."""

import numpy as np
import pytest
from made import LATE, X, write

import tunamh
from tunamh.rows import gathered_rows
from tunamh.sampling import choice


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write(tmp_path_factory.mktemp("price"))


def chosen(rows, memory, X=("a", "b", "carrier"), y="late"):
    target = tunamh.LogisticRegression(tunamh.open_rows(rows, memory=memory)[list(X)], y=y)
    return choice.choose(target, None, None, None)


def test_the_line_tells_how_often_all_rows_are_read(path):
    gathered, less, held = (chosen(path, memory) for memory in ("1MiB", "200KiB", "1GiB"))
    assert "of 40,000 rows, which passes over all rows gather, about one pass in 770,000 steps" in gathered.why
    assert "passes" not in held.why
    assert (gathered.test, gathered.why) == (less.test, less.why)
    assert gathered.test == held.test


def test_a_minibatch_is_cheaper_than_a_map_where_all_rows_in_memory_would_be():
    """Thirty rows in memory cost less than the noise of a minibatch; from disk they are a map in every step."""
    rows = {"x": X[:30, 0], "one": np.ones(30), "y": LATE[:30]}
    held, gathered = (chosen([rows], memory, ("one", "x"), "y") for memory in ("1GiB", "100B"))
    assert isinstance(held.test, tunamh.MH)
    assert isinstance(gathered.test, tunamh.MHSS)


def test_moves_that_ask_for_more_than_a_map_gathers_are_checked_by_one_map(path, monkeypatch):
    assert choice.FIRST_ROWS == gathered_rows.FIRST_BATCH * 8192
    monkeypatch.setattr(choice, "FIRST_ROWS", 0.5)
    some = chosen(path, "1MiB")
    assert some.test.full_share == 0.5 / 40_000
    monkeypatch.setattr(choice, "FIRST_ROWS", 1e-9)
    every = chosen(path, "1MiB")
    assert isinstance(every.test, tunamh.MH)
    assert "all 40,000 rows, by a pass over them, because they are not in memory: a minibatch of" in every.why
