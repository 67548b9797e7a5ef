"""Families of counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._arguments import settle
from ...compiled import CONTRACT, FamilyEnergy, FamilyRise, part
from ...compiled.vector import exp_any, exp_rise, softplus, softplus_rise
from ...priors.positive import known_or_prior
from ..observations.observed import Observations
from ..observations.row_layout import Arrangement, column_names
from .base import SIGMOID_SLOPE_PEAKS, SIGMOID_THIRD, SIGMOID_THIRD_PEAKS, Suprema, nearby, same_for_all, sigmoids
from .bends import exponential_bends
from .slopes import exponential_slopes, logistic_slopes

_MOST = 1e15  # beyond this not every whole number is a float


def check_counts(y: np.ndarray) -> None:
    wrong = (y < 0) | (y != np.floor(y)) | (y > _MOST)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(f"y must hold counts (whole numbers from 0 to {_MOST:g}), but row {row} has {y[row]:g}.")


# ----------------------------------------------------------------------------------------------------- Poisson


@part(FamilyEnergy, fastmath=CONTRACT)
def _poisson_energy(n, eta, y, hyper, out):
    for b in range(n):
        out[b] = exp_any(eta[b]) - y[b] * eta[b]


@part(FamilyRise, fastmath=CONTRACT)
def _poisson_rise(n, eta, eta_prop, y, hyper, out):
    for b in range(n):
        out[b] = exp_rise(eta[b], eta_prop[b]) - y[b] * (eta_prop[b] - eta[b])


@dataclass(frozen=True)
class Poisson:
    """``f = e^eta - y eta``: Poisson counts with mean ``e^eta``.

    No derivative is bounded, so the family uses bounds near a predictor; its slope constants are exact.
    """

    energy = _poisson_energy
    rise = _poisson_rise
    convex = True
    self_concordant = True
    hyper = ()

    def check(self, y: np.ndarray) -> None:
        check_counts(y)

    def guess(self, y: np.ndarray) -> np.ndarray:
        return np.log(y + 0.5)

    def rises(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """True for large predictors; for small predictors only if the count is positive."""
        return np.ones(y.shape, bool), y > 0

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        with np.errstate(over="ignore"):
            mean = np.exp(eta)
        return mean - y, mean, mean

    def suprema(self, y: np.ndarray) -> Suprema:
        """Infinity, because ``e^eta`` is unbounded."""
        return same_for_all(y, np.inf, np.inf, np.inf)

    def suprema_near(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> Suprema:
        """All three are monotone."""
        return nearby(self, y, eta, radius, (), (), ())

    def slope_constants(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """``e^eta phi(rho)``, attained."""
        return exponential_slopes(eta, eta, radius)

    def bend_constants(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
        return exponential_bends(eta, eta, radius)


# ------------------------------------------------------------------------------------------- negative binomial


@part(FamilyEnergy, fastmath=CONTRACT)
def _binomial_energy(n, eta, y, hyper, out):
    r, log_r = hyper[0], hyper[1]
    for b in range(n):
        z = eta[b] - log_r
        out[b] = r * softplus(z) + y[b] * softplus(-z) + r * log_r


@part(FamilyRise, fastmath=CONTRACT)
def _binomial_rise(n, eta, eta_prop, y, hyper, out):
    r, log_r = hyper[0], hyper[1]
    for b in range(n):
        z, z_prop = eta[b] - log_r, eta_prop[b] - log_r
        out[b] = r * softplus_rise(z, z_prop) + y[b] * softplus_rise(-z, -z_prop)


@dataclass(frozen=True)
class NegativeBinomial:
    """``f = (y + r) log(r + e^eta) - y eta``: counts with mean ``m = e^eta`` and variance ``m + m^2/r``.

    With ``z = eta - log r`` it is ``r log(1 + e^z) + y log(1 + e^-z) + r log r``, a sum without cancellation.

    Parameters
    ----------
    dispersion : float, prior of a positive parameter, optional
        ``r``. A larger ``r`` is closer to Poisson. A number means known. By default it is unknown, with the prior
        ``tunamh.priors.LogNormal(1, 2)``.
    """

    dispersion: Any = None

    energy = _binomial_energy
    rise = _binomial_rise
    convex = True
    self_concordant = True

    def __post_init__(self) -> None:
        settle(self, dispersion=known_or_prior("dispersion", self.dispersion))

    def arrange(self, observations: Observations, temper: float) -> Arrangement:
        from .described import negative_binomial

        if isinstance(self.dispersion, float):
            return Arrangement(observations, self, column_names(observations))
        return negative_binomial(self, observations, temper)

    @property
    def hyper(self) -> tuple[float, ...]:
        return (self.dispersion, math.log(self.dispersion))

    def check(self, y: np.ndarray) -> None:
        check_counts(y)

    def guess(self, y: np.ndarray) -> np.ndarray:
        return np.log(y + 0.5)

    def rises(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """True for large predictors; for small predictors only if the count is positive."""
        return np.ones(y.shape, bool), y > 0

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        r = self.dispersion
        p, q = sigmoids(eta - math.log(r))
        return r * p - y * q, (y + r) * p * q, (y + r) * p * q * (q - p)

    def suprema(self, y: np.ndarray) -> Suprema:
        """f' grows from -y to r (limits); f'' and f''' are y + r times those of the logistic energy in ``z``."""
        r = self.dispersion
        return Suprema(np.maximum(y, r), 0.25 * (y + r), SIGMOID_THIRD * (y + r))

    def suprema_near(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> Suprema:
        """Critical points: none (f' is monotone), ``z = 0`` and ``z = -+log(2 + sqrt 3)``."""
        total, shift = y + self.dispersion, math.log(self.dispersion)
        slopes, thirds = (
            [(where + shift, height * total) for where, height in peaks]
            for peaks in (SIGMOID_SLOPE_PEAKS, SIGMOID_THIRD_PEAKS)
        )
        return nearby(self, y, eta, radius, (), slopes, thirds)

    def slope_constants(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """``y + r`` times the constants of the logistic energy in ``z``."""
        total, z = y + self.dispersion, eta - math.log(self.dispersion)
        return total * logistic_slopes(z, radius)
