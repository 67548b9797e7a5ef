"""Columns of many levels: which directions a sample of rows leaves open, without singular values."""

import numpy as np
import pytest

from tunamh import _linear
from tunamh._linear import examine_columns


def levels(rng, n=400, k=120):
    """An intercept, a number, and a column for every level but the first; some levels do not occur."""
    code = rng.integers(0, k, n)
    return np.column_stack([np.ones(n), rng.standard_normal(n), (code[:, None] == np.arange(1, k)).astype(float)])


def combined(rng):
    """Levels, a column that is nearly another one, and two columns that are combinations of others."""
    X = levels(rng)
    X = np.column_stack([X, X[:, 1] + 2e-3 * rng.standard_normal(len(X))])
    return np.column_stack([X, 1e3 * (X[:, 1] - X[:, -1]) + X[:, 2], X[:, 4] - 1e6 * X[:, 0]])


def projector(directions):
    basis, _ = np.linalg.qr(directions)
    return basis @ basis.T


@pytest.mark.parametrize("make", [levels, combined, lambda rng: rng.standard_normal((400, 90))])
def test_open_directions_are_those_of_the_singular_values(make, monkeypatch):
    X = make(np.random.default_rng(7))
    slow = examine_columns(X)
    monkeypatch.setattr(_linear, "_MANY", 10)
    monkeypatch.setattr(np.linalg, "svd", None)  # is not asked
    fast = examine_columns(X)
    assert fast.frame is None
    assert slow.frame is None
    assert fast.open_directions.shape == slow.open_directions.shape
    scale = np.sqrt((X * X).sum(0))
    scale = np.where(scale > 0, scale, 1.0)[:, None]
    np.testing.assert_allclose(
        projector(fast.open_directions * scale), projector(slow.open_directions * scale), atol=1e-10
    )
    along = X @ fast.open_directions
    assert np.abs(along).max(initial=0.0) < 1e-11 * max(1.0, np.abs(fast.open_directions * scale).max(initial=0.0))


@pytest.mark.parametrize("away", [1e-3, 5e-5, 1e-5, 1e-7, 1e-10])
def test_columns_that_nearly_depend_are_left_to_the_singular_values(away, monkeypatch, rng):
    """Neither open nor well conditioned: that needs the coordinates which only singular values give."""
    X = levels(rng)
    X = np.column_stack([X, X[:, 1] + away * rng.standard_normal(len(X))])
    slow = examine_columns(X)
    monkeypatch.setattr(_linear, "_MANY", 10)
    fast = examine_columns(X)
    assert (fast.frame is None) == (slow.frame is None)
    assert fast.open_directions.shape == slow.open_directions.shape


@pytest.mark.parametrize("columns", [0, 1])
def test_of_columns_of_zeros_all_directions_are_open(columns, monkeypatch):
    monkeypatch.setattr(_linear, "_MANY", 10)
    X = np.zeros((50, 20))
    X[:, :columns] = 1.0
    assert examine_columns(X).open_directions.shape == (20, 20 - columns)
