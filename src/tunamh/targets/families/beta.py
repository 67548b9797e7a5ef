"""Shares between 0 and 1 with a logit link and an unknown precision, or one that columns describe."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..._arguments import settle, shown
from ...compiled import FamilyEnergy, FamilyRise, helper, part
from ...compiled.vector import softplus, softplus_rise
from ...priors.independent import IndependentPrior
from ...priors.positive import known_or_prior, refuse_flat
from ..coordinates.shared import Logarithm
from ..observations.base import Observations
from ..observations.row_layout import RowLayout
from .base import BaseFamily, Responses
from .cubic_bounds import ranges, symmetric
from .formula_likelihood import FormulaLikelihood
from .links import LOG, LOGIT
from .logistic import Logistic
from .response_checks import check_proportions
from .responses import Parameters, ResponseDistribution
from .second_parameter import WIDE, by_columns, described_by_columns, one_number, refuse_constant, start_at

_HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)

_PIECES = 2  # a side, of boxes for jets


@dataclass(frozen=True)
class Beta(BaseFamily):
    """Regression of proportions between 0 and 1 (beta distribution) with mean ``1 / (1 + e^-eta)``.

    ``eta`` is the linear predictor ``x.theta`` of a row, plus its offset. The variance of a response is ``mean (1 -
    mean) / (1 + precision)``.

    Parameters
    ----------
    precision : prior of a positive parameter, or prior of coefficients, optional
        The prior of the precision, such as ``priors.Gamma(2, 10)``. Default: ``priors.LogNormal(1, 2)``. The precision
        cannot be a known number. If the model has columns for it, ``GLM(X, y, Beta(), predictors={"precision": Z})``,
        the logarithm of the precision is ``z.gamma``: ``z`` is the row of ``Z``, and the coefficients ``gamma`` are
        unknown. The argument ``precision`` is then the prior of ``gamma``, with the default ``Normal(scale=2.5)``.

    Examples
    --------
    >>> tunamh.GLM(X, y, tunamh.Beta())
    """

    precision: Any = None

    responses = Responses.PROPORTIONS
    word = "beta"
    link = LOGIT
    parameters = ("precision",)
    described = ("precision",)
    parameter_links: ClassVar = {"precision": LOG}

    def __post_init__(self) -> None:
        refuse_flat("precision", self.precision)
        if not isinstance(self.precision, IndependentPrior):
            settle(self, precision=known_or_prior("precision", self.precision))

    def check(self, y: np.ndarray) -> None:
        check_proportions(y)

    def arrange(self, observations: Observations, temper: float) -> RowLayout:
        if described_by_columns(observations):
            return by_columns(
                observations, BetaWithPrecision(), "precision", self.precision, start_at(observations, 1.0)
            )
        if isinstance(self.precision, float):
            raise ValueError("precision must be a prior, or left out: a known precision is not offered.")
        if isinstance(self.precision, IndependentPrior):
            also = "predictors={'precision': Z}"
            raise ValueError(f"{shown(self.precision)} is a prior of coefficients of columns: pass {also} too.")
        prior = WIDE if self.precision is None else self.precision
        refuse_constant(observations, "precision", prior, lambda rows: np.log(rows.y) - np.log1p(-rows.y))
        coordinates = Logarithm(observations.design.dim)
        return one_number(observations, BetaWithPrecision(), coordinates, "precision", prior, 5.0)

    def response_distribution(self) -> ResponseDistribution:
        from .response_distributions import OfMean, stats

        def shares(m: np.ndarray, p: Parameters) -> Any:
            return stats.beta(m * p["precision"], (1 - m) * p["precision"])

        return OfMean(self.link.mean, shares)

    def latent_variance(self, p: Parameters, mean: float | None) -> Any:
        """Return the variance of ``logit y`` for a row with the mean ``m = mean``.

        It is ``trigamma(m precision) + trigamma((1 - m) precision)``.
        """
        from scipy.special import polygamma

        if mean is None or "precision" not in p:
            return None
        return polygamma(1, mean * p["precision"]) + polygamma(1, (1 - mean) * p["precision"])


# ------------------------------------------------------------------------------------------------- the likelihood


@helper
def _binet(t):
    """``D(t) = log Gamma(x) - (x - 1/2) log x + x - log(2 pi)/2``, ``x = e^t``: what Stirling's formula leaves."""
    x = math.exp(t)
    if x < 1e-16:
        return -0.5 * t - _HALF_LOG_TAU
    if x < 10.0:
        return math.lgamma(x) - (x - 0.5) * t + x - _HALF_LOG_TAU
    s = 1.0 / (x * x)
    series = -691.0 / 360360.0
    series = series * s + 1.0 / 1188.0
    series = series * s - 1.0 / 1680.0
    series = series * s + 1.0 / 1260.0
    series = series * s - 1.0 / 360.0
    return (series * s + 1.0 / 12.0) / x


