"""Families of positive responses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._arguments import moderate_number, settle
from ...compiled import CONTRACT, FamilyEnergy, FamilyRise, part
from ...compiled.vector import exp_any, exp_rise
from ..observations.observed import Observations
from ..observations.row_layout import Arrangement, column_names, known_scale
from .base import Suprema, nearby, same_for_all
from .slopes import exponential_slopes
from .survival import WeibullRows


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


class _OfPositives:
    """``f = a (y e^-eta + eta)``, ``a`` the shape."""

    shape: float

    energy = _gamma_energy
    rise = _gamma_rise
    convex = True
    self_concordant = True

    @property
    def hyper(self) -> tuple[float, ...]:
        return (self.shape,)

    @property
    def grain(self) -> float:
        """What multiplies predictors: by this much a rise is rounded, even where the two terms of ``f`` cancel."""
        return max(1.0, self.shape)

    def check(self, y: np.ndarray) -> None:
        wrong = ~((y > 0) & (y < np.inf))
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(f"y must be positive, but row {row} has {y[row]:g}: leave such rows out.")

    def guess(self, y: np.ndarray) -> np.ndarray:
        return np.log(y)

    def rises(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """On both sides of ``log y``."""
        return np.ones(y.shape, bool), np.ones(y.shape, bool)

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        with np.errstate(over="ignore"):
            ratio = self.shape * y * np.exp(-eta)
        return self.shape - ratio, ratio, -ratio

    def suprema(self, y: np.ndarray) -> Suprema:
        """Infinity: ``e^-eta`` grows without end."""
        return same_for_all(y, np.inf, np.inf, np.inf)

    def suprema_near(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> Suprema:
        """All three are monotone."""
        return nearby(self, y, eta, radius, (), (), ())

    def slope_constants(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """``a y e^-eta phi(rho)``, attained."""
        return exponential_slopes(np.log(self.shape) + np.log(y) - eta, eta, radius)


@dataclass(frozen=True)
class Exponential(_OfPositives):
    """``f = y e^-eta + eta``: exponential waiting times with mean ``e^eta``.

    With ``censored=`` times can be right- or left-censored (Weibull times of shape 1).
    """

    shape = 1.0
    knows_censoring = True

    def arrange(self, observations: Observations, temper: float) -> Arrangement:
        if getattr(observations, "censored", None) is None:
            return Arrangement(observations, self, column_names(observations))
        return known_scale(observations, 1.0, lambda rows: np.log(rows.y), WeibullRows())


@dataclass(frozen=True)
class GammaRows(_OfPositives):
    """``f = a (y e^-eta + eta)``: gamma responses of a known shape ``a`` with mean ``e^eta`` and variance ``mean^2/a``.

    Parameters
    ----------
    shape : float
        ``a``; with 1 the responses are exponential.
    """

    shape: float

    def __post_init__(self) -> None:
        settle(self, shape=moderate_number("shape", self.shape))
