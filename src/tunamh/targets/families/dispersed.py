"""Row families with a dispersion of their own: negative binomial counts and gamma responses."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...compiled import FamilyEnergy, FamilyRise, part
from ...compiled.vector import softplus, softplus_rise
from .base import sigmoids
from .closed import largest_of, positive_check, ranges, symmetric
from .counts import check_counts
from .several import SeveralFamily

# ------------------------------------------------------------------------------------------- negative binomial


@part(FamilyEnergy)
def _binomial_energy(n, eta, y, hyper, out):
    m = eta.size // 2
    for b in range(n):
        z = eta[b] - eta[m + b]
        out[b] = math.exp(eta[m + b]) * softplus(z) + y[b] * softplus(-z)


@part(FamilyRise)
def _binomial_rise(n, eta, eta_prop, y, hyper, out):
    """``r [(e^move - 1) S(z') + S(z') - S(z)] + y [S(-z') - S(-z)]``: short moves keep their digits."""
    m = eta.size // 2
    for b in range(n):
        lam, move = eta[m + b], eta_prop[m + b] - eta[m + b]
        z, z_prop = eta[b] - lam, eta_prop[b] - eta_prop[m + b]
        if abs(move) < 1.0:
            grown = math.exp(lam) * (math.expm1(move) * softplus(z_prop) + softplus_rise(z, z_prop))
        else:
            grown = math.exp(eta_prop[m + b]) * softplus(z_prop) - math.exp(lam) * softplus(z)
        out[b] = grown + y[b] * softplus_rise(-z, -z_prop)


@dataclass(frozen=True)
class NegativeBinomialRows(SeveralFamily):
    """``f = r S(z) + y S(-z)``, ``r = e^lambda``, ``z = eta - lambda``, ``S(z) = log(1 + e^z)`` (spec 5n).

    Counts with mean ``e^eta`` and variance ``m + m^2/r``; ``-log Gamma(r + y) + log Gamma(r)`` is not part of it.
    """

    predictors = 2
    parameter_names = "eta", "lam"
    energy = _binomial_energy
    rise = _binomial_rise

    def check(self, y: np.ndarray) -> None:
        check_counts(y)

    def rises(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """In its first predictor: a count speaks against large ones, and against small ones unless it is zero."""
        return np.ones(y.shape, bool), y > 0

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """From those in ``z`` and ``lambda``, in which every derivative in ``lambda`` of ``r S(z)`` is itself."""
        z, r = eta[0] - eta[1], np.exp(eta[1])
        p, q = sigmoids(z)
        u, S = p * q, np.logaddexp(0.0, z)
        slope = r * p - y * q
        gradient = np.array([slope, r * S - slope])
        mixed = r * p - (r + y) * u
        hessian = symmetric((r + y) * u, mixed, r * S - r * p - mixed)
        return gradient, hessian, symmetric(*_binomial_thirds(p, q, S, r, y))

    def third_bounds(self, y: np.ndarray, eta: np.ndarray, reach: np.ndarray) -> np.ndarray:
        """Exact over ``|z' - z| <= reach_eta + reach_lambda`` and ``|lambda' - lambda| <= reach_lambda``.

        All four third derivatives are linear in ``r``, hence largest at an end of its range. Given ``r``, the first is
        ``(r+y) S'''``, critical where ``u = p(1-p) = 1/6``; the next two are polynomials of degree 3 in ``p``, critical
        at the roots of ``6(r+y) p^2 - (4r+6y) p + y`` and of ``6(r+y) p^2 - (2r+6y) p + y``; the last has the slope
        ``p (1-6u) (r p - y (1-p))``: critical where ``u = 1/6`` and where ``p = y/(r+y)``.
        """
        low, high = ranges(eta[0] - eta[1], reach[0] + reach[1])
        lam_low, lam_high = ranges(eta[1], reach[1])
        best = np.zeros((4, y.size))
        with np.errstate(all="ignore"):
            for r in (np.exp(lam_low), np.exp(lam_high)):
                peaks = [_logit(p) for p in _binomial_critical(r, y)]
                for z in (low, high, *(np.clip(peak, low, high) for peak in peaks)):
                    p, q = sigmoids(z)
                    *others, last = _binomial_thirds(p, q, np.logaddexp(0.0, z), r, y)
                    largest_of(best, [*others, np.abs(last) + 1e-15 * r * p])  # S - p cancels far below 0
        return symmetric(*best)


def _binomial_thirds(p, q, S, r, y):
    """In the order of derivatives in lambda: none, one, two, three."""
    jump = y * p * q * (q - p)
    return (
        r * p * q * (q - p) + jump,
        2 * r * p * p * q - jump,
        r * p * p * (p - q) + jump,
        r * (S - p - 2 * p**3) - jump,
    )


def _binomial_critical(r, y):
    total = r + y
    yield 0.5 - 0.5 / math.sqrt(3)
    yield 0.5 + 0.5 / math.sqrt(3)
    yield y / total
    for half, square in (
        (4 * r + 6 * y, 16 * r * r + 24 * r * y + 12 * y * y),
        (2 * r + 6 * y, 4 * r * r + 12 * y * y),
    ):
        larger = (half + np.sqrt(square)) / (12 * total)
        yield larger
        yield y / (6 * total * larger)  # the product of the roots is y / 6(r+y)


def _logit(p):
    return np.log(p) - np.log1p(-p)


# ------------------------------------------------------------------------------------------------------- gamma


@part(FamilyEnergy)
def _gamma_energy(n, eta, y, hyper, out):
    m, shift = eta.size // 2, hyper[0]
    for b in range(n):
        away = eta[b] - math.log(y[b])
        out[b] = math.exp(eta[m + b]) * ((math.expm1(-away) + away) + (1.0 - shift))


@part(FamilyRise)
def _gamma_rise(n, eta, eta_prop, y, hyper, out):
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
class GammaRows2(SeveralFamily):
    """``f = e^a (y e^-eta + eta - log y)``: positive responses with log mean ``eta`` and log shape ``a``.

    ``log Gamma(e^a) - a e^a`` is not part of it. With ``centred``, neither is ``e^a``: ``f = e^a (v - 1 - log v)``,
    ``v = y e^-eta``. What is left is of the size 1/2 whatever the shape, and so are its derivatives in ``a``: rows pull
    less, by about the shape, and ``e^a`` belongs to the closed form.
    """

    centred: bool = False

    predictors = 2
    parameter_names = "eta", "a"
    energy = _gamma_energy
    rise = _gamma_rise

    @property
    def hyper(self) -> tuple[float, ...]:
        return (float(self.centred),)

    def check(self, y: np.ndarray) -> None:
        positive_check(y)

    def _terms(self, eta, y):
        """``v``, ``g'`` and ``g`` of ``f = w g(eta)``."""
        away = eta - np.log(y)
        return np.exp(-away), -np.expm1(-away), np.expm1(-away) + away + (1.0 - self.centred)

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """``f = w g``: every derivative in ``a`` is itself, and ``g' = 1 - v``, ``g'' = v``, ``g''' = -v``."""
        w = np.exp(eta[1])
        v, slope, g = self._terms(eta[0], y)
        gradient = np.array([w * slope, w * g])
        return gradient, symmetric(w * v, w * slope, w * g), symmetric(-w * v, w * v, w * slope, w * g)

    def third_bounds(self, y: np.ndarray, eta: np.ndarray, reach: np.ndarray) -> np.ndarray:
        """Exact: ``w`` is largest at its end, ``v`` and ``g'`` are monotone, and ``g >= 0`` is convex."""
        best = np.zeros((4, y.size))
        with np.errstate(all="ignore"):
            w = np.exp(ranges(eta[1], reach[1])[1])
            for end in ranges(eta[0], reach[0]):
                v, slope, g = self._terms(end, y)
                largest_of(best, (w * v, w * v, w * slope, w * g))
        return symmetric(*best)