@helper
def _sigmoid(eta):
    small = math.exp(-abs(eta))
    return (1.0 if eta > 0.0 else small) / (1.0 + small)


@helper
def _stirling_rests(eta, lam):
    return _binet(lam - softplus(-eta)) + _binet(lam - softplus(eta)) - _binet(lam)


@helper
def _divergence(eta, logit_y):
    """``K = p (eta - logit y) - (S(eta) - S(logit y))``: of a coin with ``p`` from one with ``y``."""
    return _sigmoid(eta) * (eta - logit_y) - softplus_rise(logit_y, eta)


@helper
def _beta(eta, lam, y):
    log_y, log_rest = math.log(y), math.log1p(-y)
    entropy = math.exp(lam) * _divergence(eta, log_y - log_rest) + log_y + log_rest
    return entropy + 0.5 * (softplus(eta) + softplus(-eta) - lam) + _HALF_LOG_TAU + _stirling_rests(eta, lam)


@part(FamilyEnergy)
def _beta_energy(n, eta, y, hyper, out):
    m = eta.size // 2
    for b in range(n):
        out[b] = _beta(eta[b], eta[m + b], y[b])


@part(FamilyRise)
def _beta_rise(n, eta, eta_prop, y, hyper, out):
    """Short moves: ``phi [(e^move - 1) K' + K' - K]`` and the rest; ``p' - p = -p' (1-p) (e^-step - 1)``."""
    m = eta.size // 2
    for b in range(n):
        a, a_prop, lam, lam_prop = eta[b], eta_prop[b], eta[m + b], eta_prop[m + b]
        step, move = a_prop - a, lam_prop - lam
        if abs(step) < 1.0 and abs(move) < 1.0:
            logit_y = math.log(y[b]) - math.log1p(-y[b])
            up, down = softplus_rise(a, a_prop), softplus_rise(-a, -a_prop)
            away = -_sigmoid(a_prop) * _sigmoid(-a) * math.expm1(-step)
            grown = away * (a_prop - logit_y) + (_sigmoid(a) * step - up)
            grown = math.exp(lam) * (math.expm1(move) * _divergence(a_prop, logit_y) + grown)
            rests = _stirling_rests(a_prop, lam_prop) - _stirling_rests(a, lam)
            out[b] = grown + 0.5 * (up + down - move) + rests
        else:
            out[b] = _beta(a_prop, lam_prop, y[b]) - _beta(a, lam, y[b])


def _formula(eta: Any, lam: Any, y: Any) -> Any:
    """As it is defined."""
    from scipy.special import expit, gammaln

    phi = np.exp(lam)
    a, b = expit(eta) * phi, expit(-eta) * phi
    return gammaln(a) + gammaln(b) - gammaln(phi) - (a - 1) * np.log(y) - (b - 1) * np.log1p(-y)


def _divergence_formula(eta: Any, y: Any) -> Any:
    """``K`` up to a constant."""
    from scipy.special import expit

    return expit(eta) * (eta - (np.log(y) - np.log1p(-y))) - np.logaddexp(0, eta)


