"""Counts that are positive with a probability of their own, and zero else."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...compiled import FamilyEnergy, FamilyRise, helper, part
from ...compiled.vector import softplus, softplus_rise
from .base import BaseFamily
from .cubic_bounds import symmetric
from .links import LOGIT
from .responses import Parameters, ResponseDistribution
from .two_part_counts import TwoPartFamily, TwoPartLikelihood, softplus_thirds

_PIECES = 2  # a side, of intervals for jets


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
class HurdlePoisson(TwoPartLikelihood):
    """The likelihood of counts that are positive with probability ``p``, and then a Poisson count that is not 0.

    With ``mu = e^eta`` and ``zeta`` the logit of ``p``, the energy is ``f = -log(1-p) = S(zeta)`` for ``y = 0``, and
    ``f = -log p + mu - y eta + log(1 - e^-mu)`` for ``y > 0``. A count of 1 is evidence only against large ``eta``: its
    probability given a positive count grows to 1 as ``eta`` falls.
    """

    predictors = 2
    parameter_names = "eta", "zeta"
    formulas = (_hurdle_zero, _hurdle_count)
    energy = _hurdle_energy
    rise = _hurdle_rise

    def rises(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return y > 0, y > 1

    def third_bounds(self, y: np.ndarray, eta: np.ndarray, radii: np.ndarray) -> np.ndarray:
        """Return bounds (K, K, K, n) of the third derivatives: of sums of functions of one predictor each.

        Those of the function of ``eta`` are computed by jets (derivatives on intervals).
        """
        from ...jets import supremum_near

        radii = np.broadcast_to(radii, eta.shape)
        first, zero = np.zeros(y.size), np.zeros(y.size)
        rows = np.flatnonzero(y > 0)
        first[rows] = supremum_near(_truncated_formula, eta[0, rows], y[rows], radii[0, rows], 3, _PIECES)
        return symmetric(first, zero, zero, softplus_thirds(eta[1], radii[1]))


@dataclass(frozen=True)
class Hurdle(TwoPartFamily):
    """Regression of counts: a response is positive with a probability ``p``, otherwise zero.

    A positive count has the distribution ``counts``, given that it is not zero.

    Parameters
    ----------
    counts : Poisson
        The family of the counts, ``Poisson()``.
    positive : prior of coefficients, optional
        By default ``p`` is the same for all rows and has a uniform prior; results call it ``positive``. If the model
        has columns for it, ``GLM(X, y, Hurdle(Poisson()), predictors={"positive": Z})``, the logit of ``p`` is
        ``z.gamma``: ``z`` is the row of ``Z``, and the coefficients ``gamma`` are unknown. Only in this case you can
        set ``positive``: it is the prior of ``gamma``. Default: ``Normal(scale=2.5)``.

    Examples
    --------
    >>> tunamh.GLM(X, y, tunamh.Hurdle(tunamh.Poisson()))
    """

    counts: Any
    positive: Any = None

    parameters = ("positive",)
    probabilities = ("positive",)
    described = ("positive",)
    parameter_links: ClassVar = {"positive": LOGIT}
    likelihood = HurdlePoisson()

    def __post_init__(self) -> None:
        self.check_settings()

    def response_distribution(self) -> ResponseDistribution:
        return HurdleCounts()

    @classmethod
    def words(cls) -> dict[str, Callable[[], BaseFamily]]:
        """Return the names of the family in the command ``tunamh``, each with a function that makes the family."""
        return {f"hurdle-{counts.word}": lambda counts=counts: cls(counts()) for counts in cls.count_families}  # type: ignore[misc, attr-defined]


class HurdleCounts(ResponseDistribution):
    """The distribution of `Hurdle`: with probability ``positive`` a Poisson count that is not zero, otherwise zero."""

    discrete = True

    def mean(self, eta: np.ndarray, p: Parameters) -> np.ndarray:
        rate = np.exp(eta)
        return p["positive"] * rate / -np.expm1(-rate)

    def variance(self, eta: np.ndarray, p: Parameters) -> np.ndarray:
        mean = self.mean(eta, p)
        return mean * (1 + np.exp(eta)) - np.square(mean)

    def draw(self, rng: np.random.Generator, eta: np.ndarray, p: Parameters) -> np.ndarray:
        """Return random counts.

        A count is not zero if the first event comes before the time is over, and then others may follow.
        """
        rate = np.exp(eta)
        first = -np.log1p(rng.random(eta.shape) * np.expm1(-rate))
        return np.where(rng.random(eta.shape) < p["positive"], 1.0 + rng.poisson(np.maximum(rate - first, 0.0)), 0.0)

    def log_density(self, y: np.ndarray, eta: np.ndarray, p: Parameters) -> np.ndarray:
        from scipy import stats

        rate, positive = np.exp(eta), np.asarray(p["positive"])
        counted = np.log(positive) + stats.poisson.logpmf(y, rate) - np.log(-np.expm1(-rate))
        return np.where(y == 0, np.log1p(-positive), counted)

    def tails(self, y: np.ndarray, eta: np.ndarray, p: Parameters) -> tuple[np.ndarray, np.ndarray]:
        from scipy import stats

        rate, positive = np.exp(eta), np.asarray(p["positive"])
        counted = np.minimum(stats.poisson.sf(np.maximum(y, 0.0), rate) / -np.expm1(-rate), 1.0)
        above = np.where(y < 0, 1.0, positive * counted)
        return 1.0 - above, above
