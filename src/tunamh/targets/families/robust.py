"""Families of real responses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._jit import CONTRACT, FamilyEnergy, FamilyRise, part
from ..._vector import log_quotient
from .base import LowerBound, Suprema, nearby, refuse_unless_positive, same_for_all

# ---------------------------------------------------------------------------------------------------- Student-t


@part(FamilyEnergy, fastmath=CONTRACT)
def _student_energy(n, eta, y, hyper, out):
    df = hyper[0]
    for b in range(n):
        r = y[b] - eta[b]
        out[b] = 0.5 * (df + 1.0) * log_quotient(df + r * r, df)


@part(FamilyRise, fastmath=CONTRACT)
def _student_rise(n, eta, eta_prop, y, hyper, out):
    df = hyper[0]
    for b in range(n):
        r, r_prop = y[b] - eta[b], y[b] - eta_prop[b]
        out[b] = 0.5 * (df + 1.0) * log_quotient(df + r_prop * r_prop, df + r * r)


_NEAR_BEND, _FAR_BEND = np.sqrt(2.0) - 1, np.sqrt(2.0) + 1  # critical points of f''' in r / sqrt(v)


@dataclass(frozen=True)
class StudentT:
    """``f = (v+1)/2 log(1 + r^2/v)``, ``r = y - eta``, with ``v`` degrees of freedom (spec 3.1)."""

    df: float = 4.0

    energy = _student_energy
    rise = _student_rise

    def __post_init__(self) -> None:
        refuse_unless_positive("df", self.df)

    @property
    def hyper(self) -> tuple[float, ...]:
        return (self.df,)

    def check(self, y: np.ndarray) -> None:
        """Every finite response will do."""

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        v, r = self.df, y - eta
        q = v + r * r
        first = -(v + 1) * r / q
        second = (v + 1) * (v - r * r) / q**2
        third = 2 * (v + 1) * r * (3 * v - r * r) / q**3
        return first, second, third

    def suprema(self, y: np.ndarray) -> Suprema:
        """At r = sqrt(v), r = 0 and r = sqrt(v) (sqrt(2) - 1)."""
        v = self.df
        return same_for_all(y, (v + 1) / (2 * np.sqrt(v)), (v + 1) / v, self._bend(_NEAR_BEND))

    def _bend(self, t: float) -> float:
        """``|f'''|`` at ``r = t sqrt(v)``."""
        return (self.df + 1) / self.df**1.5 * abs(2 * t * (3 - t * t) / (1 + t * t) ** 3)

    def suprema_near(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> Suprema:
        """Critical points: r = +-sqrt(v) of f'; 0 and +-sqrt(3v) of f''; +-sqrt(v) (sqrt(2) +- 1) of f'''."""
        v, root = self.df, np.sqrt(self.df)
        slopes = [(y + sign * root, (v + 1) / (2 * root)) for sign in (-1, 1)]
        curves = [(y, (v + 1) / v), *((y + sign * np.sqrt(3 * v), (v + 1) / (8 * v)) for sign in (-1, 1))]
        bends = [(y + sign * t * root, self._bend(t)) for sign in (-1, 1) for t in (_NEAR_BEND, _FAR_BEND)]
        return nearby(self, y, eta, radius, slopes, curves, bends)

    def lower_bound(self, y: np.ndarray, eta: np.ndarray | None) -> LowerBound:
        """Gaussian tangent in ``r^2`` at the residual ``xi`` (untuned: 0): ``-log(1 + w/v)`` is convex in ``w``."""
        v = self.df
        xi2 = np.zeros(y.shape) if eta is None else (y - eta) ** 2
        a = -(v + 1) / (2 * (v + xi2))
        return LowerBound(y, a, np.zeros(y.shape), -0.5 * (v + 1) * np.log1p(xi2 / v) - a * xi2)


# ------------------------------------------------------------------------------------------------------- Huber


@part(FamilyEnergy, fastmath=CONTRACT)
def _huber_energy(n, eta, y, hyper, out):
    delta = hyper[0]
    for b in range(n):
        r = y[b] - eta[b]
        inner = min(max(r, -delta), delta)
        out[b] = 0.5 * inner * inner + delta * abs(r - inner)


@part(FamilyRise, fastmath=CONTRACT)
def _huber_rise(n, eta, eta_prop, y, hyper, out):
    delta = hyper[0]
    for b in range(n):
        r, r_prop = y[b] - eta[b], y[b] - eta_prop[b]
        inner, inner_prop = min(max(r, -delta), delta), min(max(r_prop, -delta), delta)
        outer = abs(r_prop - inner_prop) - abs(r - inner)
        out[b] = 0.5 * (inner_prop - inner) * (inner_prop + inner) + delta * outer


@dataclass(frozen=True)
class Huber:
    """``f = r^2/2`` for ``|r| <= delta`` and ``delta |r| - delta^2/2`` beyond, ``r = y - eta``."""

    delta: float = 1.345

    energy = _huber_energy
    rise = _huber_rise

    def __post_init__(self) -> None:
        refuse_unless_positive("delta", self.delta)

    @property
    def hyper(self) -> tuple[float, ...]:
        return (self.delta,)

    def check(self, y: np.ndarray) -> None:
        """Every finite response will do."""

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        r = y - eta
        return -np.clip(r, -self.delta, self.delta), (np.abs(r) <= self.delta).astype(float), np.zeros_like(r)

    def suprema(self, y: np.ndarray) -> Suprema:
        """delta, 1, and infinity: f'' jumps at r = +-delta."""
        return same_for_all(y, self.delta, 1.0, np.inf)

    def suprema_near(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> Suprema:
        """f' is monotone; predictors on both sides of a jump of f'' have it between them."""
        jumps = y - self.delta, y + self.delta
        return nearby(self, y, eta, radius, (), [(at, 1.0) for at in jumps], [(at, np.inf) for at in jumps])


# ---------------------------------------------------------------------------------------------------- Gaussian


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
class Gaussian:
    """``f = (y - eta)^2 / (2 s^2)`` with the known standard deviation ``s = scale``."""

    scale: float = 1.0

    energy = _gaussian_energy
    rise = _gaussian_rise

    def __post_init__(self) -> None:
        refuse_unless_positive("scale", self.scale)

    @property
    def precision(self) -> float:
        return 1 / self.scale**2

    @property
    def hyper(self) -> tuple[float, ...]:
        return (self.precision,)

    def check(self, y: np.ndarray) -> None:
        """Every finite response will do."""

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        r = y - eta
        return -self.precision * r, np.full_like(r, self.precision), np.zeros_like(r)

    def suprema(self, y: np.ndarray) -> Suprema:
        """Infinity, 1/s^2 and 0: a quadratic."""
        return same_for_all(y, np.inf, self.precision, 0.0)

    def suprema_near(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> Suprema:
        """f' is monotone, f'' constant."""
        return nearby(self, y, eta, radius, (), (), ())

    def lower_bound(self, y: np.ndarray, eta: np.ndarray | None) -> LowerBound:
        """Itself, wherever: no row is ever bright."""
        zero = np.zeros(y.shape)
        return LowerBound(y, np.full(y.shape, -0.5 * self.precision), zero, zero)
