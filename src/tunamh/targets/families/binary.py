"""Families of labels 0 and 1."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..._jit import CONTRACT, FamilyEnergy, FamilyRise, helper, part
from ..._vector import (
    exp_any,
    exp_negative,
    exp_rise,
    log_quotient,
    normal_tail,
    softplus,
    softplus_rise,
    twice_atanh,
)
from ..observations import InMemory
from .base import (
    SIGMOID_SLOPE_PEAKS,
    SIGMOID_THIRD,
    SIGMOID_THIRD_PEAKS,
    LowerBound,
    Suprema,
    exponential_slopes,
    largest,
    logistic_slopes,
    nearby,
    reach_of,
    same_for_all,
    sigmoids,
    slope_near,
)
from .trials import as_fractions, as_two_rows


class _OfLabels:
    """What families of labels 0 and 1 have in common."""

    hyper = ()
    convex = True
    fractions: bool = False
    """Whether the rows are trials: ``k`` successes of ``n`` are one row of weight ``n`` and response ``k/n``."""

    def check(self, y: np.ndarray) -> None:
        wrong = ~((y >= 0) & (y <= 1)) if self.fractions else (y != 0) & (y != 1)
        if wrong.any():
            row = int(np.argmax(wrong))
            wanted, advice = (
                ("fractions in y must lie between 0 and 1", "give successes over trials")
                if self.fractions
                else ("labels in y must be 0 or 1", "code the two classes as 0 and 1")
            )
            raise ValueError(f"{wanted}, but row {row} has {y[row]:g}: {advice}.")

    def of_trials(self, found: InMemory, trials: np.ndarray) -> InMemory:
        """Rows of ``k`` successes of ``n``: fractions where the family knows them, else two rows for one."""
        return as_fractions(found, trials) if self._knows_fractions else as_two_rows(found, trials)

    def for_trials(self) -> Any:
        """The family of such rows."""
        return replace(self, fractions=True) if self._knows_fractions else self  # type: ignore[type-var]

    @property
    def _knows_fractions(self) -> bool:
        return "fractions" in getattr(self, "__dataclass_fields__", ())

    def rises(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A label of 0 speaks against large predictors only, a label of 1 against small ones, a fraction both."""
        return y < 1, y > 0


# ---------------------------------------------------------------------------------------------------- logistic


@part(FamilyEnergy, fastmath=CONTRACT)
def _logistic_energy(n, eta, y, hyper, out):
    for b in range(n):
        out[b] = softplus(eta[b]) - y[b] * eta[b]


@part(FamilyRise, fastmath=CONTRACT)
def _logistic_rise(n, eta, eta_prop, y, hyper, out):
    for b in range(n):
        out[b] = softplus_rise(eta[b], eta_prop[b]) - y[b] * (eta_prop[b] - eta[b])


