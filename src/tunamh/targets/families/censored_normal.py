"""Normal errors, observed or censored: for Tobit and log-normal regression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...compiled import CONTRACT, FamilyEnergy, FamilyRise, part
from .censoring import CensoredLikelihood
from .intervals import nearby
from .likelihood import Suprema
from .normal_tail import probit_energy, probit_rise
from .probit import Probit


@part(FamilyEnergy, fastmath=CONTRACT)
def _normal_energy(n, eta, y, hyper, out):
    for b in range(n):
        z = eta[b]
        out[b] = 0.5 * z * z if y[b] == 0.0 else probit_energy(y[b] * z)


@part(FamilyRise, fastmath=CONTRACT)
def _normal_rise(n, eta, eta_prop, y, hyper, out):
    for b in range(n):
        z, z_prop = eta[b], eta_prop[b]
        observed = 0.5 * (z_prop - z) * (z_prop + z)
        out[b] = observed if y[b] == 0.0 else probit_rise(y[b] * z, y[b] * z_prop)


@dataclass(frozen=True)
class CensoredNormal(CensoredLikelihood):
    """The likelihood of normal errors that may be censored, for Tobit and log-normal regression.

    With ``q = -z`` for the standardised residual ``z``, the energy is ``q^2/2`` if the response is observed, ``-log
    Phi(-q)`` if it is right-censored, and ``-log Phi(q)`` if it is left-censored. The last two are the energies of the
    probit family for the labels 1 and 0.
    """

    energy = _normal_energy
    rise = _normal_rise

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        first, second, third = Probit().derivatives(eta, _labels(y))
        seen = y == 0
        return np.where(seen, eta, first), np.where(seen, 1.0, second), np.where(seen, 0.0, third)

    def suprema(self, y: np.ndarray) -> Suprema:
        """Return the suprema of ``|f'|``, ``|f''|`` and ``|f'''|`` over all ``eta``: arrays (n,).

        They are infinity, 1, and 0 for an observed row or the supremum of the probit energy for a censored row.
        """
        first, second, third = Probit().suprema(y)
        return Suprema(first, second, np.where(y == 0, 0.0, third))

    def suprema_near(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> Suprema:
        """Return suprema of ``|f'|``, ``|f''|``, ``|f'''|`` within ``radius`` of ``eta``: arrays (n,).

        They are those of a parabola for an observed row, and those of the probit energy for a censored row.
        """
        seen, censored = nearby(self, y, eta, radius, (), (), ()), Probit().suprema_near(_labels(y), eta, radius)
        return Suprema(*map(np.where, (y == 0,) * 3, seen, censored))

    def second_order_constants(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """Return an array (n,) of constants ``L``, which bound Taylor remainders (docs/spec.md, section 5m).

        It is 0 for an observed row, and the constant of the probit energy for a censored row.
        """
        return np.where(y == 0, 0.0, Probit().second_order_constants(_labels(y), eta, radius))


def _labels(y: np.ndarray) -> np.ndarray:
    """The probit family's label of a censored row: 1 if on the right, 0 if on the left."""
    return (y >= 0).astype(float)
