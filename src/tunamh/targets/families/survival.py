"""Rows of regressions with censored responses and an unknown scale (spec 5l).

The predictor ``z = x.eta - tau e`` is minus the standardised residual ``q``; the response is a code: 0 if the event was
observed, +1 if it came later than seen (right-censored), -1 if it came earlier (left-censored). What an observed row
says of the scale, ``-log tau``, is not part of these energies.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...compiled import CONTRACT, FamilyEnergy, FamilyRise, part
from ...compiled.vector import exp_any, exp_rise, softplus, softplus_rise
from .base import SIGMOID_SLOPE_PEAKS, SIGMOID_THIRD, SIGMOID_THIRD_PEAKS, Suprema, largest, nearby, reach_of, sigmoids
from .binary import Probit, probit_energy, probit_rise
from .cloglog import HIT_SLOPE_PEAKS, HIT_SUPREMA, HIT_THIRD_PEAKS, hit_derivatives, hit_energy, hit_rise
from .slopes import exponential_slopes, logistic_slopes, slope_near


class _OfCodes:
    """What families of the codes 0, +1 and -1 have in common."""

    hyper = ()
    convex = True

    def check(self, y: np.ndarray) -> None:
        wrong = (y != 0) & (y != 1) & (y != -1)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(
                f"codes in y must be 0 (observed), 1 (right-censored) or -1 (left-censored), but row {row} has "
                f"{y[row]:g}."
            )

    def guess(self, y: np.ndarray) -> np.ndarray:
        """A residual of 0 where it was observed, of -1 or 1 where all that is known is on which side it lies."""
        return y.astype(float)

    def rises(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A right-censored row speaks against small predictors only, a left-censored one against large ones."""
        return y <= 0, y >= 0


# ----------------------------------------------------------------------------------------------------- Weibull


@part(FamilyEnergy, fastmath=CONTRACT)
def _weibull_energy(n, eta, y, hyper, out):
    for b in range(n):
        out[b] = exp_any(-eta[b]) + (eta[b] if y[b] == 0.0 else 0.0)
    for b in range(n):
        if y[b] < 0.0:
            out[b] = hit_energy(-eta[b])


@part(FamilyRise, fastmath=CONTRACT)
def _weibull_rise(n, eta, eta_prop, y, hyper, out):
    for b in range(n):
        out[b] = exp_rise(-eta[b], -eta_prop[b]) + (eta_prop[b] - eta[b] if y[b] == 0.0 else 0.0)
    for b in range(n):
        if y[b] < 0.0:
            out[b] = hit_rise(-eta[b], -eta_prop[b])


_EARLY_SLOPE_PEAKS = tuple((-where, height) for where, height in HIT_SLOPE_PEAKS)
_EARLY_THIRD_PEAKS = tuple((-where, height) for where, height in HIT_THIRD_PEAKS)


