"""Where a surface ``te(x, z)`` is asked for between the data, and what its columns leave out there.

A curve ``s(x)`` has columns of functions that no row sees (`.demmler_reinsch`). Those of a surface would have products
without a prior, since its penalty along x is averaged over the rows' z. So they are left out: in a gap over four or
more intervals of knots, or between few different values, a surface is the smoothest one between the data. Of the part
that depends on x alone it lacks the variance

    sigma^2 sum_j (R(x)'T_j)^2,        T'S T_j = 0 for all columns T of x,    T_i'S T_j = c (i = j),

``S`` being the penalty, of which the columns have ``T_j'S T_j = c``. At the rows these functions are zero: so they are
without a line at the ends of the data.
"""

from __future__ import annotations

import warnings

import numpy as np

from .splines import SPLINES, penalty, raw_columns
from .syntax import Node, label

_NOTHING = 1e-9  # singular values, in units of the largest
_MUCH = 0.1  # of a standard deviation that is left out, in units of the scale along the column


def left_out(wiggles: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return the functions ``T_j`` that are not among the columns ``wiggles``: an array (k, number of functions)."""
    k = len(wiggles)
    if k - wiggles.shape[1] <= 2:
        return np.empty((k, 0))
    S = penalty(k, cyclic=False)
    own = S @ wiggles
    ends = raw_columns(SPLINES, np.array([low, high]), low, high, k)
    values, rows = np.linalg.svd(np.concatenate([(own / np.linalg.norm(own, axis=0)).T, ends]))[1:]
    found = rows[int((values > _NOTHING * values[0]).sum()) :].T
    root = np.linalg.cholesky(found.T @ S @ found)
    unit = np.sqrt(np.mean(np.einsum("ij,ij->j", wiggles, own)))
    return np.asarray(unit * np.linalg.solve(root, found.T).T)


def warn_between(name: str, x: Node, values: np.ndarray, deviations: np.ndarray) -> None:
    """Warn of rows at which a surface lacks a large part of its variation along ``x``.

    ``deviations`` is the missing standard deviation of each row, in units of the surface's scale.
    """
    inside = deviations > _MUCH
    if inside.any():
        warnings.warn(
            f"{label(x)} is in a gap of the fitted data in {int(inside.sum()):,} rows, between "
            f"{values[inside].min():g} and {values[inside].max():g}: there {name} is the smoothest surface between the "
            "data, and its intervals are too narrow. They lack a standard deviation of up to "
            f"{deviations.max():.2g} times {name}_sigma. Set a smaller k=.",
            stacklevel=3,
        )
