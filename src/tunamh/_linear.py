"""Linear algebra of precisions whose columns may be measured in very different units, or share a large common part."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack, solve_triangular
from scipy.sparse import csr_array
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

SMALLEST_CURVATURE = 1e-12
"""Curvatures below this share of the largest (in units of the diagonal) are rounding, and count as this share."""

_UNRESOLVED = 1e-12  # singular values below this share of the largest are rounding
_ILL_CONDITIONED = 1e-4  # above this, sums of squares of the columns as they are lose no digits that matter
_MANY = 500  # columns, whose sums of squares are looked at before their singular values
_OPEN_PIVOT = 1e-9  # of sums of squares: what is left of a column beside the others, at most, for it to count as none
_MOSTLY_ZERO = 0.1  # share of numbers that are not zero


def scaled_eigen(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ``scale, values, vectors`` with ``matrix = S V diag(values) V' S`` and ``S = diag(scale)``.

    The matrix is first scaled to a unit diagonal. So a column measured in other units does not look like a flat
    direction.
    """
    symmetric = 0.5 * matrix + 0.5 * matrix.T  # halves first: entries near the largest float do not overflow
    diagonal = np.abs(np.diag(symmetric))
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    values, vectors = np.linalg.eigh(symmetric / np.outer(scale, scale))
    return scale, values, vectors


def flat_direction(precision: np.ndarray) -> np.ndarray | None:
    """Return a direction along which ``precision`` is zero up to rounding, or None."""
    scale, values, vectors = scaled_eigen(precision)
    sizes = np.abs(values)
    return vectors[:, sizes.argmin()] / scale if sizes.min() <= SMALLEST_CURVATURE * sizes.max() else None


class Frame(NamedTuple):
    """Coordinates ``theta = columns @ phi`` in which a design is well conditioned.

    If columns share a large common part (a time in seconds since 1970 beside an intercept, a cubic in the year), the
    sum of ``x x'`` loses the digits in which they differ. The sum of ``z z'`` with ``z = columns' x`` does not.
    """

    columns: np.ndarray
    inverse: np.ndarray

    def of_form(self, form: np.ndarray) -> np.ndarray:
        """Return a quadratic form in ``theta`` as a quadratic form in ``phi``."""
        return self.columns.T @ form @ self.columns


class Columns(NamedTuple):
    """What a sample of rows says about the columns of a design.

    ``frame`` is None if the columns are well conditioned. ``open_directions`` (d, k) span the directions along which
    the sample does not vary: columns that depend on each other, or columns that are zero in the sample.
    """

    frame: Frame | None
    open_directions: np.ndarray


def examine_columns(X: np.ndarray) -> Columns:
    """Return what ``X`` says about its columns, from the singular values of its columns scaled to unit length.

    The singular values take about ``20 d^3`` operations. With many columns, `_open_directions` answers most questions
    without them.
    """
    length = np.sqrt(np.einsum("ij,ij->j", X, X))
    scale = np.where(length > 0, length, 1.0)
    if X.shape[1] > _MANY:
        found = _open_directions(X / scale)
        if found is not None:
            return Columns(None, found / scale[:, None])
    triangle = np.linalg.qr(X / scale, mode="r")  # singular values of X itself, not of X'X: no digits are squared away
    _, values, rows = np.linalg.svd(triangle)
    values = np.concatenate([values, np.zeros(X.shape[1] - len(values))])
    resolved = values > _UNRESOLVED * values[0]
    open_directions = rows[~resolved].T / scale[:, None]
    if values[resolved].min(initial=1.0) > _ILL_CONDITIONED * values[0]:
        return Columns(None, open_directions)
    width = np.where(resolved, values, 1.0) / np.sqrt(len(X))
    return Columns(Frame(rows.T / width / scale[:, None], (rows.T * width).T * scale), open_directions)


