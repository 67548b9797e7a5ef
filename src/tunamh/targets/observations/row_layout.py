"""From a user's data and family to rows as the compiled core sees them: columns, terms of predictors, responses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator, lsqr

from ...rows.source import Rows
from ..checks.conditioning import refuse_tiny
from ..coordinates.base import Form
from ..designs.base import Block, DesignNumbers
from ..designs.curved import CurvedBlock, layout_of
from ..designs.curves import moved_by, scaled_by
from ..designs.dense import DenseBlock
from ..designs.indexed import IndexedBlock
from ..designs.multi_predictor import MultiPredictorBlock, MultiPredictorLayout, Term
from ..designs.with_offset import BlockWithOffset, DesignWithOffset
from .base import Observations
from .observed import TransformedRows

_ROWS_FOR_A_FIT = 20_000
_MANY_COLUMNS, _MOST_STEPS = 500, 300


class Extra(NamedTuple):
    """Parameters beside the coefficients. They are one variable of the results, with labels if there are several."""

    name: str
    labels: tuple[str, ...] | None = None

    @property
    def size(self) -> int:
        return 1 if self.labels is None else len(self.labels)


class RowLayout(NamedTuple):
    """The rows that a family makes from observations, and the parameters.

    ``names`` are the names of the coefficients. ``form`` describes the other parameters and the coordinates of a chain
    (None: there are only coefficients). ``extras`` and their prior laws are in the order of the form. ``start``, in the
    user's parameters, is where the search for a mode begins. Columns are divided by ``unit``, and those of group
    effects must be divided by it, too.
    """

    observations: Observations
    family: Any
    names: list[str]
    form: Form | None = None
    extras: tuple[Extra, ...] = ()
    laws: tuple[Any, ...] = ()
    start: np.ndarray | None = None
    unit: float = 1.0


def column_names(observations: Observations) -> list[str]:
    dim = observations.design.dim
    return [str(j) for j in range(dim)] if observations.names is None else list(observations.names)


# --------------------------------------------------------------------------------------------- an unknown scale


class Fit(NamedTuple):
    """A rough fit to a sample of the rows.

    Any fit is allowed: residuals are taken from it only to keep numbers small.
    """

    b0: np.ndarray
    scale: float
    exact: bool = False  # whether nothing but rounding is left


def rough_fit(observations: Observations, response: Any) -> Fit:
    """Return a least squares fit to a sample, with the typical size of its residuals.

    ``response(rows)`` is the response of the fit.
    """
    n = min(observations.n_rows, _ROWS_FOR_A_FIT + 20 * observations.design.dim)
    index = np.sort(np.random.default_rng(3).choice(observations.n_rows, size=n, replace=False))
    rows = observations.take(index).rows()
    if rows.weights is not None and (rows.weights > 0).any():
        rows = observations.take(index[rows.weights > 0]).rows()
    y = response(rows) - rows.X.matvec(np.zeros(observations.design.dim))
    if observations.design.dim > _MANY_COLUMNS:
        b0, fitted = _step_by_step(rows.X, y)
    else:
        X = rows.X.dense()
        refuse_tiny(X, column_names(observations))
        size = np.sqrt(np.einsum("ij,ij->j", X, X))
        unit = np.where(size > 0, size, 1.0)
        b0 = np.linalg.lstsq(X / unit, y, rcond=1e-10)[0] / unit
        fitted = X @ b0
    residuals = np.abs(y - fitted)
    scale = float(np.median(residuals)) / 0.6745
    scale = scale if scale > 1e-6 * float(residuals.max(initial=0.0)) else float(np.sqrt(np.mean(residuals**2)))
    largest = float(np.abs(y).max(initial=0.0))
    if not scale > 1e-12 * largest:
        return Fit(b0, max(1e-3 * largest, 1e-3), exact=True)
    return Fit(b0, scale)


def _step_by_step(X: Block, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return coefficients of least squares and the fitted responses, without a dense matrix (LSQR).

    Paige and Saunders (1982). Columns of levels have few numbers in a row, so they need few steps.
    """
    size = np.sqrt(X.column_squares())
    unit, offset = np.where(size > 0, size, 1.0), X.matvec(np.zeros(len(size)))
    scaled = LinearOperator(
        (len(y), len(size)),
        matvec=lambda b: X.matvec(np.ravel(b) / unit) - offset,
        rmatvec=lambda r: X.rmatvec(np.ravel(r)) / unit,
        dtype=np.float64,
    )
    b0 = lsqr(scaled, y, atol=1e-13, btol=1e-13, iter_lim=_MOST_STEPS)[0] / unit
    return b0, X.matvec(b0) - offset


