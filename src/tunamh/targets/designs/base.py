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
    """Where a packed row's features lie: columns kept whole, positions to gather, and whether these have values.

    Columns in single precision (``single``) lie two in the place of one other number, positions too. ``width`` is what
    all of them take, in numbers of double precision, with the offset (``shifted``) at their end: the response comes
    next. ``predictors`` is K, the number of linear predictors of a row, which are sums of ``terms`` terms. Behind
    these, ``known`` columns of the data are handed to the energy as they are. Numbers of ``curves``
    (`tunamh.targets.designs.curves`) lie behind those of positions.
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
    """``X`` in double precision and C order; the same array where it is that already."""
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
    """Per row of a matrix in C order, the root of its sum of squares."""
    found = np.empty(len(matrix))
    _fill_lengths(matrix, found)
    return found


class DesignParts(NamedTuple):
    """The compiled side of a design; see the roles `Dots`, `Dot` and `Sizes`."""

    dots: Part
    dot: Part
    sizes: Part


class Block(Protocol):
    """Some rows ``X`` of a design, for sums over them.

    With one predictor per row ``X`` is a matrix (n, d). With K of them it is one matrix for each: what is a vector (n)
    below is then (K, n), a matrix (n, m) is (K, n, m), and the weights of a sandwich are (K, K, n).
    """

    def dense(self) -> np.ndarray:
        """``X`` itself."""

    def pack(self, rows: np.ndarray) -> None:
        """Write the features into the first ``numbers.width`` columns of packed rows."""

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        """``X theta``, the linear predictors, the offset included where there is one."""

    def matvecs(self, points: np.ndarray) -> np.ndarray:
        """The same at points (k, d), one after the other."""

    def matmat(self, matrix: np.ndarray) -> np.ndarray:
        """``X matrix``."""

    def abs_matvec(self, vector: np.ndarray) -> np.ndarray:
        """``|X| |vector|``: what ``X vector`` would be if nothing cancelled."""

    def rmatvec(self, values: np.ndarray) -> np.ndarray:
        """``X' values``."""

    def sandwich(self, weight: np.ndarray, frame: Frame | None = None) -> np.ndarray:
        """``X' diag(weight) X``, in the coordinates of ``frame`` where there is one."""

    def column_squares(self, kept: np.ndarray | None = None) -> np.ndarray:
        """Per column, the sum of squares (over the rows that are kept)."""

    def row_norms(self) -> np.ndarray:
        """Per row, ``|x_i|``."""

    def whitened_norms(self, factor: np.ndarray) -> np.ndarray:
        """Per row, ``|factor' x_i|``; for one predictor."""

    def row_max(self) -> np.ndarray:
        """Per row, the largest ``|x_ij|``."""


class Layout:
    """Where the features of a row lie, and how many parameters its predictors have."""

    dim: int
    numbers: DesignNumbers
    parts: DesignParts

    table: Sequence[float] = ()
    """What compiled code reads of curves, and of several predictors' terms."""

    factors: dict[str, list[str]] | None = None
    """Of a table with columns of categories: their levels, the reference first."""


class Design(Layout, ABC):
    """A matrix of features, row by row."""

    n_rows: int

    @abstractmethod
    def block(self, rows: Any) -> Block:
        """The rows of a slice or of an array of row numbers."""

    @abstractmethod
    def take(self, index: np.ndarray) -> Design:
        """The design of some of the rows."""

    @abstractmethod
    def on_columns(self, which: np.ndarray) -> Design:
        """The design of some of the columns, a mask."""

    @abstractmethod
    def arrays(self, what: str = "X") -> dict[str, np.ndarray]:
        """What must not change while a target uses it, by name; errors call the matrix ``what``."""


@dataclass(frozen=True, eq=False)
class NamedDesign:
    """A design that is ready, with its parameters' names, in the place of a table.

    Of a further predictor also the prior of its coefficients, where its family has none, and what was subtracted from
    its columns (`tunamh.targets.coordinates.recentred`).
    """

    design: Design
    names: list[str]
    prior: Any = None
    origin: np.ndarray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.design.n_rows, self.design.dim
