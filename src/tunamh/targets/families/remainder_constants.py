"""Remainder constants: how far ``f'`` can be from its Taylor polynomial near a row's predictor (spec 5m, 5r).

    order 2    sup_{0<|z|<=radius}  2 |f'(eta+z) - f'(eta) - f''(eta) z| / z^2
    order 3    sup_{0<|z|<=radius}  6 |f'(eta+z) - f'(eta) - f''(eta) z - f'''(eta) z^2/2| / |z|^3

Set-up asks for those of order 2 in every row at two radii, so the loops are compiled: as chains of array operations
they took most of a set-up. Those of the logistic function are in `.logistic`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ...compiled import CONTRACT, helper
from ...compiled.vector import exp_any
from .intervals import ENDLESS, SLACK, Peaks, vectors_of_one_shape, widened

Derivatives = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


_DIGITS = 64 * np.finfo(float).eps  # what derivatives may lose

_PHI = tuple(2 / math.factorial(k + 2) for k in range(18))

LARGE = 650.0  # beyond it `exp_negative` stays what it is


def second_order_near(
    derivatives: Derivatives, eta: np.ndarray, radius: np.ndarray, peaks: Peaks, supremum: np.ndarray | float
) -> np.ndarray:
    """Return an upper bound of the constant of order 2, given all ``peaks`` of ``f'''`` and the supremum of ``|f'''|``.

    Let ``h(z)`` be the quotient in the definition of the constant, without absolute values. It is ``int_0^1 2 (1-t)
    f'''(eta + t z) dt``, a mean of ``f'''`` between ``eta`` and ``eta + z``. If ``f'''`` is monotone from ``eta`` to
    ``eta + rho``, the integrand is monotone in ``z``, so ``h`` is, too: on this side ``|h|`` is largest at ``z = rho``
    or in the limit 0, where it is ``|f'''|``. If ``f'''`` has a peak on the way, its largest value on this side is a
    bound.

    For small radii the quotient loses digits. The possible loss is added, and ``sup |f'''|`` is used where it is
    smaller.
    """
    eta, wide = vectors_of_one_shape(eta, np.minimum(widened(eta, radius), ENDLESS))
    here, below, above = (_three(derivatives(at), eta) for at in (eta, eta - wide, eta + wide))
    where, height = np.empty((len(peaks), eta.size)), np.empty((len(peaks), eta.size))
    for k, peak in enumerate(peaks):
        where[k], height[k] = (np.ravel(np.broadcast_to(value, eta.shape)) for value in peak)
    result = np.empty(eta.shape)
    _second_order_of_ends(eta.ravel(), wide.ravel(), here, below, above, where, height, result.ravel())
    return np.where(wide < ENDLESS, np.minimum((1 + SLACK) * result, supremum), supremum)


def exponential_second_order(log_second: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Return ``f''(eta) phi(rho)``: constants of order 2 of ``e^eta`` and ``e^-eta``.

    The function is ``phi(x) = 2 (e^x - 1 - x) / x^2``. The quotient in the definition of the constants, without
    absolute values, is ``f''(eta) phi(+-z)``, and ``phi(x) = int_0^1 2 (1-t) e^{tx} dt`` is positive and grows on the
    whole line. If only ``|f'''| <= f''`` is known, ``f''(eta + s) <= f''(eta) e^|s|`` shows that it is an upper bound.

    Below 1, ``phi`` is computed by its series. Above 1, ``f''`` is part of the exponent, so the product overflows only
    if its value is too large.
    """
    log_second, eta, radius = vectors_of_one_shape(log_second, eta, radius)
    result = np.empty(eta.shape)
    _exponential_second_order(log_second.ravel(), eta.ravel(), radius.ravel(), result.ravel())
    return result


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
def widened_of(eta, radius):
    """Return what `widened` returns, but at most `ENDLESS`."""
    wide = radius + SLACK * (1.0 + abs(eta) + radius)
    return ENDLESS if wide > ENDLESS else wide


