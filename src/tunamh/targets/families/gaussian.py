"""Normal errors: a quadratic, limited responses, and a scale that columns describe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._arguments import settle
from ...compiled import CONTRACT, FamilyEnergy, FamilyRise, part
from ...priors.independent import IndependentPrior
from ...priors.positive import known_or_prior, refuse_flat
from ..observations.observed import Observations
from ..observations.row_layout import Arrangement, known_scale
from .base import LowerBound, Suprema, nearby, same_for_all
from .robust import OfReals
from .unknown_scale import with_unknown_scale

_ROUNDING = 1e15  # what is this many times larger than the scale is rounded by as much as the scale


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
class Gaussian(OfReals):
    """``f = (y - eta)^2 / (2 s^2)``; ``s = scale`` is the standard deviation.

    ``scale`` is a number (known) or a prior of a positive parameter. By default it is unknown, with a half-Student-t
    prior of 3 degrees of freedom; the scale of this prior is 2.5 times the median absolute deviation of the responses
    divided by 0.6745. With ``predictors={"scale": Z}`` its logarithm is ``z.gamma``; the prior of ``gamma`` is
    ``scale``, or ``Normal(scale=2.5)``. ``censored=`` marks censored responses (Tobit).
    """

    scale: Any = None

    energy = _gaussian_energy
    rise = _gaussian_rise
    convex = True
    squared = True
    """Whether residuals count by their squares, however large."""

    def __post_init__(self) -> None:
        refuse_flat("scale", self.scale)
        if not isinstance(self.scale, IndependentPrior):  # one of coefficients, where columns describe the scale
            settle(self, scale=known_or_prior("scale", self.scale))

    def with_scale(self, scale: float) -> Gaussian:
        return Gaussian(scale)

    knows_censoring = True
    described = ("scale",)

    def arrange(self, observations: Observations, temper: float) -> Arrangement:
        """Also limited responses (Tobit), and a scale that is described by columns."""
        from .described import described_by_columns, heteroscedastic
        from .survival import NormalRows

        if described_by_columns(observations):
            return heteroscedastic(observations, self.scale)
        if getattr(observations, "censored", None) is None:
            return super().arrange(observations, temper)
        if isinstance(self.scale, float):
            return known_scale(observations, self.scale, lambda rows: rows.y, NormalRows())
        return with_unknown_scale(observations, temper, self.scale, NormalRows())

    @property
    def hyper(self) -> tuple[float, ...]:
        return (self.precision,)

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        r = y - eta
        return -self.precision * r, np.full_like(r, self.precision), np.zeros_like(r)

    def suprema(self, y: np.ndarray) -> Suprema:
        """Infinity, 1/s^2 and 0: a quadratic."""
        return same_for_all(y, np.inf, self.precision, 0.0)

    def suprema_near(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> Suprema:
        """f' is monotone, f'' constant."""
        return nearby(self, y, eta, radius, (), (), ())

    def slope_constants(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """0: f' is linear."""
        return np.zeros(eta.shape)

    def lower_bound(self, y: np.ndarray, eta: np.ndarray | None) -> LowerBound:
        """The log-likelihood itself, at every point: no row is ever bright."""
        zero = np.zeros(y.shape)
        return LowerBound(y, np.full(y.shape, -0.5 * self.precision), zero, zero)
