"""What a block of rows with K linear predictors each contributes: compiled functions of packed rows, for every family.

Predictor ``k`` of row ``b`` of a block is ``eta[k * stride + b]``. Behind the K predictors, ``eta`` has the columns of
the data that the energy is given: they do not move.
"""

from __future__ import annotations

import numpy as np

from ..compiled import Differences, Energies, helper, part
from .glm_rows import FIRST, apply_weights, family_rises, predictors
from .layouts import multi_predictor_row_at, order_of, regression_of


@helper(inline=True)
def _row(data, i):
    own = regression_of(data.hyper)
    return multi_predictor_row_at(data.rows, i, own.width, own.predictors)


@helper(inline=True)
def _triangle(k, m):
    """The place of entry ``(k, m)`` of a symmetric matrix in its lower triangle."""
    high, low = max(k, m), min(k, m)
    return high * (high + 1) // 2 + low


@helper(inline=True)
def _stride(data):
    own = regression_of(data.hyper)
    return data.eta.size // (own.predictors + own.known)


@helper
def _polynomial_rise(row, order, b, stride, eta, eta_prop):
    """The rise of a row's Taylor polynomial: ``p.(g + H w / 2)``, ``p`` and ``w`` the move and twice its middle."""
    total, K = 0.0, row.K
    for k in range(K):
        move = eta_prop[k * stride + b] - eta[k * stride + b]
        slope = row.gradient[k]
        if order > 1.0:
            for m in range(K):
                middle = 0.5 * (eta_prop[m * stride + b] + eta[m * stride + b]) - row.eta[m]
                slope += row.hessian[_triangle(k, m)] * middle
        total += move * slope
    return total


@helper
def _subtract_polynomial(index, start, n, data, rise):
    order, stride = order_of(data.hyper), _stride(data)
    for b in range(n):
        rise[b] -= _polynomial_rise(_row(data, index[start + b]), order, b, stride, data.eta, data.eta_prop)


@part(Differences)
def multi_predictor_differences(theta, prop, index, start, n, data, rise, bound):
    family_rises(theta, prop, index, start, n, data, rise, bound)
    _subtract_polynomial(index, start, n, data, rise)
    apply_weights(index, start, n, data, _row(data, 0).end, rise)


@helper
def _from_centre(theta, index, n, data, out):
    """``f(eta) - f(eta at the centre)``; ``data.eta`` keeps the centre's predictors, ``data.eta_prop`` those here."""
    predictors(theta, index, n, data, data.eta_prop)
    own, stride = regression_of(data.hyper), _stride(data)
    for b in range(n):
        row = _row(data, index[b])
        data.y[b] = row.y
        for k in range(own.predictors):
            data.eta[k * stride + b] = row.eta[k]
        for k in range(own.predictors, own.predictors + own.known):
            data.eta[k * stride + b] = data.eta_prop[k * stride + b]
    data.family_rise(n, data.eta, data.eta_prop, data.y, data.family_hyper, out)


@part(Energies)
def multi_predictor_energies(theta, index, n, data, out):
    """Compute the remainders ``R_i(theta)``, which are zero at the centre."""
    _from_centre(theta, index, n, data, out)
    _subtract_polynomial(index, FIRST, n, data, out)
    apply_weights(index, FIRST, n, data, _row(data, 0).end, out)


@part(Energies)
def multi_predictor_scales(theta, index, n, data, out):
    """Compute the size of the terms that cancel in ``R_i(theta)``.

    These are the energies, the terms of the polynomial, and the rounding of the predictors.
    """
    own = regression_of(data.hyper)
    K, grain = own.predictors, own.grain
    stride = _stride(data)
    _from_centre(theta, index, n, data, out)
    before, after = np.empty(n), np.empty(n)
    data.family_energy(n, data.eta, data.y, data.family_hyper, before)
    data.family_energy(n, data.eta_prop, data.y, data.family_hyper, after)
    for b in range(n):
        row = _row(data, index[b])
        terms, _ = data.sizes(theta, data.rows, index[b], data.hyper)
        size = abs(before[b]) + abs(after[b]) + grain
        for k in range(K):
            away = abs(data.eta_prop[k * stride + b] - data.eta[k * stride + b])
            slope = abs(row.gradient[k])
            for m in range(K):
                other = abs(data.eta_prop[m * stride + b] - data.eta[m * stride + b])
                slope += abs(row.hessian[_triangle(k, m)]) * other
            size += slope * (away + terms)
        out[b] = size
    apply_weights(index, FIRST, n, data, _row(data, 0).end, out)
