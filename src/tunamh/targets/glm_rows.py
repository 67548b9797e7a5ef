"""What a block of a regression's rows contributes: compiled functions of packed rows, for every family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..compiled import Differences, Energies, helper, part
from .designs.base import DesignNumbers, design_of
from .layouts import OWN, order_of

FIRST = np.int64(0)
"""Where a list of rows begins. A plain 0 is a type of its own to Numba: what takes it would be compiled twice."""

# Layout of a packed row: the features, the offset at their end if there is one, y, c and, when rows are weighted, the
# weight (temper included).


class Regression(NamedTuple):
    """A regression's own numbers, besides the design's; ``y`` is the column of the response, behind the features.

    For the family's ``grain`` see `scales`.
    """

    y: Any
    temper: Any
    weighted: Any
    grain: Any


_REGRESSION = OWN + len(DesignNumbers._fields)


def own_numbers(
    design: DesignNumbers, *, temper: float, weighted: bool, grain: float, table: Sequence[float] = ()
) -> tuple[float, ...]:
    """What `design_of` and `regression_of` read, and the table of terms of a design with several predictors."""
    return (*design, temper, weighted, grain, *table)


@helper(inline=True)
def regression_of(hyper):
    return Regression(design_of(hyper).width, hyper[_REGRESSION], hyper[_REGRESSION + 1] > 0.0, hyper[_REGRESSION + 2])


@helper
def apply_weights(index, start, n, data, column, values):
    """Multiply by the rows' weights in ``column``, or by temper when there are none."""
    own = regression_of(data.hyper)
    if own.weighted:
        for b in range(n):
            values[b] *= data.rows[index[start + b], column]
    elif own.temper != 1.0:
        for b in range(n):
            values[b] *= own.temper


@helper(inline=True)
def _add_offset(index, start, n, data, eta):
    """Where there is one, it is the last of the features."""
    at = design_of(data.hyper)
    if at.shifted:
        for b in range(n):
            eta[b] += data.rows[index[start + b], at.width - 1]


@helper(inline=True)
def predictors(theta, index, n, data, eta):
    """``x.theta`` of a block of rows, the offset included."""
    data.dot(theta, data.rows, index, n, data.hyper, eta)
    _add_offset(index, FIRST, n, data, eta)


@helper(inline=True)
def family_rises(theta, prop, index, start, n, data, rise, bound):
    """``f(eta') - f(eta)`` and ``c_i`` of a block of rows; ``data.eta`` and ``data.eta_prop`` keep the predictors."""
    y = regression_of(data.hyper).y
    data.dots(theta, prop, data.rows, index, start, n, data.hyper, data.eta, data.eta_prop)
    _add_offset(index, start, n, data, data.eta)
    _add_offset(index, start, n, data, data.eta_prop)
    for b in range(n):
        data.y[b] = data.rows[index[start + b], y]
        bound[b] = data.rows[index[start + b], y + 1]
    data.family_rise(n, data.eta, data.eta_prop, data.y, data.family_hyper, rise)


@helper(inline=True)
def _family_energies(theta, index, n, data, out):
    """``f(eta)`` of a block of rows; ``data.eta`` keeps the predictors."""
    y = regression_of(data.hyper).y
    predictors(theta, index, n, data, data.eta)
    for b in range(n):
        data.y[b] = data.rows[index[b], y]
    data.family_energy(n, data.eta, data.y, data.family_hyper, out)


@part(Differences)
def differences(theta, prop, index, start, n, data, rise, bound):
    family_rises(theta, prop, index, start, n, data, rise, bound)
    apply_weights(index, start, n, data, regression_of(data.hyper).y + 2, rise)


@part(Energies)
def energies(theta, index, n, data, out):
    _family_energies(theta, index, n, data, out)
    apply_weights(index, FIRST, n, data, regression_of(data.hyper).y + 2, out)


@helper(inline=True)
def _terms(theta, i, data):
    """``sum_j |x_j theta_j|`` of row ``i``, by which its predictor's rounding is measured, and ``|x|``."""
    at = design_of(data.hyper)
    terms, length = data.sizes(theta, data.rows, i, data.hyper)
    return (terms + abs(data.rows[i, at.width - 1]) if at.shifted else terms), length


# Scales: the size of the numbers that cancel in a row's energy, by which rounding is measured. They are asked for only
# where a bound is exceeded. A family's grain is the size of what cancels in rises even where its energies are small.


@part(Energies)
def scales(theta, index, n, data, out):
    """``w (|f| + grain) + w sup|f'| sum_j |x_j theta_j|``; of the supremum the bound knows, ``c = w sup|f'| |x|``."""
    c = regression_of(data.hyper).y + 1
    _family_energies(theta, index, n, data, out)
    for b in range(n):
        out[b] = abs(out[b]) + regression_of(data.hyper).grain
    apply_weights(index, FIRST, n, data, c + 1, out)
    for b in range(n):
        terms, length = _terms(theta, index[b], data)
        if length > 0.0:
            out[b] += data.rows[index[b], c] * (terms / length)


