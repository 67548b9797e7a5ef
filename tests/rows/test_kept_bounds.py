"""What is kept of rows in files beside their sums: bounds, the first block, samples; and that it is what it was."""

import pickle

import numpy as np
import pytest
from made import N, write

import tunamh
from tunamh.rows.digest import _odd, _sum_of_bits
from tunamh.rows.packing import KeptBounds
from tunamh.rows.passes import ROWS_AT_ONCE
from tunamh.rows.servings import by_cumulated
from tunamh.targets.designs.dense import DenseDesign
from tunamh.targets.designs.indexed import IndexedDesign
from tunamh.targets.designs.with_offset import DesignWithOffset

RNG = np.random.default_rng(3)
X = RNG.standard_normal((50, 5))
POSITIONS = RNG.integers(-1, 4, size=(50, 2)) + 3

DESIGNS = {
    "a few columns": DenseDesign(X),
    "single precision": DenseDesign(X.astype(np.float32)),
    "many columns": DenseDesign(RNG.standard_normal((50, 30))),
    "levels": IndexedDesign(X[:, :3], POSITIONS, None, 7),
    "levels with values": IndexedDesign(X[:, :3], POSITIONS, RNG.standard_normal((50, 2)), 7),
    "an offset": DesignWithOffset(DenseDesign(X), RNG.standard_normal(50)),
}


@pytest.mark.parametrize("name", DESIGNS)
def test_some_rows_of_a_block_are_packed_as_they_are_in_all_of_it(name):
    block, which = DESIGNS[name].block(slice(None)), np.array([3, 3, 49, 0])
    rows, some = (np.zeros((n, DESIGNS[name].numbers.width)) for n in (50, 4))
    block.pack(rows)
    block.some(which).pack(some)
    assert some.tobytes() == rows[which].tobytes()
    theta = np.linspace(-1, 1, DESIGNS[name].dim)
    assert block.some(which).matvec(theta) == pytest.approx(block.matvec(theta)[which], rel=1e-14)


def test_bounds_are_there_once_every_block_has_given_its_own():
    kept = KeptBounds(10)
    kept.put(0, np.arange(6.0))
    assert kept.of(0, 6) is None
    kept.put(6, np.arange(4.0))
    assert kept.of(6, 4).tolist() == [0, 1, 2, 3]
    sent = pickle.loads(pickle.dumps(kept))
    sent.put(0, np.arange(6.0))
    assert sent.of(0, 6) is None


def test_rows_by_cumulated_bounds():
    c = np.array([0.0, 2.0, 0.0, 1.0, 1.0, 0.0])
    uniforms = np.array([0.0, 0.4999, 0.5, 0.74, 0.75, 1 - 1e-16])
    assert by_cumulated(c, uniforms).tolist() == [1, 1, 3, 3, 4, 4]


@pytest.mark.parametrize("shape", [(7,), (1000, 3), (8192, 10)])
def test_checksums_are_sums_of_bits_times_odd_factors(shape):
    numbers = RNG.standard_normal(shape).astype(np.float32)
    bits = numbers.view(np.uint32).ravel().astype(object)
    expected = sum(bits * _odd(numbers.size).astype(object)) % 2**32
    assert _sum_of_bits(numbers) == expected
    assert _sum_of_bits(np.asfortranarray(numbers)) == expected


def test_the_first_block_is_read_once(tmp_path):
    path = write(tmp_path)
    rows = tunamh.open_rows(path)
    whole = rows.first(["a", "b", "late"])
    path.rename(tmp_path / "elsewhere")
    again = rows.first(["late", "a"])
    assert list(again.table.column_names) == ["late", "a"]
    assert again.table["a"].to_numpy().tolist() == whole.table["a"].to_numpy().tolist()
    assert again.table.nbytes < 2 * 8 * ROWS_AT_ONCE + 1000
    with pytest.raises(tunamh.SourceError, match="does not exist any more"):
        rows.first(["c"])
    with pytest.raises(tunamh.SourceError, match="does not exist any more"):
        list(rows.map(lambda block: None, ["a"]))


def test_no_bounds_are_kept_where_memory_is_short(tmp_path):
    path, drawn = write(tmp_path), []
    for memory, kept in (("1MiB", True), (f"{8 * N}B", False)):
        target = tunamh.LogisticRegression(tunamh.open_rows(path, memory=memory)[["a", "b"]], y="late")
        mode = target.modes[0]
        expanded = target.taylor(2, mode.point, mode.expansion, whiten=True, original_bounds=False)
        assert (expanded.gathered.some.kept is not None) == kept
        drawn.append(tunamh.sample(target, draws=50, tune=50, rng=1, progressbar=False).posterior["theta"].values)
    assert (drawn[0] == drawn[1]).all()
