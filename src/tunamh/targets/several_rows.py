"""What a block of rows with K linear predictors each contributes: compiled functions of packed rows, for every family.

Predictor ``k`` of row ``b`` of a block is ``eta[k * stride + b]``, ``stride = eta.size // K``.
"""

from __future__ import annotations

import numpy as np

from ..compiled import Differences, Energies, helper, part
from .designs.base import design_of
from .glm_rows import FIRST, apply_weights, family_rises, predictors, regression_of
from .layouts import order_of

# Layout of a packed row of a Taylor target: features, y, c, then eta (K), the gradient (K) and the lower triangle of
# the Hessian (K (K + 1) / 2) at the centre, row by row, and, if weighted, the weight.


@helper(inline=True)
def _weight_column(hyper):
    k = design_of(hyper).predictors
    return regression_of(hyper).y + 2 + 2 * k + k * (k + 1) // 2


@helper
def _polynomial_rise(rows, i, y, order, predictors_, stride, b, eta, eta_prop):
    """The rise of row ``i``'s Taylor polynomial: ``p.(g + H w / 2)``, ``p`` and ``w`` the move and twice its middle."""
    total, h = 0.0, y + 2 + 2 * predictors_
    for k in range(predictors_):
        move = eta_prop[k * stride + b] - eta[k * stride + b]
        slope = rows[i, y + 2 + predictors_ + k]
        if order > 1.0:
            for m in range(predictors_):
                middle = 0.5 * (eta_prop[m * stride + b] + eta[m * stride + b]) - rows[i, y + 2 + m]
                high, low = max(k, m), min(k, m)
                slope += rows[i, h + high * (high + 1) // 2 + low] * middle
        total += move * slope
    return total


@helper
def _subtract_polynomial(index, start, n, data, eta, eta_prop, rise):
    at, y, order = design_of(data.hyper), regression_of(data.hyper).y, order_of(data.hyper)
    stride = eta.size // at.predictors
    for b in range(n):
        i = index[start + b]
        rise[b] -= _polynomial_rise(data.rows, i, y, order, at.predictors, stride, b, eta, eta_prop)


@part(Differences)
def several_differences(theta, prop, index, start, n, data, rise, bound):
    family_rises(theta, prop, index, start, n, data, rise, bound)
    _subtract_polynomial(index, start, n, data, data.eta, data.eta_prop, rise)
    apply_weights(index, start, n, data, _weight_column(data.hyper), rise)


@helper
def _from_centre(theta, index, n, data, out):
    """``f(eta) - f(eta at the centre)``; ``data.eta`` keeps the centre's predictors, ``data.eta_prop`` those here."""
    at, y = design_of(data.hyper), regression_of(data.hyper).y
    predictors(theta, index, n, data, data.eta_prop)
    stride = data.eta.size // at.predictors
    for b in range(n):
        data.y[b] = data.rows[index[b], y]
        for k in range(at.predictors):
            data.eta[k * stride + b] = data.rows[index[b], y + 2 + k]
    data.family_rise(n, data.eta, data.eta_prop, data.y, data.family_hyper, out)


@part(Energies)
def several_energies(theta, index, n, data, out):
    """``R_i(theta)``, zero at the centre."""
    _from_centre(theta, index, n, data, out)
    _subtract_polynomial(index, FIRST, n, data, data.eta, data.eta_prop, out)
    apply_weights(index, FIRST, n, data, _weight_column(data.hyper), out)


@part(Energies)
def several_scales(theta, index, n, data, out):
    """Of what cancels in ``R_i(theta)``: energies, the polynomial's terms, and the rounding of the predictors."""
    at, own = design_of(data.hyper), regression_of(data.hyper)
    y, K, stride = own.y, at.predictors, data.eta.size // at.predictors
    _from_centre(theta, index, n, data, out)
    before, after = np.empty(n), np.empty(n)
    data.family_energy(n, data.eta, data.y, data.family_hyper, before)
    data.family_energy(n, data.eta_prop, data.y, data.family_hyper, after)
    for b in range(n):
        i = index[b]
        terms, _ = data.sizes(theta, data.rows, i, data.hyper)
        size = abs(before[b]) + abs(after[b]) + own.grain
        for k in range(K):
            away = abs(data.eta_prop[k * stride + b] - data.eta[k * stride + b])
            slope = abs(data.rows[i, y + 2 + K + k])
            for m in range(K):
                high, low = max(k, m), min(k, m)
                other = abs(data.eta_prop[m * stride + b] - data.eta[m * stride + b])
                slope += abs(data.rows[i, y + 2 + 2 * K + high * (high + 1) // 2 + low]) * other
            size += slope * (away + terms)
        out[b] = size
    apply_weights(index, FIRST, n, data, _weight_column(data.hyper), out)
