"""The law of an uncertain log scale, as a table (spec 5q).

Where groups are few, or hardly differ, the law of ``lambda = log s`` is far from normal: to the left it falls no
faster than its prior, like ``e^lambda`` under a half-normal one. But with the effects integrated out of the quadratic,
``E`` is quadratic in ``b`` given this one number. So (A) can draw both from a law of its own, made once:

    q(b, lambda) ~ w_k exp(-J phi_k) N(b; m_k - S_k J_b, S_k),     lambda in the k-th of K cells of one width,

``w_k`` the mass of ``exp(-E)`` in the cell, ``m_k`` and ``S_k`` mean and covariance of ``b`` in its middle. ``J`` is
what the groups' ``eps`` add to the slope at the centre through the rows' third and fourth derivatives (`.shift`); in
``x``, the distance of ``lambda`` from the centre, they grow about like ``e^3x``: ``phi = (e^3x - 1) / 3`` to the left
and ``min(x, 1)`` to the right. Any such law is exact; beyond the table, where less than a millionth of the mass lies,
walks go.

Beside an unknown scale of the errors the centre is not where ``E`` is lowest: its slope in ``b`` there is that of the
priors of ``lambda``, and each cell stands where it is settled. Nor is it where a law was learned: the centre is then
the mode of the true marginal law, perhaps some standard deviations from where ``E`` is lowest. So ``J`` is what is left
without this slope. ``b`` is in units of the errors' scale, ``1 / tau``: in a cell with another ``tau`` the slope is
``J_b tau_0 / tau_k``. (Without both, a slope of 1 moved cells with a wide ``S_k``, where effects take all of the
errors, away from all draws.)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..compiled import helper
from ..compiled.triangular import back, solve
from .layout import SCALE_TABLE, scale_table_at
from .long_tail import cauchy_number, chosen_coordinate, square_beside
from .marginal import Marginal

_CELLS = 96
_FAR_LEFT, _FAR_RIGHT = 18, 8  # of the centre, where the law is looked at first
_FAR_RIGHT_OF_ERRORS = 12  # where effects may take all of the errors: the law falls like their prior. Then sums cancel
_NEGLIGIBLE = 14.0  # energies above the lowest
_STEP = 0.02  # of a difference in lambda
_AT_MODE = 0.1  # standard deviations of ``b``, within which a search for the lowest ``E`` ends
_MOST_COMMON = 40  # common parameters; a cell has a matrix of them

WIDE = 0.12
"""The standard deviation of a log scale above which its law is far from normal."""


def no_table(p: int) -> np.ndarray:
    """Return an empty table."""
    nothing = {"log_mass": (0,), "unit": (0,), "phi": (0,), "log_det": (0,), "mean": (0, p), "root": (0, p, p)}
    empty = {name: np.empty(shape) for name, shape in nothing.items()}
    return SCALE_TABLE.pack(p=p, low=0.0, width=0.0, slope=0.0, slope_in_b=np.zeros(p), **empty)


def scale_law(marginal: Marginal, scales: np.ndarray, width: float) -> np.ndarray:
    """Return the table of a log scale.

    It is empty if the law is narrow, if there are several scales, or if there are many common parameters.
    """
    p = marginal.p
    if len(scales) != 1 or not width > WIDE or p > _MOST_COMMON:
        return no_table(p)

    def at(log_scale: float) -> tuple[float, np.ndarray, np.ndarray]:
        point = np.array([log_scale])
        if marginal.priors.tau_at >= 0:
            energy, b, hessian = marginal.settled(point)
            return energy, b, np.linalg.cholesky(hessian)
        energy, b, hessian = marginal.solve(point)
        return energy + marginal.priors.energy(marginal.f, point, marginal.at.common), b, np.linalg.cholesky(hessian)

    def log_mass(found: tuple[float, np.ndarray, np.ndarray]) -> float:
        return -found[0] - float(np.log(np.diag(found[2])).sum())

    far_right = _FAR_RIGHT if marginal.priors.tau_at < 0 else _FAR_RIGHT_OF_ERRORS
    coarse = scales[0] + np.arange(-_FAR_LEFT, far_right + 1.0)
    seen = np.array([log_mass(at(x)) for x in coarse])
    seen = np.where(np.isfinite(seen), seen, -np.inf)
    if not np.isfinite(seen.max()):
        return no_table(p)
    near = np.flatnonzero(seen > seen.max() - _NEGLIGIBLE)
    low, high = coarse[near[0]] - 1.0, coarse[near[-1]] + 1.0
    step = (high - low) / _CELLS
    cells = [at(low + (k + 0.5) * step) for k in range(_CELLS)]
    masses = np.array([log_mass(cell) for cell in cells])
    if not np.isfinite(masses).all():
        return no_table(p)
    masses -= np.log(np.exp(masses - masses.max()).sum()) + masses.max()
    x = low + (np.arange(_CELLS) + 0.5) * step - scales[0]
    phi = np.where(x < 0, np.expm1(3 * np.minimum(x, 0)) / 3, np.minimum(x, 1))
    slope, slope_in_b = _slopes(marginal, at, scales)
    middles, tau_at = np.array([b for _, b, _ in cells]), marginal.priors.tau_at
    tau = marginal.at.common[tau_at]
    roots = np.array([root for _, _, root in cells])
    return SCALE_TABLE.pack(
        low=low,
        width=step,
        slope=slope,
        slope_in_b=slope_in_b,
        log_mass=masses,
        unit=tau / (tau + middles[:, tau_at]) if tau_at >= 0 else np.ones(_CELLS),
        phi=phi,
        log_det=np.array([np.log(np.diag(root)).sum() for root in roots]),
        mean=middles,
        root=roots,
    )


def _slopes(marginal: Marginal, at: Any, scales: np.ndarray) -> tuple[float, np.ndarray]:
    """Of ``E`` at the centre, in lambda and in ``b``: what the cells know of themselves."""
    if marginal.priors.tau_at < 0:
        in_b, hessian = marginal.at_centre(scales)[1], marginal.solve(scales)[2]
        is_lowest = np.sqrt(in_b @ np.linalg.solve(hessian, in_b)) < _AT_MODE
        slope = (at(scales[0] + _STEP)[0] - at(scales[0] - _STEP)[0]) / (2 * _STEP)
        return slope, np.zeros(marginal.p) if is_lowest else in_b
    above, below = (marginal.at_centre(scales + step)[0] for step in (_STEP, -_STEP))
    return (above - below) / (2 * _STEP), marginal.at_centre(scales)[1]


@helper
def _lean(table, k, gradient, lean):
    """The slope ``J_b`` of cell ``k``."""
    unit, own = table.unit[k], table.slope_in_b
    for i in range(table.p):
        lean[i] = (gradient[i] - own[i]) * unit


@helper
def _standing(table, k, b, gradient, away, far):
    """``log q`` of ``b`` in cell ``k``, its middle shifted by ``-S J_b``; coordinate ``far`` has a Cauchy law."""
    R, m, p = table.root[k], table.mean[k], table.p
    _lean(table, k, gradient, away)
    solve(R, p, away)
    total = table.log_det[k]
    for i in range(p):
        away[i] += b[i] - m[i]
    for i in range(p):
        value = 0.0
        for j in range(i, p):
            value += R[j, i] * away[j]
        total -= 0.5 * (square_beside(value) if i == far else value * value)
    return total


@helper
def propose_by_table(rng, turn, gradient):
    """Propose common parameters and the log scale by the table. Return the log ratio of the proposal densities.

    ``gradient`` is that of `.shift` at the centre. If the log scale is outside the table, nothing moves; the move never
    reaches such a point either.
    """
    factor, centre, state, there = turn.factor, turn.common.centre, turn.state, turn.there
    p = factor.p
    table = scale_table_at(factor.scale_table, 0, p)
    cells, low, step, tilt = table.cells, table.low, table.width, gradient[p] - table.slope
    place = (state[factor.scales_at] - low) / step
    if not (place >= 0.0 and place < cells and math.isfinite(tilt)):
        return 0.0
    here = int(place)
    tilted, largest, total = np.empty(cells), -np.inf, 0.0
    log_mass, phi = table.log_mass, table.phi
    for k in range(cells):
        tilted[k] = log_mass[k] - tilt * phi[k]
        largest = max(largest, tilted[k])
    for k in range(cells):
        total += math.exp(tilted[k] - largest)
    left, k = total * rng.random(), 0
    while k < cells - 1:
        left -= math.exp(tilted[k] - largest)
        if left < 0.0:
            break
        k += 1
    there[factor.scales_at] = low + (k + rng.random()) * step
    xi, b = np.empty(p), np.empty(p)
    R, m = table.root[k], table.mean[k]
    far = chosen_coordinate(rng, p) if factor.long_tails > 0 else -1
    _lean(table, k, gradient, b)
    for i in range(p):
        xi[i] = cauchy_number(rng) if i == far else rng.standard_normal()
    solve(R, p, b)
    back(R, p, xi)
    for i in range(p):
        b[i] = m[i] - b[i] + xi[i]
        there[i] = centre[i] + b[i]
    forth = tilted[k] + _standing(table, k, b, gradient, xi, far)
    for i in range(p):
        b[i] = state[i] - centre[i]
    return tilted[here] + _standing(table, here, b, gradient, xi, far) - forth
