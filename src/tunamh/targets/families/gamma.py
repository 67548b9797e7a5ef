"""Gamma responses with a log link; their shape is known or unknown."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._arguments import moderate_number, settle
from ...compiled import CONTRACT, FamilyEnergy, FamilyRise, part
from ...compiled.vector import exp_any, exp_rise
from ...priors.positive import known_or_prior
from ..coordinates.shared import GammaShape
from ..observations.base import Observations
from ..observations.row_layout import RowLayout, column_names
from .base import BaseFamily, Responses
from .cubic_bounds import largest_of, ranges, symmetric
from .intervals import nearby, same_for_all
from .likelihood import OnePredictorLikelihood, Suprema
from .links import LOG
from .multi_predictor import MultiPredictorLikelihood
from .remainder_constants import exponential_second_order
from .response_checks import check_positive, first_wrong
from .responses import Parameters, ResponseDistribution
from .second_parameter import WIDE, one_number, refuse_constant, weight_of_rows


@dataclass(frozen=True)
class Gamma(BaseFamily):
    """Regression of positive responses (gamma distribution) with mean ``e^eta`` and variance ``mean^2 / shape``.

    ``eta`` is the linear predictor ``x.theta`` of a row, plus its offset.

    Parameters
    ----------
    shape : float or prior of a positive parameter, optional
        A number: the shape is known. A prior, such as ``priors.LogNormal(0, 1)``: the shape is unknown. By default the
        shape is unknown, with the prior ``priors.LogNormal(1, 2)``.
    """

    shape: Any = None

    responses = Responses.POSITIVE
    word = "gamma"
    link = LOG
    parameters = ("shape",)

    def __post_init__(self) -> None:
        settle(self, shape=known_or_prior("shape", self.shape))

    def check(self, y: np.ndarray) -> None:
        GammaOfKnownShape(1.0).check(y)

    def arrange(self, observations: Observations, temper: float) -> RowLayout:
        if isinstance(self.shape, float):
            return RowLayout(observations, GammaOfKnownShape(self.shape), column_names(observations))
        weight = temper * observations.sums(weight_of_rows)[0]
        coordinates = GammaShape(observations.design.dim, weight)
        prior = WIDE if self.shape is None else self.shape
        refuse_constant(observations, "shape", prior, lambda rows: np.log(rows.y))
        return one_number(observations, GammaWithShape(centred=True), coordinates, "shape", prior, 1.0)

    def response_distribution(self) -> ResponseDistribution:
        from .response_distributions import OfMean, stats

        return OfMean(self.link.mean, lambda m, p: stats.gamma(p["shape"], scale=m / p["shape"]))

    def latent_variance(self, p: Parameters, mean: float | None) -> Any:
        """Return the variance of ``log y``: the trigamma function of the shape."""
        from scipy.special import polygamma

        return polygamma(1, p["shape"])


# --------------------------------------------------------------------------------------------------- a known shape


@part(FamilyEnergy, fastmath=CONTRACT)
def _gamma_energy(n, eta, y, hyper, out):
    shape = hyper[0]
    for b in range(n):
        out[b] = shape * y[b] * exp_any(-eta[b]) + shape * eta[b]


@part(FamilyRise, fastmath=CONTRACT)
def _gamma_rise(n, eta, eta_prop, y, hyper, out):
    shape = hyper[0]
    for b in range(n):
        out[b] = shape * y[b] * exp_rise(-eta[b], -eta_prop[b]) + shape * (eta_prop[b] - eta[b])


class GammaLikelihood(OnePredictorLikelihood):
    """The likelihood of a gamma response with known shape ``a``.

    The energy (negative log-likelihood) of a row is ``f = a (y e^-eta + eta)``, up to a constant.
    """

    shape: float

    energy = _gamma_energy
    rise = _gamma_rise
    convex = True
    self_concordant = True

    @property
    def hyper(self) -> tuple[float, ...]:
        return (self.shape,)

    @property
    def grain(self) -> float:  # type: ignore[override]
        """Return the rounding error of an energy difference, in units of machine epsilon.

        The energy of a row is its negative log-likelihood. The energy is ``shape`` times a function of ``eta``, so the
        rounding error is ``shape`` (or 1, if ``shape`` is smaller).
        """
        return max(1.0, self.shape)

    def check(self, y: np.ndarray) -> None:
        wrong = ~((y > 0) & (y < np.inf))
        if wrong.any():
            raise first_wrong(wrong, y, "be positive", "leave such rows out")

    def guess(self, y: np.ndarray) -> np.ndarray:
        """Return a rough linear predictor for each row, an array (n,): the logarithm of the response ``y``."""
        return np.log(y)

    def rises(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return for each row whether its energy grows without limit as ``eta`` goes to +/- infinity.

        The energy of a row is its negative log-likelihood. The result is two boolean arrays (n,), the first for
        +infinity and the second for -infinity. ``eta`` is the linear predictor. All values of both arrays are True.
        """
        return np.ones(y.shape, bool), np.ones(y.shape, bool)

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        with np.errstate(over="ignore"):
            ratio = self.shape * y * np.exp(-eta)
        return self.shape - ratio, ratio, -ratio

    def suprema(self, y: np.ndarray) -> Suprema:
        """Return the suprema of ``|f'|``, ``|f''|`` and ``|f'''|``, arrays (n,): all are infinite.

        The energy (negative log-likelihood) ``f`` of a row contains ``e^-eta``, which is unbounded (``eta`` is the
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
        radius``. ``f(eta)`` is the energy (negative log-likelihood) of the row, and ``eta`` its linear predictor. With
        the shape ``a`` (1 for exponential times), ``L = a y e^-eta phi(radius)`` with ``phi(x) = 2 (e^x - 1 - x) /
        x^2``.
        """
        return exponential_second_order(np.log(self.shape) + np.log(y) - eta, eta, radius)