def _early_derivatives(eta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    first, second, third = hit_derivatives(-eta)
    return -first, second, -third


@dataclass(frozen=True)
class WeibullRows(_OfCodes):
    """``e^q - q`` observed, ``e^q`` right-censored, ``-log(1 - exp(-e^q))`` left-censored, ``q = -z``.

    The last is the energy of a label of 1 in the complementary log-log family, at ``q``. But for the last,
    ``|f'''| = f''``.
    """

    energy = _weibull_energy
    rise = _weibull_rise

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        with np.errstate(over="ignore"):
            hazard = np.exp(-eta)
        late = (y == 0) - hazard, hazard, -hazard
        first, second, third = map(np.where, (y < 0,) * 3, _early_derivatives(eta), late)
        return first, second, third

    def suprema(self, y: np.ndarray) -> Suprema:
        """1, 0.4125 and 0.4261 for left-censored rows (see `hit_derivatives`), else infinity."""
        return Suprema(*(np.where(y < 0, most, np.inf) for most in HIT_SUPREMA))

    def suprema_near(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> Suprema:
        """f' is monotone; so are f'' and f''' unless the row is left-censored."""
        reach = reach_of(eta, radius)
        lows, highs = self.derivatives(eta - reach, y), self.derivatives(eta + reach, y)
        early, peaks = y < 0, ((), _EARLY_SLOPE_PEAKS, _EARLY_THIRD_PEAKS)
        found = []
        for low, high, those in zip(lows, highs, peaks, strict=True):
            own = [(where, np.where(early, height, 0.0)) for where, height in those]
            found.append(largest(low, high, own, eta, reach))
        return Suprema(*map(np.minimum, found, self.suprema(y)))

    def slope_constants(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """``e^-z phi(rho)``, attained; of left-censored rows by `slope_near`."""
        result, early = exponential_slopes(-eta, eta, radius), y < 0
        if early.any():
            near = slope_near(_early_derivatives, eta[early], radius[early], _EARLY_THIRD_PEAKS, HIT_SUPREMA[2])
            result[early] = near
        return result


# ---------------------------------------------------------------------------------------------------- logistic


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
class LogisticRows(_OfCodes):
    """``log(1 + e^q)`` unless left-censored, plus ``log(1 + e^-q)`` unless right-censored, ``q = -z``: log-logistic."""

    energy = _logistic_energy
    rise = _logistic_rise
    self_concordant = True

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        p, q = sigmoids(eta)
        times = _terms(y)
        return (y <= 0) * p - (y >= 0) * q, times * p * q, times * p * q * (q - p)

    def suprema(self, y: np.ndarray) -> Suprema:
        """1 (not attained), and those of the logistic energy, once or, of observed rows, twice."""
        times = _terms(y)
        return Suprema(np.ones(y.shape), 0.25 * times, SIGMOID_THIRD * times)

    def suprema_near(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> Suprema:
        """Critical points: none (f' is monotone), 0 and -+log(2 + sqrt 3)."""
        times = _terms(y)
        slopes, thirds = (
            [(where, height * times) for where, height in peaks] for peaks in (SIGMOID_SLOPE_PEAKS, SIGMOID_THIRD_PEAKS)
        )
        return nearby(self, y, eta, radius, (), slopes, thirds)

    def slope_constants(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """Those of the logistic energy, once or twice."""
        return _terms(y) * logistic_slopes(eta, radius)


def _terms(y: np.ndarray) -> np.ndarray:
    """How many logistic energies a row is the sum of."""
    return np.where(y == 0, 2.0, 1.0)


# ------------------------------------------------------------------------------------------------------ normal


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
class NormalRows(_OfCodes):
    """``q^2/2`` observed, ``-log Phi(-q)`` right-censored, ``-log Phi(q)`` left-censored, ``q = -z``.

    For Tobit and log-normal regression. The censored ones are energies of the probit family, of the labels 1 and 0.
    """

    energy = _normal_energy
    rise = _normal_rise

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        first, second, third = Probit().derivatives(eta, _labels(y))
        seen = y == 0
        return np.where(seen, eta, first), np.where(seen, 1.0, second), np.where(seen, 0.0, third)

    def suprema(self, y: np.ndarray) -> Suprema:
        """Infinity, 1, and 0 or, of censored rows, that of the probit energy."""
        first, second, third = Probit().suprema(y)
        return Suprema(first, second, np.where(y == 0, 0.0, third))

    def suprema_near(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> Suprema:
        """Those of a parabola, or of the probit energy."""
        seen, censored = nearby(self, y, eta, radius, (), (), ()), Probit().suprema_near(_labels(y), eta, radius)
        return Suprema(*map(np.where, (y == 0,) * 3, seen, censored))

    def slope_constants(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """0, or those of the probit energy."""
        return np.where(y == 0, 0.0, Probit().slope_constants(_labels(y), eta, radius))


def _labels(y: np.ndarray) -> np.ndarray:
    """The probit family's label of a censored row: 1 if on the right, 0 if on the left."""
    return (y >= 0).astype(float)
