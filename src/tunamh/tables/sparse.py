"""Sparse matrices of a user, looked at before anything computes with them.

SciPy does not check the indices that it is given: one beyond the shape, such as of a file that counts from 1, makes it
read and write outside its arrays, at the latest when the matrix changes its form.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .matrices import as_numbers

_MOST_COLUMNS = np.iinfo(np.int32).max


def checked_rows(X: Any, what: str) -> Any:
    """Return a copy of a sparse matrix in CSR form, with numbers, and with every index inside its shape."""
    from scipy import sparse

    if not sparse.issparse(X):  # of another library
        X = X.tocsr()
    refuse_wrong_indices(X, what)
    if X.format not in ("csr", "csc", "bsr", "coo"):
        X = X.tocoo()
        refuse_wrong_indices(X, what)
    rows = X.tocsr(copy=True)
    refuse_wrong_indices(rows, what)
    rows.data = as_numbers(rows.data, what)
    return rows


def refuse_wrong_indices(X: Any, what: str) -> None:
    """Raise an error for a sparse matrix with wrong indices.

    With such a matrix, SciPy or compiled code would read or write outside its arrays.
    """
    if X.ndim != 2 or min(X.shape) < 0 or X.shape[1] > _MOST_COLUMNS:
        raise ValueError(f"{what} must have two dimensions (rows, columns), got a sparse matrix of shape {X.shape}.")
    if X.format in ("csr", "csc"):
        _refuse_compressed(X, what, (1, 1))
    elif X.format == "bsr":
        _refuse_compressed(X, what, X.blocksize)
    elif X.format == "coo":
        _refuse_lengths(X.row, X.data, what)
        _refuse_lengths(X.col, X.data, what)
        for index, size, kind in ((X.row, X.shape[0], "row"), (X.col, X.shape[1], "column")):
            _refuse_outside(index, size, kind, what)


def _refuse_compressed(X: Any, what: str, block: tuple[int, int]) -> None:
    """Rows (or columns) one after the other: each begins where the one before it ends, and indices name the others."""
    by_columns = X.format == "csc"
    outer, inner = (n // size for n, size in zip(X.shape, block, strict=True))
    if by_columns:
        outer, inner = inner, outer
    begins, stored = X.indptr, min(len(X.indices), len(X.data))
    if len(begins) != outer + 1 or begins[0] != 0 or (np.diff(begins) < 0).any() or begins[-1] > stored:
        raise ValueError(
            f"{what} is a sparse matrix whose indptr does not tell where its rows begin: it must have "
            f"{outer + 1} numbers that begin with 0, never fall, and end with at most {stored}, the values stored."
        )
    _refuse_lengths(X.indices, X.data, what)
    _refuse_outside(X.indices[: begins[-1]], inner, "row" if by_columns else "column", what)


def _refuse_lengths(indices: Any, data: Any, what: str) -> None:
    if len(indices) != len(data):
        raise ValueError(f"{what} is a sparse matrix of {len(data)} values and {len(indices)} indices: give one each.")


def _refuse_outside(indices: np.ndarray, size: int, kind: str, what: str) -> None:
    if indices.size == 0:
        return
    low, high = int(indices.min()), int(indices.max())
    if low >= 0 and high < size:
        return
    counted = " Indices count from 0, and these seem to count from 1." if low >= 1 and high == size else ""
    raise ValueError(
        f"{what} is a sparse matrix with the {kind} index {low if low < 0 else high}, but it has {size} {kind}s, "
        f"numbered 0 to {size - 1}.{counted}"
    )