@dataclass(frozen=True)
class GammaOfKnownShape(GammaLikelihood):
    """The family of gamma responses with a known shape ``a``, mean ``e^eta`` and variance ``mean^2/a``.

    The energy is ``f = a (y e^-eta + eta)``.

    Parameters
    ----------
    shape : float
        The shape ``a``. With 1, the responses are exponential.
    """

    shape: float

    def __post_init__(self) -> None:
        settle(self, shape=moderate_number("shape", self.shape))


# ------------------------------------------------------------------------------------------------ an unknown shape


@part(FamilyEnergy)
def _energy_with_shape(n, eta, y, hyper, out):
    m, shift = eta.size // 2, hyper[0]
    for b in range(n):
        away = eta[b] - math.log(y[b])
        out[b] = math.exp(eta[m + b]) * ((math.expm1(-away) + away) + (1.0 - shift))


@part(FamilyRise)
def _rise_with_shape(n, eta, eta_prop, y, hyper, out):
    """``w [(e^move - 1) g' + g' - g]`` for short moves of the log shape."""
    m, shift = eta.size // 2, hyper[0]
    for b in range(n):
        log_y = math.log(y[b])
        away, away_prop = eta[b] - log_y, eta_prop[b] - log_y
        g_prop = (math.expm1(-away_prop) + away_prop) + (1.0 - shift)
        move, far = eta_prop[m + b] - eta[m + b], eta_prop[b] - eta[b]
        if abs(move) < 1.0 and abs(far) < 1.0:
            g_rise = math.exp(-away) * math.expm1(-far) + far
            out[b] = math.exp(eta[m + b]) * (math.expm1(move) * g_prop + g_rise)
        else:
            g = (math.expm1(-away) + away) + (1.0 - shift)
            out[b] = math.exp(eta_prop[m + b]) * g_prop - math.exp(eta[m + b]) * g


@dataclass(frozen=True)
class GammaWithShape(MultiPredictorLikelihood):
    """The likelihood of positive responses with log mean ``eta`` and log shape ``a``.

    The energy is ``f = e^a (y e^-eta + eta - log y)``; it does not contain ``log Gamma(e^a) - a e^a``. If ``centred``
    is True, it does not contain ``e^a`` either: ``f = e^a (v - 1 - log v)`` with ``v = y e^-eta``. Then the energy and
    its derivatives in ``a`` are of size 1/2 for every shape. So the bounds of the rows are smaller, by a factor of
    about the shape, and ``e^a`` belongs to the closed form.
    """

    centred: bool = False

    predictors = 2
    parameter_names = "eta", "a"
    energy = _energy_with_shape
    rise = _rise_with_shape

    @property
    def hyper(self) -> tuple[float, ...]:
        return (float(self.centred),)

    def check(self, y: np.ndarray) -> None:
        check_positive(y)

    def _terms(self, eta, y):
        """Return three arrays (n,): ``v``, ``g'`` and ``g`` of ``f = w g(eta)``."""
        away = eta - np.log(y)
        return np.exp(-away), -np.expm1(-away), np.expm1(-away) + away + (1.0 - self.centred)

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the three derivatives of ``f = w g``.

        Every derivative in ``a`` is itself, and ``g' = 1 - v``, ``g'' = v``, ``g''' = -v``.
        """
        w = np.exp(eta[1])
        v, slope, g = self._terms(eta[0], y)
        gradient = np.array([w * slope, w * g])
        return gradient, symmetric(w * v, w * slope, w * g), symmetric(-w * v, w * v, w * slope, w * g)

    def third_bounds(self, y: np.ndarray, eta: np.ndarray, radii: np.ndarray) -> np.ndarray:
        """Return bounds (K, K, K, n) of the third derivatives.

        Exact: ``w`` is largest at its end, ``v`` and ``g'`` are monotone, and ``g >= 0`` is convex.
        """
        best = np.zeros((4, y.size))
        with np.errstate(all="ignore"):
            w = np.exp(ranges(eta[1], radii[1])[1])
            for end in ranges(eta[0], radii[0]):
                v, slope, g = self._terms(end, y)
                largest_of(best, (w * v, w * v, w * slope, w * g))
        return symmetric(*best)
