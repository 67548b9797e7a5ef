"""Weibull times; some may be censored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._arguments import settle
from ...compiled import CONTRACT, FamilyEnergy, FamilyRise, part
from ...compiled.vector import exp_any, exp_rise
from ...priors.positive import known_or_prior
from ..observations.base import Observations
from .base import Responses
from .censoring import CensoredFamily, CensoredLikelihood
from .cloglog import HIT_SLOPE_PEAKS, HIT_SUPREMA, HIT_THIRD_PEAKS, hit_derivatives, hit_energy, hit_rise
from .intervals import largest, widened
from .likelihood import OnePredictorLikelihood, Suprema
from .links import LOG
from .remainder_constants import exponential_second_order, second_order_near
from .responses import Parameters, ResponseDistribution


@dataclass(frozen=True)
class Weibull(CensoredFamily):
    """Regression of survival times: ``P(T > t) = exp(-(t e^-eta)^shape)`` (accelerated failure times).

    ``eta`` is the linear predictor ``x.theta`` of a row, plus its offset. With ``shape = 1`` the times have an
    exponential distribution.

    Parameters
    ----------
    shape : float or prior of a positive parameter, optional
        A number: the shape is known. A prior: the shape is unknown. By default the shape is unknown and has a
        half-Student-t prior with 3 degrees of freedom. The scale of this prior is 2.5, divided by the typical deviation
        of ``log y`` (its median absolute deviation, divided by 0.6745).

    Examples
    --------
    >>> tunamh.GLM(X, time, tunamh.Weibull(), event=died)
    """

    shape: Any = None

    responses = Responses.POSITIVE
    word = "weibull"
    link = LOG
    parameters = ("shape",)
    regresses_logarithm = True

    def __post_init__(self) -> None:
        settle(self, shape=known_or_prior("shape", self.shape))

    def likelihood(self, observations: Observations) -> OnePredictorLikelihood:
        return CensoredWeibull()

    def response_distribution(self) -> ResponseDistribution:
        return WeibullTimes()

    def latent_variance(self, p: Parameters, mean: float | None) -> Any:
        """Return the variance of ``log y`` given the linear predictor.

        ``log y`` minus the linear predictor is a Gumbel error divided by ``shape``, with variance ``pi^2 / (6
        shape^2)``.
        """
        return np.pi**2 / 6 / np.square(p["shape"])


class WeibullTimes(ResponseDistribution):
    """The distribution of Weibull times: ``P(T > t) = exp(-(t e^-eta)^shape)``."""

    def mean(self, eta: np.ndarray, p: Parameters) -> np.ndarray:
        from scipy.special import gamma

        return np.exp(eta) * gamma(1 + 1 / np.asarray(p["shape"]))

    def variance(self, eta: np.ndarray, p: Parameters) -> np.ndarray:
        from scipy.special import gamma

        first, second = (gamma(1 + k / np.asarray(p["shape"])) for k in (1, 2))
        return np.exp(2 * eta) * (second - first**2)

    def draw(self, rng: np.random.Generator, eta: np.ndarray, p: Parameters) -> np.ndarray:
        return np.exp(eta) * rng.standard_exponential(eta.shape) ** (1 / np.asarray(p["shape"]))

    def log_density(self, y: np.ndarray, eta: np.ndarray, p: Parameters) -> np.ndarray:
        from scipy import stats

        return stats.weibull_min.logpdf(y, p["shape"], scale=np.exp(eta))

    def quantile(self, q: float, eta: np.ndarray, p: Parameters) -> np.ndarray:
        return np.exp(eta) * (-np.log1p(-q)) ** (1 / np.asarray(p["shape"]))

    def log_tail(self, y: np.ndarray, eta: np.ndarray, p: Parameters, *, above: bool) -> np.ndarray:
        from scipy import stats

        log_probability = stats.weibull_min.logsf if above else stats.weibull_min.logcdf
        return log_probability(y, p["shape"], scale=np.exp(eta))

    def tails(self, y: np.ndarray, eta: np.ndarray, p: Parameters) -> tuple[np.ndarray, np.ndarray]:
        return self.both_tails(y, eta, p)


# ------------------------------------------------------------------------------------------------- the likelihood


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
class CensoredWeibull(CensoredLikelihood):
    """The likelihood of Weibull times that may be censored, with ``q = -z`` for the standardised residual ``z``.

    The energy is ``e^q - q`` if the time is observed, ``e^q`` if it is right-censored, and ``-log(1 - exp(-e^q))`` if
    it is left-censored. The last one is the energy of a label 1 in the complementary log-log family at ``q``. The first
    two have ``|f'''| = f''``.
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
        """Return the suprema of ``|f'|``, ``|f''|`` and ``|f'''|`` over all ``eta``: arrays (n,).

        They are 1, 0.4125 and 0.4261 for left-censored rows (see `hit_derivatives`), and infinite for other rows.
        """
        return Suprema(*(np.where(y < 0, most, np.inf) for most in HIT_SUPREMA))

    def suprema_near(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> Suprema:
        """Return bounds of ``|f'|``, ``|f''|``, ``|f'''|`` within ``radius`` of ``eta``: arrays (n,).

        ``f'`` is monotone. So are ``f''`` and ``f'''``, unless the row is left-censored.
        """
        wide = widened(eta, radius)
        lows, highs = self.derivatives(eta - wide, y), self.derivatives(eta + wide, y)
        early, peaks = y < 0, ((), _EARLY_SLOPE_PEAKS, _EARLY_THIRD_PEAKS)
        found = []
        for low, high, those in zip(lows, highs, peaks, strict=True):
            own = [(where, np.where(early, height, 0.0)) for where, height in those]
            found.append(largest(low, high, own, eta, wide))
        return Suprema(*map(np.minimum, found, self.suprema(y)))

    def second_order_constants(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """Return an array (n,) of constants ``L``, which bound Taylor remainders (docs/spec.md, section 5m).

        It is ``e^-z phi(rho)``, which is attained. For left-censored rows `second_order_near` computes a bound.
        """
        result, early = exponential_second_order(-eta, eta, radius), y < 0
        if early.any():
            near = second_order_near(_early_derivatives, eta[early], radius[early], _EARLY_THIRD_PEAKS, HIT_SUPREMA[2])
            result[early] = near
        return result
