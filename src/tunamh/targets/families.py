"""Families of the GLM target: the energy ``f(eta, y)`` of one observation given its linear predictor.

A family is a block of energies, a block of rises ``f(eta', y) - f(eta, y)`` (written as one, because the difference
of two large energies would lose digits and time), three derivatives in ``eta`` and their suprema.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from .._jit import CONTRACT, FamilyEnergy, FamilyRise, Part, part
from .._vector import log_quotient, softplus, softplus_rise


class Suprema(NamedTuple):
    """Per row, the suprema over ``eta`` of ``|f'|``, ``|f''|`` and ``|f'''|``; infinity is allowed."""

    first: np.ndarray
    second: np.ndarray
    third: np.ndarray


class LowerBound(NamedTuple):
    """Per row, ``a (eta - anchor)^2 + b (eta - anchor) + k``."""

    anchor: np.ndarray
    a: np.ndarray
    b: np.ndarray
    k: np.ndarray


class Family(Protocol):
    """What the GLM target needs to know of a family."""

    @property
    def energy(self) -> Part: ...
    @property
    def rise(self) -> Part: ...
    @property
    def hyper(self) -> tuple[float, ...]: ...

    def check(self, y: np.ndarray) -> None:
        """Raise a ValueError for responses that the family does not know."""

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """``f'``, ``f''`` and ``f'''`` with respect to ``eta``."""

    def suprema(self, y: np.ndarray) -> Suprema: ...

    def lower_bound(self, y: np.ndarray, eta: np.ndarray | None) -> LowerBound:
        """A quadratic below ``-f(eta, y)``, tight at the given ``eta`` (None: untuned), for FlyMC."""


def _same_for_all(y: np.ndarray, first: float, second: float, third: float) -> Suprema:
    return Suprema(*(np.broadcast_to(value, y.shape) for value in (first, second, third)))


# ---------------------------------------------------------------------------------------------------- logistic


@part(FamilyEnergy, fastmath=CONTRACT)
def _logistic_energy(n, eta, y, hyper, out):
    for b in range(n):
        out[b] = softplus(eta[b]) - y[b] * eta[b]


@part(FamilyRise, fastmath=CONTRACT)
def _logistic_rise(n, eta, eta_prop, y, hyper, out):
    for b in range(n):
        out[b] = softplus_rise(eta[b], eta_prop[b]) - y[b] * (eta_prop[b] - eta[b])


@dataclass(frozen=True)
class Logistic:
    """``f = log(1 + e^eta) - y eta`` with ``y`` in {0, 1} (spec 3.3)."""

    energy = _logistic_energy
    rise = _logistic_rise
    hyper = ()

    def check(self, y: np.ndarray) -> None:
        wrong = (y != 0) & (y != 1)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(f"labels must be 0 or 1, but row {row} has {y[row]:g}; code the two classes as 0 and 1")

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        p = 0.5 * (1 + np.tanh(0.5 * eta))
        return p - y, p * (1 - p), p * (1 - p) * (1 - 2 * p)

    def suprema(self, y: np.ndarray) -> Suprema:
        """1 (not attained), 1/4 (at 0), and p(1-p)(1-2p) <= 1/(6 sqrt 3) (at p = (1 -+ 1/sqrt 3)/2)."""
        return _same_for_all(y, 1.0, 0.25, 1 / (6 * np.sqrt(3.0)))

    def lower_bound(self, y: np.ndarray, eta: np.ndarray | None) -> LowerBound:
        """Jaakkola and Jordan's bound, tight at ``eta = +-xi``; untuned, xi = 1.5."""
        xi = np.abs(np.full(y.shape, 1.5) if eta is None else eta)
        a = -0.125 * np.ones_like(xi)
        np.divide(-np.tanh(0.5 * xi), 4 * xi, out=a, where=xi > 1e-6)
        return LowerBound(np.zeros(y.shape), a, y - 0.5, -a * xi**2 - np.logaddexp(0.5 * xi, -0.5 * xi))


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


@dataclass(frozen=True)
class StudentT:
    """``f = (v+1)/2 log(1 + r^2/v)``, ``r = y - eta``, with ``v`` degrees of freedom (spec 3.1)."""

    df: float = 4.0

    energy = _student_energy
    rise = _student_rise

    def __post_init__(self) -> None:
        if not (np.isfinite(self.df) and self.df > 0):
            raise ValueError(f"df must be positive and finite, got {self.df!r}")

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
        t = np.sqrt(2.0) - 1
        third = (
            2 * t * (3 - t * t) / (1 + t * t) ** 3
        )  # of 2 (v+1) r (3v - r^2) / (v + r^2)^3, in units of (v+1) / v^(3/2)
        return _same_for_all(y, (v + 1) / (2 * np.sqrt(v)), (v + 1) / v, (v + 1) / v**1.5 * third)

    def lower_bound(self, y: np.ndarray, eta: np.ndarray | None) -> LowerBound:
        """Gaussian tangent in ``r^2`` at the residual ``xi`` (untuned: 0): ``-log(1 + w/v)`` is convex in ``w``."""
        v = self.df
        xi2 = np.zeros(y.shape) if eta is None else (y - eta) ** 2
        a = -(v + 1) / (2 * (v + xi2))
        return LowerBound(y, a, np.zeros(y.shape), -0.5 * (v + 1) * np.log1p(xi2 / v) - a * xi2)
