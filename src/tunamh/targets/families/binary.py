"""Families of labels 0 and 1."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...compiled import CONTRACT, FamilyEnergy, FamilyRise, helper, part
from ...compiled.vector import exp_negative, log_quotient, normal_tail, softplus, softplus_rise
from ..observations.observed import InMemory
from .base import SIGMOID_SLOPE_PEAKS, SIGMOID_THIRD, SIGMOID_THIRD_PEAKS, LowerBound, Suprema, nearby, same_for_all
from .bends import logistic_bends
from .slopes import logistic_slopes, slope_near, vectors_of_one_shape
from .trials import as_fractions, as_two_rows


class OfLabels:
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
        return as_fractions(found, trials) if self.knows_fractions else as_two_rows(found, trials)

    def for_trials(self) -> Any:
        """The family of such rows."""
        return replace(self, fractions=True) if self.knows_fractions else self  # type: ignore[type-var]

    @property
    def knows_fractions(self) -> bool:
        """Whether the energy is linear in the label."""
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


@helper(fastmath=CONTRACT)
def _fill_derivatives(eta, y, first, second, third):
    """With ``p = 1 / (1 + e^-eta)`` and ``q = 1 - p``, each with all its digits."""
    for i in range(eta.size):
        small = exp_negative(-abs(eta[i]))
        large = 1.0 / (1.0 + small)
        p, q = (large, small * large) if eta[i] > 0.0 else (small * large, large)
        first[i] = p * (1.0 - y[i]) - q * y[i]
        second[i] = p * q
        third[i] = p * q * (q - p)


@dataclass(frozen=True)
class Logistic(OfLabels):
    """``f = log(1 + e^eta) - y eta`` with ``y`` in {0, 1} (spec 3.3)."""

    fractions: bool = field(default=False, repr=False, kw_only=True)

    energy = _logistic_energy
    rise = _logistic_rise
    self_concordant = True

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        eta, y = vectors_of_one_shape(eta, y)
        first, second, third = (np.empty(eta.shape) for _ in range(3))
        _fill_derivatives(eta.ravel(), y.ravel(), first.ravel(), second.ravel(), third.ravel())
        return first, second, third

    def suprema(self, y: np.ndarray) -> Suprema:
        """1 (not attained), 1/4 (at 0), and p(1-p)(1-2p) <= 1/(6 sqrt 3) (at p = (1 -+ 1/sqrt 3)/2)."""
        return same_for_all(y, 1.0, 0.25, SIGMOID_THIRD)

    def suprema_near(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> Suprema:
        """Critical points: none (f' is monotone), 0 and -+log(2 + sqrt 3)."""
        return nearby(self, y, eta, radius, (), SIGMOID_SLOPE_PEAKS, SIGMOID_THIRD_PEAKS)

    def slope_constants(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """The constants of ``log(1 + e^eta)``; the other term is linear."""
        return logistic_slopes(eta, radius)

    def bend_constants(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
        return logistic_bends(eta, radius)

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
class Probit(OfLabels):
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
