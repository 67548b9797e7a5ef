"""Whether data leave a posterior under a flat prior: a proof either way (Albert and Anderson 1984; Konis 2007).

A convex energy ``sum_i w_i f_i(x_i.theta)`` has a posterior exactly if it rises along every direction ``v``. Row ``i``
holds ``v`` back if ``x_i.v > 0`` and ``f_i`` grows without end to the right, or ``x_i.v < 0`` and it does to the left.
So there is no posterior exactly if some ``v`` that moves the predictors has

    x_i.v = 0  in rows that rise on both sides,     sign_i x_i.v >= 0  in rows that rise on one side only,

``sign_i`` pointing away from that side. The equations leave a subspace, over which a linear programme

    maximise  sum_i sign_i x_i.v    such that  sign_i x_i.v >= 0,  |v_j| <= 1

has a positive maximum exactly if such a ``v`` exists. Rows enter the programme only when they are found violated, so it
stays small; each round asks all rows once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ..designs import Block
    from ..glm import GLM

_ROUNDS = 200
_ROWS_A_ROUND = 500
_ROUNDING = 1e-10  # of what would be there if nothing cancelled
_NOTHING = 1e-12  # a component of a unit vector that is rounding
_NONE_LEFT = 1e-11  # relative size of a predictor that counts as zero


def separating_direction(target: GLM) -> np.ndarray | None:
    """Return a direction along which the energy never rises, or None if there is a posterior.

    The direction changes only coefficients with a flat prior; in any other direction the prior falls to zero. Columns
    that depend on each other are a different problem (`GLM.dependent_columns`). The result is None for a family that
    does not say where its energy rises. If a row has several predictors, the direction changes only the first one: if
    no energy rises along it for ever, the density does not fall, so its integral is infinite, whatever the other
    predictors are.
    """
    judged = target.family.rises is not None or target.family.contrasts is not None
    if not judged or not (target.convex or target.predictors > 1):
        return None
    flat = target._prior.flat
    if not flat.all():
        direction = np.zeros(target.dim)
        found = separating_direction(target.on_columns(flat)) if flat.any() else None
        direction[flat] = 0.0 if found is None else found
        return None if found is None else direction
    if target.predictors > 1 and target.family.contrasts is None:
        unheld = _free_subspace(target, _risen)  # rows that rise on neither side hold nothing back
        if unheld.shape[1] > 0:
            return unheld.sum(axis=1)
    basis = _free_subspace(target, lambda family, y, weight: _signs(family, y, weight)[1])
    return None if basis.shape[1] == 0 else _direction_within(target, basis)


class _Contrasts:
    """Rows of several predictors as rows of one each, all of which fall for ever to the right.

    Softmax: a row of class ``y`` does not hold a direction back if its own predictor grows no less than any other's.
    """

    def __init__(self, block: Block, contrasts: Callable[[np.ndarray], np.ndarray]):
        self.block, self._contrasts = block, contrasts

    def matmat(self, matrix: np.ndarray) -> np.ndarray:
        return self._contrasts(self.block.matmat(matrix))

    def abs_matvec(self, vector: np.ndarray) -> np.ndarray:
        largest = 2 * self.block.abs_matvec(vector).max(axis=0)
        return np.tile(largest, len(self.matmat(np.zeros((len(vector), 1)))) // len(largest))

    def column_squares(self, kept: np.ndarray | None = None) -> np.ndarray:
        return self.block.column_squares(None)


class _First:
    """Rows of several predictors as rows of the first one."""

    def __init__(self, block: Block):
        self.block = block

    def matmat(self, matrix: np.ndarray) -> np.ndarray:
        return self.block.matmat(matrix)[0]

    def abs_matvec(self, vector: np.ndarray) -> np.ndarray:
        return self.block.abs_matvec(vector)[0]

    def column_squares(self, kept: np.ndarray | None = None) -> np.ndarray:
        return self.block.column_squares(kept)


def _sums(target: GLM, terms: Callable[[Block, np.ndarray, np.ndarray], tuple]) -> list:
    """Over rows of one predictor each, as which rows of several are seen."""
    family, dim = target.family, target.dim
    if family.contrasts is None:
        several = target.predictors > 1
        return target.sums(lambda X, y, weight: terms(_First(X) if several else X, y, weight))  # type: ignore[arg-type]

    def seen(X: Block, y: np.ndarray, weight: np.ndarray) -> tuple:
        rows = _Contrasts(X, partial(family.contrasts, y))
        times = len(rows.matmat(np.zeros((dim, 1)))) // len(y)
        return terms(rows, np.tile(y, times), np.tile(weight, times))  # type: ignore[arg-type]

    return target.sums(seen)


def _signs(family: Any, y: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``sign_i`` of rows that rise on one side only, 0 elsewhere; and which rows rise on both sides."""
    counts = weight > 0
    if family.contrasts is not None:
        return counts.astype(float), np.zeros(len(y), bool)
    right, left = family.rises(y)
    return np.where(counts, left.astype(float) - right, 0.0), counts & right & left


