"""Files that change under a run: by size, date, or numbers alone."""

import os

import numpy as np
import pyarrow.parquet as pq
import pytest
from made import TABLE, N, X

import tunamh
from tunamh.rows import parquet
from tunamh.rows.digest import digest_of


def written(path):
    """Plain numbers without statistics, so that two of them can be swapped in place."""
    plain = {"compression": "none", "use_dictionary": ["carrier"], "write_statistics": False}
    pq.write_table(TABLE, path, row_group_size=16_384, **plain)


def swap(path, row):
    """Two numbers of a column change places; neither size, date nor footer tells."""
    dates, held = os.stat(path), path.read_bytes()
    pair = X[row : row + 2, 0].tobytes()
    assert held.count(pair) == 1
    path.write_bytes(held.replace(pair, pair[8:] + pair[:8]))
    os.utime(path, ns=(dates.st_atime_ns, dates.st_mtime_ns))


@pytest.fixture
def path(tmp_path):
    written(tmp_path / "rows.parquet")
    return tmp_path / "rows.parquet"


def target(path, memory="1MiB"):
    return tunamh.LogisticRegression(tunamh.open_rows(path, memory=memory)[["a", "b", "carrier"]], y="late")


def test_numbers_that_change_places_are_noticed_by_the_next_map(path):
    of = target(path)
    of.expansion(np.zeros(of.dim))
    swap(path, 20_000)
    with pytest.raises(tunamh.SourceError, match="the rows from 16384 on have changed"):
        of.expansion(np.zeros(of.dim))


def test_and_by_a_gather_in_the_middle_of_a_run(path, tmp_path):
    run, steps = tmp_path / "run", {"test": tunamh.MHSS(floor=40, delayed=False), "proposal": tunamh.Autoregressive()}
    of = target(path)
    tunamh.sample(of, draws=20, chains=2, rng=1, store=run, **steps)
    swap(path, 20_000)
    with pytest.raises(tunamh.SourceError, match="the rows from 16384 on have changed"):
        tunamh.sample(of, draws=20, chains=2, rng=1, **steps)
    with pytest.raises(tunamh.StoreError, match="other data"):
        tunamh.resume(run, target(path), draws=40, **steps)
    swap_back(path, 20_000)
    tunamh.resume(run, target(path), draws=40, **steps)


def swap_back(path, row):
    dates, held = os.stat(path), path.read_bytes()
    pair = X[row : row + 2, 0].tobytes()
    path.write_bytes(held.replace(pair[8:] + pair[:8], pair))
    os.utime(path, ns=(dates.st_atime_ns, dates.st_mtime_ns))


@pytest.mark.parametrize("memory", ["1MiB", "2GiB"])
def test_the_fingerprint_of_a_target_is_one_of_its_numbers(path, memory):
    """That of the files, which is made of what their footers say, is not."""
    files, numbers = tunamh.open_rows(path).fingerprint, target(path, memory).fingerprint
    assert target(path, memory).fingerprint == numbers
    swap(path, 20_000)
    assert tunamh.open_rows(path).fingerprint == files
    assert target(path, memory).fingerprint != numbers


def test_a_file_that_is_written_while_it_is_read(path, monkeypatch):
    rows, stamp, asked = tunamh.open_rows(path), parquet.stamp, []

    def later(filesystem, name):
        asked.append(name)
        size, modified = stamp(filesystem, name)
        return size, modified + (len(asked) > 1)

    monkeypatch.setattr(parquet, "stamp", later)
    with pytest.raises(tunamh.SourceError, match=r"rows.parquet was changed since the rows were opened"):
        rows.first(["a"])


def test_digests_of_blocks():
    block = [X[:100], TABLE["late"].to_numpy()[:100], None]
    known = digest_of(block)
    assert digest_of([part if part is None else part.copy() for part in block]) == known
    for row, column in ((0, 0), (57, 2), (99, 1)):
        other = X[:100].copy()
        other[row, column] *= 1 + 1e-6
        assert digest_of([other, *block[1:]]) != known
    assert digest_of([X[:100, [1, 0, 2]], *block[1:]]) != known
    assert digest_of([X[:100] * (1 + 1e-16), *block[1:]]) == known
    positions = np.arange(N, dtype=np.int32)
    assert digest_of([np.asfortranarray(X[:100]), *block[1:]]) == digest_of([np.ascontiguousarray(X[:100]), *block[1:]])
    assert digest_of([positions]) != digest_of([np.roll(positions, 1)])
