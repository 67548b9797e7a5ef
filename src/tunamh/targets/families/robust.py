"""Families of real responses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._arguments import moderate_number, settle
from ...compiled import CONTRACT, FamilyEnergy, FamilyRise, part
from ...compiled.vector import log_quotient
from ...priors.positive import Gamma, known_or_prior
from ..observations.observed import Observations
from ..observations.row_layout import Arrangement
from .base import LowerBound, Peaks, Suprema, nearby, reach_of, same_for_all
from .slopes import slope_near
from .unknown_scale import UnknownScale, with_unknown_df, with_unknown_scale_and_df

_ROUNDING = 1e15  # what is this many times larger than the scale is rounded by as much as the scale


class OfReals(UnknownScale):
    """What families of residuals ``y - eta``, measured in units of ``scale``, have in common."""

    def check(self, y: np.ndarray) -> None:
        if not isinstance(self.scale, float):
            return
        largest = int(np.abs(y).argmax())
        if abs(y[largest]) > _ROUNDING * self.scale:
            raise ValueError(
                f"y has {y[largest]:g} in row {largest}, more than {_ROUNDING:g} times the scale {self.scale:g} of the "
                "family: give a larger scale, or measure y in other units."
            )

    def guess(self, y: np.ndarray) -> np.ndarray:
        return y

    def rises(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """On both sides of every response."""
        return np.ones(y.shape, bool), np.ones(y.shape, bool)

    @property
    def precision(self) -> float:
        return 1 / self.scale**2


# ---------------------------------------------------------------------------------------------------- Student-t


@part(FamilyEnergy, fastmath=CONTRACT)
def _student_energy(n, eta, y, hyper, out):
    half, spread = 0.5 * hyper[0], hyper[1]
    for b in range(n):
        r = y[b] - eta[b]
        out[b] = half * log_quotient(spread + r * r, spread)


@part(FamilyRise, fastmath=CONTRACT)
def _student_rise(n, eta, eta_prop, y, hyper, out):
    half, spread = 0.5 * hyper[0], hyper[1]
    for b in range(n):
        r, r_prop = y[b] - eta[b], y[b] - eta_prop[b]
        out[b] = half * log_quotient(spread + r_prop * r_prop, spread + r * r)


_DF = Gamma(2.0, 10.0)
"""The prior of degrees of freedom, where none is given."""

_NEAR_PEAK, _FAR_PEAK = np.sqrt(2.0) - 1, np.sqrt(2.0) + 1  # critical points of f''' in r / sqrt(V)


@dataclass(frozen=True)
class StudentT(OfReals):
    """``f = (v+1)/2 log(1 + r^2/V)``, ``r = y - eta``, ``V = v s^2``, with ``v = df`` and ``s = scale``.

    ``scale`` is a number (known) or a prior of a positive parameter. By default it is unknown, with the default prior
    of `Gaussian`. ``df`` is a number, a prior, or None: unknown, with the prior ``tunamh.priors.Gamma(2, 10)`` (shape
    and scale).
    """

    df: Any = 4.0
    scale: Any = None

    energy = _student_energy
    rise = _student_rise
    convex = False

    def __post_init__(self) -> None:
        settle(self, df=known_or_prior("df", self.df), scale=known_or_prior("scale", self.scale))

    def with_scale(self, scale: float) -> StudentT:
        return StudentT(self.df, scale)

    def arrange(self, observations: Observations, temper: float) -> Arrangement:
        if isinstance(self.df, float):
            return super().arrange(observations, temper)
        df = _DF if self.df is None else self.df
        if isinstance(self.scale, float):
            return with_unknown_df(observations, temper, self.scale, df)
        return with_unknown_scale_and_df(observations, temper, self.scale, df)

    @property
    def spread(self) -> float:
        """``V = v s^2``."""
        return self.df * self.scale**2

    @property
    def grain(self) -> float:
        """The factor of the logarithms: it sets the rounding error of a rise, even if the energies are small."""
        return 0.5 * (self.df + 1)

    @property
    def hyper(self) -> tuple[float, ...]:
        return (self.df + 1, self.spread)

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        V, r = self.spread, y - eta
        q = V + r * r
        first = -(self.df + 1) * r / q
        second = (self.df + 1) * (V - r * r) / q**2
        third = 2 * (self.df + 1) * r * (3 * V - r * r) / q**3
        return first, second, third

    def suprema(self, y: np.ndarray) -> Suprema:
        """At r = sqrt(V), r = 0 and r = sqrt(V) (sqrt(2) - 1)."""
        V = self.spread
        return same_for_all(y, (self.df + 1) / (2 * np.sqrt(V)), (self.df + 1) / V, self._third_at(_NEAR_PEAK))

    def _third_at(self, t: float) -> float:
        """``|f'''|`` at ``r = t sqrt(V)``."""
        return (self.df + 1) / self.spread**1.5 * abs(2 * t * (3 - t * t) / (1 + t * t) ** 3)

    def suprema_near(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> Suprema:
        """Critical points: r = +-sqrt(V) of f'; 0 and +-sqrt(3V) of f''; +-sqrt(V) (sqrt(2) +- 1) of f'''."""
        n, V, root = self.df + 1, self.spread, np.sqrt(self.spread)
        slopes = [(y + sign * root, n / (2 * root)) for sign in (-1, 1)]
        curves = [(y, n / V), *((y + sign * np.sqrt(3 * V), n / (8 * V)) for sign in (-1, 1))]
        return nearby(self, y, eta, radius, slopes, curves, self._third_peaks(y))

    def _third_peaks(self, y: np.ndarray) -> Peaks:
        steps = [(sign * t * np.sqrt(self.spread), t) for sign in (-1, 1) for t in (_NEAR_PEAK, _FAR_PEAK)]
        return [(y + step, self._third_at(t)) for step, t in steps]

    def slope_constants(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """By `slope_near`."""
        most = self._third_at(_NEAR_PEAK)
        return slope_near(lambda at: self.derivatives(at, y), eta, radius, self._third_peaks(y), most)

    def lower_bound(self, y: np.ndarray, eta: np.ndarray | None) -> LowerBound:
        """Gaussian tangent in ``r^2`` at the residual ``xi`` (untuned: 0): ``-log(1 + w/V)`` is convex in ``w``."""
        n, V = self.df + 1, self.spread
        xi2 = np.zeros(y.shape) if eta is None else (y - eta) ** 2
        a = -n / (2 * (V + xi2))
        return LowerBound(y, a, np.zeros(y.shape), -0.5 * n * np.log1p(xi2 / V) - a * xi2)


# ------------------------------------------------------------------------------------------------------- Huber


@part(FamilyEnergy, fastmath=CONTRACT)
def _huber_energy(n, eta, y, hyper, out):
    delta, precision = hyper[0], hyper[1]
    for b in range(n):
        r = y[b] - eta[b]
        inner = min(max(r, -delta), delta)
        out[b] = precision * (0.5 * inner * inner + delta * abs(r - inner))


@part(FamilyRise, fastmath=CONTRACT)
def _huber_rise(n, eta, eta_prop, y, hyper, out):
    delta, precision = hyper[0], hyper[1]
    for b in range(n):
        r, r_prop = y[b] - eta[b], y[b] - eta_prop[b]
        inner, inner_prop = min(max(r, -delta), delta), min(max(r_prop, -delta), delta)
        outer = abs(r_prop - inner_prop) - abs(r - inner)
        out[b] = precision * (0.5 * (inner_prop - inner) * (inner_prop + inner) + delta * outer)


@dataclass(frozen=True)
class Huber(OfReals):
    """``f = t^2/2`` for ``|t| <= delta`` and ``delta |t| - delta^2/2`` beyond, ``t = (y - eta) / s``, ``s = scale``.

    As a function of ``r = y - eta`` it is ``1/s^2`` times the same function with ``delta s`` instead of ``delta``.
    ``scale`` is a number (known) or a prior. By default it is unknown, with the default prior of `Gaussian`.
    """

    delta: float = 1.345
    scale: Any = None

    energy = _huber_energy
    rise = _huber_rise
    convex = True

    def __post_init__(self) -> None:
        settle(self, delta=moderate_number("delta", self.delta), scale=known_or_prior("scale", self.scale))

    def with_scale(self, scale: float) -> Huber:
        return Huber(self.delta, scale)

    @property
    def edge(self) -> float:
        """The residual beyond which the energy is linear."""
        return self.delta * self.scale

    @property
    def hyper(self) -> tuple[float, ...]:
        return (self.edge, self.precision)

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        r = y - eta
        inside = np.abs(r) <= self.edge
        return -self.precision * np.clip(r, -self.edge, self.edge), self.precision * inside, np.zeros_like(r)

    def suprema(self, y: np.ndarray) -> Suprema:
        """delta / s, 1 / s^2, and infinity: f'' jumps at r = +-delta s."""
        return same_for_all(y, self.delta / self.scale, self.precision, np.inf)

    def suprema_near(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> Suprema:
        """f' is monotone; predictors on both sides of a jump of f'' have it between them."""
        jumps = y - self.edge, y + self.edge
        return nearby(self, y, eta, radius, (), [(at, self.precision) for at in jumps], [(at, np.inf) for at in jumps])

    def slope_constants(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """With ``k`` the distance from ``eta`` to the nearer jump: 0 for ``rho <= k``, else ``2 (z-k) / (s z)^2`` at
        ``z = min(rho, 2k)`` or, if ``eta`` is outside, ``min(rho, 2k, k + 2 delta s)``. Exact.

        ``f'(eta+z) - f'(eta) - f''(eta) z`` is the integral of ``f''(eta + .) - f''(eta)`` from 0 to ``z``.

        *Inside the edges* it is ``-(|z| - k')/s^2`` beyond the jump at the distance ``k'`` on the side of ``z``, and 0
        before it. ``2 (z - k') / z^2`` grows up to ``z = 2k'`` and falls from there on; at every ``z`` it is larger
        for the nearer of the two jumps.

        *Outside* nothing happens on the one side; on the other it is ``(|z| - k)/s^2`` between the jumps, at ``k`` and
        ``k + 2 delta s``, and constant beyond the second, where the quotient falls.

        At a jump itself it is infinite; what is within rounding of a jump counts as at it.
        """
        r, reach = np.abs(y - eta), reach_of(eta, radius)
        rounding = 8 * np.finfo(float).eps * (np.abs(y) + np.abs(eta) + self.edge)
        k = np.maximum(np.abs(r - self.edge) - rounding, 0.0)
        z = np.minimum(reach, np.where(r > self.edge, np.minimum(2 * k, r + self.edge + rounding), 2 * k))
        beyond = (k > 0) & (reach > k)
        value = np.divide(2 * self.precision * (z - k), z * z, out=np.zeros_like(z), where=beyond)
        return np.where(k > 0, (1 + 1e-12) * value, np.inf)
