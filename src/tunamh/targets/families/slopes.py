"""Slope constants: how far ``f'`` can be from its tangent near a row's predictor, for bounds of order 2 (spec 5m).

The constant of a row is ``sup_{0<|z|<=radius} 2 |f'(eta+z) - f'(eta) - f''(eta) z| / z^2``. Set-up asks for it in every
row at two radii, so the loops are compiled: as chains of array operations they took most of a set-up.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ...compiled import CONTRACT, helper
from ...compiled.vector import exp_any, exp_negative, twice_atanh
from ...compiled.windows import window
from .base import ENDLESS, SIGMOID_THIRD, SIGMOID_THIRD_PEAKS, SLACK, Peaks, reach_of

Derivatives = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]

_DIGITS = 64 * np.finfo(float).eps  # what derivatives may lose
_PHI = tuple(2 / math.factorial(k + 2) for k in range(18))
_SIGMOID_PEAK = float(SIGMOID_THIRD_PEAKS[1][0])
_HIGHEST = float(SIGMOID_THIRD)
_LARGE = 650.0  # beyond it `exp_negative` stays what it is
_STRIP = 256  # rows whose numbers stay in the nearest cache


def slope_near(
    derivatives: Derivatives, eta: np.ndarray, radius: np.ndarray, peaks: Peaks, supremum: np.ndarray | float
) -> np.ndarray:
    """An upper bound of the slope constant, given all ``peaks`` of ``f'''`` and the supremum of ``|f'''|``.

    Let ``h(z)`` be the quotient, without the bars. It is ``int_0^1 2 (1-t) f'''(eta + t z) dt``, a mean of ``f'''``
    between ``eta`` and ``eta + z``. Where ``f'''`` is monotone from ``eta`` to ``eta + rho``, so is the integrand in
    ``z``, hence ``h``: on this side ``|h|`` is largest at ``z = rho`` or, in the limit, at 0, where it is ``|f'''|``.
    Where ``f'''`` turns on the way, its largest value on this side is a bound.

    The quotient cancels for small radii; what it may have lost is added, and ``sup |f'''|`` taken where it is less.
    """
    eta, reach = vectors_of_one_shape(eta, np.minimum(reach_of(eta, radius), ENDLESS))
    here, below, above = (_three(derivatives(at), eta) for at in (eta, eta - reach, eta + reach))
    where, height = np.empty((len(peaks), eta.size)), np.empty((len(peaks), eta.size))
    for k, peak in enumerate(peaks):
        where[k], height[k] = (np.ravel(np.broadcast_to(value, eta.shape)) for value in peak)
    result = np.empty(eta.shape)
    _slopes_of_ends(eta.ravel(), reach.ravel(), here, below, above, where, height, result.ravel())
    return np.where(reach < ENDLESS, np.minimum((1 + SLACK) * result, supremum), supremum)


def exponential_slopes(log_second: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """``f''(eta) phi(rho)``, ``phi(x) = 2 (e^x - 1 - x) / x^2``: the slope constant of ``e^eta`` and of ``e^-eta``.

    The quotient without the bars is ``f''(eta) phi(+-z)``, and ``phi(x) = int_0^1 2 (1-t) e^{tx} dt`` is positive and
    grows on the whole line. Where only ``|f'''| <= f''``, ``f''(eta + s) <= f''(eta) e^|s|`` makes it an upper bound.

    ``phi`` by its series below 1, with ``f''`` in the exponent above, so that their product overflows only if it must.
    """
    log_second, eta, radius = vectors_of_one_shape(log_second, eta, radius)
    result = np.empty(eta.shape)
    _exponential_slopes(log_second.ravel(), eta.ravel(), radius.ravel(), result.ravel())
    return result


def logistic_slopes(eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Slope constants of ``log(1 + e^eta)``: by `slope_near`, and by ``f'' phi(rho)``, as ``|f'''| = f'' |1 - 2p|``."""
    eta, radius = vectors_of_one_shape(eta, radius)
    result = np.empty(eta.shape)
    _logistic_slopes(eta.ravel(), radius.ravel(), result.ravel())
    return result


def vectors_of_one_shape(*values: np.ndarray | float) -> list[np.ndarray]:
    """Of one shape, as compiled loops want them: C order, and writable."""
    return [np.require(value, np.float64, ["C", "W"]) for value in np.broadcast_arrays(*values)]


def _three(derivatives: tuple[np.ndarray, ...], eta: np.ndarray) -> np.ndarray:
    """First, second and third derivatives below each other."""
    found = np.empty((3, eta.size))
    for k, values in enumerate(derivatives):
        found[k] = np.ravel(np.broadcast_to(values, eta.shape))
    return found


# ------------------------------------------------------------------------------------------------------- compiled


@helper(inline=True)
def _larger(a, b):
    """The larger one; NaN if either is, which no bound may hide."""
    return a if (a >= b) | (a != a) else b


@helper(inline=True)
def _reach(eta, radius):
    """As `reach_of`; at most `ENDLESS`."""
    reach = radius + SLACK * (1.0 + abs(eta) + radius)
    return ENDLESS if reach > ENDLESS else reach


@helper(inline=True)
def _is_ahead(where, sign, eta, reach):
    ahead = sign * (where - eta)
    return (ahead >= -SLACK * (1.0 + abs(eta))) & (ahead <= reach)


@helper(fastmath=CONTRACT, inline=True)
def _by_the_end(sign, eta, reach, here, end):
    """The quotient at ``z = sign reach``, with what rounding may have taken from it, or its limit at 0."""
    sizes = abs(end[0]) + abs(here[0]) + abs(here[1]) * reach
    sizes += (abs(end[1]) + abs(here[1])) * (abs(eta) + reach)  # eta + reach is rounded, too
    mean = abs(end[0] - here[0] - sign * reach * here[1]) + _DIGITS * sizes
    return _larger(abs(here[2]), 2.0 * mean / (reach * reach))


@helper
def _slopes_of_ends(eta, reach, here, below, above, where, height, out):
    """`slope_near`, given the derivatives (3, n) here and at both ends, and the peaks (k, n)."""
    for i in range(eta.size):
        at, out[i] = (here[0, i], here[1, i], here[2, i]), 0.0
        for side in range(2):
            sign, ends = 2.0 * side - 1.0, above if side == 1 else below
            end = (ends[0, i], ends[1, i], ends[2, i])
            most, turns = _larger(abs(at[2]), abs(end[2])), False
            for k in range(where.shape[0]):
                if _is_ahead(where[k, i], sign, eta[i], reach[i]):
                    most, turns = _larger(most, height[k, i]), True
            mean = _by_the_end(sign, eta[i], reach[i], at, end)
            smaller = most if (most <= mean) | (most != most) else mean
            out[i] = _larger(out[i], most if turns else smaller)


@helper(fastmath=CONTRACT, inline=True)
def _sigmoid(eta):
    """``p``, ``p'`` and ``p''``, the derivatives of ``log(1 + e^eta)``."""
    small = exp_negative(-abs(eta))
    large = 1.0 / (1.0 + small)
    p, q = (large, small * large) if eta > 0.0 else (small * large, large)
    return p, p * q, p * q * (q - p)


