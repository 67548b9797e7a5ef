"""Labels by the complementary log-log link: the first event of a Poisson process."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ...compiled import CONTRACT, FamilyEnergy, FamilyRise, helper, part
from ...compiled.vector import exp_any, exp_rise, twice_atanh
from .intervals import largest, widened
from .likelihood import Suprema
from .links import CLOGLOG
from .logistic import LinearInLabel
from .remainder_constants import exponential_second_order, second_order_near

_LARGEST = 6.5  # beyond it e^-u, u = e^eta, is below 1e-288
_INV_NEXT = tuple((-1) ** k / math.factorial(k + 1) for k in range(18))


@helper(fastmath=CONTRACT, inline=True)
def _share(eta):
    """``(1 - e^-u) e^-m``, ``u = e^eta``, ``m = min(eta, 0)``, and ``e^-u`` where ``eta >= 0``.

    The first lies between 1 - 1/e and 1: below zero it is ``(1 - e^-u) / u``, by its series.
    """
    u = exp_any(min(eta, 0.0))
    series = _INV_NEXT[17]
    series = series * u + _INV_NEXT[16]
    series = series * u + _INV_NEXT[15]
    series = series * u + _INV_NEXT[14]
    series = series * u + _INV_NEXT[13]
    series = series * u + _INV_NEXT[12]
    series = series * u + _INV_NEXT[11]
    series = series * u + _INV_NEXT[10]
    series = series * u + _INV_NEXT[9]
    series = series * u + _INV_NEXT[8]
    series = series * u + _INV_NEXT[7]
    series = series * u + _INV_NEXT[6]
    series = series * u + _INV_NEXT[5]
    series = series * u + _INV_NEXT[4]
    series = series * u + _INV_NEXT[3]
    series = series * u + _INV_NEXT[2]
    series = series * u + _INV_NEXT[1]
    series = series * u + _INV_NEXT[0]
    missed = exp_any(-exp_any(max(eta, 0.0)))
    return (series if eta < 0.0 else 1.0 - missed), missed


@helper(fastmath=CONTRACT, inline=True)
def hit_energy(eta):
    """Return the energy of the label 1, ``g = -log(1 - e^-u)`` with ``u = e^eta``.

    For ``eta`` above zero ``g`` is small. There it is computed as ``-log(1 - x) = 2 atanh(x / (2 - x))`` with ``x =
    e^-u <= 1/e``.
    """
    share, missed = _share(eta)
    top = missed if eta >= 0.0 else 1.0 - share
    return twice_atanh(top / (1.0 + share)) - min(eta, 0.0)


@helper(fastmath=CONTRACT, inline=True)
def hit_rise(eta, eta_prop):
    """Return ``g(eta') - g(eta)`` for the energy ``g`` of the label 1.

    It is ``2 atanh(D / S)`` plus a difference of predictors. ``D`` and ``S`` are the difference and the sum of the
    shares ``(1 - e^-u) / u`` (of ``1 - e^-u`` above zero) at both points, and ``D / S`` is at most 0.23. Above zero,
    ``D`` is the difference of the small numbers ``e^-u``, so no digits are lost.
    """
    (share, missed), (share_prop, missed_prop) = _share(eta), _share(eta_prop)
    top = missed_prop - missed if min(eta, eta_prop) >= 0.0 else share - share_prop
    return twice_atanh(top / (share + share_prop)) + (min(eta, 0.0) - min(eta_prop, 0.0))


@part(FamilyEnergy, fastmath=CONTRACT)
def _cloglog_energy(n, eta, y, hyper, out):
    for b in range(n):
        miss = exp_any(eta[b]) if y[b] < 1.0 else 0.0  # 0 times infinity is none
        out[b] = y[b] * hit_energy(eta[b]) + (1.0 - y[b]) * miss


@part(FamilyRise, fastmath=CONTRACT)
def _cloglog_rise(n, eta, eta_prop, y, hyper, out):
    for b in range(n):
        miss = exp_rise(eta[b], eta_prop[b]) if y[b] < 1.0 else 0.0
        out[b] = y[b] * hit_rise(eta[b], eta_prop[b]) + (1.0 - y[b]) * miss


_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)
_EVEN = tuple(b / math.factorial(2 * k) for k, b in enumerate(_BERNOULLI, 1))

# The peaks of g'' and g''', zeros of the next derivative found to 40 digits; heights rounded up.
HIT_SLOPE_PEAKS = ((0.6208296545655721, 0.4125316189131415),)
HIT_THIRD_PEAKS = ((-0.19894156695829577, 0.1955624803372699), (1.4266906535862953, 0.42605476914548287))
HIT_SUPREMA = (1.0, HIT_SLOPE_PEAKS[0][1], HIT_THIRD_PEAKS[1][1])


def hit_derivatives(eta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ``g'``, ``g''`` and ``g'''`` of the energy ``g = -log(1 - e^-u)`` with ``u = e^eta``.

    With ``B = u / (e^u - 1)``, ``c = 1 - B`` and ``w = u - c`` these are ``-B``, ``B w`` and ``B (c + c w - w^2)``,
    because ``u' = u``, ``c' = B w`` and ``w' = c (1 + w)``. For small ``u``, ``c = u/2 - sum_k B_2k u^2k / (2k)!`` with
    Bernoulli's numbers.

    *g'' has one critical point.* ``w`` and ``c`` are positive (``1 - u < B < 1``), so ``c`` grows from 0 to 1 and ``w``
    from 0 to infinity. Let ``q3 = c + c w - w^2 = g''' / B``. It starts positive (``c`` and ``w`` are about ``u/2``).
    Where q3 = 0, ``c = w^2 / (1 + w)`` and ``q3' = (1+w) (w + c^2 - 3 c w)`` has the sign of ``1 + 2w - 2w^2 - 2w^3``:
    positive up to w = 0.8546, negative above. At its first zero, q3 falls, so this zero is above w = 0.8546. There q3
    cannot rise through zero again.

    *g''' has two critical points.* Let ``q4 = q3' - w q3 = g'''' / B = (1+w) c^2 - 4w (1+w) c + w (1 + w + w^2)``. It
    starts positive. ``q4' = (1+w) (c^3 - 10 c^2 w - 4 c^2 + 7 c w^2 + 4 c w + c - 4 w^2)``. The resultant of both,
    ``w (1+w)^2 (72w^8 + 72w^7 - 324w^6 - 612w^5 - 288w^4 + 36w^3 + 27w^2 - 9w - 1)``, has one positive root, 2.4680.
    Below it, q4' is negative wherever q4 = 0. Above it, q4' is positive on the lower of the two branches of q4 = 0; on
    the upper branch ``c > 2w > 1``, which is impossible. So q4 falls through zero at most once, and after that it rises
    through zero at most once.
    """
    u = np.exp(np.clip(eta, -740.0, _LARGEST))
    near, far = np.minimum(u, 1.0), np.maximum(u, 1.0)
    square = near * near
    c = np.where(u < 1, 0.5 * near - square * np.polynomial.polynomial.polyval(square, _EVEN), 1 - far / np.expm1(far))
    B = np.where(u < 1, 1 - c, far * np.exp(-far) / -np.expm1(-far))
    w = u - c
    return -B, B * w, B * (c + c * w - w * w)


@dataclass(frozen=True)
class Cloglog(LinearInLabel):
    """Regression of a 0/1 response with the complementary log-log link: ``P(y = 1) = 1 - exp(-e^eta)``.

    ``eta`` is the linear predictor ``x.theta`` of a row, plus its offset. The energy (negative log-likelihood) of a row
    is ``f = y g(eta) + (1-y) e^eta`` with ``g(eta) = -log(1 - exp(-e^eta))``.

    Parameters
    ----------
    fractions : bool
        True: ``y`` is a fraction of successes. tunamh sets this if you pass ``trials=`` to `GLM`.
    """

    fractions: bool = field(default=False, repr=False, kw_only=True)

    word = "cloglog"
    link = CLOGLOG
    energy = _cloglog_energy
    rise = _cloglog_rise

    def guess(self, y: np.ndarray) -> np.ndarray:
        """Return a rough linear predictor for each row, an array (n,).

        It is the linear predictor whose probability is halfway between ``y`` and 1/2.
        """
        return np.log(-np.log(0.75 - 0.5 * y))

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        first, second, third = hit_derivatives(eta)
        miss = _misses(eta, y)
        return y * first + miss, y * second + miss, y * third + miss

    def suprema(self, y: np.ndarray) -> Suprema:
        """Return the suprema of ``|f'|``, ``|f''|`` and ``|f'''|`` over all ``eta``: arrays (n,).

        ``f(eta)`` is the energy (negative log-likelihood) of a row as a function of its linear predictor. For label 1
        the suprema are 1 (not attained), 0.4125 and 0.4261. Otherwise they are infinite, because ``f`` contains
        ``e^eta``.
        """
        return Suprema(*(np.where(y < 1, np.inf, most) for most in HIT_SUPREMA))

    def suprema_near(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> Suprema:
        """Return bounds of ``|f'|``, ``|f''|``, ``|f'''|`` within ``radius`` of ``eta``: arrays (n,).

        ``f(eta)`` is the energy (negative log-likelihood) of a row as a function of its linear predictor. ``f'`` is
        monotone, so the first bound is at an end of the interval. The other bounds are sums of the suprema of the two
        terms of ``f``. For labels 0 and 1 one of these terms is zero, so the bounds are exact.
        """
        wide = widened(eta, radius)
        low, high = eta - wide, eta + wide
        first = largest(self.derivatives(low, y)[0], self.derivatives(high, y)[0], (), eta, wide)
        lows, highs, miss = hit_derivatives(low), hit_derivatives(high), (1 + 1e-12) * _misses(high, y)
        second = y * largest(lows[1], highs[1], HIT_SLOPE_PEAKS, eta, wide) + miss
        third = y * largest(lows[2], highs[2], HIT_THIRD_PEAKS, eta, wide) + miss
        return Suprema(*map(np.minimum, (first, second, third), self.suprema(y)))

    def second_order_constants(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """Return an array (n,) of constants ``L``, which bound Taylor remainders (docs/spec.md, section 5m).

        ``L`` is a number with ``|f'(eta + z) - f'(eta) - f''(eta) z| <= L z^2 / 2`` for all ``|z| <= radius``. The
        energy (negative log-likelihood) of a row is ``f = y g(eta) + (1-y) e^eta``. So the constant is ``y`` times the
        constant of ``g(eta) = -log(1 - exp(-e^eta))``, which `second_order_near` computes, plus ``1-y`` times the
        constant of ``e^eta``. The latter is ``e^eta phi(radius)`` with ``phi(x) = 2 (e^x - 1 - x) / x^2``.
        """
        hits = second_order_near(hit_derivatives, eta, radius, HIT_THIRD_PEAKS, HIT_SUPREMA[2])
        misses = exponential_second_order(eta, eta, radius)
        return y * hits + (1 - y) * np.where(y < 1, misses, 0.0)


def _misses(eta: np.ndarray, y: np.ndarray) -> np.ndarray:
    """``(1-y) e^eta``, which is 0 for ``y = 1`` however large ``eta``."""
    with np.errstate(over="ignore"):
        return (1 - y) * np.exp(np.where(y < 1, eta, 0.0))
