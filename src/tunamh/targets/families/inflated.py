"""Row families of counts in which zeros have a law of their own: zero-inflated and hurdle models."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...compiled import FamilyEnergy, FamilyRise, helper, part
from ...compiled.vector import softplus, softplus_rise
from .binary import Logistic
from .closed import ranges, symmetric
from .counts import check_counts
from .dispersed import NegativeBinomialRows
from .formulas import Formulas, box_bounds

_PIECES = 2  # a side, of intervals for jets


class _OfCounts(Formulas):
    """Zeros have the first formula, positive counts the second."""

    def check(self, y: np.ndarray) -> None:
        check_counts(y)

    def rises(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """In its first predictor: a zero may have come about otherwise, whatever that is."""
        return y > 0, y > 0

    def kind(self, y: np.ndarray) -> np.ndarray:
        return (y > 0).astype(np.intp)


def _bends(zeta: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """The supremum of ``|S'''|`` near ``zeta``, ``S(z) = log(1 + e^z)``; that of ``S(-zeta)`` is the same."""
    return Logistic().suprema_near(np.zeros_like(zeta), zeta, reach).third


@helper(inline=True)
def _exp_rise(a, b):
    """``e^b - e^a``."""
    return math.exp(a) * math.expm1(b - a) if abs(b - a) < 1.0 else math.exp(b) - math.exp(a)


# --------------------------------------------------------------------------------------- zero-inflated Poisson


@part(FamilyEnergy)
def _inflated_energy(n, eta, y, hyper, out):
    m = eta.size // 2
    for b in range(n):
        mu, zeta = math.exp(eta[b]), eta[m + b]
        if y[b] == 0.0:
            out[b] = softplus(-zeta) - softplus(-(mu + zeta))
        else:
            out[b] = softplus(zeta) + mu - y[b] * eta[b]


@part(FamilyRise)
def _inflated_rise(n, eta, eta_prop, y, hyper, out):
    m = eta.size // 2
    for b in range(n):
        zeta, zeta_prop = eta[m + b], eta_prop[m + b]
        if y[b] == 0.0:
            inner, inner_prop = math.exp(eta[b]) + zeta, math.exp(eta_prop[b]) + zeta_prop
            out[b] = softplus_rise(-zeta, -zeta_prop) - softplus_rise(-inner, -inner_prop)
        else:
            grown = _exp_rise(eta[b], eta_prop[b]) - y[b] * (eta_prop[b] - eta[b])
            out[b] = softplus_rise(zeta, zeta_prop) + grown


def _inflated_zero(eta: Any, zeta: Any, y: Any) -> Any:
    return np.logaddexp(0, -zeta) - np.logaddexp(0, -(np.exp(eta) + zeta))


def _inflated_count(eta: Any, zeta: Any, y: Any) -> Any:
    return np.logaddexp(0, zeta) + np.exp(eta) - y * eta


@dataclass(frozen=True)
class ZeroInflatedPoissonRows(_OfCounts):
    """Zero with probability ``pi``, else a Poisson count: ``mu = e^eta``, ``pi`` the logistic function of ``zeta``.

    ``f = -log(pi + (1-pi) e^-mu)`` for ``y = 0``, which is ``S(-zeta) - S(-(mu + zeta))``, ``S(z) = log(1 + e^z)``; and
    ``f = -log(1-pi) + mu - y eta`` for ``y > 0``.
    """

    predictors = 2
    parameter_names = "eta", "zeta"
    formulas = (_inflated_zero, _inflated_count)
    energy = _inflated_energy
    rise = _inflated_rise

    def third_bounds(self, y: np.ndarray, eta: np.ndarray, reach: np.ndarray) -> np.ndarray:
        """Of a positive count, a sum of functions of one predictor each, exact; of a zero by jets."""
        reach = np.broadcast_to(reach, eta.shape)
        with np.errstate(over="ignore"):
            largest = np.exp(ranges(eta[0], reach[0])[1])
        zero = np.zeros(y.size)
        result = symmetric(largest, zero, zero, _bends(eta[1], reach[1]))
        rows = np.flatnonzero(y == 0)
        if rows.size:
            result[..., rows] = box_bounds(_inflated_zero, eta[:, rows], y[rows], reach[:, rows])
        return result


# ---------------------------------------------------------------------------------------------- hurdle Poisson


@helper
def _truncated(eta):
    """``log((e^mu - 1) / mu)``, ``mu = e^eta``; with ``eta`` added it is ``mu + log(1 - e^-mu)``."""
    mu = math.exp(eta)
    if mu < 0.01:
        return mu * (0.5 + mu * (1.0 / 24.0 - mu * mu / 2880.0))
    return mu + math.log1p(-math.exp(-mu)) - eta if mu > 1.0 else math.log(math.expm1(mu)) - eta


@part(FamilyEnergy)
def _hurdle_energy(n, eta, y, hyper, out):
    m = eta.size // 2
    for b in range(n):
        zeta = eta[m + b]
        out[b] = softplus(zeta)
        if y[b] > 0.0:
            out[b] = softplus(-zeta) + _truncated(eta[b]) - (y[b] - 1.0) * eta[b]


@part(FamilyRise)
def _hurdle_rise(n, eta, eta_prop, y, hyper, out):
    m = eta.size // 2
    for b in range(n):
        zeta, zeta_prop = eta[m + b], eta_prop[m + b]
        out[b] = softplus_rise(zeta, zeta_prop)
        if y[b] > 0.0:
            grown = _truncated(eta_prop[b]) - _truncated(eta[b]) - (y[b] - 1.0) * (eta_prop[b] - eta[b])
            out[b] = softplus_rise(-zeta, -zeta_prop) + grown


def _hurdle_zero(eta: Any, zeta: Any, y: Any) -> Any:
    return np.logaddexp(0, zeta)


def _truncated_formula(eta: Any, y: Any) -> Any:
    mu = np.exp(eta)
    return mu + np.log(-np.expm1(-mu)) - y * eta


def _hurdle_count(eta: Any, zeta: Any, y: Any) -> Any:
    return np.logaddexp(0, -zeta) + _truncated_formula(eta, y)


@dataclass(frozen=True)
class HurdlePoissonRows(_OfCounts):
    """Positive with probability ``p``, and then a Poisson count that is not 0: ``mu = e^eta``, ``p`` from ``zeta``.

    ``f = -log(1-p) = S(zeta)`` for ``y = 0``; ``f = -log p + mu - y eta + log(1 - e^-mu)`` for ``y > 0``. A count of 1
    speaks against large predictors only: the smaller they are, the surer it is.
    """

    predictors = 2
    parameter_names = "eta", "zeta"
    formulas = (_hurdle_zero, _hurdle_count)
    energy = _hurdle_energy
    rise = _hurdle_rise

    def rises(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return y > 0, y > 1

    def third_bounds(self, y: np.ndarray, eta: np.ndarray, reach: np.ndarray) -> np.ndarray:
        """Sums of functions of one predictor each; that of ``eta`` by jets."""
        from ...jets import supremum_near

        reach = np.broadcast_to(reach, eta.shape)
        first, zero = np.zeros(y.size), np.zeros(y.size)
        rows = np.flatnonzero(y > 0)
        first[rows] = supremum_near(_truncated_formula, eta[0, rows], y[rows], reach[0, rows], 3, _PIECES)
        return symmetric(first, zero, zero, _bends(eta[1], reach[1]))


# ----------------------------------------------------------------------------- zero-inflated negative binomial


@part(FamilyEnergy)
def _inflated_binomial_energy(n, eta, y, hyper, out):
    m = eta.size // 3
    for b in range(n):
        z, zeta = eta[b] - eta[m + b], eta[2 * m + b]
        grown = math.exp(eta[m + b]) * softplus(z)
        if y[b] == 0.0:
            out[b] = softplus(-zeta) - softplus(-(grown + zeta))
        else:
            out[b] = softplus(zeta) + grown + y[b] * softplus(-z)


@part(FamilyRise)
def _inflated_binomial_rise(n, eta, eta_prop, y, hyper, out):
    m = eta.size // 3
    for b in range(n):
        lam, lam_prop, zeta, zeta_prop = eta[m + b], eta_prop[m + b], eta[2 * m + b], eta_prop[2 * m + b]
        z, z_prop, move = eta[b] - lam, eta_prop[b] - lam_prop, lam_prop - lam
        if y[b] == 0.0:
            inner = math.exp(lam) * softplus(z) + zeta
            inner_prop = math.exp(lam_prop) * softplus(z_prop) + zeta_prop
            out[b] = softplus_rise(-zeta, -zeta_prop) - softplus_rise(-inner, -inner_prop)
        else:
            if abs(move) < 1.0:
                grown = math.exp(lam) * (math.expm1(move) * softplus(z_prop) + softplus_rise(z, z_prop))
            else:
                grown = math.exp(lam_prop) * softplus(z_prop) - math.exp(lam) * softplus(z)
            out[b] = softplus_rise(zeta, zeta_prop) + grown + y[b] * softplus_rise(-z, -z_prop)


def _inflated_binomial_zero(eta: Any, lam: Any, zeta: Any, y: Any) -> Any:
    return np.logaddexp(0, -zeta) - np.logaddexp(0, -(np.exp(lam) * np.logaddexp(0, eta - lam) + zeta))


def _inflated_binomial_count(eta: Any, lam: Any, zeta: Any, y: Any) -> Any:
    z = eta - lam
    return np.logaddexp(0, zeta) + np.exp(lam) * np.logaddexp(0, z) + y * np.logaddexp(0, -z)


@dataclass(frozen=True)
class ZeroInflatedNegativeBinomialRows(_OfCounts):
    """Zero with probability ``pi``, else a count of `NegativeBinomialRows`, whose rest is left out for ``y > 0``.

    ``f = S(-zeta) - S(-(r S(z) + zeta))`` for ``y = 0``, as ``e^{-r S(z)}`` is the probability of a zero count there;
    ``f = S(zeta) + r S(z) + y S(-z)`` for ``y > 0``.
    """

    predictors = 3
    parameter_names = "eta", "lam", "zeta"
    formulas = (_inflated_binomial_zero, _inflated_binomial_count)
    energy = _inflated_binomial_energy
    rise = _inflated_binomial_rise

    def third_bounds(self, y: np.ndarray, eta: np.ndarray, reach: np.ndarray) -> np.ndarray:
        """Of a positive count, two terms without a common predictor, exact; of a zero by jets."""
        reach = np.broadcast_to(reach, eta.shape)
        result = np.zeros((3, 3, 3, y.size))
        zeros, rows = np.flatnonzero(y == 0), np.flatnonzero(y > 0)
        if rows.size:
            near = NegativeBinomialRows().third_bounds(y[rows], eta[:2, rows], reach[:2, rows])
            result[:2, :2, :2, rows] = near
            result[2, 2, 2, rows] = _bends(eta[2, rows], reach[2, rows])
        if zeros.size:
            result[..., zeros] = box_bounds(_inflated_binomial_zero, eta[:, zeros], y[zeros], reach[:, zeros])
        return result
