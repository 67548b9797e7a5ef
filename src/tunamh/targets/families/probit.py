"""Labels 0 and 1 by the normal distribution function."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...compiled import CONTRACT, FamilyEnergy, FamilyRise, part
from .intervals import nearby, same_for_all
from .likelihood import Suprema
from .links import PROBIT
from .logistic import LabelFamily
from .normal_tail import probit_energy, probit_rise
from .remainder_constants import second_order_near


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
class Probit(LabelFamily):
    """Probit regression of a 0/1 response: ``P(y = 1) = Phi(eta)``.

    The energy (negative log-likelihood) of a row is ``f = -log Phi(z)`` with ``z = (2y-1) eta``.

    ``eta`` is the linear predictor ``x.theta`` of a row, plus its offset. ``Phi`` is the standard normal distribution
    function.
    """

    # The derivatives of ``f`` are cumulants of a truncated normal distribution. Let ``V > 0`` have a density
    # proportional to ``e^{zv - v^2/2}``, with cumulants ``k1``, ``k2``, ``k3``, ... Then the derivatives with respect
    # to ``z`` are ``f' = z - k1``, ``f'' = 1 - k2`` and ``f''' = -k3``: ``Phi(z) = phi(z) int_0^inf e^{zv - v^2/2}
    # dv``. So ``f = z^2/2 - K(z)`` up to a constant, and ``K``, the logarithm of the integral, is the cumulant function
    # of ``V``.

    word = "probit"
    link = PROBIT
    energy = _probit_energy
    rise = _probit_rise

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the first three derivatives of the energies with respect to ``eta``: three arrays (n,).

        The energy of a row is its negative log-likelihood. Its derivatives with respect to ``z = (2y-1) eta`` are
        ``-h``, ``h w`` and ``-h (w^2 + h w - 1)``, with ``h = phi(z) / Phi(z)`` (normal density and distribution
        function) and ``w = z + h``. If ``z`` is far below zero, a continued fraction replaces these formulas, because
        they would lose digits.
        """
        from scipy.special import ndtr

        sign = 2 * y - 1
        z = sign * eta
        near = np.maximum(z, -_FRACTION_FROM)
        h = np.exp(-0.5 * near * near) / (np.sqrt(2 * np.pi) * ndtr(near))
        w = near + h
        k3 = h * (w * w + h * w - 1)
        # Far below zero the formula of k3 loses digits by cancellation. There, with t = -z, the ratios
        # r_j = E[V^j] / E[V^{j-1}] are computed from r_j = j / (t + r_{j+1}) (integration by parts). Cumulants that are
        # computed from these ratios lose no digits.
        far = z < -_FRACTION_FROM
        t = -z[far]
        r1 = r2 = r3 = np.sqrt(_FRACTION_TERMS + 0.25 * t * t) - 0.5 * t  # where the recursion is nearly at rest
        for j in range(_FRACTION_TERMS, 0, -1):
            r1, r2, r3 = j / (t + r1), r1, r2
        h[far], w[far], k3[far] = t + r1, r1, r1 * (r2 * r3 - 3 * r1 * r2 + 2 * r1 * r1)
        return -sign * h, h * w, -sign * k3

    def suprema(self, y: np.ndarray) -> Suprema:
        """Return the suprema of ``|f'|``, ``|f''|`` and ``|f'''|`` over all ``eta``: arrays (n,).

        ``f = -log Phi(z)`` is the energy (negative log-likelihood) of a row, with ``z = (2y-1) eta`` and the linear
        predictor ``eta``.

        ``|f'|`` is unbounded. ``|f''|`` is below 1, its limit as z -> -infinity. ``|f'''|`` is at most 0.2957, its
        value at z = 1.0024, which is its only critical point. The source has the proof.
        """
        # Proof. It uses the cumulants k1, k2, k3, k4 of ``V`` (see the class), ``h = phi/Phi`` and ``w = z + h = k1``.
        #
        # Let ``a = h w = f''`` and ``b = w^2``. As h, w and the variance k2 are positive, ``a`` lies in (0, 1). As z
        # grows from -infinity to +infinity, the distribution of V changes from exponential (k3, k4 > 0) to normal (k3
        # -> 0). Now use ``h' = -h w`` and ``w' = 1 - h w``.
        #
        # *k3 is positive,* so ``a`` decreases. The cumulant k3 has the form ``k3 = h s`` with ``s = b + a - 1``. At a
        # zero of s the derivative is positive, because ``w s' = 2 (1-a)^2 > 0`` there. But s is positive at first, so
        # it would have to fall to reach its first zero. Hence s has no zero.
        #
        # *k3 has one critical point.* Its derivative is ``k4 = h q`` with ``q = 3w + h - w^3 - 4hw^2 - h^2 w``. At a
        # zero of q, ``b^2 = a + 3b - 4ab - a^2``, and therefore ``b q' = -3 (1-2a) (a(1-a) + b(2-3a))``. The last
        # factor is positive. This is clear for a <= 2/3. For a > 2/3 it is positive if b is below ``b* =
        # a(1-a)/(3a-2)``; and b is below b*, because ``b*^2 - a - 3b* + 4ab* + a^2 = 2a(1-a)^3/(3a-2)^2 > 0``. So q
        # falls at a zero where a < 1/2, and rises at a zero where a > 1/2. Now q is positive at first, and it becomes
        # negative, because k3 tends to zero. So its first zero has a < 1/2. From there on a stays below 1/2, because it
        # decreases, so q cannot rise through zero again: it has one zero.
        return same_for_all(y, np.inf, 1.0, _PROBIT_THIRD)

    def suprema_near(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> Suprema:
        """Return the suprema of ``|f'|``, ``|f''|``, ``|f'''|`` within ``radius`` of ``eta``: arrays (n,).

        ``f(eta)`` is the energy (negative log-likelihood) of a row as a function of its linear predictor. ``f'`` and
        ``f''`` are monotone, so their suprema are at the ends of the interval. ``f'''`` has one critical point, which
        is compared with the ends.
        """
        return nearby(self, y, eta, radius, (), (), (((2 * y - 1) * _PROBIT_THIRD_AT, _PROBIT_THIRD),))

    def second_order_constants(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """Return an array (n,) of constants ``L``, which bound Taylor remainders (docs/spec.md, section 5m).

        ``L`` is a number with ``|f'(eta + z) - f'(eta) - f''(eta) z| <= L z^2 / 2`` for all ``|z| <= radius``;
        ``f(eta)`` is the energy (negative log-likelihood) of the row. `second_order_near` computes ``L`` from the
        derivatives at ``eta``, ``eta - radius`` and ``eta + radius`` and from the peak of ``|f'''|``, if it is in
        between.
        """
        peaks = (((2 * y - 1) * _PROBIT_THIRD_AT, _PROBIT_THIRD),)
        return second_order_near(lambda at: self.derivatives(at, y), eta, radius, peaks, _PROBIT_THIRD)
