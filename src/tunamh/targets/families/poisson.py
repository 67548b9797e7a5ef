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

    The energy (negative log-likelihood) of a row is ``f = e^eta - y eta``, up to a constant.

    No derivative is bounded, so the family uses bounds near a predictor; its second-order constants are exact.
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
        """Return infinity for ``|f'|``, ``|f''|`` and ``|f'''|``, because ``e^eta`` is unbounded."""
        return same_for_all(y, np.inf, np.inf, np.inf)

    def suprema_near(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> Suprema:
        """Return the suprema of the derivatives within ``radius`` of ``eta``.

        All three derivatives are monotone, so the suprema are at the ends of the interval.
        """
        return nearby(self, y, eta, radius, (), (), ())

    def second_order_constants(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """Return the constants of order 2, which bound the remainder of the Taylor expansion.

        Section 5m of docs/spec.md defines them.

        For the radius ``rho`` around ``eta`` the smallest valid constant is ``e^eta phi(rho)``.

        Here ``phi(x) = 2 (e^x - 1 - x) / x^2``.
        """
        return exponential_second_order(eta, eta, radius)

    def third_order_constants(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
        return exponential_third_order(eta, eta, radius)

    def response_distribution(self) -> ResponseDistribution:
        from .response_distributions import OfMean, stats

        return OfMean(self.link.mean, lambda m, p: stats.poisson(m), discrete=True)

    def latent_variance(self, p: Parameters, mean: float | None) -> Any:
        """Return ``log(1 + 1/mean)`` (Nakagawa et al. 2017).

        It is the variance of the logarithm of a log-normal response with this mean and variance.
        """
        return None if not mean else np.log1p(1 / mean)
