"""Several linear predictors per row, each a sum of terms; a term is a block of columns times a stretch of ``theta``.

Softmax has one block of columns and a stretch for every class; a regression of location and scale has two blocks; a
number that all rows share (a log dispersion) is a column of ones, of which nothing is stored. Blocks are packed side by
side, each once, however many terms read it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._linear import Frame
from ...compiled import REASSOCIATE, Dot, Dots, Sizes, helper, part
from ...compiled.vector import prefetch_row
from ..layouts import OWN
from .base import Block, DesignNumbers, DesignParts, Layout, design_of

_TABLE = OWN + len(DesignNumbers._fields) + 3  # behind the design's numbers and the regression's: one record per term
_PREDICTOR, _STORED, _SINGLE, _FIRST, _COLUMNS, _POSITIONS, _VALUED, _OFFSET, _THETA = range(9)
_RECORD = 9
_NONE = -1.0


class Term(NamedTuple):
    """Block number ``block`` times ``theta[start : start + d]`` is part of predictor number ``predictor``."""

    predictor: int
    block: int
    start: int


# ------------------------------------------------------------------------------------------------ the compiled side


@helper(fastmath=REASSOCIATE, inline=True)
def _add_columns(theta, features, first, begin, columns, index, start, n, eta, at):
    """``eta[at + b] += x.theta`` of columns kept whole, for every row of the block."""
    for b in range(n):
        i = index[start + b]
        total = 0.0
        for j in range(columns):
            total += features[i, first + j] * theta[begin + j]
        eta[at + b] += total


@helper(fastmath=REASSOCIATE, inline=True)
def _add_gathered(theta, rows, first, begin, count, valued, index, start, n, eta, at):
    """The same of columns that are gathered by their positions, which begin at ``first``, and values behind them."""
    positions, values = rows.view(np.int32), first + (count + 1) // 2
    for b in range(n):
        i = index[start + b]
        for k in range(count):
            j = positions[i, 2 * first + k]
            if j >= 0:
                eta[at + b] += (rows[i, values + k] if valued else 1.0) * theta[begin + j]


@helper(fastmath=REASSOCIATE, inline=True)
def _add_term(theta, rows, index, start, n, hyper, record, eta, stride):
    """Of one term, whose record begins at ``hyper[record]``, for every row of the block, the offset included."""
    at = int(hyper[record + _PREDICTOR]) * stride
    first, begin = int(hyper[record + _FIRST]), int(hyper[record + _THETA])
    columns, count = int(hyper[record + _COLUMNS]), int(hyper[record + _POSITIONS])
    offset = int(hyper[record + _OFFSET])
    if hyper[record + _STORED] == 0.0:
        for b in range(n):
            eta[at + b] += theta[begin]
        return
    if hyper[record + _SINGLE] > 0.0:
        _add_columns(theta, rows.view(np.float32), 2 * first, begin, columns, index, start, n, eta, at)
    else:
        _add_columns(theta, rows, first, begin, columns, index, start, n, eta, at)
    if count > 0:
        valued = hyper[record + _VALUED] > 0.0
        _add_gathered(theta, rows, first + columns, begin, count, valued, index, start, n, eta, at)
    if offset >= 0:
        for b in range(n):
            eta[at + b] += rows[index[start + b], offset]


@helper(fastmath=REASSOCIATE, inline=True)
def _fill(theta, rows, index, start, n, hyper, eta):
    """All predictors of a block of rows: predictor ``k`` of row ``b`` is ``eta[k * stride + b]``."""
    numbers = design_of(hyper)
    stride = eta.size // numbers.predictors
    for k in range(numbers.predictors):
        for b in range(n):
            eta[k * stride + b] = 0.0
    for t in range(numbers.terms):
        _add_term(theta, rows, index, start, n, hyper, _TABLE + t * _RECORD, eta, stride)


@part(Dots, fastmath=REASSOCIATE)
def _dots(theta, prop, rows, index, start, n, hyper, eta, eta_prop):
    for b in range(n):
        prefetch_row(rows, index[start + b])
    _fill(theta, rows, index, start, n, hyper, eta)
    _fill(prop, rows, index, start, n, hyper, eta_prop)


@part(Dot, fastmath=REASSOCIATE)
def _dot(theta, rows, index, n, hyper, eta):
    _fill(theta, rows, index, 0, n, hyper, eta)


@part(Sizes)
def _sizes(theta, rows, i, hyper):
    """``sum |x_j theta_j|`` over all terms, and the root of the sum of all ``x_j^2``."""
    at = design_of(hyper)
    terms, squares, count = 0.0, 0.0, 0
    singles, positions = rows.view(np.float32), rows.view(np.int32)
    for t in range(at.terms):
        record = _TABLE + t * _RECORD
        first, begin = int(hyper[record + _FIRST]), int(hyper[record + _THETA])
        columns, more = int(hyper[record + _COLUMNS]), int(hyper[record + _POSITIONS])
        values = first + columns + (more + 1) // 2
        if hyper[record + _OFFSET] >= 0.0:
            terms += abs(rows[i, int(hyper[record + _OFFSET])])
        for j in range(columns):
            x = 1.0
            if hyper[record + _STORED] > 0.0:
                x = float(singles[i, 2 * first + j]) if hyper[record + _SINGLE] > 0.0 else rows[i, first + j]
            terms += abs(x * theta[begin + j])
            squares += x * x
        for k in range(more):
            j = positions[i, 2 * (first + columns) + k]
            if j >= 0:
                x = rows[i, values + k] if hyper[record + _VALUED] > 0.0 else 1.0
                terms += abs(x * theta[begin + j])
                squares += x * x
        count += columns + more
    return terms * (1.0 + count / 32.0), np.sqrt(squares)


class SeveralLayout(Layout):
    """How blocks of columns lie side by side in a packed row, and the terms they make.

    ``blocks`` are the designs' numbers and how many parameters each has; None is a column of ones.
    """

    parts = DesignParts(_dots, _dot, _sizes)

    def __init__(self, blocks: Sequence[tuple[DesignNumbers, int] | None], terms: Sequence[Term], predictors: int):
        self.blocks, self.terms, self.predictors = tuple(blocks), tuple(terms), predictors
        self.dims = [1 if block is None else block[1] for block in blocks]
        self.dim = max(term.start + self.dims[term.block] for term in terms)
        widths = [0 if block is None else int(block[0].width) for block in blocks]
        self.firsts = np.cumsum([0, *widths])[:-1].tolist()
        table: list[float] = []
        for predictor, which, start in terms:
            of = DesignNumbers(0, False, 1, 0, False) if blocks[which] is None else blocks[which][0]  # type: ignore[index]
            offset = self.firsts[which] + of.width - 1 if of.shifted else _NONE
            where = [self.firsts[which], of.columns, of.positions, of.valued, offset, start]
            table += [float(number) for number in (predictor, blocks[which] is not None, of.single, *where)]
        self.table = table
        self.numbers = DesignNumbers(sum(widths), False, 0, 0, False, False, predictors, len(self.terms))


# ------------------------------------------------------------------------------------------ sums over blocks of rows


class SeveralBlock(NamedTuple):
    """Blocks of columns of some rows (None: a column of ones) in a layout."""

    blocks: tuple[Block | None, ...]
    layout: SeveralLayout
    n_rows: int

    def _pairs(self) -> Iterator[tuple[Term, Block | None, slice]]:
        for term in self.layout.terms:
            yield term, self.blocks[term.block], slice(term.start, term.start + self.layout.dims[term.block])

    def dense(self) -> np.ndarray:
        return self.times(np.eye(self.layout.dim))

    def pack(self, rows: np.ndarray) -> None:
        for block, first in zip(self.blocks, self.layout.firsts, strict=True):
            if block is not None:
                block.pack(rows[:, first:])

    def dot(self, theta: np.ndarray) -> np.ndarray:
        return self.dots(theta[None, :])[0]

    def dots(self, points: np.ndarray) -> np.ndarray:
        out = np.zeros((len(points), self.layout.predictors, self.n_rows))
        for term, block, stretch in self._pairs():
            part_of = np.ascontiguousarray(points[:, stretch])
            out[:, term.predictor] += part_of if block is None else block.dots(part_of)
        return out

    def times(self, matrix: np.ndarray) -> np.ndarray:
        out = np.zeros((self.layout.predictors, self.n_rows, matrix.shape[1]))
        for term, block, stretch in self._pairs():
            part_of = np.ascontiguousarray(matrix[stretch])
            out[term.predictor] += part_of if block is None else block.times(part_of)
        return out

    def moment(self, values: np.ndarray) -> np.ndarray:
        out = np.zeros(self.layout.dim)
        for term, block, stretch in self._pairs():
            value = np.ascontiguousarray(values[term.predictor])
            out[stretch] += value.sum() if block is None else block.moment(value)
        return out

    def sandwich(self, weight: np.ndarray, frame: Frame | None = None) -> np.ndarray:
        if frame is not None:
            Z = self.times(frame.columns)
            return np.asarray(
                sum(
                    a.T @ (w[:, None] * b)
                    for a, line in zip(Z, weight, strict=True)
                    for b, w in zip(Z, line, strict=True)
                )
            )
        out = np.zeros((self.layout.dim, self.layout.dim))
        for one, left, rows in self._pairs():
            for other, right, columns in self._pairs():
                of_pair = np.ascontiguousarray(weight[one.predictor, other.predictor])
                out[rows, columns] += _cross(left, right, of_pair)
        return out

    def reach(self, vector: np.ndarray) -> np.ndarray:
        return np.abs(self.dense()) @ np.abs(vector)

    def squares(self, kept: np.ndarray | None = None) -> np.ndarray:
        out = np.zeros(self.layout.dim)
        ones = self.n_rows if kept is None else np.count_nonzero(kept)
        for _, block, stretch in self._pairs():
            out[stretch] += ones if block is None else block.squares(kept)
        return out

    def lengths(self) -> np.ndarray:
        return np.linalg.norm(self.dense(), axis=2)

    def norms(self, factor: np.ndarray) -> np.ndarray:
        return np.linalg.norm(self.times(factor), axis=2)

    def largest(self) -> np.ndarray:
        return np.abs(self.dense()).max(axis=2)


def _cross(left: Block | None, right: Block | None, weight: np.ndarray) -> Any:
    """``X_left' diag(weight) X_right``."""
    if left is None:
        return weight.sum() if right is None else right.moment(weight)[None, :]
    if right is None:
        return left.moment(weight)[:, None]
    if left is right:
        return left.sandwich(weight)
    return left.dense().T @ (weight[:, None] * right.dense())