def with_residual_column(
    observations: Observations, response: Any, codes: Any, b0: np.ndarray
) -> tuple[TransformedRows, int]:
    """Return rows ``(x_i, -e_i)``, and the position of the new column's parameter.

    ``e_i`` is the residual of the response from ``b0``. The response of such a row is a code, `codes(rows)`, or zero.
    """
    design = observations.design
    of = design.numbers
    at = int(of.columns)
    layout = layout_of(at + 1, int(of.positions), of.valued, design.dim + 1, moved_by(1, of.curves))

    def change(rows: Rows) -> Rows:
        minus = rows.X.matvec(b0) - response(rows)
        return rows._replace(X=with_column(rows.X, minus, at), y=codes(rows), censored=None)

    return TransformedRows(observations, layout, change), at


def with_column(block: Block, column: np.ndarray, at: int) -> Block:
    """Return a block with one more column, whose parameter has the position ``at``."""
    block = block.block if isinstance(block, BlockWithOffset) else block
    if isinstance(block, DenseBlock):
        return DenseBlock(np.column_stack([block.X, column]))
    assert isinstance(block, IndexedBlock)
    positions = np.where(block.positions >= at, block.positions + 1, block.positions).astype(np.int32)
    whole = np.column_stack([block.whole, column])
    if isinstance(block, CurvedBlock):
        block = replace(block, curves=moved_by(1, block.curves))
    return replace(block, whole=whole, positions=positions, dim=block.dim + 1)


def known_scale(observations: Observations, scale: float, response: Any, family: Any) -> RowLayout:
    """Return rows ``x_i / scale`` with the offset ``-y_i / scale``.

    Their predictor is minus the standardised residual.
    """
    design = observations.design
    of, dim = design.numbers, design.dim
    curves = scaled_by(1.0 / scale, of.curves)
    layout = DesignWithOffset(layout_of(int(of.columns), int(of.positions), True, dim, curves), np.zeros(0))

    def change(rows: Rows) -> Rows:
        block: Any = rows.X.block if isinstance(rows.X, BlockWithOffset) else rows.X
        minus = (rows.X.matvec(np.zeros(dim)) - response(rows)) / scale
        if isinstance(block, DenseBlock):
            scaled: Block = DenseBlock(block.X / scale)
        else:
            values = block.values if block.values.size else np.ones(block.positions.shape)
            scaled = replace(block, whole=block.whole / scale, values=values / scale)
            if isinstance(scaled, CurvedBlock):
                scaled = replace(scaled, curves=curves)
        shifted = BlockWithOffset(scaled, minus, layout.numbers.width)
        return rows._replace(X=shifted, y=no_codes(rows), censored=None)

    return RowLayout(TransformedRows(observations, layout, change), family, column_names(observations), unit=scale)


def no_codes(rows: Rows) -> np.ndarray:
    return np.zeros(len(rows.y)) if rows.censored is None else rows.censored


# ------------------------------------------------------------------------------------------------ several predictors


def one_stretch_per_class(observations: Observations, family: Any, classes: Sequence[str]) -> RowLayout:
    """Return rows with the predictors ``x.theta_k`` for every class except the first (softmax).

    All predictors have the same columns.
    """
    design = observations.design
    terms = [Term(k, 0, k * design.dim) for k in range(len(classes) - 1)]
    layout = MultiPredictorLayout([(design.numbers, design.dim)], terms, len(terms))

    def with_predictors(rows: Rows) -> Rows:
        return rows._replace(X=MultiPredictorBlock((rows.X,), layout, len(rows.y)))

    labels = [f"{name}[{label}]" for label in classes[1:] for name in column_names(observations)]
    return RowLayout(TransformedRows(observations, layout, with_predictors), family, labels)


