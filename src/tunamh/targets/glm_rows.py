"""What a block of a regression's rows contributes: compiled functions of packed rows, for every family."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..compiled import Differences, Energies, helper, part
from ..compiled.windows import window
from .designs.base import DesignNumbers
from .layouts import (
    REGRESSION,
    firefly_row_at,
    order_of,
    regression_of,
    row_at,
    taylor_row_at,
)

FIRST = np.int64(0)
"""Where a list of rows begins. A plain 0 is a type of its own to Numba: what takes it would be compiled twice."""


def own_numbers(
    design: DesignNumbers, *, temper: float, weighted: bool, grain: float, table: Sequence[float] = ()
) -> tuple[float, ...]:
    """Return the numbers that `regression_of` reads. ``table`` is the table of the design."""
    of_rows = design._replace(curves=len(design.curves))._asdict()
    own = REGRESSION.pack(**of_rows, temper=temper, weighted=weighted, grain=grain, table=np.asarray(table, np.float64))
    return tuple(own.tolist())


@helper
def apply_weights(index, start, n, data, column, values):
    """Multiply values by the weights of the rows, and by the temper if there are no weights.

    The weights are in ``column``, after all other numbers of a row.
    """
    own = regression_of(data.hyper)
    if own.weighted:
        for b in range(n):
            i = index[start + b]
            values[b] *= data.rows[i, column]
    elif own.temper != 1.0:
        temper = own.temper
        for b in range(n):
            values[b] *= temper


@helper(inline=True)
def _end_of_row(data):
    return row_at(data.rows, 0, regression_of(data.hyper).width).end


@helper(inline=True)
def _end_of_taylor_row(data):
    return taylor_row_at(data.rows, 0, regression_of(data.hyper).width).end


@helper(inline=True)
def _end_of_firefly_row(data):
    return firefly_row_at(data.rows, 0, regression_of(data.hyper).width).end


@helper(inline=True)
def _add_offset(index, start, n, data, eta):
    """Where there is one, it is the last of the features."""
    own = regression_of(data.hyper)
    if own.shifted:
        for b in range(n):
            eta[b] += row_at(data.rows, index[start + b], own.width).features[-1]


@helper(inline=True)
def predictors(theta, index, n, data, eta):
    """Compute ``x.theta`` plus the offset for a block of rows."""
    data.dot(theta, data.rows, index, n, data.hyper, eta)
    _add_offset(index, FIRST, n, data, eta)


@helper(inline=True)
def family_rises(theta, prop, index, start, n, data, rise, bound):
    """Compute ``f(eta') - f(eta)`` and ``c_i`` for a block of rows.

    The predictors stay in ``data.eta`` and ``data.eta_prop``.
    """
    width = regression_of(data.hyper).width
    from_start = window(index, start, index.size - start)
    data.dots(theta, prop, data.rows, from_start, n, data.hyper, data.eta, data.eta_prop)
    _add_offset(index, start, n, data, data.eta)
    _add_offset(index, start, n, data, data.eta_prop)
    for b in range(n):
        row = row_at(data.rows, index[start + b], width)
        data.y[b] = row.y
        bound[b] = row.bound
    data.family_rise(n, data.eta, data.eta_prop, data.y, data.family_hyper, rise)


@helper(inline=True)
def _family_energies(theta, index, n, data, out):
    """``f(eta)`` of a block of rows; ``data.eta`` keeps the predictors."""
    width = regression_of(data.hyper).width
    predictors(theta, index, n, data, data.eta)
    for b in range(n):
        data.y[b] = row_at(data.rows, index[b], width).y
    data.family_energy(n, data.eta, data.y, data.family_hyper, out)


@part(Differences)
def differences(theta, prop, index, start, n, data, rise, bound):
    family_rises(theta, prop, index, start, n, data, rise, bound)
    apply_weights(index, start, n, data, _end_of_row(data), rise)


@part(Energies)
def energies(theta, index, n, data, out):
    _family_energies(theta, index, n, data, out)
    apply_weights(index, FIRST, n, data, _end_of_row(data), out)


@helper(inline=True)
def _terms(theta, i, data):
    """``sum_j |x_j theta_j|`` of row ``i``, by which its predictor's rounding is measured, and ``|x|``."""
    own = regression_of(data.hyper)
    terms, length = data.sizes(theta, data.rows, i, data.hyper)
    return (terms + abs(row_at(data.rows, i, own.width).features[-1]) if own.shifted else terms), length


# Scales: the size of the numbers that cancel in a row's energy, by which rounding is measured. They are asked for only
# where a bound is exceeded. A family's grain is the size of what cancels in rises even where its energies are small.


@part(Energies)
def scales(theta, index, n, data, out):
    """Compute ``w (|f| + grain) + w sup|f'| sum_j |x_j theta_j|``, the size of rounding errors of an energy.

    The supremum comes from the bound ``c = w sup|f'| |x|``.
    """
    own = regression_of(data.hyper)
    _family_energies(theta, index, n, data, out)
    for b in range(n):
        out[b] = abs(out[b]) + own.grain
    apply_weights(index, FIRST, n, data, _end_of_row(data), out)
    for b in range(n):
        terms, length = _terms(theta, index[b], data)
        if length > 0.0:
            out[b] += row_at(data.rows, index[b], own.width).bound * (terms / length)


# ------------------------------------------------------------------------------------------------- Taylor targets


@helper(inline=True)
def _subtract_polynomial(index, start, n, data, rise):
    """From ``f(eta') - f(eta)`` take the Taylor part, a polynomial in the predictors' distances from the centre's."""
    width, second = regression_of(data.hyper).width, order_of(data.hyper) > 1.0
    for b in range(n):
        row = taylor_row_at(data.rows, index[start + b], width)
        before, after = data.eta[b] - row.eta, data.eta_prop[b] - row.eta
        rise[b] -= (after - before) * row.slope
        if second:
            rise[b] -= 0.5 * (after - before) * (after + before) * row.curvature


@part(Differences)
def taylor_differences(theta, prop, index, start, n, data, rise, bound):
    family_rises(theta, prop, index, start, n, data, rise, bound)
    _subtract_polynomial(index, start, n, data, rise)
    apply_weights(index, start, n, data, _end_of_taylor_row(data), rise)


@helper(inline=True)
def _rises_from_centre(theta, index, n, data, out):
    """``f(eta) - f(eta at the centre)``; ``data.eta`` keeps the centre's predictors, ``data.eta_prop`` those here."""
    width = regression_of(data.hyper).width
    predictors(theta, index, n, data, data.eta_prop)
    for b in range(n):
        row = taylor_row_at(data.rows, index[b], width)
        data.y[b] = row.y
        data.eta[b] = row.eta
    data.family_rise(n, data.eta, data.eta_prop, data.y, data.family_hyper, out)


@part(Energies)
def taylor_energies(theta, index, n, data, out):
    """Compute the remainders ``R_i(theta)``, which are zero at the centre."""
    _rises_from_centre(theta, index, n, data, out)
    _subtract_polynomial(index, FIRST, n, data, out)
    apply_weights(index, FIRST, n, data, _end_of_taylor_row(data), out)


@part(Energies)
def taylor_scales(theta, index, n, data, out):
    """Compute the size of the terms that cancel in ``R_i(theta)``.

    These are the energy, its rise from the centre, the polynomial, and the rounding of the predictor.
    """
    own, order = regression_of(data.hyper), order_of(data.hyper)
    rise = np.empty(n)
    _rises_from_centre(theta, index, n, data, rise)
    data.family_energy(n, data.eta_prop, data.y, data.family_hyper, out)
    for b in range(n):
        row = taylor_row_at(data.rows, index[b], own.width)
        slope, curvature = abs(row.slope), abs(row.curvature)
        away = abs(data.eta_prop[b] - row.eta)
        terms, _ = _terms(theta, index[b], data)
        polynomial = slope * away + 0.5 * (order - 1.0) * curvature * away * away
        out[b] = abs(out[b]) + own.grain + abs(rise[b]) + polynomial + (slope + curvature * away) * terms
    apply_weights(index, FIRST, n, data, _end_of_taylor_row(data), out)


# ------------------------------------------------------------------------------------------------ firefly targets


@part(Energies)
def firefly_energies(theta, index, n, data, out):
    """Compute ``-gap = f + a e^2 + b e + k`` with ``e = eta - anchor``. It is at most zero."""
    width = regression_of(data.hyper).width
    _family_energies(theta, index, n, data, out)
    for b in range(n):
        row = firefly_row_at(data.rows, index[b], width)
        away = data.eta[b] - row.anchor
        out[b] += (row.curvature * away + row.slope) * away + row.constant
    apply_weights(index, FIRST, n, data, _end_of_firefly_row(data), out)


@part(Energies)
def firefly_scales(theta, index, n, data, out):
    """Compute the size of the terms that cancel in a gap.

    These are the energy, the three terms of its lower bound, and the rounding of the predictor.
    """
    own = regression_of(data.hyper)
    _family_energies(theta, index, n, data, out)
    for b in range(n):
        row = firefly_row_at(data.rows, index[b], own.width)
        away = abs(data.eta[b] - row.anchor)
        curvature, slope, constant = abs(row.curvature), abs(row.slope), abs(row.constant)
        terms, _ = _terms(theta, index[b], data)
        out[b] = abs(out[b]) + own.grain + (curvature * away + slope) * away + constant
        out[b] += (2.0 * curvature * away + slope) * (terms + abs(row.anchor))
    apply_weights(index, FIRST, n, data, _end_of_firefly_row(data), out)