@helper(inline=True)
def is_ahead(where, sign, eta, wide):
    ahead = sign * (where - eta)
    return (ahead >= -SLACK * (1.0 + abs(eta))) & (ahead <= wide)


@helper(fastmath=CONTRACT, inline=True)
def by_the_end(sign, eta, wide, here, end):
    """Return the quotient at ``z = sign wide`` plus its rounding error, or its limit at 0 if this is larger."""
    sizes = abs(end[0]) + abs(here[0]) + abs(here[1]) * wide
    sizes += (abs(end[1]) + abs(here[1])) * (abs(eta) + wide)  # eta + wide is rounded, too
    mean = abs(end[0] - here[0] - sign * wide * here[1]) + _DIGITS * sizes
    return _larger(abs(here[2]), 2.0 * mean / (wide * wide))


@helper
def _second_order_of_ends(eta, wide, here, below, above, where, height, out):
    """`second_order_near`, given the derivatives (3, n) here and at both ends, and the peaks (k, n)."""
    for i in range(eta.size):
        at, out[i] = (here[0, i], here[1, i], here[2, i]), 0.0
        for side in range(2):
            sign, ends = 2.0 * side - 1.0, above if side == 1 else below
            end = (ends[0, i], ends[1, i], ends[2, i])
            most, turns = _larger(abs(at[2]), abs(end[2])), False
            for k in range(where.shape[0]):
                if is_ahead(where[k, i], sign, eta[i], wide[i]):
                    most, turns = _larger(most, height[k, i]), True
            mean = by_the_end(sign, eta[i], wide[i], at, end)
            smaller = most if (most <= mean) | (most != most) else mean
            out[i] = _larger(out[i], most if turns else smaller)


@helper(fastmath=CONTRACT, inline=True)
def phi(x):
    """Return ``phi(x)`` for ``x`` up to 1 by its series."""
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
def exponential_far(log_second, wide):
    """Return ``f'' phi(wide)`` for ``wide`` of 1 or more."""
    if not wide < ENDLESS:
        return np.inf
    above = exp_any(log_second + wide)
    beside = exp_any(log_second) * (1.0 + wide) if above < np.inf else 0.0
    return (1.0 + SLACK) * (2.0 / (wide * wide) * (above - beside))


@helper
def far_rows(eta, radius):
    """Return the number of rows with ``wide`` of 1 or more, or with a second derivative that underflows.

    Mostly there are none. Then the expensive formula for such rows can be left out for all rows.
    """
    count = 0
    for i in range(eta.size):
        count += 0 if (widened_of(eta[i], radius[i]) < 1.0) & (abs(eta[i]) < LARGE) else 1
    return count


@helper(fastmath=CONTRACT)
def _exponential_second_order(log_second, eta, radius, out):
    for i in range(eta.size):
        wide = widened_of(eta[i], radius[i])
        out[i] = (1.0 + SLACK) * (exp_any(log_second[i]) * phi(wide if wide < 1.0 else 1.0))
    if far_rows(eta, radius) == 0:
        return
    for i in range(eta.size):
        wide = widened_of(eta[i], radius[i])
        if not wide < 1.0:
            out[i] = exponential_far(log_second[i], wide)


# -------------------------------------------------------------------------------------------------------- order 3

_PHI_THIRD = np.array([6 / math.factorial(k + 3) for k in range(18)])  # up to rho = 1


def exponential_third_order(log_second: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Return ``f'' 6 (e^rho - 1 - rho - rho^2/2) / rho^3``: constants of order 3 of ``e^eta``."""
    wide = widened(eta, radius)
    with np.errstate(over="ignore", invalid="ignore"):
        second = np.exp(log_second)
        small, large = np.minimum(wide, 1), np.maximum(np.minimum(wide, 600.0), 1)
        near = np.polynomial.polynomial.polyval(small, _PHI_THIRD)
        far = 6 / large**3 * (np.exp(large) - 1 - large - large**2 / 2)
        return np.where(wide < 600.0, (1 + SLACK) * second * np.where(wide < 1, near, far), np.inf)
