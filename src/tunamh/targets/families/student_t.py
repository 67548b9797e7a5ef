"""Student-t errors; their scale and degrees of freedom are known or unknown."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._arguments import settle
from ...compiled import CONTRACT, FamilyEnergy, FamilyRise, part
from ...compiled.vector import log_quotient
from ...priors.gamma import Gamma
from ...priors.positive import PositivePrior, known_or_prior
from ..coordinates.base import Df, Scale, ScaleAndDf
from ..observations.base import Observations
from ..observations.row_layout import Extra, RowLayout, known_scale, rough_fit, shared_scalar
from .cubic_bounds import cubic_roots, largest_of, ranges, symmetric
from .intervals import Peaks, nearby, same_for_all
from .likelihood import LowerBound, Suprema
from .multi_predictor import MultiPredictorLikelihood
from .remainder_constants import second_order_near
from .residuals import ResidualFamily
from .responses import ResponseDistribution
from .unknown_scale import uncensored_weight, with_unknown_scale


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
class StudentT(ResidualFamily):
    """Linear regression with Student-t errors of ``v = df`` degrees of freedom and scale ``s = scale``.

    The energy (negative log-likelihood) of a row is ``f = (v+1)/2 log(1 + r^2/V)``, up to a constant, with the residual
    ``r = y - eta`` and ``V = v s^2``. ``eta`` is the linear predictor ``x.theta`` of a row, plus its offset.

    Parameters
    ----------
    df : float, prior of a positive parameter, or None
        A number: the degrees of freedom are known (default: 4). A prior: they are unknown. None: they are unknown, with
        the prior ``priors.Gamma(2, 10)`` (shape 2 and scale 10).
    scale : float or prior of a positive parameter, optional
        A number: the scale is known. A prior: the scale is unknown. By default the scale is unknown, with the default
        prior of `Gaussian`.
    """

    df: Any = 4.0
    scale: Any = None

    word = "student-t"
    parameters = ("scale", "df")
    robust = True
    energy = _student_energy
    rise = _student_rise

    def __post_init__(self) -> None:
        settle(self, df=known_or_prior("df", self.df), scale=known_or_prior("scale", self.scale))

    def with_scale(self, scale: float) -> StudentT:
        return StudentT(self.df, scale)

    def arrange(self, observations: Observations, temper: float) -> RowLayout:
        if isinstance(self.df, float):
            return super().arrange(observations, temper)
        df = _DF if self.df is None else self.df
        if isinstance(self.scale, float):
            return with_unknown_df(observations, temper, self.scale, df)
        return with_unknown_scale_and_df(observations, temper, self.scale, df)

    @property
    def spread(self) -> float:
        """Return ``V = v s^2``: the energy is ``(v+1)/2 log(1 + r^2/V)`` for the residual ``r``.

        The energy of a row is its negative log-likelihood. ``v`` are the degrees of freedom, and ``s`` is the scale.
        """
        return self.df * self.scale**2

    @property
    def grain(self) -> float:  # type: ignore[override]
        """Return the rounding error of an energy difference, in units of machine epsilon.

        The energy of a row is its negative log-likelihood. The energy is ``(df + 1) / 2`` times a logarithm, so the
        rounding error is ``(df + 1) / 2``.
        """
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
        """Return the suprema of ``|f'|``, ``|f''|`` and ``|f'''|`` over all ``eta``: arrays (n,).

        ``f(eta)`` is the energy (negative log-likelihood) of a row as a function of its linear predictor. The suprema
        are attained at the residuals ``r = y - eta`` equal to ``sqrt(V)``, 0 and ``sqrt(V) (sqrt(2) - 1)``, with ``V =
        df scale^2``.
        """
        V = self.spread
        return same_for_all(y, (self.df + 1) / (2 * np.sqrt(V)), (self.df + 1) / V, self._third_at(_NEAR_PEAK))

    def _third_at(self, t: float) -> float:
        """Return ``|f'''|`` at the residual ``r = t sqrt(V)``, a number."""
        return (self.df + 1) / self.spread**1.5 * abs(2 * t * (3 - t * t) / (1 + t * t) ** 3)

    def suprema_near(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> Suprema:
        """Return the suprema of ``|f'|``, ``|f''|``, ``|f'''|`` within ``radius`` of ``eta``: arrays (n,).

        ``f(eta)`` is the energy (negative log-likelihood) of a row as a function of its linear predictor. Each supremum
        is at an end of the interval or at a critical point inside it. With the residual ``r = y - eta`` and ``V = df
        scale^2``, the critical points of ``f'`` are ``|r| = sqrt(V)``, those of ``f''`` are ``r = 0`` and ``|r| =
        sqrt(3V)``, and those of ``f'''`` are ``|r| = sqrt(V) (sqrt(2) - 1)`` and ``|r| = sqrt(V) (sqrt(2) + 1)``.
        """
        n, V, root = self.df + 1, self.spread, np.sqrt(self.spread)
        slopes = [(y + sign * root, n / (2 * root)) for sign in (-1, 1)]
        curves = [(y, n / V), *((y + sign * np.sqrt(3 * V), n / (8 * V)) for sign in (-1, 1))]
        return nearby(self, y, eta, radius, slopes, curves, self._third_peaks(y))

    def _third_peaks(self, y: np.ndarray) -> Peaks:
        steps = [(sign * t * np.sqrt(self.spread), t) for sign in (-1, 1) for t in (_NEAR_PEAK, _FAR_PEAK)]
        return [(y + step, self._third_at(t)) for step, t in steps]

    def second_order_constants(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """Return an array (n,) of constants ``L``, which bound Taylor remainders (docs/spec.md, section 5m).

        ``L`` is a number with ``|f'(eta + z) - f'(eta) - f''(eta) z| <= L z^2 / 2`` for all ``|z| <= radius``;
        ``f(eta)`` is the energy (negative log-likelihood) of the row. `second_order_near` computes ``L`` from the
        derivatives at ``eta``, ``eta - radius`` and ``eta + radius`` and from the peaks of ``|f'''|`` in between.
        """
        most = self._third_at(_NEAR_PEAK)
        return second_order_near(lambda at: self.derivatives(at, y), eta, radius, self._third_peaks(y), most)

    def lower_bound(self, y: np.ndarray, eta: np.ndarray | None) -> LowerBound:
        """Return a `LowerBound`: for each row a quadratic function that is nowhere above the log-likelihood.

        With the residual ``r`` (``y`` minus the linear predictor) the log-likelihood is a convex function of ``w =
        r^2``. The bound is its tangent, a linear function of ``w``. It touches the log-likelihood where the linear
        predictor is the argument ``eta``, or where ``r = 0`` if this is None.
        """
        n, V = self.df + 1, self.spread
        xi2 = np.zeros(y.shape) if eta is None else (y - eta) ** 2
        a = -n / (2 * (V + xi2))
        return LowerBound(y, a, np.zeros(y.shape), -0.5 * n * np.log1p(xi2 / V) - a * xi2)

    def response_distribution(self) -> ResponseDistribution:
        from .response_distributions import Located, stats

        return Located(lambda p: stats.t(p["df"]))


# ------------------------------------------------------------------------------------- unknown degrees of freedom


def with_unknown_scale_and_df(
    observations: Observations, temper: float, scale: PositivePrior | None, df: PositivePrior
) -> RowLayout:
    """Return the rows for Student-t errors with unknown scale and unknown degrees of freedom.

    The degrees of freedom are a second predictor that all rows share.
    """
    alone = with_unknown_scale(observations, temper, scale, StudentTWithDf())
    rows, form, start = shared_scalar(alone.observations), alone.form, np.append(np.asarray(alone.start), 5.0)
    assert isinstance(form, Scale)
    both = ScaleAndDf(form.b0, form.tau_at, form.tau_0, uncensored_weight(observations, temper))
    extras, laws = (Extra("scale"), Extra("df")), (*alone.laws, df.law())
    return RowLayout(rows, StudentTWithDf(), alone.names, both, extras, laws, start)


def with_unknown_df(observations: Observations, temper: float, scale: float, df: PositivePrior) -> RowLayout:
    """Return the rows for Student-t errors with known scale and unknown degrees of freedom."""
    alone = known_scale(observations, scale, lambda rows: rows.y, StudentTWithDf())
    form = Df(observations.design.dim, uncensored_weight(observations, temper))
    start = np.append(rough_fit(observations, lambda rows: rows.y).b0, 5.0)
    rows = shared_scalar(alone.observations)
    return RowLayout(rows, StudentTWithDf(), alone.names, form, (Extra("df"),), (df.law(),), start)


@part(FamilyEnergy)
def _energy_with_df(n, eta, y, hyper, out):
    m = eta.size // 2
    for b in range(n):
        nu = math.exp(eta[m + b])
        out[b] = 0.5 * (nu + 1.0) * math.log1p(eta[b] * eta[b] / nu)


@part(FamilyRise)
def _rise_with_df(n, eta, eta_prop, y, hyper, out):
    """``[(nu' - nu) l' + (nu + 1) (l' - l)] / 2``, ``l = log(1 + x)``, ``x = q^2/nu``.

    ``l' - l = log(1 + (x'-x)/(1+x))``, ``x' - x = (q'-q)(q'+q)/nu' + x (e^-move - 1)``, where the moves are short.
    """
    m = eta.size // 2
    for b in range(n):
        q, q_prop, move = eta[b], eta_prop[b], eta_prop[m + b] - eta[m + b]
        nu, nu_prop = math.exp(eta[m + b]), math.exp(eta_prop[m + b])
        x, log_prop = q * q / nu, math.log1p(q_prop * q_prop / nu_prop)
        share = np.inf
        if abs(move) < 1.0:
            share = ((q_prop - q) * (q_prop + q) / nu_prop + x * math.expm1(-move)) / (1.0 + x)
        if abs(share) < 0.5:
            out[b] = 0.5 * (nu * math.expm1(move) * log_prop + (nu + 1.0) * math.log1p(share))
        else:
            out[b] = 0.5 * ((nu_prop + 1.0) * log_prop - (nu + 1.0) * math.log1p(x))


_PEAKS = math.sqrt(2.0) - 1, math.sqrt(2.0) + 1  # of |f_qqq| in |q| / sqrt(nu)


@dataclass(frozen=True)
class StudentTWithDf(MultiPredictorLikelihood):
    """The likelihood ``f = (nu+1)/2 log(1 + q^2/nu)`` with ``nu = e^kappa`` (spec 5n).

    The predictor ``q`` is a residual divided by its scale, so the response itself is not read. The energy does not
    contain ``log Gamma(nu/2) - log Gamma((nu+1)/2) + kappa/2``.
    """

    predictors = 2
    parameter_names = "q", "kap"
    energy = _energy_with_df
    rise = _rise_with_df

    def check(self, y: np.ndarray) -> None:
        """Do nothing: every real number is an allowed response."""

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the derivatives, from ``a = q^2 / (nu + q^2)`` and ``l = log(1 + q^2/nu)``.

        The derivative of ``a`` with respect to kappa is ``-a (1-a)``.
        """
        q, nu = np.broadcast_arrays(eta[0], np.exp(eta[1]))
        total = nu + q * q
        a, log = q * q / total, np.log1p(q * q / nu)
        gradient = np.array([(nu + 1) * q / total, 0.5 * (nu * log - (nu + 1) * a)])
        second = (nu + 1) * (nu - q * q) / total**2
        mixed = nu * q * (q * q - 1) / total**2
        last = 0.5 * nu * (log - 2 * a) + 0.5 * (nu + 1) * a * (1 - a)
        return gradient, symmetric(second, mixed, last), symmetric(*_student_thirds(q / np.sqrt(nu), nu))

    def third_bounds(self, y: np.ndarray, eta: np.ndarray, radii: np.ndarray) -> np.ndarray:
        """Return bounds (K, K, K, n) of the third derivatives.

        They are exact over the ranges of ``t = |q| / sqrt(nu)`` and of ``nu``, each by itself.

        With ``x = t^2``, ``a = x/(1+x)`` and ``e = 1/nu``:

        - ``|f_qqq| = (1+nu) nu^(-3/2) 2t |3-x| / (1+x)^3`` falls with ``nu`` and is critical at ``t = sqrt 2 -+ 1``;
        - ``f_qqk = [-x^2 + m x - e] / (1+x)^3``, ``m = 3 + 3e``, is linear in ``e`` and critical where
          ``x^2 - 2 (1+m) x + m + 3e = 0``;
        - ``f_qkk = t (x-1) (x sqrt(nu) - 1/sqrt(nu)) / (1+x)^3`` is monotone in ``nu``, as its last factor is,
          and critical where ``x^3 - (8+3e) x^2 + (3+8e) x - e = 0``;
        - ``f_kkk = (nu/2) (l - 3a^2 - b) - b/2``, ``b = a (1-a) (1-2a)``, is linear in ``nu`` and critical where
          ``6 (nu+1) a^3 - 6 (nu+2) a^2 + (nu+7) a - 1 = 0``.
        """
        q_high = ranges(np.abs(eta[0]), radii[0])[1]
        q_low = np.maximum(ranges(np.abs(eta[0]), radii[0])[0], 0.0)
        nus = [np.exp(end) for end in ranges(eta[1], radii[1])]
        low, high = q_low / np.sqrt(nus[1]), q_high / np.sqrt(nus[0])
        best = np.zeros((4, np.size(low)))
        with np.errstate(all="ignore"):
            for nu in nus:
                for t in (low, high, *(np.clip(peak, low, high) for peak in _student_critical(nu))):
                    largest_of(best, _student_thirds(t, nu))
        return symmetric(*best)


def _student_thirds(t, nu):
    x, root = t * t, np.sqrt(nu)
    cube, a, log = (1 + x) ** 3, x / (1 + x), np.log1p(x)
    b = a * (1 - x) / (1 + x) ** 2
    return (
        -2 * (1 + nu) / (nu * root) * t * (3 - x) / cube,
        ((3 - x) * x + (3 * x - 1) / nu) / cube,
        t * (x - 1) * (x * root - 1 / root) / cube,
        0.5 * nu * (log - 3 * a * a - b) - 0.5 * b,
    )


def _student_critical(nu):
    """Candidate maximisers ``t``.

    Invalid roots come out as NaN or non-positive; the caller clips candidates to the interval, so they are harmless.
    """
    e = 1 / nu
    yield from _PEAKS
    m = 3 + 3 * e
    larger = (1 + m) + np.sqrt((1 + m) ** 2 - m - 3 * e)
    yield np.sqrt(larger)
    yield np.sqrt((m + 3 * e) / larger)
    one = np.ones_like(e)
    yield from _roots_in(cubic_roots(one, -(8 + 3 * e), 3 + 8 * e, -e))
    for a in cubic_roots(6 * (nu + 1), -6 * (nu + 2), nu + 7, -one):
        yield from _roots_in([a / (1 - a)])


def _roots_in(squares):
    for x in squares:
        yield np.sqrt(np.where(x > 0, x, 0.0))