@helper(fastmath=CONTRACT, inline=True)
def _phi(x):
    """Its series, for ``x`` up to 1."""
    series = _PHI[17]
    series = series * x + _PHI[16]
    series = series * x + _PHI[15]
    series = series * x + _PHI[14]
    series = series * x + _PHI[13]
    series = series * x + _PHI[12]
    series = series * x + _PHI[11]
    series = series * x + _PHI[10]
    series = series * x + _PHI[9]
    series = series * x + _PHI[8]
    series = series * x + _PHI[7]
    series = series * x + _PHI[6]
    series = series * x + _PHI[5]
    series = series * x + _PHI[4]
    series = series * x + _PHI[3]
    series = series * x + _PHI[2]
    series = series * x + _PHI[1]
    return series * x + _PHI[0]


@helper(fastmath=CONTRACT, inline=True)
def _exponential_far(log_second, reach):
    """``f'' phi(reach)`` for a reach of 1 or more."""
    if not reach < ENDLESS:
        return np.inf
    above = exp_any(log_second + reach)
    beside = exp_any(log_second) * (1.0 + reach) if above < np.inf else 0.0
    return (1.0 + SLACK) * (2.0 / (reach * reach) * (above - beside))


@helper
def _far_rows(eta, radius):
    """How many rows have a reach of 1 or more, or a second derivative that underflows.

    Mostly none: what has to be done for them would else be done for all, and cost as much as the rest.
    """
    count = 0
    for i in range(eta.size):
        count += 0 if (_reach(eta[i], radius[i]) < 1.0) & (abs(eta[i]) < _LARGE) else 1
    return count


