"""Labels 0 and 1 by the logistic function."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...compiled import CONTRACT, FamilyEnergy, FamilyRise, helper, part
from ...compiled.vector import exp_negative, softplus, softplus_rise
from .intervals import SIGMOID_SLOPE_PEAKS, SIGMOID_THIRD, SIGMOID_THIRD_PEAKS, nearby, same_for_all
from .labels import LinearInLabel
from .likelihood import LowerBound, Suprema
from .links import LOGIT
from .remainder_constants import logistic_second_order, logistic_third_order, vectors_of_one_shape


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
class Logistic(LinearInLabel):
    """Logistic regression of a 0/1 response: ``P(y = 1) = 1 / (1 + e^-eta)``.

    The energy (negative log-likelihood) of a row is ``f = log(1 + e^eta) - y eta`` (docs/spec.md, section 3.3). tunamh
    sets ``fractions=True`` if rows are trials; then ``y`` is a fraction of successes.
    """

    fractions: bool = field(default=False, repr=False, kw_only=True)

    word = "logistic"
    link = LOGIT
    energy = _logistic_energy
    rise = _logistic_rise
    self_concordant = True

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        eta, y = vectors_of_one_shape(eta, y)
        first, second, third = (np.empty(eta.shape) for _ in range(3))
        _fill_derivatives(eta.ravel(), y.ravel(), first.ravel(), second.ravel(), third.ravel())
        return first, second, third

    def suprema(self, y: np.ndarray) -> Suprema:
        """Return the suprema of ``|f'|``, ``|f''|`` and ``|f'''|`` over all ``eta``, for each row.

        ``f(eta)`` is the energy of a row as a function of its linear predictor. The suprema are 1 (not attained), 1/4
        (at ``eta = 0``) and 1/(6 sqrt 3). With the probability ``p = 1 / (1 + e^-eta)``, ``f''' = p(1-p)(1-2p)``, which
        has its extrema at ``p = (1 - 1/sqrt 3)/2`` and ``p = (1 + 1/sqrt 3)/2``.
        """
        return same_for_all(y, 1.0, 0.25, SIGMOID_THIRD)

    def suprema_near(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> Suprema:
        """Return, for each row, the suprema of ``|f'|``, ``|f''|`` and ``|f'''|`` within ``radius`` of ``eta``.

        ``f(eta)`` is the energy of a row as a function of its linear predictor. Each supremum is at an end of the
        interval or at a critical point inside it. ``f'`` has no critical point, ``f''`` has the critical point 0, and
        ``f'''`` has the critical points ``-log(2 + sqrt 3)`` and ``log(2 + sqrt 3)``.
        """
        return nearby(self, y, eta, radius, (), SIGMOID_SLOPE_PEAKS, SIGMOID_THIRD_PEAKS)

    def second_order_constants(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """Return the constant of order 2 of each row (docs/spec.md, section 5m).

        It is a number ``L`` with ``|f'(eta + z) - f'(eta) - f''(eta) z| <= L z^2 / 2`` for all ``|z| <= radius``. It is
        that of ``log(1 + e^eta)``, because the other term of the energy ``f`` is linear.
        """
        return logistic_second_order(eta, radius)

    def third_order_constants(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
        return logistic_third_order(eta, radius)

    def lower_bound(self, y: np.ndarray, eta: np.ndarray | None) -> LowerBound:
        """Return Jaakkola and Jordan's lower bound of the log-likelihood of each row, a quadratic function.

        It equals the log-likelihood at the linear predictors ``xi`` and ``-xi``. ``xi`` is ``|eta|``, or 1.5 if ``eta``
        is None.
        """
        xi = np.abs(np.full(y.shape, 1.5) if eta is None else eta)
        a = -0.125 * np.ones_like(xi)
        np.divide(-np.tanh(0.5 * xi), 4 * xi, out=a, where=xi > 1e-6)
        return LowerBound(np.zeros(y.shape), a, y - 0.5, -a * xi**2 - np.logaddexp(0.5 * xi, -0.5 * xi))
