"""Where rows come from. One primitive serves every pass: a map over blocks of rows, its results in their order.

The search for a mode, Hessians, bounds, audits and packing are all maps with small results, so a source may read arrays
in threads, files one after the other, or hand the function to other machines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np

from ..process.blas import one_blas_thread
from .passes import with_progress

Result = TypeVar("Result")


NOWHERE = -1
"""The position of a level that has no parameter."""


class Factored(NamedTuple):
    """Columns of ``X`` in a short form: first numeric columns, then dummies (0 or 1) of factors.

    Parameters
    ----------
    numbers : (n, k)
        The first ``k`` columns of ``X``. The other columns are the dummies.
    positions : (n, F)
        For each row and each of the F factors, the number of the column of ``X`` that is 1. The number -1 means the
        reference level, which has no column.
    dim : int
        The number of columns of ``X``.
    values : (n, F), optional
        The values of the dummies. Default: 1.
    """

    numbers: np.ndarray
    positions: np.ndarray
    dim: int
    values: np.ndarray | None = None


def level_positions(codes: Sequence[np.ndarray], sizes: Sequence[int], begins: int) -> tuple[np.ndarray, int]:
    """Return ``positions`` and ``dim`` of `Factored` for factors with these numbers of levels.

    Their columns come after the first ``begins`` columns. The first level of each factor is the reference and has no
    parameter.
    """
    positions = np.empty((len(codes[0]), len(codes)), np.int32)
    for k, (of_one, size) in enumerate(zip(codes, sizes, strict=True)):
        places = np.arange(begins - 1, begins + size, dtype=np.int32)
        places[0] = places[-1] = NOWHERE  # of the reference, and of codes that are no level's: -1
        positions[:, k] = places[of_one]
        begins += size - 1
    return positions, begins


class Rows(NamedTuple):
    """A block of consecutive rows of the data: what your own source passes to ``function`` in ``map``.

    Parameters
    ----------
    start : int
        The number of the first row of the block in the data.
    X : (n, d), or Factored
        The columns.
    y : (n,)
        The responses.
    weights, offset : (n,), optional
        The weights (default: 1) and the offsets (default: 0) of the rows.
    censored : (n,), optional
        1 if the true response is larger than ``y``, -1 if it is smaller, 0 otherwise.
    others, entry
        Only the library sets these two: the columns of further linear predictors, and the times when the observation of
        the rows begins. (Inside the library ``X`` and ``others`` are blocks of designs, `tunamh.targets.designs`.)
    """

    start: int
    X: Any
    y: np.ndarray
    weights: np.ndarray | None = None
    offset: np.ndarray | None = None
    censored: np.ndarray | None = None
    others: tuple = ()
    entry: np.ndarray | None = None


def rows_at(X: Any, which: np.ndarray) -> Any:
    """Return some rows of the features of a block."""
    if not isinstance(X, Factored):
        return np.asarray(X)[which]
    values = None if X.values is None else np.asarray(X.values)[which]
    return Factored(np.asarray(X.numbers)[which], np.asarray(X.positions)[which], X.dim, values)


@runtime_checkable
class Source(Protocol):
    """The interface of a source of rows that are read block by block.

    A source has the number of rows ``n_rows``, the names ``names`` of the columns of ``X`` (or None), and
    ``fingerprint``, a short text that differs for different data. Every pass over the source must return the same rows.
    The blocks come in the order of the rows, contain all rows, and have at least one row each.

    The draws depend on how the rows are divided into blocks, because sums are rounded differently. They do not depend
    on where and when a block is read.
    """

    n_rows: int
    names: Sequence[str] | None
    """The names of the columns of ``X``."""

    fingerprint: str
    """A short text that differs for different data."""

    def map(self, function: Callable[[Rows], Result]) -> Iterator[Result]:
        """Apply ``function`` to every block (`Rows`); return an iterator of the results, in the order of the blocks.

        Do not catch exceptions of ``function``.
        """


@runtime_checkable
class WithMemory(Protocol):
    """A source that limits the bytes that a run may hold of its rows; None means no limit.

    If the packed rows need more, the rows that a chain draws are read in advance (`tunamh.rows.gathered_rows`).
    """

    memory: int | None


def watched_map(source: Source, function: Callable[[Rows], Result]) -> Iterator[Result]:
    """Yield the results of ``source.map``, with one BLAS thread for each block. Progress is reported."""

    return with_progress(source.map(partial(_alone, function)), source.n_rows, "reading rows")


def _alone(function: Callable[[Rows], Result], rows: Rows) -> tuple[int, Result]:
    with one_blas_thread():
        return rows.start + len(rows.y), function(rows)


def real_numbers(values: Any, what: str, start: int) -> np.ndarray:
    """Return the values of a block as an array of real numbers.

    Raise an error for other numbers, such as complex ones.
    """
    array = np.asarray(values)
    if array.dtype.kind not in "biufO":
        raise TypeError(f"rows from {start} on have {what} of type {array.dtype}: they must be real numbers.")
    return array


def refuse_outside(X: Factored, dim: int, start: int) -> None:
    """Raise an error for positions outside the columns. Every pass checks this.

    A source may return other positions than before, and compiled code would then read outside ``theta``.
    """
    positions = np.asarray(X.positions)
    if positions.dtype.kind not in "iu" or X.dim != dim:
        raise ValueError(f"rows from {start} on have positions of levels that are no whole numbers, or another dim.")
    if positions.size and not (positions.min() >= NOWHERE and positions.max() < dim):
        raise ValueError(f"rows from {start} on have positions of levels outside {NOWHERE} to {dim - 1}.")
