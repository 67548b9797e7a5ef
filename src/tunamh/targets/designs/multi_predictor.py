"""Several linear predictors per row, each a sum of terms; a term is a block of columns times a stretch of ``theta``.

Softmax has one block of columns and a stretch for every class; a regression of location and scale has two blocks; a
number that all rows share (a log dispersion) is a column of ones, of which nothing is stored. Blocks are packed side by
side, each once, however many terms read it. Columns of the data that an energy is given as they are stand behind the
predictors: such a block has no parameters, and an offset (`known_block`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._linear import Frame
from ...compiled import REASSOCIATE, Dot, Dots, Sizes, helper, part
from ...compiled.vector import prefetch_row
from ...compiled.windows import from_column, window
from ..layouts import TERM, TERM_SIZE, features_at, regression_of, single_features_at, term_at
from .base import Block, DesignNumbers, DesignParts, Layout
from .curves import Records, add_curves, numbers_of, records, sizes_of_curves
from .dense import DenseBlock
from .with_offset import BlockWithOffset

_NONE = -1


class Term(NamedTuple):
    """A term of predictor ``predictor``: block ``block`` times ``theta[start : start + d]``."""

    predictor: int
    block: int
    start: int


# ------------------------------------------------------------------------------------------------ the compiled side


@helper(fastmath=REASSOCIATE, inline=True)
def _dot_of(x, beta):
    total = 0.0
    for j in range(beta.size):
        total += x[j] * beta[j]
    return total


@helper(fastmath=REASSOCIATE, inline=True)
def _add_columns(beta, features, single, index, n, out):
    """``out[b] += x.beta`` of columns kept whole, for every row of the block."""
    if single:
        for b in range(n):
            out[b] += _dot_of(single_features_at(features, index[b], beta.size, 0).whole, beta)
    else:
        for b in range(n):
            out[b] += _dot_of(features_at(features, index[b], beta.size, 0).whole, beta)


@helper(fastmath=REASSOCIATE, inline=True)
def _add_indexed(beta, features, term, index, n, out):
    """The same of columns that are gathered by their indices."""
    valued = term.valued
    for b in range(n):
        x = features_at(features, index[b], term.columns, term.positions)
        indices, values = x.indices, x.values
        for k in range(term.positions):
            j = indices[k]
            if j >= 0:
                out[b] += (values[k] if valued else 1.0) * beta[j]


@helper(fastmath=REASSOCIATE, inline=True)
def _add_term(theta, rows, index, n, term, table, out):
    """Of one term, for every row of the block, the offset included; ``out`` is its predictor."""
    beta = window(theta, term.start, theta.size - term.start)
    if not term.stored:
        for b in range(n):
            out[b] += beta[0]
        return
    features, whole = from_column(rows, term.first), window(theta, term.start, term.columns)
    _add_columns(whole, features, term.single, index, n, out)
    if term.positions > 0:
        _add_indexed(beta, features, term, index, n, out)
    if term.curves > 0:
        add_curves(beta, Records(table, term.map, term.curves), features, index, n, out)
    if term.offset >= 0:
        for b in range(n):
            i = index[b]
            out[b] += rows[i, term.offset]


@helper(fastmath=REASSOCIATE, inline=True)
def _fill(theta, rows, index, n, hyper, eta):
    """All predictors of a block of rows: predictor ``k`` of row ``b`` is ``eta[k * stride + b]``."""
    own = regression_of(hyper)
    seen, table = own.predictors + own.known, own.table
    stride = eta.size // seen
    for k in range(seen):
        for b in range(n):
            eta[k * stride + b] = 0.0
    for t in range(own.terms):
        term = term_at(table, t * TERM_SIZE)
        _add_term(theta, rows, index, n, term, table, window(eta, term.predictor * stride, stride))


@part(Dots, fastmath=REASSOCIATE)
def _dots(theta, prop, rows, index, n, hyper, eta, eta_prop):
    for b in range(n):
        prefetch_row(rows, index[b])
    _fill(theta, rows, index, n, hyper, eta)
    _fill(prop, rows, index, n, hyper, eta_prop)


@part(Dot, fastmath=REASSOCIATE)
def _dot(theta, rows, index, n, hyper, eta):
    _fill(theta, rows, index, n, hyper, eta)


@part(Sizes)
def _sizes(theta, rows, i, hyper):
    """``sum |x_j theta_j|`` over all terms, and the root of the sum of all ``x_j^2``."""
    own = regression_of(hyper)
    terms, squares, count, table = 0.0, 0.0, 0, own.table
    for t in range(own.terms):
        term = term_at(table, t * TERM_SIZE)
        features, beta = from_column(rows, term.first), window(theta, term.start, theta.size - term.start)
        singles = single_features_at(features, i, term.columns, 0).whole
        x_of = features_at(features, i, term.columns, term.positions)
        whole, indices, values = x_of.whole, x_of.indices, x_of.values
        if term.offset >= 0 and term.predictor < own.predictors:
            terms += abs(rows[i, term.offset])
        for j in range(term.columns):
            x = 1.0
            if term.stored:
                x = float(singles[j]) if term.single else whole[j]
            terms += abs(x * beta[j])
            squares += x * x
        for k in range(term.positions):
            j = indices[k]
            if j >= 0:
                x = values[k] if term.valued else 1.0
                terms += abs(x * beta[j])
                squares += x * x
        if term.curves > 0:
            of_curves = sizes_of_curves(beta, Records(table, term.map, term.curves), features, i)
            terms += of_curves[0]
            squares += of_curves[1]
        count += term.columns + term.positions
    return terms * (1.0 + count / 32.0), np.sqrt(squares)


class MultiPredictorLayout(Layout):
    """How blocks of columns are placed side by side in a packed row, and the terms that are made of them.

    ``blocks`` contains the numbers of each design and the number of its parameters; None is a column of ones. ``known``
    columns of the data come after the K predictors; each is a term with its own block.
    """

    parts = DesignParts(_dots, _dot, _sizes)

    def __init__(
        self,
        blocks: Sequence[tuple[DesignNumbers, int] | None],
        terms: Sequence[Term],
        predictors: int,
        known: int = 0,
    ):
        self.blocks, self.terms, self.predictors, self.known = tuple(blocks), tuple(terms), predictors, known
        self.dims = [1 if block is None else block[1] for block in blocks]
        self.dim = max(term.start + self.dims[term.block] for term in terms)
        widths = [0 if block is None else int(block[0].width) for block in blocks]
        self.firsts = np.cumsum([0, *widths])[:-1].tolist()
        table: list[float] = []
        maps: list[float] = []
        for predictor, which, start in terms:
            of = DesignNumbers(0, False, 1, 0, False) if blocks[which] is None else blocks[which][0]  # type: ignore[index]
            places = records(of.curves, of.width - of.shifted - numbers_of(of.curves))
            record = TERM.pack(
                predictor=predictor,
                stored=blocks[which] is not None,
                single=of.single,
                first=self.firsts[which],
                columns=of.columns,
                positions=of.positions,
                valued=of.valued,
                offset=self.firsts[which] + of.width - 1 if of.shifted else _NONE,
                start=start,
                curves=len(of.curves),
                map=len(terms) * TERM_SIZE + len(maps),
            )
            table += record.tolist()
            maps += places
        self.table = table + maps
        self.numbers = DesignNumbers(sum(widths), False, 0, 0, False, False, predictors, len(self.terms), known)

    def shared(self, dim: int) -> np.ndarray:
        """Return a mask of ``dim`` parameters: True if no term of the first block of columns has it."""
        found = np.ones(dim, bool)
        for term in self.terms:
            if term.block == 0:
                found[term.start : term.start + self.dims[0]] = False
        return found

    @property
    def has_further_columns(self) -> bool:
        """Return True if a predictor that does not use the first block of columns has columns of its own."""
        first = {term.predictor for term in self.terms if term.block == 0}
        return any(term.predictor not in first and self.blocks[term.block] is not None for term in self.terms)


# ------------------------------------------------------------------------------------------ sums over blocks of rows


KNOWN = DesignNumbers(1, False, 0, 0, False, shifted=True)
"""Of a column of the data: no parameters, and an offset."""


def known_block(column: np.ndarray) -> Block:
    return BlockWithOffset(DenseBlock(np.empty((len(column), 0))), column, 1)


class MultiPredictorBlock(NamedTuple):
    """Blocks of columns of some rows (None: a column of ones), placed as ``layout`` says."""

    blocks: tuple[Block | None, ...]
    layout: MultiPredictorLayout
    n_rows: int

    def _pairs(self) -> Iterator[tuple[Term, Block | None, slice]]:
        for term in self.layout.terms:
            yield term, self.blocks[term.block], slice(term.start, term.start + self.layout.dims[term.block])

    def _moving(self) -> Iterator[tuple[Term, Block | None, slice]]:
        """Without what is known."""
        return (found for found in self._pairs() if found[0].predictor < self.layout.predictors)

    def dense(self) -> np.ndarray:
        return self.matmat(np.eye(self.layout.dim))

    def pack(self, rows: np.ndarray) -> None:
        for block, first in zip(self.blocks, self.layout.firsts, strict=True):
            if block is not None:
                block.pack(rows[:, first:])

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        return self.matvecs(theta[None, :])[0]

    def matvecs(self, points: np.ndarray) -> np.ndarray:
        out = np.zeros((len(points), self.layout.predictors + self.layout.known, self.n_rows))
        for term, block, stretch in self._pairs():
            part_of = np.ascontiguousarray(points[:, stretch])
            out[:, term.predictor] += part_of if block is None else block.matvecs(part_of)
        return out

    def matmat(self, matrix: np.ndarray) -> np.ndarray:
        out = np.zeros((self.layout.predictors, self.n_rows, matrix.shape[1]))
        for term, block, stretch in self._moving():
            part_of = np.ascontiguousarray(matrix[stretch])
            out[term.predictor] += part_of if block is None else block.matmat(part_of)
        return out

    def rmatvec(self, values: np.ndarray) -> np.ndarray:
        out = np.zeros(self.layout.dim)
        for term, block, stretch in self._moving():
            value = np.ascontiguousarray(values[term.predictor])
            out[stretch] += value.sum() if block is None else block.rmatvec(value)
        return out

    def sandwich(self, weight: np.ndarray, frame: Frame | None = None) -> np.ndarray:
        if frame is not None:
            Z = self.matmat(frame.columns)
            return np.asarray(
                sum(
                    a.T @ (w[:, None] * b)
                    for a, line in zip(Z, weight, strict=True)
                    for b, w in zip(Z, line, strict=True)
                )
            )
        out = np.zeros((self.layout.dim, self.layout.dim))
        for one, left, rows in self._moving():
            for other, right, columns in self._moving():
                of_pair = np.ascontiguousarray(weight[one.predictor, other.predictor])
                out[rows, columns] += _cross(left, right, of_pair)
        return out

    def abs_matvec(self, vector: np.ndarray) -> np.ndarray:
        return np.abs(self.dense()) @ np.abs(vector)

    def column_squares(self, kept: np.ndarray | None = None) -> np.ndarray:
        out = np.zeros(self.layout.dim)
        ones = self.n_rows if kept is None else np.count_nonzero(kept)
        for _, block, stretch in self._moving():
            out[stretch] += ones if block is None else block.column_squares(kept)
        return out

    def row_norms(self) -> np.ndarray:
        return np.linalg.norm(self.dense(), axis=2)

    def whitened_norms(self, factor: np.ndarray) -> np.ndarray:
        return np.linalg.norm(self.matmat(factor), axis=2)

    def row_max(self) -> np.ndarray:
        return np.abs(self.dense()).max(axis=2)


def _cross(left: Block | None, right: Block | None, weight: np.ndarray) -> Any:
    """``X_left' diag(weight) X_right``."""
    if left is None:
        return weight.sum() if right is None else right.rmatvec(weight)[None, :]
    if right is None:
        return left.rmatvec(weight)[:, None]
    if left is right:
        return left.sandwich(weight)
    return left.dense().T @ (weight[:, None] * right.dense())