def shared_scalar(observations: Observations) -> TransformedRows:
    """Return rows with two predictors: ``x.theta``, and one number that all rows share.

    This number comes after the coefficients.
    """
    design = observations.design
    layout = MultiPredictorLayout(
        [(design.numbers, design.dim), None], [Term(0, 0, 0), Term(1, 1, design.dim)], predictors=2
    )

    def with_predictors(rows: Rows) -> Rows:
        return rows._replace(X=MultiPredictorBlock((rows.X, None), layout, len(rows.y)))

    return TransformedRows(observations, layout, with_predictors)


def two_designs(observations: Observations, other: tuple[DesignNumbers, int]) -> TransformedRows:
    """Return rows with two predictors that have different columns.

    The columns of the second predictor are the first of the further blocks of the rows.
    """
    design = observations.design
    layout = MultiPredictorLayout(
        [(design.numbers, design.dim), other], [Term(0, 0, 0), Term(1, 1, design.dim)], predictors=2
    )

    def with_predictors(rows: Rows) -> Rows:
        return rows._replace(X=MultiPredictorBlock((rows.X, rows.others[0]), layout, len(rows.y)), others=())

    return TransformedRows(observations, layout, with_predictors)


def about_origin(block: Block, origin: np.ndarray, numbers: DesignNumbers) -> Block:
    """Return a block with the columns ``x - origin`` in double precision.

    ``origin`` is zero for columns that are stored as positions.
    """
    if isinstance(block, BlockWithOffset):
        plain = numbers._replace(width=numbers.width - 1, shifted=False)
        return BlockWithOffset(about_origin(block.block, origin, plain), block.offset, numbers.width)
    if isinstance(block, IndexedBlock):
        return replace(block, whole=block.whole - origin[: block.whole.shape[1]])
    return DenseBlock(np.ascontiguousarray(block.dense() - origin))


def two_cutpoints(
    observations: Observations, cuts: int, first: int, origin: np.ndarray, lean: np.ndarray
) -> TransformedRows:
    """Return rows with the predictors ``(x - origin).theta - c_y`` and ``(x - origin).theta - c_{y-1}``.

    A row stores the positions of its two cutpoints. The response becomes -1 in the lowest category, which has no lower
    cutpoint, 1 in the highest category, and 0 between them. In the lowest and the highest category one predictor is not
    used and equals the other. If the prior laws of the cutpoints contain a coefficient (``lean``), the cutpoints move
    with this coefficient.
    """
    own, d = observations.design.numbers, observations.design.dim
    moved = bool(origin.any())
    if moved and own.single:
        own = own._replace(width=d + int(own.shifted), single=False)
    gather = DesignNumbers(2, False, 0, 1, True)
    terms = [Term(0, 0, 0), Term(0, 1, d), Term(1, 0, 0), Term(1, 2, d)]
    layout = MultiPredictorLayout([(own, d), (gather, cuts), (gather, cuts)], terms, predictors=2)

    def with_predictors(rows: Rows) -> Rows:
        n, category = len(rows.y), rows.y.astype(np.int32) - first + 1  # 1, ..., J
        upper = np.minimum(category - 1, cuts - 1).astype(np.int32)[:, None]
        lower = np.maximum(category - 2, 0).astype(np.int32)[:, None]
        minus, none = np.full((n, 1), -1.0), np.empty((n, 0))
        columns = about_origin(rows.X, origin, own) if moved else rows.X
        blocks = columns, *(IndexedBlock(none, positions, minus, cuts) for positions in (upper, lower))
        code = np.where(category == 1, -1.0, np.where(category > cuts, 1.0, 0.0))
        return rows._replace(X=MultiPredictorBlock(blocks, layout, n), y=code)

    along = np.eye(d + cuts)
    along[d:, :d] = lean
    return TransformedRows(observations, layout, with_predictors, along if lean.any() else None)
