"""The law of a log scale that is known badly, by a table (spec 5q).

Where groups are few, or hardly differ, the law of ``lambda = log s`` is far from normal: to the left it falls no
faster than its prior, like ``e^lambda`` under a half-normal one. But with the effects integrated out of the quadratic,
``E`` is quadratic in ``b`` given this one number. So (A) can draw both from a law of its own, made once:

    q(b, lambda) = w_k / h  N(b; m_k, S_k),     lambda in the k-th of K cells of width h,

``w_k`` the mass of ``exp(-E)`` in the cell, ``m_k`` and ``S_k`` mean and covariance of ``b`` in its middle. Any table
is exact; beyond it, where less than a millionth of the mass lies, walks go.
"""

from __future__ import annotations

import math

import numpy as np

from .._jit import helper
from .._jit.windows import matrix_window, window
from .centre import Marginal
from .small import back, solve

_CELLS = 96
_FAR_LEFT, _FAR_RIGHT = 18, 8  # of the centre, where the law is looked at first
_NEGLIGIBLE = 14.0  # energies above the lowest
_MOST_COMMON = 40  # common parameters; a cell has a matrix of them

WIDE = 0.12
"""The standard deviation of a log scale above which its law is far from normal."""

# Numbers of a table: cells, where they begin, their width; cumulated masses; of every cell log (w / sqrt det S), m, and
# the lower triangular R with R R' = S^-1.
_HEAD = 3


def scale_law(marginal: Marginal, scales: np.ndarray, width: float) -> np.ndarray:
    """The table, empty where the law is narrow, where there are several scales, or many common parameters."""
    p = marginal.p
    if len(scales) != 1 or not width > WIDE or p > _MOST_COMMON:
        return np.zeros(1)

    def at(log_scale: float) -> tuple[float, np.ndarray, np.ndarray]:
        point = np.array([log_scale])
        energy, b, hessian = marginal.solve(point)
        root = np.linalg.cholesky(hessian)
        return energy + marginal.priors.energy(marginal.f, point, marginal.at.common), b, root

    def log_mass(found: tuple[float, np.ndarray, np.ndarray]) -> float:
        return -found[0] - float(np.log(np.diag(found[2])).sum())

    coarse = scales[0] + np.arange(-_FAR_LEFT, _FAR_RIGHT + 1.0)
    seen = np.array([log_mass(at(x)) for x in coarse])
    seen = np.where(np.isfinite(seen), seen, -np.inf)
    near = np.flatnonzero(seen > seen.max() - _NEGLIGIBLE)
    low, high = coarse[near[0]] - 1.0, coarse[near[-1]] + 1.0
    step = (high - low) / _CELLS
    cells = [at(low + (k + 0.5) * step) for k in range(_CELLS)]
    masses = np.array([log_mass(cell) for cell in cells])
    if not np.isfinite(masses).all():
        return np.zeros(1)
    masses -= masses.max()
    share = np.exp(masses)
    cumulated = np.cumsum(share / share.sum())
    records = [
        np.concatenate([[mass + np.log(np.diag(root)).sum()], b, root.ravel()])
        for mass, (_, b, root) in zip(masses, cells, strict=True)
    ]
    return np.concatenate([[_CELLS, low, step], cumulated, *records])


@helper
def _standing(hyper, at, b, gradient, p, away):
    """``log q`` of ``b`` in the cell whose record begins at ``at``, its middle shifted by ``-S gradient``."""
    R, m = matrix_window(hyper, at + 1 + p, p, p), window(hyper, at + 1, p)
    for i in range(p):
        away[i] = gradient[i]
    solve(R, p, away)
    total = hyper[at]
    for i in range(p):
        away[i] += b[i] - m[i]
    for i in range(p):
        value = 0.0
        for j in range(i, p):
            value += R[j, i] * away[j]
        total -= 0.5 * value * value
    return total


@helper
def propose_by_table(rng, hyper, factor, common, state, gradient, there):
    """Common parameters and log scale of ``there`` by the table; returns the log ratio of proposing back and forth.

    ``gradient`` is what the groups' ``eps`` add to the slope in ``b`` at the centre (`.shift`). Outside of the table
    nothing moves: it is never reached by this move either.
    """
    p, table, first = common.p, factor.scale_law, factor.scale_law + _HEAD
    cells, low, step = int(hyper[table]), hyper[table + 1], hyper[table + 2]
    size, records = 1 + p + p * p, first + cells
    here = math.floor((state[factor.scales_at] - low) / step)
    if not (here >= 0 and here < cells):
        return 0.0
    u, k = rng.random(), 0
    while k < cells - 1 and hyper[first + k] <= u:
        k += 1
    there[factor.scales_at] = low + (k + rng.random()) * step
    xi, b = np.empty(p), np.empty(p)
    at = records + k * size
    R, m = matrix_window(hyper, at + 1 + p, p, p), window(hyper, at + 1, p)
    for i in range(p):
        b[i] = gradient[i]
        xi[i] = rng.standard_normal()
    solve(R, p, b)
    back(R, p, xi)
    for i in range(p):
        b[i] = m[i] - b[i] + xi[i]
        there[i] = common.centre[i] + b[i]
    forth = _standing(hyper, at, b, gradient, p, xi)
    for i in range(p):
        b[i] = state[i] - common.centre[i]
    return _standing(hyper, records + int(here) * size, b, gradient, p, xi) - forth
