"""Negative binomial counts with a log link; the dispersion is known or unknown."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._arguments import settle
from ...compiled import CONTRACT, FamilyEnergy, FamilyRise, part
from ...compiled.vector import softplus, softplus_rise
from ...priors.positive import known_or_prior
from ..coordinates.shared import Dispersion
from ..observations.base import Observations
from ..observations.row_layout import RowLayout
from .counts import CountFamily, OfCounts
from .cubic_bounds import largest_of, ranges, symmetric
from .intervals import SIGMOID_SLOPE_PEAKS, SIGMOID_THIRD, SIGMOID_THIRD_PEAKS, nearby, sigmoids
from .likelihood import Suprema
from .logistic import logistic_second_order
from .multi_predictor import MultiPredictorLikelihood
from .responses import Parameters, ResponseDistribution
from .second_parameter import WIDE, one_number, positive_counts


@part(FamilyEnergy, fastmath=CONTRACT)
def _binomial_energy(n, eta, y, hyper, out):
    r, log_r = hyper[0], hyper[1]
    for b in range(n):
        z = eta[b] - log_r
        out[b] = r * softplus(z) + y[b] * softplus(-z) + r * log_r


@part(FamilyRise, fastmath=CONTRACT)
def _binomial_rise(n, eta, eta_prop, y, hyper, out):
    r, log_r = hyper[0], hyper[1]
    for b in range(n):
        z, z_prop = eta[b] - log_r, eta_prop[b] - log_r
        out[b] = r * softplus_rise(z, z_prop) + y[b] * softplus_rise(-z, -z_prop)


@dataclass(frozen=True)
class NegativeBinomial(CountFamily):
    """Regression of counts with mean ``m = e^eta`` and variance ``m + m^2/r``.

    ``eta`` is the linear predictor ``x.theta`` of a row, plus its offset; ``r`` is the dispersion. The energy (negative
    log-likelihood) of a row is ``f = (y + r) log(r + e^eta) - y eta``, up to a constant. With ``z = eta - log r``
    tunamh computes it as ``r log(1 + e^z) + y log(1 + e^-z) + r log r``, which loses no digits.

    Parameters
    ----------
    dispersion : float, prior of a positive parameter, optional
        The number ``r``. The larger ``r`` is, the closer the counts are to Poisson counts. If you pass a number, ``r``
        is known. By default ``r`` is unknown, with the prior ``tunamh.priors.LogNormal(1, 2)``.

    Examples
    --------
    >>> tunamh.GLM(X, y, tunamh.NegativeBinomial(), offset=np.log(exposure))
    """

    dispersion: Any = None

    word = "negative-binomial"
    parameters = ("dispersion",)
    energy = _binomial_energy
    rise = _binomial_rise
    self_concordant = True

    def __post_init__(self) -> None:
        settle(self, dispersion=known_or_prior("dispersion", self.dispersion))

    def arrange(self, observations: Observations, temper: float) -> RowLayout:
        if isinstance(self.dispersion, float):
            return super().arrange(observations, temper)
        coordinates = Dispersion(observations.design.dim, *positive_counts(observations, temper))
        prior = WIDE if self.dispersion is None else self.dispersion
        return one_number(observations, NegativeBinomialWithDispersion(), coordinates, "dispersion", prior, 1.0)

    @property
    def hyper(self) -> tuple[float, ...]:
        return (self.dispersion, math.log(self.dispersion))

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        r = self.dispersion
        p, q = sigmoids(eta - math.log(r))
        return r * p - y * q, (y + r) * p * q, (y + r) * p * q * (q - p)

    def suprema(self, y: np.ndarray) -> Suprema:
        """Return the suprema of ``|f'|``, ``|f''|`` and ``|f'''|`` over all ``eta``: arrays (n,).

        ``f(eta)`` is the energy (negative log-likelihood) of a row as a function of its linear predictor. ``f'`` grows
        from ``-y`` (its limit on the left) to ``r`` (its limit on the right). With ``z = eta - log r``, ``f''`` and
        ``f'''`` are ``y + r`` times the derivatives of the logistic energy ``log(1 + e^z)``.
        """
        r = self.dispersion
        return Suprema(np.maximum(y, r), 0.25 * (y + r), SIGMOID_THIRD * (y + r))

    def suprema_near(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> Suprema:
        """Return the suprema of ``|f'|``, ``|f''|``, ``|f'''|`` within ``radius`` of ``eta``: arrays (n,).

        ``f(eta)`` is the energy (negative log-likelihood) of a row as a function of its linear predictor, and ``z = eta
        - log r``. Each supremum is at an end of the interval or at a critical point inside it. ``f'`` has no critical
        point, ``f''`` has the critical point ``z = 0``, and ``f'''`` has the critical points ``z = -log(2 + sqrt 3)``
        and ``z = log(2 + sqrt 3)``.
        """
        total, shift = y + self.dispersion, math.log(self.dispersion)
        slopes, thirds = (
            [(where + shift, height * total) for where, height in peaks]
            for peaks in (SIGMOID_SLOPE_PEAKS, SIGMOID_THIRD_PEAKS)
        )
        return nearby(self, y, eta, radius, (), slopes, thirds)

    def second_order_constants(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """Return an array (n,) of constants ``L``, which bound Taylor remainders (docs/spec.md, section 5m).

        ``L`` is a number with ``|f'(eta + z) - f'(eta) - f''(eta) z| <= L z^2 / 2`` for all ``|z| <= radius``;
        ``f(eta)`` is the energy (negative log-likelihood) of the row. ``L`` is ``y + r`` times the constant of ``log(1
        + e^z)`` with ``z = eta - log r``.
        """
        total, z = y + self.dispersion, eta - math.log(self.dispersion)
        return total * logistic_second_order(z, radius)

    def response_distribution(self) -> ResponseDistribution:
        from .response_distributions import OfMean, stats

        def counts(m: np.ndarray, p: dict[str, Any]) -> Any:
            r = np.asarray(p["dispersion"])
            return stats.nbinom(r, r / (r + m))

        return OfMean(self.link.mean, counts, discrete=True)

    def latent_variance(self, p: Parameters, mean: float | None) -> Any:
        """Return ``log(1 + 1/mean + 1/r)`` (Nakagawa et al. 2017), an approximate variance of the logarithm of a count.

        It is exact for a log-normal response with the same mean and variance as the count.
        """
        return None if not mean else np.log1p(1 / mean + 1 / np.asarray(p["dispersion"]))


# -------------------------------------------------------------------------------------------- an unknown dispersion


@part(FamilyEnergy)
def _energy_with_dispersion(n, eta, y, hyper, out):
    m = eta.size // 2
    for b in range(n):
        z = eta[b] - eta[m + b]
        out[b] = math.exp(eta[m + b]) * softplus(z) + y[b] * softplus(-z)


@part(FamilyRise)
def _rise_with_dispersion(n, eta, eta_prop, y, hyper, out):
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
class NegativeBinomialWithDispersion(OfCounts, MultiPredictorLikelihood):
    """The likelihood of counts with mean ``m = e^eta`` and variance ``m + m^2/r`` and an unknown ``r`` (spec 5n).

    The energy is ``f = r S(z) + y S(-z)`` with ``r = e^lambda``, ``z = eta - lambda`` and ``S(z) = log(1 + e^z)``. It
    does not contain ``-log Gamma(r + y) + log Gamma(r)``.
    """

    predictors = 2
    parameter_names = "eta", "lam"
    energy = _energy_with_dispersion
    rise = _rise_with_dispersion

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the three derivatives.

        They are computed from those in ``z`` and ``lambda``, in which every derivative in ``lambda`` of ``r S(z)`` is
        itself.
        """
        z, r = eta[0] - eta[1], np.exp(eta[1])
        p, q = sigmoids(z)
        u, S = p * q, np.logaddexp(0.0, z)
        slope = r * p - y * q
        gradient = np.array([slope, r * S - slope])
        mixed = r * p - (r + y) * u
        hessian = symmetric((r + y) * u, mixed, r * S - r * p - mixed)
        return gradient, hessian, symmetric(*_binomial_thirds(p, q, S, r, y))

    def third_bounds(self, y: np.ndarray, eta: np.ndarray, radii: np.ndarray) -> np.ndarray:
        """Return bounds (K, K, K, n) of the third derivatives.

        They are exact over ``|z' - z| <= radii_eta + radii_lambda`` and ``|lambda' - lambda| <= radii_lambda``.

        All four third derivatives are linear in ``r``, hence largest at an end of its range. Given ``r``, the first is
        ``(r+y) S'''``, critical where ``u = p(1-p) = 1/6``; the next two are polynomials of degree 3 in ``p``, critical
        at the roots of ``6(r+y) p^2 - (4r+6y) p + y`` and of ``6(r+y) p^2 - (2r+6y) p + y``; the last has the slope
        ``p (1-6u) (r p - y (1-p))``: critical where ``u = 1/6`` and where ``p = y/(r+y)``.
        """
        low, high = ranges(eta[0] - eta[1], radii[0] + radii[1])
        lam_low, lam_high = ranges(eta[1], radii[1])
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
