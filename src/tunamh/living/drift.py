"""Coefficients that drift: how far the posterior mean will move, and a centre that is put ahead of it.

Where coefficients drift, the mean moves the same way night after night. A centre at the mean of today is left behind.
One that lies ahead lasts up to twice as long, since at first the mean comes nearer to it. Any centre is exact.
"""

from __future__ import annotations

import numpy as np

from ..targets.expansion.foreseen import LASTING, TIMES, rows_about
from ..targets.layouts import Trust
from .centre import Centre

_REACH = 0.2
_MOST = 0.5
_SHARES = [*0.85 ** np.arange(30), 0.0]
_AT_FIRST = 0.75  # of the rows that a step may read before the centre moves, so that a few nights do not exceed them


def wide_radii(radii: np.ndarray, dim: int, n_rows: int) -> np.ndarray:
    """Return larger radii for a centre from which the posterior will move by many standard deviations.

    Within a radius ``r`` the predictor of a row moves by ``|L'x_i| r``, where ``|L'x_i|`` is about ``sqrt(d / n)``.
    With many rows this is very little, so the constants ``L_i(r)`` of a larger radius are hardly larger. The first
    radius is ``0.2 sqrt(n / d)`` if this is larger than before.
    """
    return radii * max(1.0, _REACH * np.sqrt(n_rows / dim) / radii[0])


def travel(centre: Centre, mean: np.ndarray, inverse: np.ndarray, rows: int) -> np.ndarray:
    """Return how far the mean is expected to move until the centre may move again.

    The result is in today's units ``z = N^-1 (theta - mean)``. Since the centre was chosen, the mean has moved by
    ``z``, and the number of rows has become ``rows``. Without a drift, ``E|z|^2`` is ``d (rows / born - 1)``. The part
    of ``|z|^2`` above this is taken as a drift that will continue.
    """
    new, z = rows - centre.rows, inverse @ (mean - centre.mean)
    drift = _share_of_drift(z, new, centre.rows)
    return drift * (TIMES - 1.0) * rows / new * z if drift > 0 else np.zeros(len(z))


def drifts(centre: Centre, mean: np.ndarray, inverse: np.ndarray, rows: int) -> bool:
    """Whether most of ``|z|^2`` is a drift. Then more rows are kept of every piece, so that the centre lasts longer."""
    return _share_of_drift(inverse @ (mean - centre.mean), rows - centre.rows, centre.rows) > _MOST


def _share_of_drift(z: np.ndarray, new: int, before: int) -> float:
    """The part of ``|z|^2`` that chance does not explain; 0 where no rows came."""
    size = float(z @ z)
    if new <= 0 or not 0 < size < np.inf:
        return 0.0
    return max(0.0, 1.0 - len(z) * new / before / size)


def ahead(way: np.ndarray, total: float, n_rows: int, kept: int, trust: Trust) -> np.ndarray:
    """Return the new centre's position on the first half of ``way``, as far ahead as the ``kept`` rows allow.

    ``total`` is ``C_fresh``, and ``trust`` has the radii about the centre.
    """
    points = [share * 0.5 * way for share in _SHARES]
    most = _AT_FIRST * kept / LASTING
    return next((point for point in points if rows_about(point, total, n_rows, trust) <= most), points[-1])
