"""Rows of a regression for passes over all of them: short lists of whole columns, and what is left in full."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are asked for, not at import

from ..rows.packing import columns_by_name
from ..rows.source import Rows
from ..targets.designs.curved import CurvedBlock
from ..targets.designs.dense import DenseBlock
from ..targets.designs.indexed import NOWHERE
from ..targets.designs.with_offset import BlockWithOffset
from ..targets.regression import Regression
from .lattice_reduction import shorter_basis
from .layout import ROW, Lists, pairs_of


class ShortRows(NamedTuple):
    """Rows with ``eta = offset + sum_k value_k phi[column_k] + full.phi[short:]`` and ``theta = basis phi``.

    A row of ``table`` has the response, the weight, the offset and the columns in full (`ROW`). ``matrix`` contains the
    short lists as a sparse matrix.
    """

    table: np.ndarray
    matrix: Any
    basis: np.ndarray

    @property
    def short(self) -> int:
        return self.matrix.shape[1]

    def lists(self, which: np.ndarray | None = None) -> Lists:
        """Return the short lists of some rows, or of all rows, in the form of compiled code."""
        matrix = self.matrix if which is None else self.matrix[which]
        return Lists(matrix.indptr.astype(np.float64), pairs_of(matrix.data, matrix.indices))

    @property
    def full(self) -> np.ndarray:
        return self.columns.features

    @property
    def columns(self) -> Any:
        return columns_by_name(ROW, self.table, full=self.table.shape[1] - ROW.places(full=0).end)

    def predictors(self, phi: np.ndarray) -> np.ndarray:
        """Return ``eta`` of all rows."""
        return self.columns.offset + self.matrix @ phi[: self.short] + self.full @ phi[self.short :]


def whole_columns(target: Regression) -> np.ndarray:
    """Return a mask of the columns that contain only zeros and ones."""

    def terms(rows: Rows) -> tuple[np.ndarray]:
        X = sparse_of(rows.X)
        others = abs(X.multiply(X) - X)  # zero where a value is 0 or 1
        return (np.asarray(others.sum(axis=0)).ravel(),)

    return target.observations.sums(terms)[0] == 0


def sparse_of(block: Any) -> Any:
    """Return a block of a design with one predictor as a sparse matrix, without its offset."""
    block = block.block if isinstance(block, BlockWithOffset) else block
    if isinstance(block, DenseBlock):
        return scipy.sparse.csr_matrix(np.asarray(block.X, dtype=np.float64))
    block = block.unfolded() if isinstance(block, CurvedBlock) else block
    there = block.positions != NOWHERE
    values = block.values if block.values.size else np.ones(block.positions.shape)
    row = np.nonzero(there)[0]
    shape = len(block.whole), block.dim
    gathered = scipy.sparse.csr_matrix((values[there], (row, block.positions[there])), shape)
    columns = block.whole.shape[1]
    whole = scipy.sparse.csr_matrix(block.whole)
    whole.resize(len(block.whole), block.dim)
    return (gathered + whole).tocsr() if columns else gathered


def short_rows(target: Regression) -> ShortRows:
    """Return the rows with short lists, by three passes: which columns have only zeros and ones, their products, the
    rows.
    """
    whole = whole_columns(target)
    full = np.flatnonzero(~whole)
    levels = np.flatnonzero(whole)

    def products(rows: Rows) -> tuple[np.ndarray]:
        X = sparse_of(rows.X)[:, levels]
        return ((X.T @ X).toarray(),)

    within = shorter_basis(target.observations.sums(products)[0])
    change = scipy.sparse.csr_matrix(within)
    none = np.zeros(target.dim)

    def terms(rows: Rows) -> tuple[np.ndarray, Any]:
        X = sparse_of(rows.X)
        short = (X[:, levels] @ change).tocsr()
        short.eliminate_zeros()
        offset = rows.X.matvec(none)
        return np.column_stack([rows.y, target.weight(rows), offset, X[:, full].toarray()]), short

    tables, shorts = zip(*target.observations.map(terms), strict=True)
    stacked = scipy.sparse.vstack(shorts).tocsr()
    basis = np.zeros((target.dim, target.dim))
    basis[np.ix_(levels, np.arange(len(levels)))] = within
    basis[full, len(levels) + np.arange(len(full))] = 1.0
    table = np.ascontiguousarray(np.concatenate(tables))
    return ShortRows(table, stacked, basis)
