"""What the columns of a regression are like: their conditioning, and which of them depend on each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..._linear import Columns, examine_columns, groups_of

if TYPE_CHECKING:
    from ...rows.source import Rows
    from ..designs import Block
    from ..regression import Regression

_CANCELLED = 1e-11  # of what does not cancel, the share that rounding leaves
_FAR_BELOW = 1e-10
_TOO_SMALL = 1e-150


def columns_of(target: Regression, rows: Rows) -> Columns:
    """Return what a sample of the rows says about the columns.

    The result also has coordinates in which the columns are well conditioned.
    """
    counts = target.weight(rows) > 0
    seen = _below_each_other(rows.X.dense(), counts if counts.any() else ~counts)
    refuse_tiny(seen, target.chain_names)
    return examine_columns(seen)


def refuse_tiny(X: np.ndarray, names: list[str]) -> None:
    """Raise `ValueError` for a column whose numbers are so small that their squares underflow.

    Such a column would look like a column of zeros.
    """
    largest = np.abs(X).max(axis=0, initial=0.0)
    tiny = np.flatnonzero((largest > 0) & (largest < _TOO_SMALL))
    if len(tiny):
        name, most = names[int(tiny[0])], largest[tiny[0]]
        raise ValueError(
            f"column {name} has no number above {most:.3g}, which is too small to compute with (below {_TOO_SMALL:g}): "
            "rescale the column."
        )


def _below_each_other(X: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The rows that count; those of several predictors one below the other."""
    return X[counts] if X.ndim == 2 else X[:, counts].reshape(-1, X.shape[2])


def _columns_of_zeros(target: Regression) -> np.ndarray:
    return target.sums(lambda X, y, weight: (X.column_squares(weight > 0),))[0] == 0


def dependent_columns(target: Regression) -> list[np.ndarray]:
    """Return groups of columns that depend on each other over all rows. A group of one column is a column of zeros.

    The function reads all rows only if a sample of them leaves some directions open. Such a direction ``z`` counts if
    ``x.z`` is zero in every row, up to rounding. Columns whose coefficients have a proper prior are left out.
    """
    flat = target._prior.flat
    if not flat.all():
        groups = dependent_columns(target.on_columns(flat)) if flat.any() else []
        return [np.flatnonzero(flat)[group] for group in groups]
    Z = target.columns.open_directions
    zero = _columns_of_zeros(target) if Z.shape[1] > 0 else np.zeros(target.dim, bool)
    if zero.any():  # beside these, nothing else of their directions is to be seen but rounding
        groups = [] if zero.all() else dependent_columns(target.on_columns(~zero))
        return [*np.flatnonzero(zero)[:, None], *(np.flatnonzero(~zero)[group] for group in groups)]
    while Z.shape[1] > 0:

        def variation(X: Block, y: np.ndarray, weight: np.ndarray, Z: np.ndarray = Z) -> tuple[np.ndarray, np.ndarray]:
            """Return sums of products of the predictors along ``Z``, and sums of squares of the columns."""
            along = _below_each_other(X.matmat(Z), weight > 0)
            return along.T @ along, X.column_squares(weight > 0)

        gram, squares = target.sums(variation)
        size = np.sqrt(squares)
        uncancelled = np.abs(Z).T @ size  # what x.z would be if nothing cancelled, as a root of the sum of squares
        uncancelled = np.where(uncancelled > 0, uncancelled, 1.0)
        values, vectors = np.linalg.eigh(gram / np.outer(uncancelled, uncancelled))
        if values[-1] <= _CANCELLED**2:
            return groups_of(Z, np.where(size > 0, size, 1.0))
        open_still = values <= _FAR_BELOW * values[-1]  # small beside the largest: another look is more accurate
        Z = Z @ (vectors[:, open_still] / uncancelled[:, None])
    return []