def _open_directions(X: np.ndarray) -> np.ndarray | None:
    """The directions ``z`` with ``X z = 0``, of columns of unit length that are well conditioned beside them.

    ``X'X = R'R`` by a Cholesky decomposition with pivots, ``d^3 / 3`` operations. With ``R = (R_1, R_2)``, where
    ``R_1`` has the columns that are not combinations of others, these directions are the columns of
    ``(-R_1^-1 R_2, 1)``. The singular values of ``X`` beside zero are at least the smallest one of ``R_1``, since
    ``X = X_1 (1, R_1^-1 R_2)``. None where that is not above `_ILL_CONDITIONED` of the largest, or where ``X z`` is not
    zero up to rounding: singular values have to tell.
    """
    matrix = csr_array(X) if np.count_nonzero(X) < _MOSTLY_ZERO * X.size else X
    gram = matrix.T @ matrix
    gram = gram if isinstance(gram, np.ndarray) else gram.toarray()
    d, largest = len(gram), float(np.abs(gram).sum(axis=0).max())  # no eigenvalue is above this
    factor, pivots, rank, _ = lapack.dpstrf(gram, tol=_OPEN_PIVOT)
    if rank < 2:
        return None
    order = pivots - 1
    kept, triangle = order[:rank], np.triu(factor[:rank, :rank])
    directions = np.zeros((d, d - rank))
    directions[kept] = -solve_triangular(triangle, factor[:rank, rank:])
    directions[order[rank:], np.arange(d - rank)] = 1.0
    along = np.linalg.norm(matrix @ directions, axis=0)
    if (along > _UNRESOLVED * np.sqrt(largest) * np.linalg.norm(directions, axis=0)).any():
        return None
    smallest = _smallest_singular_value(triangle)
    return directions if smallest > 2.0 * _ILL_CONDITIONED * np.sqrt(largest) else None


def _smallest_singular_value(triangle: np.ndarray) -> float:
    """Of an upper triangular matrix, to about a hundredth; 0 where it is not found."""

    def inverse(x: np.ndarray) -> np.ndarray:
        return solve_triangular(triangle, solve_triangular(triangle, x, trans="T"))

    n = len(triangle)
    operator = LinearOperator((n, n), matvec=inverse, dtype=float)
    start = np.random.default_rng(0).standard_normal(n)
    try:
        values = eigsh(operator, k=1, tol=0.01, v0=start, return_eigenvectors=False)
    except ArpackError:
        return 0.0
    return float(1.0 / np.sqrt(values[0]))


class Metric(NamedTuple):
    """A precision ``A = L^-T L^-1`` that was made positive definite, and the coordinates in which it is the identity.

    ``factor`` is L, and ``inverse`` is its inverse. ``kept`` is the diagonal of ``L' precision L``: 1 where the
    curvature did not change, less than 1 where it was increased, -1 where it was negative.
    """

    factor: np.ndarray
    inverse: np.ndarray
    kept: np.ndarray

    @property
    def positive_definite(self) -> bool:
        """Return True if the precision itself was positive definite, by a safe margin."""
        return bool((self.kept > 0.5).all())

    @property
    def log_volume(self) -> float:
        """Return ``log det L``: up to a constant, the log of the volume of the Gaussian law with this precision."""
        return float(np.linalg.slogdet(self.factor)[1])


def _signs(vectors: np.ndarray) -> np.ndarray:
    """By which the largest entry of every column becomes positive; the last of those that are equal up to rounding.

    Two parameters have eigenvectors (1, 1) and (1, -1): by the larger one alone, a last digit would turn them about.
    """
    sizes = np.abs(vectors)
    last = len(vectors) - 1 - (sizes >= (1 - 1e-9) * sizes.max(axis=0))[::-1].argmax(axis=0)
    return np.sign(vectors[last, np.arange(vectors.shape[1])])


def metric(precision: np.ndarray, frame: Frame | None = None) -> Metric:
    """Return the metric of ``precision``. It uses absolute curvatures, at least `SMALLEST_CURVATURE` of the largest.

    With a ``frame``, ``precision`` is in the coordinates of the frame, and the metric is that of the parameters.
    """
    scale, values, vectors = scaled_eigen(precision)
    vectors = vectors * _signs(vectors)
    curvature = np.maximum(np.abs(values), SMALLEST_CURVATURE * max(float(np.abs(values).max()), SMALLEST_CURVATURE))
    root = np.sqrt(curvature)
    factor, inverse, kept = vectors / root / scale[:, None], (vectors * root).T * scale, values / curvature
    if frame is not None:
        factor, inverse = frame.columns @ factor, inverse @ frame.inverse
    return Metric(factor, inverse, kept)


def groups_of(directions: np.ndarray, scale: np.ndarray) -> list[np.ndarray]:
    """Return the sets of columns that depend on each other along ``directions`` (d, k).

    The projector on the span of the directions couples exactly the columns of one set. A column that is coupled only
    with itself is a set of its own. ``scale`` are the sizes of the columns, in whose units the directions are compared.
    """
    basis, _ = np.linalg.qr(directions * scale[:, None])
    coupled = np.abs(basis @ basis.T) > 1e-8
    groups, left = [], set(np.flatnonzero(np.diag(coupled)).tolist())
    while left:
        group, new = set(), {min(left)}
        while new:
            group |= new
            new = {int(k) for j in new for k in np.flatnonzero(coupled[j])} - group
        groups.append(np.array(sorted(group)))
        left -= group
    return groups
