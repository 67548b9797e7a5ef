"""Poisson counts with a log link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...compiled import CONTRACT, FamilyEnergy, FamilyRise, part
from ...compiled.vector import exp_any, exp_rise
from .counts import CountFamily
from .intervals import nearby, same_for_all
from .likelihood import Suprema
from .remainder_constants import exponential_second_order, exponential_third_order
from .responses import Parameters, ResponseDistribution


@part(FamilyEnergy, fastmath=CONTRACT)
def _poisson_energy(n, eta, y, hyper, out):
    for b in range(n):
        out[b] = exp_any(eta[b]) - y[b] * eta[b]


@part(FamilyRise, fastmath=CONTRACT)
def _poisson_rise(n, eta, eta_prop, y, hyper, out):
    for b in range(n):
        out[b] = exp_rise(eta[b], eta_prop[b]) - y[b] * (eta_prop[b] - eta[b])


@dataclass(frozen=True)
class Poisson(CountFamily):
    """Regression of Poisson counts with mean ``e^eta``.

    ``eta`` is the linear predictor ``x.theta`` of a row, plus its offset. The energy (negative log-likelihood) of a row
    is ``f = e^eta - y eta``, up to a constant.

    The derivatives of ``f`` are not bounded over all ``eta``. So tunamh uses bounds within a distance of a given
    ``eta``. The bounds of the second-order remainder (`second_order_constants`) are exact.

    Examples
    --------
    >>> tunamh.GLM(X, y, tunamh.Poisson(), offset=np.log(exposure))
    """

    word = "poisson"
    energy = _poisson_energy
    rise = _poisson_rise
    self_concordant = True

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        with np.errstate(over="ignore"):
            mean = np.exp(eta)
        return mean - y, mean, mean

    def suprema(self, y: np.ndarray) -> Suprema:
        """Return the suprema of ``|f'|``, ``|f''|`` and ``|f'''|``, arrays (n,): all are infinite.

        The energy (negative log-likelihood) ``f`` of a row contains ``e^eta``, which is unbounded (``eta`` is the
        linear predictor).
        """
        return same_for_all(y, np.inf, np.inf, np.inf)

    def suprema_near(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> Suprema:
        """Return the suprema of ``|f'|``, ``|f''|``, ``|f'''|`` within ``radius`` of ``eta``: arrays (n,).

        ``f(eta)`` is the energy (negative log-likelihood) of a row as a function of its linear predictor. All three
        derivatives are monotone, so the suprema are at the ends of the interval.
        """
        return nearby(self, y, eta, radius, (), (), ())

    def second_order_constants(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """Return an array (n,) of constants ``L``, which bound Taylor remainders (docs/spec.md, section 5m).

        ``L`` is the smallest number with ``|f'(eta + z) - f'(eta) - f''(eta) z| <= L z^2 / 2`` for all ``|z| <=
        radius``. ``f(eta)`` is the energy (negative log-likelihood) of the row, and ``eta`` its linear predictor. Here
        ``L = e^eta phi(radius)`` with ``phi(x) = 2 (e^x - 1 - x) / x^2``.
        """
        return exponential_second_order(eta, eta, radius)

    def third_order_constants(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """Return an array (n,): the constant of each row that bounds a remainder of order 3 (docs/spec.md, section 5r).

        It is an upper bound of ``6 |f'(eta + z) - f'(eta) - f''(eta) z - f'''(eta) z^2 / 2| / |z|^3`` for all ``|z| <=
        radius``. ``f(eta)`` is the energy (negative log-likelihood) of the row, and ``eta`` its linear predictor.
        """
        return exponential_third_order(eta, eta, radius)

    def response_distribution(self) -> ResponseDistribution:
        from .response_distributions import OfMean, stats

        return OfMean(self.link.mean, lambda m, p: stats.poisson(m), discrete=True)

    def latent_variance(self, p: Parameters, mean: float | None) -> Any:
        """Return ``log(1 + 1/mean)`` (Nakagawa et al. 2017), an approximate variance of the logarithm of a count.

        It is exact for a log-normal response with the same mean and variance as the count.
        """
        return None if not mean else np.log1p(1 / mean)
