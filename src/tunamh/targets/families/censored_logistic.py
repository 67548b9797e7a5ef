"""Logistic errors, observed or censored: for log-logistic regression and logistic errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...compiled import CONTRACT, FamilyEnergy, FamilyRise, part
from ...compiled.vector import softplus, softplus_rise
from .censoring import CensoredLikelihood
from .intervals import SIGMOID_SLOPE_PEAKS, SIGMOID_THIRD, SIGMOID_THIRD_PEAKS, nearby, sigmoids
from .likelihood import Suprema
from .logistic import logistic_second_order

MEDIAN_SIZE = float(np.log(3.0))
"""The median of the absolute value of a standard logistic error."""


@part(FamilyEnergy, fastmath=CONTRACT)
def _logistic_energy(n, eta, y, hyper, out):
    for b in range(n):
        late, early = 1.0 if y[b] >= 0.0 else 0.0, 1.0 if y[b] <= 0.0 else 0.0
        out[b] = late * softplus(-eta[b]) + early * softplus(eta[b])


@part(FamilyRise, fastmath=CONTRACT)
def _logistic_rise(n, eta, eta_prop, y, hyper, out):
    for b in range(n):
        late, early = 1.0 if y[b] >= 0.0 else 0.0, 1.0 if y[b] <= 0.0 else 0.0
        out[b] = late * softplus_rise(-eta[b], -eta_prop[b]) + early * softplus_rise(eta[b], eta_prop[b])


@dataclass(frozen=True)
class CensoredLogistic(CensoredLikelihood):
    """The likelihood of logistic errors that may be censored, with ``q = -z`` for the standardised residual ``z``.

    The energy is the sum of ``log(1 + e^q)``, unless the response is left-censored, and ``log(1 + e^-q)``, unless it is
    right-censored.
    """

    energy = _logistic_energy
    rise = _logistic_rise
    self_concordant = True

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        p, q = sigmoids(eta)
        times = _terms(y)
        return (y <= 0) * p - (y >= 0) * q, times * p * q, times * p * q * (q - p)

    def suprema(self, y: np.ndarray) -> Suprema:
        """Return the suprema of ``|f'|``, ``|f''|`` and ``|f'''|`` over all ``eta``: arrays (n,).

        The first is 1 (not attained). The other two are those of the logistic energy for a censored row, and twice
        those for an observed row.
        """
        times = _terms(y)
        return Suprema(np.ones(y.shape), 0.25 * times, SIGMOID_THIRD * times)

    def suprema_near(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> Suprema:
        """Return suprema of ``|f'|``, ``|f''|``, ``|f'''|`` within ``radius`` of ``eta``: arrays (n,).

        They are at the ends of the interval or at critical points: ``f'`` has none, ``f''`` has 0, and ``f'''`` has
        ``-log(2 + sqrt 3)`` and ``log(2 + sqrt 3)``.
        """
        times = _terms(y)
        slopes, thirds = (
            [(where, height * times) for where, height in peaks] for peaks in (SIGMOID_SLOPE_PEAKS, SIGMOID_THIRD_PEAKS)
        )
        return nearby(self, y, eta, radius, (), slopes, thirds)

    def second_order_constants(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """Return an array (n,) of constants ``L``, which bound Taylor remainders (docs/spec.md, section 5m).

        It is the constant of the logistic energy for a censored row, and twice this constant for an observed row.
        """
        return _terms(y) * logistic_second_order(eta, radius)


def _terms(y: np.ndarray) -> np.ndarray:
    """How many logistic energies a row is the sum of."""
    return np.where(y == 0, 2.0, 1.0)
