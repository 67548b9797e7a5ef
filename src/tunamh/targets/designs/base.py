"""What the rest of the library asks of a design, and of a block of its rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..._linear import Frame
from ...compiled import REASSOCIATE, Part, helper
from ...compiled.columns import fill_rows


class DesignNumbers(NamedTuple):
    """Where the features of a packed row are.

    A packed row has columns with a number in every row (``columns``), then positions of parameters (``positions``),
    with values if ``valued`` is set. If ``single`` is set, columns are in single precision: two of them use the space
    of one number in double precision; two positions, too. ``width`` is the length of all features in numbers of double
    precision; the offset, if ``shifted`` is set, is the last of them, and the response is next. ``predictors`` is K,
    the number of linear predictors of a row, which are sums of ``terms`` terms. After these come ``known`` columns of
    the data, which the energy reads as they are. The numbers of ``curves`` (`tunamh.targets.designs.curves`) come after
    the positions.
    """

    width: Any
    single: Any
    columns: Any
    positions: Any
    valued: Any
    shifted: Any = False
    predictors: Any = 1
    terms: Any = 0
    known: Any = 0
    curves: Any = ()


def rows_in_double(X: np.ndarray) -> np.ndarray:
    """Return ``X`` in double precision and C order. If it has this form already, it is not copied."""
    X = X if X.dtype == np.float32 else np.asarray(X, dtype=np.float64)
    columns = X.T
    if not columns.flags.c_contiguous or X.shape[1] <= 1:
        return np.ascontiguousarray(X, dtype=np.float64)
    columns.flags.writeable = False  # of one type for compiled code
    found = np.empty(X.shape)
    fill_rows(columns, found)
    return found


@helper(fastmath=REASSOCIATE)
def _fill_lengths(matrix, out):
    for i in range(matrix.shape[0]):
        total = 0.0
        for j in range(matrix.shape[1]):
            total += matrix[i, j] * matrix[i, j]
        out[i] = np.sqrt(total)


def lengths_of_rows(matrix: np.ndarray) -> np.ndarray:
    """Return the Euclidean length of each row of a matrix in C order."""
    found = np.empty(len(matrix))
    _fill_lengths(matrix, found)
    return found


class DesignParts(NamedTuple):
    """The compiled functions of a design: see the roles `Dots`, `Dot` and `Sizes`."""

    dots: Part
    dot: Part
    sizes: Part


class Block(Protocol):
    """Some rows ``X`` of a design, for sums over these rows.

    With one predictor per row, ``X`` is a matrix (n, d). With K predictors there is one such matrix for each; then a
    vector (n) in the methods below has the shape (K, n), a matrix (n, m) the shape (K, n, m), and the weights of
    `sandwich` the shape (K, K, n).
    """

    def dense(self) -> np.ndarray:
        """Return the matrix ``X``."""

    def pack(self, rows: np.ndarray) -> None:
        """Write the features into the first ``numbers.width`` columns of packed rows."""

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        """Return ``X theta``, the linear predictors, including the offset if there is one."""

    def matvecs(self, points: np.ndarray) -> np.ndarray:
        """Return the linear predictors at several points, the rows of ``points`` (k, d)."""

    def matmat(self, matrix: np.ndarray) -> np.ndarray:
        """Return ``X matrix``."""

    def abs_matvec(self, vector: np.ndarray) -> np.ndarray:
        """Return ``|X| |vector|``: the size of the terms of ``X vector`` before they cancel."""

    def rmatvec(self, values: np.ndarray) -> np.ndarray:
        """Return ``X' values``."""

    def sandwich(self, weight: np.ndarray, frame: Frame | None = None) -> np.ndarray:
        """Return ``X' diag(weight) X``, in the coordinates of ``frame`` if a frame is passed."""

    def column_squares(self, kept: np.ndarray | None = None) -> np.ndarray:
        """Return the sum of squares of each column, over all rows or over the rows ``kept``."""

    def row_norms(self) -> np.ndarray:
        """Return the length ``|x_i|`` of each row."""

    def whitened_norms(self, factor: np.ndarray) -> np.ndarray:
        """Return ``|factor' x_i|`` of each row. It exists for one predictor."""

    def row_max(self) -> np.ndarray:
        """Return the largest ``|x_ij|`` of each row."""


class Layout:
    """Where the features of a row are in a packed row, and the number of parameters of its predictors."""

    dim: int
    numbers: DesignNumbers
    parts: DesignParts

    table: Sequence[float] = ()
    """What compiled code reads of curves, and of several predictors' terms."""

    factors: dict[str, list[str]] | None = None
    """Of a table with columns of categories: their levels, the reference first."""


class Design(Layout, ABC):
    """A matrix of features, one row for each row of the data."""

    n_rows: int

    @abstractmethod
    def block(self, rows: Any) -> Block:
        """Return a block with the rows of a slice or of an array of row numbers."""

    @abstractmethod
    def take(self, index: np.ndarray) -> Design:
        """Return the design with some of the rows."""

    @abstractmethod
    def on_columns(self, which: np.ndarray) -> Design:
        """Return the design with some of the columns; ``which`` is a boolean mask."""

    @abstractmethod
    def arrays(self, what: str = "X") -> dict[str, np.ndarray]:
        """Return the arrays that must not change while a target uses them, by name. Errors call the matrix ``what``."""


@dataclass(frozen=True, eq=False)
class NamedDesign:
    """A design with the names of its parameters; a user's table is replaced by it.

    For a further predictor it may also contain the prior of its coefficients, if the family has none, and the numbers
    that were subtracted from its columns (`tunamh.targets.coordinates.recentred`).
    """

    design: Design
    names: list[str]
    prior: Any = None
    origin: np.ndarray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.design.n_rows, self.design.dim