@helper(fastmath=CONTRACT)
def _exponential_slopes(log_second, eta, radius, out):
    for i in range(eta.size):
        reach = _reach(eta[i], radius[i])
        out[i] = (1.0 + SLACK) * (exp_any(log_second[i]) * _phi(reach if reach < 1.0 else 1.0))
    if _far_rows(eta, radius) == 0:
        return
    for i in range(eta.size):
        reach = _reach(eta[i], radius[i])
        if not reach < 1.0:
            out[i] = _exponential_far(log_second[i], reach)


@helper(fastmath=CONTRACT, inline=True)
def _logistic_side(sign, eta, reach, first, second, third, out):
    """What `slope_near` says of one side, where that is more than ``out``; derivatives at ``eta`` are given."""
    for i in range(eta.size):
        here, end = (first[i], second[i], third[i]), _sigmoid(eta[i] + sign * reach[i])
        most = max(abs(here[2]), abs(end[2]))
        left = _is_ahead(-_SIGMOID_PEAK, sign, eta[i], reach[i])
        turns = left | _is_ahead(_SIGMOID_PEAK, sign, eta[i], reach[i])
        mean = _by_the_end(sign, eta[i], reach[i], here, end)
        out[i] = max(out[i], _HIGHEST if turns else min(most, mean))


@helper(fastmath=CONTRACT)
def _logistic_slopes(eta, radius, out):
    """In short loops over some rows: one loop has more numbers than there are registers, and takes twice as long."""
    work = np.empty(4 * _STRIP)
    for start in range(0, eta.size, _STRIP):
        n = min(_STRIP, eta.size - start)
        at, within, found = window(eta, start, n), window(radius, start, n), window(out, start, n)
        reach, first = window(work, 0, n), window(work, _STRIP, n)
        second, third = window(work, 2 * _STRIP, n), window(work, 3 * _STRIP, n)
        for i in range(n):
            reach[i], found[i] = _reach(at[i], within[i]), 0.0
            first[i], second[i], third[i] = _sigmoid(at[i])
        for side in range(2):
            _logistic_side(2.0 * side - 1.0, at, reach, first, second, third, found)
        for i in range(n):
            near = min((1.0 + SLACK) * found[i], _HIGHEST) if reach[i] < ENDLESS else _HIGHEST
            series = (1.0 + SLACK) * (second[i] * _phi(reach[i] if reach[i] < 1.0 else 1.0))
            found[i] = min(near, series) if reach[i] < 1.0 else near
    if _far_rows(eta, radius) == 0:
        return
    for i in range(eta.size):
        reach_here = _reach(eta[i], radius[i])
        size = abs(eta[i])
        small = exp_negative(-size)
        log_second = -size - 2.0 * twice_atanh(small / (2.0 + small))
        if not reach_here < 1.0:
            out[i] = min(out[i], _exponential_far(log_second, reach_here))
        elif not size < _LARGE:
            out[i] = min(out[i], (1.0 + SLACK) * (exp_any(log_second) * _phi(reach_here)))