# Layout of a packed row of a Taylor target: x, y, c, then eta, f' and f'' at the centre and, if weighted, the weight.


@helper
def _subtract_polynomial(index, start, n, rows, y, order, eta, eta_prop, rise):
    """From ``f(eta') - f(eta)`` take the Taylor part, a polynomial in the predictors' distances from the centre's."""
    for b in range(n):
        i = index[start + b]
        before, after = eta[b] - rows[i, y + 2], eta_prop[b] - rows[i, y + 2]
        rise[b] -= (after - before) * rows[i, y + 3]
        if order > 1.0:
            rise[b] -= 0.5 * (after - before) * (after + before) * rows[i, y + 4]


@part(Differences)
def taylor_differences(theta, prop, index, start, n, data, rise, bound):
    y = regression_of(data.hyper).y
    family_rises(theta, prop, index, start, n, data, rise, bound)
    _subtract_polynomial(index, start, n, data.rows, y, order_of(data.hyper), data.eta, data.eta_prop, rise)
    apply_weights(index, start, n, data, y + 5, rise)


@part(Energies)
def taylor_energies(theta, index, n, data, out):
    """``R_i(theta)``, zero at the centre."""
    y = regression_of(data.hyper).y
    predictors(theta, index, n, data, data.eta_prop)
    for b in range(n):
        data.y[b] = data.rows[index[b], y]
        data.eta[b] = data.rows[index[b], y + 2]
    data.family_rise(n, data.eta, data.eta_prop, data.y, data.family_hyper, out)
    _subtract_polynomial(index, FIRST, n, data.rows, y, order_of(data.hyper), data.eta, data.eta_prop, out)
    apply_weights(index, FIRST, n, data, y + 5, out)


@part(Energies)
def taylor_scales(theta, index, n, data, out):
    """Of what cancels in ``R_i(theta)``: energy, rise from the centre, polynomial, and the predictor's rounding."""
    own, order = regression_of(data.hyper), order_of(data.hyper)
    y, grain = own.y, own.grain
    rise = np.empty(n)
    predictors(theta, index, n, data, data.eta_prop)
    for b in range(n):
        data.y[b] = data.rows[index[b], y]
        data.eta[b] = data.rows[index[b], y + 2]
    data.family_energy(n, data.eta_prop, data.y, data.family_hyper, out)
    data.family_rise(n, data.eta, data.eta_prop, data.y, data.family_hyper, rise)
    for b in range(n):
        i = index[b]
        slope, curvature = abs(data.rows[i, y + 3]), abs(data.rows[i, y + 4])
        away = abs(data.eta_prop[b] - data.rows[i, y + 2])
        terms, _ = _terms(theta, i, data)
        polynomial = slope * away + 0.5 * (order - 1.0) * curvature * away * away
        out[b] = abs(out[b]) + grain + abs(rise[b]) + polynomial + (slope + curvature * away) * terms
    apply_weights(index, FIRST, n, data, y + 5, out)


# Layout of a packed row of a firefly target: x, y, c, the lower bound's anchor, a, b, k and, if weighted, the weight.


@part(Energies)
def firefly_energies(theta, index, n, data, out):
    """``-gap = f + a e^2 + b e + k`` with ``e = eta - anchor``, at most zero."""
    y = regression_of(data.hyper).y
    _family_energies(theta, index, n, data, out)
    for b in range(n):
        i = index[b]
        away = data.eta[b] - data.rows[i, y + 2]
        out[b] += (data.rows[i, y + 3] * away + data.rows[i, y + 4]) * away + data.rows[i, y + 5]
    apply_weights(index, FIRST, n, data, y + 6, out)


@part(Energies)
def firefly_scales(theta, index, n, data, out):
    """Size of what cancels in a gap: the energy, the three terms of its lower bound, and the predictor's rounding."""
    y = regression_of(data.hyper).y
    _family_energies(theta, index, n, data, out)
    for b in range(n):
        i = index[b]
        away = abs(data.eta[b] - data.rows[i, y + 2])
        curvature, slope, constant = abs(data.rows[i, y + 3]), abs(data.rows[i, y + 4]), abs(data.rows[i, y + 5])
        terms, _ = _terms(theta, i, data)
        out[b] = abs(out[b]) + regression_of(data.hyper).grain + (curvature * away + slope) * away + constant
        out[b] += (2.0 * curvature * away + slope) * (terms + abs(data.rows[i, y + 2]))
    apply_weights(index, FIRST, n, data, y + 6, out)
