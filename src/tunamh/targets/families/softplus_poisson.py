"""Poisson counts whose mean grows linearly in the end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...compiled import CONTRACT, FamilyEnergy, FamilyRise, helper, part
from ...compiled.vector import exp_negative, log_quotient, softplus, softplus_rise, twice_atanh
from .counts import CountFamily
from .intervals import SIGMOID_SLOPE_PEAKS, SIGMOID_THIRD, SIGMOID_THIRD_PEAKS, Peaks, largest, sigmoids, widened
from .likelihood import Suprema
from .links import SOFTPLUS
from .logistic import logistic_second_order
from .remainder_constants import second_order_near
from .responses import ResponseDistribution


@helper(fastmath=CONTRACT, inline=True)
def _scaled_softplus(eta):
    """``log(1 + e^eta) e^-m``, ``m = min(eta, 0)``: between log 2 and 1 below zero, however far."""
    small = exp_negative(-abs(eta))
    rest = twice_atanh(small / (2.0 + small))  # log(1 + small)
    return eta + rest if eta > 0.0 else rest / small


@part(FamilyEnergy, fastmath=CONTRACT)
def _softplus_energy(n, eta, y, hyper, out):
    for b in range(n):
        log_mean = min(eta[b], 0.0) + log_quotient(_scaled_softplus(eta[b]), 1.0)
        out[b] = softplus(eta[b]) - y[b] * log_mean


@part(FamilyRise, fastmath=CONTRACT)
def _softplus_rise(n, eta, eta_prop, y, hyper, out):
    for b in range(n):
        rest = log_quotient(_scaled_softplus(eta_prop[b]), _scaled_softplus(eta[b]))
        log_rise = min(eta_prop[b], 0.0) - min(eta[b], 0.0) + rest
        out[b] = softplus_rise(eta[b], eta_prop[b]) - y[b] * log_rise


def _log_series(terms: int) -> np.ndarray:
    """Coefficients ``c_1, c_2, ...`` of ``log(log(1 + e) / e)`` in powers of ``e``.

    With ``b`` those of ``log(1 + e) / e``, ``n c_n = n b_n - sum_k k c_k b_{n-k}``, as for every logarithm of a series.
    """
    b = [(-1) ** k / (k + 1) for k in range(terms + 1)]
    c = [0.0] * (terms + 1)
    for n in range(1, terms + 1):
        c[n] = b[n] - sum(k * c[k] * b[n - k] for k in range(1, n)) / n
    return np.array(c)


_SERIES = _log_series(14)
_SERIES_BELOW = -4.0


def _log_mean_derivatives(eta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``l'``, ``l''`` and ``l'''`` of ``l = log mu``, ``mu = log(1 + e^eta)``.

    With ``p`` the logistic function, ``s = 1 - p`` and ``a = p / mu``: ``l' = a``, ``l'' = a (s - a)`` and
    ``l''' = a (2a^2 - 3as + 2s^2 - s)``. Far below zero these cancel; there ``l = eta + sum_n c_n e^{n eta}``.
    """
    far = eta < _SERIES_BELOW
    near = np.where(far, _SERIES_BELOW, eta)
    p, s = sigmoids(near)
    a = p / np.logaddexp(0.0, near)
    e, n = np.exp(np.where(far, eta, _SERIES_BELOW)), np.arange(_SERIES.size)
    first, second, third = (np.polynomial.polynomial.polyval(e, _SERIES * n**k) for k in (1, 2, 3))
    return (
        np.where(far, 1 + first, a),
        np.where(far, second, a * (s - a)),
        np.where(far, third, a * (2 * a * a - 3 * a * s + 2 * s * s - s)),
    )


# The peaks of l'' and l''', zeros of the next derivative found to 25 digits; heights rounded up.
_LOG_SLOPE_PEAKS = ((0.4949849516607962, 0.16709557267051664),)
_LOG_THIRD_PEAKS = ((-1.0206457692211527, 0.06091271016796921), (1.9400071513367114, 0.04316348102019735))


