"""Normal errors; their scale is known, unknown, or described by columns. Responses may be censored (Tobit)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..._arguments import settle
from ...compiled import CONTRACT, FamilyEnergy, FamilyRise, part
from ...priors.independent import IndependentPrior
from ...priors.positive import known_or_prior, refuse_flat
from ..observations.base import Observations
from ..observations.row_layout import RowLayout, known_scale
from .censored_normal import CensoredNormal
from .cubic_bounds import largest_of, ranges, symmetric
from .intervals import nearby, same_for_all
from .likelihood import LowerBound, Suprema
from .links import LOG
from .multi_predictor import MultiPredictorLikelihood
from .residuals import ResidualFamily
from .responses import ResponseDistribution
from .second_parameter import by_columns, described_by_columns, start_at
from .unknown_scale import with_unknown_scale


@part(FamilyEnergy, fastmath=CONTRACT)
def _gaussian_energy(n, eta, y, hyper, out):
    half = 0.5 * hyper[0]
    for b in range(n):
        r = y[b] - eta[b]
        out[b] = half * r * r


@part(FamilyRise, fastmath=CONTRACT)
def _gaussian_rise(n, eta, eta_prop, y, hyper, out):
    half = 0.5 * hyper[0]
    for b in range(n):
        r, r_prop = y[b] - eta[b], y[b] - eta_prop[b]
        out[b] = half * (eta[b] - eta_prop[b]) * (r_prop + r)


@dataclass(frozen=True)
class Gaussian(ResidualFamily):
    """Linear regression with normal errors; ``s = scale`` is their standard deviation.

    The mean of a response is ``eta``: the linear predictor ``x.theta`` of the row, plus its offset. The energy
    (negative log-likelihood) of a row is ``f = (y - eta)^2 / (2 s^2)``, up to a constant. Responses can be censored
    (Tobit model): see ``censored=`` of `GLM`.

    Parameters
    ----------
    scale : float, prior of a positive parameter, or prior of coefficients, optional
        A number: the scale is known. A prior, such as ``HalfNormal(2.5)``: the scale is unknown. By default the scale
        is unknown and has a half-Student-t prior with 3 degrees of freedom. The scale of this prior is 2.5 times the
        typical deviation of the responses: their median absolute deviation, divided by 0.6745. If the model has columns
        for the scale, ``GLM(X, y, Gaussian(), predictors={"scale": Z})``, the logarithm of the scale is ``z.gamma``:
        ``z`` is the row of ``Z``, and the coefficients ``gamma`` are unknown. The argument ``scale`` is then the prior
        of ``gamma``, with the default ``Normal(scale=2.5)``.
    """

    scale: Any = None

    word = "gaussian"
    described = ("scale",)
    parameter_links: ClassVar = {"scale": LOG}
    takes_censoring = True
    energy = _gaussian_energy
    rise = _gaussian_rise
    convex = True
    squared = True

    def __post_init__(self) -> None:
        refuse_flat("scale", self.scale)
        if not isinstance(self.scale, IndependentPrior):  # one of coefficients, where columns describe the scale
            settle(self, scale=known_or_prior("scale", self.scale))

    def with_scale(self, scale: float) -> Gaussian:
        return Gaussian(scale)

    def arrange(self, observations: Observations, temper: float) -> RowLayout:
        """Return a `RowLayout`. It says which numbers of each row the compiled code reads, and in which order.

        It is the layout of `Family`, with changes for an unknown scale, for censored responses (Tobit) and for a scale
        that depends on columns.
        """
        if described_by_columns(observations):
            return heteroscedastic(observations, self.scale)
        if not observations.has_censoring:
            return super().arrange(observations, temper)
        if isinstance(self.scale, float):
            return known_scale(observations, self.scale, lambda rows: rows.y, CensoredNormal())
        return with_unknown_scale(observations, temper, self.scale, CensoredNormal())

    @property
    def hyper(self) -> tuple[float, ...]:
        return (self.precision,)

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        r = y - eta
        return -self.precision * r, np.full_like(r, self.precision), np.zeros_like(r)

    def suprema(self, y: np.ndarray) -> Suprema:
        """Return the suprema of ``|f'|``, ``|f''|`` and ``|f'''|``, an array (n,) for each: infinity, 1/s^2 and 0.

        ``f(eta)`` is the energy (negative log-likelihood) of a row as a function of its linear predictor; it is
        quadratic. ``s`` is the scale.
        """
        return same_for_all(y, np.inf, self.precision, 0.0)

    def suprema_near(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> Suprema:
        """Return the suprema of ``|f'|``, ``|f''|``, ``|f'''|`` within ``radius`` of ``eta``: arrays (n,).

        ``f(eta)`` is the energy (negative log-likelihood) of a row as a function of its linear predictor. ``f'`` is
        linear, so its supremum is at an end of the interval; ``f''`` is constant, and ``f'''`` is zero.
        """
        return nearby(self, y, eta, radius, (), (), ())

    def second_order_constants(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """Return an array (n,) of zeros: the Taylor expansion of order 2 of a quadratic energy has no remainder.

        The energy of a row is its negative log-likelihood.
        """
        return np.zeros(eta.shape)

    def lower_bound(self, y: np.ndarray, eta: np.ndarray | None) -> LowerBound:
        """Return a `LowerBound` that equals the log-likelihood of each row.

        The log-likelihood is quadratic, so FlyMC never reads a row.
        """
        zero = np.zeros(y.shape)
        return LowerBound(y, np.full(y.shape, -0.5 * self.precision), zero, zero)

    def response_distribution(self) -> ResponseDistribution:
        from .response_distributions import Located, stats

        return Located(lambda p: stats.norm())


# --------------------------------------------------------------------------------- a scale that columns describe


def heteroscedastic(observations: Observations, prior: Any) -> RowLayout:
    """Return the rows of `Gaussian` when the log standard deviation is ``z.gamma``."""
    sample = observations.take(np.arange(min(observations.n_rows, 10_000))).rows()
    spread = float(np.log(max(np.std(sample.y), 1e-100)))
    return by_columns(observations, GaussianWithScale(), "scale", prior, start_at(observations, spread))


@part(FamilyEnergy)
def _energy_with_scale(n, eta, y, hyper, out):
    m = eta.size // 2
    for b in range(n):
        h = (y[b] - eta[b]) * math.exp(-eta[m + b])
        out[b] = eta[m + b] + 0.5 * h * h


@part(FamilyRise)
def _rise_with_scale(n, eta, eta_prop, y, hyper, out):
    """``move + (h' - h)(h' + h)/2``, ``h = (y - m) e^-s``; ``h' - h = (m - m') e^-s' + h (e^-move - 1)``."""
    m = eta.size // 2
    for b in range(n):
        move = eta_prop[m + b] - eta[m + b]
        shrink = math.exp(-eta_prop[m + b])
        h, h_prop = (y[b] - eta[b]) * math.exp(-eta[m + b]), (y[b] - eta_prop[b]) * shrink
        grown = h_prop - h
        if abs(move) < 1.0:
            grown = (eta[b] - eta_prop[b]) * shrink + h * math.expm1(-move)
        out[b] = move + 0.5 * grown * (h_prop + h)


@dataclass(frozen=True)
class GaussianWithScale(MultiPredictorLikelihood):
    """The likelihood ``f = s + (y - m)^2 e^{-2s} / 2`` with mean ``m`` and log standard deviation ``s`` (spec 5n)."""

    predictors = 2
    parameter_names = "m", "s"
    energy = _energy_with_scale
    rise = _rise_with_scale

    def check(self, y: np.ndarray) -> None:
        """Do nothing: every real number is an allowed response."""

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        w, r = np.exp(-2 * eta[1]), y - eta[0]
        gradient = np.array([-r * w, 1 - r * r * w])
        hessian = symmetric(w, 2 * r * w, 2 * r * r * w)
        return gradient, hessian, symmetric(np.zeros_like(w), -2 * w, -4 * r * w, -4 * r * r * w)

    def third_bounds(self, y: np.ndarray, eta: np.ndarray, radii: np.ndarray) -> np.ndarray:
        """Return bounds (K, K, K, n) of the third derivatives.

        Exact: at the smallest ``s`` and the largest residual.
        """
        best = np.zeros((4, y.size))
        with np.errstate(over="ignore"):
            w = np.exp(-2 * ranges(eta[1], radii[1])[0])
            r = ranges(np.abs(y - eta[0]), radii[0] + 1e-12 * np.abs(y))[1]
            largest_of(best, (np.zeros_like(w), 2 * w, 4 * r * w, 4 * r * r * w))
        return symmetric(*best)