@dataclass(frozen=True)
class BetaWithPrecision(FormulaLikelihood):
    """The likelihood of proportions ``y ~ Beta(a, b)`` with ``a = p phi`` and ``b = (1-p) phi``.

    The predictors are ``eta``, the logit of ``p``, and ``lambda = log phi``. The energy is ``f = log Gamma(a) + log
    Gamma(b) - log Gamma(phi) - (a-1) log y - (b-1) log(1-y)``. With Stirling's formula, whose large terms cancel, and
    its remainder ``D``, it is

        f = phi K(eta) + [S(eta) + S(-eta) - lambda]/2 + D(log a) + D(log b) - D(log phi) + terms of y,

    ``K`` is the divergence of a Bernoulli law with ``p`` from one with ``y``, and ``S(x) = log(1 + e^x)``.
    """

    predictors = 2
    parameter_names = "eta", "log_phi"
    formulas = (_formula,)
    energy = _beta_energy
    rise = _beta_rise

    def check(self, y: np.ndarray) -> None:
        check_proportions(y)

    def third_bounds(self, y: np.ndarray, eta: np.ndarray, radii: np.ndarray) -> np.ndarray:
        """Return bounds (K, K, K, n) of the third derivatives.

        The sum of the terms' suprema, ``phi`` at its largest; those of ``K`` and its slopes by jets.

        *D.* ``D(t) = int h(s) e^-w ds/s``, ``w = s e^t``, with ``h(s) = coth(s/2)/2 - 1/s``, which is concave and grows
        from 0 to 1/2, ``h'(0) = 1/12``. By parts ``D' = -int s h' e^-w ds/s``, ``D'' = int s h' w e^-w ds/s`` and
        ``D''' = int s h' (w - w^2) e^-w ds/s``. As ``int h' ds = 1/2`` and ``s h' <= s/12``, with ``x = e^t``:
        ``|D'| <= min(1/2, 1/12x)``, ``0 <= D'' <= min(1/2e, 1/12x)``, ``-min(.15451, 1/6x) <= D''' <= min(.08053,
        1/12x)``. Then by the chain rule through ``log a = lambda - S(-eta)`` and ``log b = lambda - S(eta)``, whose
        derivatives in ``eta`` are ``1-p, -u, -u (1-2p)`` and ``-p, -u, -u (1-2p)``, ``u = p (1-p) <= 1/4``.
        """
        with np.errstate(all="ignore"):  # infinite radii included
            bounds = self._sums_of_suprema(y, eta, np.broadcast_to(radii, eta.shape))
        return symmetric(*(np.where(np.isnan(bound), np.inf, bound) for bound in bounds))

    def _sums_of_suprema(self, y: np.ndarray, eta: np.ndarray, radii: np.ndarray) -> tuple[np.ndarray, ...]:
        from ...jets import supremum_near

        low, high = ranges(eta[0], radii[0])
        phi_low, phi_high = (np.exp(end) for end in ranges(eta[1], radii[1]))
        first, second, third = (supremum_near(_divergence_formula, eta[0], y, radii[0], k, _PIECES) for k in (1, 2, 3))
        logit_y = np.log(y) - np.log1p(-y)
        level = np.maximum(_divergence_at(low, logit_y), _divergence_at(high, logit_y))
        p, q = _logistic(high), _logistic(-low)  # the largest
        u = np.minimum(p * q, 0.25)
        a, b, whole = (_rest_bounds(phi_low * share) for share in (_logistic(low), _logistic(-high), 1.0))
        cubes = q**3 * a[2] + 3 * u * q * a[1] + u * a[0] + p**3 * b[2] + 3 * u * p * b[1] + u * b[0]
        of_softplus = Logistic().suprema_near(np.zeros_like(y), eta[0], radii[0]).third
        return (
            phi_high * third + of_softplus + cubes,
            phi_high * second + q * q * a[2] + u * a[1] + p * p * b[2] + u * b[1],
            phi_high * first + q * a[2] + p * b[2],
            phi_high * level + np.maximum(a[2] + b[2] + whole[3], a[3] + b[3] + whole[2]),
        )


def _logistic(x):
    return np.exp(-np.logaddexp(0.0, -x))


def _divergence_at(eta, logit_y):
    """At an end of an interval it is largest: ``K`` falls towards ``logit y``."""
    S, S_y = np.logaddexp(0.0, eta), np.logaddexp(0.0, logit_y)
    return _logistic(eta) * (eta - logit_y) - (S - S_y) + 1e-14 * (np.abs(eta - logit_y) + S + S_y)


def _rest_bounds(x):
    """Of ``|D'|``, ``D''``, ``-D'''`` and ``D'''`` for arguments of at least ``x``."""
    twelfth = 1 / (12 * x)
    caps = (0.5, 1.0), (0.18394, 1.0), (0.15451, 2.0), (0.08053, 1.0)
    return [np.minimum(cap, factor * twelfth) for cap, factor in caps]