@dataclass(frozen=True)
class Logistic(_OfLabels):
    """``f = log(1 + e^eta) - y eta`` with ``y`` in {0, 1} (spec 3.3)."""

    fractions: bool = field(default=False, repr=False, kw_only=True)

    energy = _logistic_energy
    rise = _logistic_rise
    self_concordant = True

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        p, q = sigmoids(eta)
        return p * (1 - y) - q * y, p * q, p * q * (q - p)

    def suprema(self, y: np.ndarray) -> Suprema:
        """1 (not attained), 1/4 (at 0), and p(1-p)(1-2p) <= 1/(6 sqrt 3) (at p = (1 -+ 1/sqrt 3)/2)."""
        return same_for_all(y, 1.0, 0.25, SIGMOID_THIRD)

    def suprema_near(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> Suprema:
        """Critical points: none (f' is monotone), 0 and -+log(2 + sqrt 3)."""
        return nearby(self, y, eta, radius, (), SIGMOID_SLOPE_PEAKS, SIGMOID_THIRD_PEAKS)

    def slope_constants(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """Those of ``log(1 + e^eta)``: the rest is linear."""
        return logistic_slopes(eta, radius)

    def lower_bound(self, y: np.ndarray, eta: np.ndarray | None) -> LowerBound:
        """Jaakkola and Jordan's bound, tight at ``eta = +-xi``; untuned, xi = 1.5."""
        xi = np.abs(np.full(y.shape, 1.5) if eta is None else eta)
        a = -0.125 * np.ones_like(xi)
        np.divide(-np.tanh(0.5 * xi), 4 * xi, out=a, where=xi > 1e-6)
        return LowerBound(np.zeros(y.shape), a, y - 0.5, -a * xi**2 - np.logaddexp(0.5 * xi, -0.5 * xi))


# ------------------------------------------------------------------------------------------------------ probit


@helper(fastmath=CONTRACT, inline=True)
def _scaled_cdf(z):
    """``Phi(z) e^{m^2/2}``, ``m = max(-z, 0)``: what is left of ``Phi`` far out, without the part that underflows."""
    tail = normal_tail(abs(z))
    return tail if z < 0.0 else 1.0 - tail * exp_negative(-0.5 * z * z)


@helper(fastmath=CONTRACT, inline=True)
def probit_energy(z):
    """``-log Phi(z)``."""
    m = max(-z, 0.0)
    return 0.5 * m * m - log_quotient(_scaled_cdf(z), 1.0)


@helper(fastmath=CONTRACT, inline=True)
def probit_rise(z, z_prop):
    m, m_prop = max(-z, 0.0), max(-z_prop, 0.0)
    return 0.5 * (m_prop - m) * (m_prop + m) + log_quotient(_scaled_cdf(z), _scaled_cdf(z_prop))


@part(FamilyEnergy, fastmath=CONTRACT)
def _probit_energy(n, eta, y, hyper, out):
    for b in range(n):
        out[b] = probit_energy((2.0 * y[b] - 1.0) * eta[b])


@part(FamilyRise, fastmath=CONTRACT)
def _probit_rise(n, eta, eta_prop, y, hyper, out):
    for b in range(n):
        sign = 2.0 * y[b] - 1.0
        out[b] = probit_rise(sign * eta[b], sign * eta_prop[b])


_PROBIT_THIRD_AT = 1.0023693422683706  # where the third cumulant below is largest
_PROBIT_THIRD = 0.29571881919312315  # its value there, 0.29571881919312309..., rounded up
_FRACTION_FROM, _FRACTION_TERMS = 2.0, 80


@dataclass(frozen=True)
class Probit(_OfLabels):
    """``f = -log Phi(z)``, ``z = (2y-1) eta``, with ``y`` in {0, 1}.

    With ``Phi(z) = phi(z) int_0^inf e^{zv - v^2/2} dv``, up to a constant ``f = z^2/2 - K(z)``, and ``K`` is the
    cumulant function of a positive ``V`` with density proportional to ``e^{zv - v^2/2}``: in ``z``, ``f' = z - k1``,
    ``f'' = 1 - k2`` and ``f''' = -k3`` with the cumulants of ``V``.
    """

    energy = _probit_energy
    rise = _probit_rise

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """With ``h = phi/Phi`` and ``w = z + h = k1``: ``-h``, ``h w`` and ``-h (w^2 + h w - 1)``.

        Far below zero the last formula cancels. There, with ``t = -z``, the ratios ``r_j = E[V^j] / E[V^{j-1}]`` follow
        from ``r_j = j / (t + r_{j+1})`` (integration by parts), and the cumulants from them lose no digits.
        """
        from scipy.special import ndtr

        sign = 2 * y - 1
        z = sign * eta
        near = np.maximum(z, -_FRACTION_FROM)
        h = np.exp(-0.5 * near * near) / (np.sqrt(2 * np.pi) * ndtr(near))
        w = near + h
        k3 = h * (w * w + h * w - 1)
        far = z < -_FRACTION_FROM
        t = -z[far]
        r1 = r2 = r3 = np.sqrt(_FRACTION_TERMS + 0.25 * t * t) - 0.5 * t  # where the recursion is nearly at rest
        for j in range(_FRACTION_TERMS, 0, -1):
            r1, r2, r3 = j / (t + r1), r1, r2
        h[far], w[far], k3[far] = t + r1, r1, r1 * (r2 * r3 - 3 * r1 * r2 + 2 * r1 * r1)
        return -sign * h, h * w, -sign * k3

    def suprema(self, y: np.ndarray) -> Suprema:
        """Infinity, 1 (as z -> -infinity) and 0.2957 (at z = 1.0024), where k3 has its only critical point.

        Let ``a = h w = f''`` and ``b = w^2``. As h, w and the variance k2 are positive, ``a`` lies in (0, 1). As z
        grows, V passes from exponential (k3, k4 > 0) to normal (k3 -> 0). Now use ``h' = -h w`` and ``w' = 1 - h w``.

        *k3 is positive,* so ``a`` decreases. ``k3 = h s``, ``s = b + a - 1``, and ``w s' = 2 (1-a)^2 > 0`` where s = 0:
        s, which starts positive, would have to rise through its first zero.

        *k3 has one critical point.* ``k4 = h q``, ``q = 3w + h - w^3 - 4hw^2 - h^2 w``. Where q = 0,
        ``b^2 = a + 3b - 4ab - a^2``, and with it ``b q' = -3 (1-2a) (a(1-a) + b(2-3a))``. The last factor is positive:
        for a > 2/3 it is so below ``b* = a(1-a)/(3a-2)``, and ``b*^2 - a - 3b* + 4ab* + a^2 = 2a(1-a)^3/(3a-2)^2 > 0``
        says that b lies below. So q, which starts positive and must turn negative for k3 to vanish, can fall through
        zero only where a < 1/2; there it cannot rise, and a decreases: it falls once.
        """
        return same_for_all(y, np.inf, 1.0, _PROBIT_THIRD)

    def suprema_near(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> Suprema:
        """f' and f'' are monotone, f''' has one critical point."""
        return nearby(self, y, eta, radius, (), (), (((2 * y - 1) * _PROBIT_THIRD_AT, _PROBIT_THIRD),))

    def slope_constants(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """By `slope_near`."""
        peaks = (((2 * y - 1) * _PROBIT_THIRD_AT, _PROBIT_THIRD),)
        return slope_near(lambda at: self.derivatives(at, y), eta, radius, peaks, _PROBIT_THIRD)


# ------------------------------------------------------------------------------------- complementary log-log

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
    """``g = -log(1 - e^-u)``, ``u = e^eta``.

    Above zero, where ``g`` is small, ``-log(1 - x) = 2 atanh(x / (2 - x))``, ``x = e^-u <= 1/e``.
    """
    share, missed = _share(eta)
    top = missed if eta >= 0.0 else 1.0 - share
    return twice_atanh(top / (1.0 + share)) - min(eta, 0.0)


@helper(fastmath=CONTRACT, inline=True)
def hit_rise(eta, eta_prop):
    """``g(eta') - g(eta)``: the difference of the two shares over their sum is at most 0.23.

    Above zero the difference is taken between the small numbers ``e^-u``.
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
    """``g'``, ``g''`` and ``g'''`` of ``g = -log(1 - e^-u)``, ``u = e^eta``.

    With ``B = u / (e^u - 1)``, ``c = 1 - B`` and ``w = u - c``: ``-B``, ``B w`` and ``B (c + c w - w^2)``, because
    ``u' = u``, ``c' = B w`` and ``w' = c (1 + w)``. For small ``u``, ``c = u/2 - sum_k B_2k u^2k / (2k)!`` with
    Bernoulli's numbers.

    *g'' has one critical point.* ``w`` and ``c`` are positive (``1 - u < B < 1``), so ``c`` grows from 0 to 1 and ``w``
    from 0 to infinity. Let ``q3 = c + c w - w^2 = g''' / B``. It starts positive (``c`` and ``w`` are about ``u/2``).
    Where q3 = 0, ``c = w^2 / (1 + w)`` and ``q3' = (1+w) (w + c^2 - 3 c w)`` has the sign of ``1 + 2w - 2w^2 - 2w^3``:
    positive up to w = 0.8546, negative above. The first zero must be a fall, hence above, where it cannot rise again.

    *g''' has two.* Let ``q4 = q3' - w q3 = g'''' / B = (1+w) c^2 - 4w (1+w) c + w (1 + w + w^2)``. It starts positive.
    ``q4' = (1+w) (c^3 - 10 c^2 w - 4 c^2 + 7 c w^2 + 4 c w + c - 4 w^2)``, and the resultant of the two, ``w (1+w)^2
    (72w^8 + 72w^7 - 324w^6 - 612w^5 - 288w^4 + 36w^3 + 27w^2 - 9w - 1)``, has one positive root, w = 2.4680. Below it
    q4' is negative wherever q4 = 0. Above it, q4' is positive on the lower of the two branches of q4 = 0; the upper has
    ``c > 2w > 1``. So q4 falls through zero at most once, and after that rises through it at most once.
    """
    u = np.exp(np.clip(eta, -740.0, _LARGEST))
    near, far = np.minimum(u, 1.0), np.maximum(u, 1.0)
    square = near * near
    c = np.where(u < 1, 0.5 * near - square * np.polynomial.polynomial.polyval(square, _EVEN), 1 - far / np.expm1(far))
    B = np.where(u < 1, 1 - c, far * np.exp(-far) / -np.expm1(-far))
    w = u - c
    return -B, B * w, B * (c + c * w - w * w)


@dataclass(frozen=True)
class Cloglog(_OfLabels):
    """``f = -y log(1 - e^-u) + (1-y) u``, ``u = e^eta``, with ``y`` in {0, 1}: ``P(y = 1) = 1 - exp(-e^eta)``.

    With ``g`` of `hit_derivatives`, ``f = y g + (1-y) e^eta``: linear in ``y``.
    """

    fractions: bool = field(default=False, repr=False, kw_only=True)

    energy = _cloglog_energy
    rise = _cloglog_rise

    def guess(self, y: np.ndarray) -> np.ndarray:
        """Where the probability is halfway between the response and 1/2."""
        return np.log(-np.log(0.75 - 0.5 * y))

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        first, second, third = hit_derivatives(eta)
        miss = _misses(eta, y)
        return y * first + miss, y * second + miss, y * third + miss

    def suprema(self, y: np.ndarray) -> Suprema:
        """1 (not attained), 0.4125 and 0.4261 for labels of 1; else infinity: ``e^eta`` grows without end."""
        return Suprema(*(np.where(y < 1, np.inf, most) for most in HIT_SUPREMA))

    def suprema_near(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> Suprema:
        """f' is monotone. Of f'' and f''', the sum of the two parts' suprema over the interval: an upper bound.

        It is exact for labels 0 and 1, which have one part.
        """
        reach = reach_of(eta, radius)
        low, high = eta - reach, eta + reach
        first = largest(self.derivatives(low, y)[0], self.derivatives(high, y)[0], (), eta, reach)
        lows, highs, miss = hit_derivatives(low), hit_derivatives(high), (1 + 1e-12) * _misses(high, y)
        second = y * largest(lows[1], highs[1], HIT_SLOPE_PEAKS, eta, reach) + miss
        third = y * largest(lows[2], highs[2], HIT_THIRD_PEAKS, eta, reach) + miss
        return Suprema(*map(np.minimum, (first, second, third), self.suprema(y)))

    def slope_constants(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """The sum of the two parts' constants: of ``g`` by `slope_near`, of ``e^eta`` it is ``e^eta phi(rho)``."""
        hits = slope_near(hit_derivatives, eta, radius, HIT_THIRD_PEAKS, HIT_SUPREMA[2])
        misses = exponential_slopes(eta, eta, radius)
        return y * hits + (1 - y) * np.where(y < 1, misses, 0.0)


def _misses(eta: np.ndarray, y: np.ndarray) -> np.ndarray:
    """``(1-y) e^eta``, which is 0 for ``y = 1`` however large ``eta``."""
    with np.errstate(over="ignore"):
        return (1 - y) * np.exp(np.where(y < 1, eta, 0.0))
