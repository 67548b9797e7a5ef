"""Row families of reals with a scale or tail of their own: Student-t with unknown degrees of freedom, Gaussian."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...compiled import FamilyEnergy, FamilyRise, part
from .closed import cubic_roots, largest_of, ranges, symmetric
from .several import SeveralFamily

# ---------------------------------------------------------------------------------------------------- Student-t


@part(FamilyEnergy)
def _student_energy(n, eta, y, hyper, out):
    m = eta.size // 2
    for b in range(n):
        nu = math.exp(eta[m + b])
        out[b] = 0.5 * (nu + 1.0) * math.log1p(eta[b] * eta[b] / nu)


@part(FamilyRise)
def _student_rise(n, eta, eta_prop, y, hyper, out):
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
class StudentRows(SeveralFamily):
    """``f = (nu+1)/2 log(1 + q^2/nu)``, ``nu = e^kappa``; the predictor ``q`` is a residual over its scale (spec 5n).

    Responses are not looked at. ``log Gamma(nu/2) - log Gamma((nu+1)/2) + kappa/2`` is not part of it.
    """

    predictors = 2
    parameter_names = "q", "kap"
    energy = _student_energy
    rise = _student_rise

    def check(self, y: np.ndarray) -> None:
        """Every response is as good as another."""

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """With ``a = q^2 / (nu + q^2)`` and ``l = log(1 + q^2/nu)``; derivatives in kappa of ``a`` are ``-a (1-a)``."""
        q, nu = np.broadcast_arrays(eta[0], np.exp(eta[1]))
        total = nu + q * q
        a, log = q * q / total, np.log1p(q * q / nu)
        gradient = np.array([(nu + 1) * q / total, 0.5 * (nu * log - (nu + 1) * a)])
        second = (nu + 1) * (nu - q * q) / total**2
        mixed = nu * q * (q * q - 1) / total**2
        last = 0.5 * nu * (log - 2 * a) + 0.5 * (nu + 1) * a * (1 - a)
        return gradient, symmetric(second, mixed, last), symmetric(*_student_thirds(q / np.sqrt(nu), nu))

    def third_bounds(self, y: np.ndarray, eta: np.ndarray, reach: np.ndarray) -> np.ndarray:
        """Exact over the ranges of ``t = |q| / sqrt(nu)`` and of ``nu``, each by itself.

        With ``x = t^2``, ``a = x/(1+x)`` and ``e = 1/nu``:

        - ``|f_qqq| = (1+nu) nu^(-3/2) 2t |3-x| / (1+x)^3`` falls with ``nu`` and is critical at ``t = sqrt 2 -+ 1``;
        - ``f_qqk = [-x^2 + m x - e] / (1+x)^3``, ``m = 3 + 3e``, is linear in ``e`` and critical where
          ``x^2 - 2 (1+m) x + m + 3e = 0``;
        - ``f_qkk = t (x-1) (x sqrt(nu) - 1/sqrt(nu)) / (1+x)^3`` is monotone in ``nu``, as its last factor is,
          and critical where ``x^3 - (8+3e) x^2 + (3+8e) x - e = 0``;
        - ``f_kkk = (nu/2) (l - 3a^2 - b) - b/2``, ``b = a (1-a) (1-2a)``, is linear in ``nu`` and critical where
          ``6 (nu+1) a^3 - 6 (nu+2) a^2 + (nu+7) a - 1 = 0``.
        """
        q_high = ranges(np.abs(eta[0]), reach[0])[1]
        q_low = np.maximum(ranges(np.abs(eta[0]), reach[0])[0], 0.0)
        nus = [np.exp(end) for end in ranges(eta[1], reach[1])]
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
    """Values of ``t``; what is no root is NaN, or not positive, and does no harm: it is moved into the range."""
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


# -------------------------------------------------------------------------------------- heteroscedastic Gaussian


@part(FamilyEnergy)
def _gaussian_energy(n, eta, y, hyper, out):
    m = eta.size // 2
    for b in range(n):
        h = (y[b] - eta[b]) * math.exp(-eta[m + b])
        out[b] = eta[m + b] + 0.5 * h * h


@part(FamilyRise)
def _gaussian_rise(n, eta, eta_prop, y, hyper, out):
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
class HeteroscedasticGaussianRows(SeveralFamily):
    """``f = s + (y - m)^2 e^{-2s} / 2``: mean ``m`` and log standard deviation ``s`` (spec 5n)."""

    predictors = 2
    parameter_names = "m", "s"
    energy = _gaussian_energy
    rise = _gaussian_rise

    def check(self, y: np.ndarray) -> None:
        """All real numbers are good."""

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        w, r = np.exp(-2 * eta[1]), y - eta[0]
        gradient = np.array([-r * w, 1 - r * r * w])
        hessian = symmetric(w, 2 * r * w, 2 * r * r * w)
        return gradient, hessian, symmetric(np.zeros_like(w), -2 * w, -4 * r * w, -4 * r * r * w)

    def third_bounds(self, y: np.ndarray, eta: np.ndarray, reach: np.ndarray) -> np.ndarray:
        """Exact: at the smallest ``s`` and the largest residual."""
        best = np.zeros((4, y.size))
        with np.errstate(over="ignore"):
            w = np.exp(-2 * ranges(eta[1], reach[1])[0])
            r = ranges(np.abs(y - eta[0]), reach[0] + 1e-12 * np.abs(y))[1]
            largest_of(best, (np.zeros_like(w), 2 * w, 4 * r * w, 4 * r * r * w))
        return symmetric(*best)
