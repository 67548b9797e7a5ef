"""Blocks of few columns: what loops along the columns say, beside matrix products; the same bits however rows lie."""

import numpy as np
import pytest

from tunamh.rows.packing import packed_rows
from tunamh.targets.designs import DenseDesign
from tunamh.targets.designs.dense import MOST_COLUMNS, DenseBlock, NarrowBlock
from tunamh.targets.designs.indexed import IndexedBlock, IndexedDesign, NarrowIndexedBlock, level_positions

RNG = np.random.default_rng(3)


def layouts(X):
    """The same numbers as they may lie in memory."""
    held = np.zeros((len(X), 2 * X.shape[1]), X.dtype)
    held[:, ::2] = X
    fixed = X.copy()
    fixed.flags.writeable = False
    return {"rows": X, "columns": np.asfortranarray(X), "every other": held[:, ::2], "read-only": fixed}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "d"), [(1, 1), (700, 3), (2049, 10), (300, MOST_COLUMNS)])
def test_sums_are_those_of_a_matrix(n, d, dtype):
    X = RNG.standard_normal((n, d)).astype(dtype)
    whole, theta, values = X.astype(np.float64), RNG.standard_normal(d), RNG.standard_normal(n)
    factor = RNG.standard_normal((d, d))
    plain, block = DenseBlock(whole, dtype == np.float32), DenseDesign(X).block(slice(None))
    assert isinstance(block, NarrowBlock)
    assert (block.dense() == whole).all()
    for said, expected in (
        (block.matvec(theta), whole @ theta),
        (block.matvecs(np.stack([theta, -theta])), plain.matvecs(np.stack([theta, -theta]))),
        (block.rmatvec(values), values @ whole),
        (block.sandwich(values), plain.sandwich(values)),
        (block.whitened_norms(factor), np.linalg.norm(whole @ factor, axis=1)),
        (block.whitened_norms(factor), plain.whitened_norms(factor)),
    ):
        assert said == pytest.approx(expected, rel=1e-12, abs=1e-11)
    one, other = packed_rows(n, d + 3), packed_rows(n, d + 3)
    for rows, of in ((one, block), (other, plain)):
        rows[:] = 7.0
        of.pack(rows)
    assert (one == other).all()
    beside = np.full((n, 2 * d + 4), 7.0)
    block.pack(beside[:, 1:])
    assert (beside[:, 1 : 1 + d // 2] == one[:, : d // 2]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_same_bits_however_rows_lie(dtype):
    X = RNG.standard_normal((5000, 7)).astype(dtype)
    theta, values, factor = RNG.standard_normal(7), RNG.standard_normal(3000), RNG.standard_normal((7, 7))
    expected = None
    for X_as in layouts(X).values():
        block = DenseDesign(X_as).block(slice(1000, 4000))
        said = [
            block.matvec(theta),
            block.rmatvec(values),
            block.sandwich(values),
            block.whitened_norms(factor),
            block.dense(),
        ]
        expected = expected or said
        assert all((one == other).all() for one, other in zip(said, expected, strict=True))


def test_many_columns_are_a_matrix():
    X = RNG.standard_normal((100, MOST_COLUMNS + 1))
    for X_as in layouts(X).values():
        block = DenseDesign(X_as).block(slice(None))
        assert not isinstance(block, NarrowBlock)
        assert (block.X == X).all()
        assert block.X.flags.c_contiguous


@pytest.mark.parametrize("valued", [False, True])
@pytest.mark.parametrize("levels", [(2,), (3, 4)])
def test_levels_written_out_give_the_sums_of_levels_that_are_gathered(levels, valued):
    n, k = 1500, 3
    X, codes = RNG.standard_normal((n, k)), [RNG.integers(size, size=n) for size in levels]
    positions, dim = level_positions(codes, levels, k)
    values = RNG.standard_normal(positions.shape) if valued else None
    design = IndexedDesign(X, positions, values, dim)
    block, plain = design.block(slice(100, 1400)), design.block(slice(100, 1400)).plain
    assert isinstance(block, NarrowIndexedBlock)
    assert type(plain) is IndexedBlock
    whole, theta, weights = plain.dense(), RNG.standard_normal(dim), RNG.standard_normal(1300)
    factor = RNG.standard_normal((dim, dim))
    for said, expected in (
        (block.dense(), whole),
        (block.matvec(theta), plain.matvec(theta)),
        (block.matvecs(np.stack([theta, -theta])), plain.matvecs(np.stack([theta, -theta]))),
        (block.rmatvec(weights), plain.rmatvec(weights)),
        (block.sandwich(weights), whole.T @ (weights[:, None] * whole)),
        (block.sandwich(weights), plain.sandwich(weights)),
        (block.whitened_norms(factor), plain.whitened_norms(factor)),
        (block.some(np.array([4, 2, 2])).matvec(theta), plain.matvec(theta)[[4, 2, 2]]),
    ):
        assert said == pytest.approx(expected, rel=1e-12, abs=1e-11)
    one, other = (packed_rows(1300, design.numbers.width + 2) for _ in range(2))
    block.pack(one)
    plain.pack(other)
    written = slice(None, design.numbers.width)
    assert (one[:, written].view(np.int64) == other[:, written].view(np.int64)).all()


def test_many_levels_are_gathered():
    positions, dim = level_positions([RNG.integers(12, size=50)], [12], 1)
    assert type(IndexedDesign(np.ones((50, 1)), positions, None, dim).block(slice(None))) is IndexedBlock