@dataclass(frozen=True)
class SoftplusPoisson(CountFamily):
    """Regression of Poisson counts with mean ``mu = log(1 + e^eta)``, which grows linearly for large ``eta``.

    ``eta`` is the linear predictor ``x.theta`` of a row, plus its offset. The energy (negative log-likelihood) of a row
    is ``f = mu - y log mu``, up to a constant.
    """

    link = SOFTPLUS
    energy = _softplus_energy
    rise = _softplus_rise

    def guess(self, y: np.ndarray) -> np.ndarray:
        """Return a rough linear predictor for each row, an array (n,): the solution of ``log(1 + e^eta) = y + 1/2``."""
        return (y + 0.5) + np.log(-np.expm1(-(y + 0.5)))

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        p, s = sigmoids(eta)
        first, second, third = _log_mean_derivatives(eta)
        return p - y * first, p * s - y * second, p * s * (s - p) - y * third

    def suprema(self, y: np.ndarray) -> Suprema:
        """Return upper bounds of ``|f'|``, ``|f''|`` and ``|f'''|`` over all ``eta``: arrays (n,).

        ``f(eta)`` is the energy (negative log-likelihood) of a row with the response ``y`` as a function of its linear
        predictor. The bounds are max(1, y), 1/4 + 0.1671 y and 1/(6 sqrt 3) + 0.0610 y. The first one is the supremum;
        the other two are slightly larger than the suprema. The source has the proof.
        """
        # Proof. The energy is ``f = mu - y l`` with ``mu = log(1 + e^eta)`` and ``l = log mu``. Let ``p = 1 / (1 +
        # e^-eta)``, ``s = 1 - p``, ``a = p / mu`` and ``d = a - s``. All derivatives are with respect to eta, so ``mu'
        # = p``, ``l' = a``, ``s' = -s (1-s)`` and ``a' = a (s-a)``. ``d`` is positive, because ``log(1 + e^eta) <
        # e^eta``. As eta grows, the point (s, d) moves along a curve, and s falls from 1 to 0. For eta far below zero,
        # the second and higher derivatives of ``l`` are about ``-e^eta / 2``, so they are negative at the start of the
        # curve.
        #
        # *f'.* ``l'' = -a d < 0``, so ``l'`` falls from 1 to 0. At the same time p rises from 0 to 1. So f' rises, and
        # its limits are -y and 1.
        #
        # *f''* is at most sup p' + y sup|l''|, and sup p' = 1/4. To find sup|l''|, write ``l''' = a q3`` with ``q3 =
        # 2d^2 + s d - s (1-s)``. For each s, q3 has one zero ``d > 0``. At this zero the derivative of q3 along the
        # curve is negative if s > 0.5553, and positive if s is smaller. (q3 and this derivative are polynomials in s
        # and d. They have a common zero where their resultant 28s^3 - 53s^2 + 28s - 4 is zero.) As q3 is negative at
        # the start, it rises at its first zero, so s < 0.5553 there. After this zero, s is still smaller, so q3 cannot
        # fall through zero. So ``l''`` has one critical point, at eta = 0.4950, where |l''| = 0.16710.
        #
        # *f'''* is at most sup|p''| + y sup|l'''|, and sup|p''| = 1/(6 sqrt 3). To find sup|l'''|, write ``l'''' = a
        # q4`` with ``q4 = s (1-s)^2 + s (4-5s) d - 6s d^2 - 6d^3``. For each s, q4 has one zero ``d > 0``, because its
        # coefficients change sign once (Descartes). At this zero the derivative of q4 along the curve is negative if s
        # > 0.8394, positive if 0.2630 < s < 0.8394, and negative if s < 0.2630. (These two numbers are zeros of the
        # resultant 16344s^8 - 78216s^7 + 154676s^6 - 162778s^5 + 97776s^4 - 33424s^3 + 6146s^2 - 543s + 18. Its third
        # zero in (0, 1) is a zero with d < 0.) As q4 is negative at the start, it rises through zero once, between
        # these two values of s, and falls through zero once, below 0.2630. So ``l'''`` has two critical points: at eta
        # = -1.0206, where |l'''| = 0.06091, and at eta = 1.9400, where |l'''| = 0.04316.
        return Suprema(
            np.maximum(1.0, y), 0.25 + _LOG_SLOPE_PEAKS[0][1] * y, SIGMOID_THIRD + _LOG_THIRD_PEAKS[0][1] * y
        )

    def suprema_near(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> Suprema:
        """Return bounds of ``|f'|``, ``|f''|``, ``|f'''|`` within ``radius`` of ``eta``: arrays (n,).

        ``f(eta)`` is the energy (negative log-likelihood) of a row as a function of its linear predictor. ``f'`` is
        monotone, so the first bound is at an end of the interval. The other bounds are sums of the suprema of the two
        terms of ``f``.
        """
        wide = widened(eta, radius)
        low, high = eta - wide, eta + wide
        (p, s), (p_high, s_high) = sigmoids(low), sigmoids(high)
        log_low, log_high = _log_mean_derivatives(low), _log_mean_derivatives(high)

        def most(low: np.ndarray, high: np.ndarray, peaks: Peaks) -> np.ndarray:
            return largest(low, high, peaks, eta, wide)

        first = most(p - y * log_low[0], p_high - y * log_high[0], ())
        second = most(p * s, p_high * s_high, SIGMOID_SLOPE_PEAKS)
        second = second + y * most(log_low[1], log_high[1], _LOG_SLOPE_PEAKS)
        third = most(p * s * (s - p), p_high * s_high * (s_high - p_high), SIGMOID_THIRD_PEAKS)
        third = third + y * most(log_low[2], log_high[2], _LOG_THIRD_PEAKS)
        return Suprema(*map(np.minimum, (first, second, third), self.suprema(y)))

    def second_order_constants(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """Return an array (n,) of constants ``L``, which bound Taylor remainders (docs/spec.md, section 5m).

        ``L`` is a number with ``|f'(eta + z) - f'(eta) - f''(eta) z| <= L z^2 / 2`` for all ``|z| <= radius``;
        ``f(eta)`` is the energy (negative log-likelihood) of the row. ``L`` is the sum of the constants of the two
        terms of ``f``.
        """
        most = _LOG_THIRD_PEAKS[0][1]
        return logistic_second_order(eta, radius) + y * second_order_near(
            _log_mean_derivatives, eta, radius, _LOG_THIRD_PEAKS, most
        )

    def response_distribution(self) -> ResponseDistribution:
        from .response_distributions import OfMean, stats

        return OfMean(self.link.mean, lambda m, p: stats.poisson(m), discrete=True)