def _risen(family: Any, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    right, left = family.rises(y)
    return (weight > 0) & (right | left)


def _free_subspace(target: GLM, held: Callable[[Any, np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
    """A basis (d, k), in columns of unit size, of the directions that rows which are ``held`` do not move along."""
    family = target.family

    def squares(X: Block, y: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, int]:
        return X.column_squares(weight > 0), int(held(family, y, weight).sum())

    size, n_held = _sums(target, squares)
    frame = target.columns.frame
    columns = np.diag(1 / np.sqrt(np.where(size > 0, size, 1.0))) if frame is None else frame.columns
    if n_held == 0:
        return columns

    def framed(X: Block, y: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray]:
        Z = X.matmat(columns)[held(family, y, weight)]
        return (Z.T @ Z,)

    values, vectors = np.linalg.eigh(_sums(target, framed)[0])
    vectors[np.abs(vectors) < _NOTHING] = 0.0  # else rows without a part in the direction would have its rounding
    return columns @ vectors[:, values <= _NONE_LEFT * max(float(values[-1]), 1e-300)]


def _direction_within(target: GLM, basis: np.ndarray) -> np.ndarray | None:
    """Solve the programme over rows found so far, look for violated rows among all, and so on."""
    from scipy.optimize import linprog

    family = target.family

    def aims(X: Block, y: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, float]:
        sign = _signs(family, y, weight)[0]
        along = sign[:, None] * X.matmat(basis)
        return along.sum(axis=0), float(np.abs(along).sum())

    aim, total = _sums(target, aims)
    k = basis.shape[1]
    held = np.empty((0, k))
    for _ in range(_ROUNDS):
        if len(held):
            solved = linprog(-aim / max(total, 1e-300), A_ub=-held, b_ub=np.zeros(len(held)), bounds=[(-1, 1)] * k)
            if solved.x is None or -solved.fun <= _ROUNDING or np.abs(solved.x).max() < 0.5:
                return None  # a direction that is allowed could be followed to the edge of the box
            v = _sharpened(solved.x, held)
        else:
            v = np.sign(aim) if aim.any() else np.ones(k)
        worst = _most_violated(target, basis, v)
        if len(worst) == 0:
            return basis @ v if (aim @ v) > _ROUNDING * total * np.abs(v).max() else None
        held = np.concatenate([held, worst])
    return None


def _sharpened(v: np.ndarray, held: np.ndarray) -> np.ndarray:
    """The programme's solution with rows that it meets within its tolerance met exactly."""
    slack = held @ v
    tight = held[np.abs(slack) <= 1e-6]
    if len(tight) == 0:
        return v
    _, values, rows = np.linalg.svd(np.linalg.qr(tight, mode="r"))  # the triangle has the same rows' space
    rank = int((values > 1e-9 * values[0]).sum())
    free = rows[rank:]
    return free.T @ (free @ v) if len(free) else v


def _most_violated(target: GLM, basis: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The rows ``sign_i x_i`` (in the basis, of unit length) that ``v`` violates most, by more than rounding.

    Components of ``v`` that should be zero are so up to rounding only: none counts as less than 1e-4 of the largest.
    """
    family = target.family
    sizes = np.abs(basis) @ np.maximum(np.abs(v), 1e-4 * np.abs(v).max())

    def violated(X: Block, y: np.ndarray, weight: np.ndarray) -> tuple[list[np.ndarray]]:
        sign = _signs(family, y, weight)[0]
        Z = sign[:, None] * X.matmat(basis)
        depth = Z @ v
        found = np.flatnonzero(depth < -_ROUNDING * X.abs_matvec(sizes))
        length = np.linalg.norm(Z[found], axis=1)
        worst = np.argsort(depth[found] / length)[:_ROWS_A_ROUND]
        return ([Z[found[worst]] / length[worst, None]],)

    rows = np.unique(np.concatenate(_sums(target, violated)[0]).round(13), axis=0)  # categories repeat
    depth = rows @ v
    return rows[np.argsort(depth)[:_ROWS_A_ROUND]]
