"""Counts with more zeros than their family has: zero with a probability, else a count."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...compiled import FamilyEnergy, FamilyRise, helper, part
from ...compiled.vector import softplus, softplus_rise
from ...rows.source import Rows
from ..coordinates.base import Form
from ..coordinates.shared import Dispersion, Probability, ProbabilityAndDispersion
from ..designs.multi_predictor import MultiPredictorBlock, MultiPredictorLayout, Term
from ..observations.base import Observations
from ..observations.observed import TransformedRows
from ..observations.row_layout import Extra, RowLayout, column_names
from .base import BaseFamily
from .cubic_bounds import ranges, symmetric
from .formula_likelihood import box_bounds
from .links import LOGIT
from .negative_binomial import NegativeBinomial, NegativeBinomialWithDispersion
from .poisson import Poisson
from .responses import Parameters, ResponseDistribution
from .second_parameter import WIDE, described_by_columns, positive_counts, prior_of_columns, start_at
from .two_part_counts import TwoPartFamily, TwoPartLikelihood, softplus_thirds

# ------------------------------------------------------------------------------------- the likelihood, Poisson counts


@helper(inline=True)
def _exp_rise(a, b):
    """``e^b - e^a``."""
    return math.exp(a) * math.expm1(b - a) if abs(b - a) < 1.0 else math.exp(b) - math.exp(a)


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
class ZeroInflatedPoisson(TwoPartLikelihood):
    """The likelihood of counts that are zero with probability ``pi``, and otherwise Poisson with mean ``mu = e^eta``.

    ``pi`` is the logistic function of ``zeta``. The energy is ``f = -log(pi + (1-pi) e^-mu) = S(-zeta) - S(-(mu +
    zeta))`` for ``y = 0``, with ``S(z) = log(1 + e^z)``, and ``f = -log(1-pi) + mu - y eta`` for ``y > 0``.
    """

    predictors = 2
    parameter_names = "eta", "zeta"
    formulas = (_inflated_zero, _inflated_count)
    energy = _inflated_energy
    rise = _inflated_rise

    def third_bounds(self, y: np.ndarray, eta: np.ndarray, radii: np.ndarray) -> np.ndarray:
        """Return bounds (K, K, K, n) of the third derivatives: exact for a positive count, by jets for a zero.

        For a positive count the energy is a sum of functions of one predictor each.
        """
        radii = np.broadcast_to(radii, eta.shape)
        with np.errstate(over="ignore"):
            largest = np.exp(ranges(eta[0], radii[0])[1])
        zero = np.zeros(y.size)
        result = symmetric(largest, zero, zero, softplus_thirds(eta[1], radii[1]))
        rows = np.flatnonzero(y == 0)
        if rows.size:
            result[..., rows] = box_bounds(_inflated_zero, eta[:, rows], y[rows], radii[:, rows])
        return result


# --------------------------------------------------------------------------- the likelihood, negative binomial counts


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
class ZeroInflatedNegativeBinomial(TwoPartLikelihood):
    """The likelihood of counts that are zero with probability ``pi``, and otherwise negative binomial.

    The energy is ``f = S(-zeta) - S(-(r S(z) + zeta))`` for ``y = 0``, because ``e^{-r S(z)}`` is the probability of a
    negative binomial zero, and ``f = S(zeta) + r S(z) + y S(-z)`` for ``y > 0``. Like `NegativeBinomialWithDispersion`,
    it does not contain the terms with the gamma function.
    """

    predictors = 3
    parameter_names = "eta", "lam", "zeta"
    formulas = (_inflated_binomial_zero, _inflated_binomial_count)
    energy = _inflated_binomial_energy
    rise = _inflated_binomial_rise

    def third_bounds(self, y: np.ndarray, eta: np.ndarray, radii: np.ndarray) -> np.ndarray:
        """Return bounds (K, K, K, n) of the third derivatives: exact for a positive count, by jets for a zero.

        For a positive count the energy has two terms without a common predictor.
        """
        radii = np.broadcast_to(radii, eta.shape)
        result = np.zeros((3, 3, 3, y.size))
        zeros, rows = np.flatnonzero(y == 0), np.flatnonzero(y > 0)
        if rows.size:
            near = NegativeBinomialWithDispersion().third_bounds(y[rows], eta[:2, rows], radii[:2, rows])
            result[:2, :2, :2, rows] = near
            result[2, 2, 2, rows] = softplus_thirds(eta[2, rows], radii[2, rows])
        if zeros.size:
            result[..., zeros] = box_bounds(_inflated_binomial_zero, eta[:, zeros], y[zeros], radii[:, zeros])
        return result


# ------------------------------------------------------------------------------------------------------ the family


@dataclass(frozen=True)
class ZeroInflated(TwoPartFamily):
    """Regression of counts with extra zeros: a response is zero with a probability ``p``, otherwise a count.

    The count has the distribution ``counts``, so it can be zero, too.

    Parameters
    ----------
    counts : Poisson or NegativeBinomial
        The family of the counts. ``NegativeBinomial()`` also has an unknown ``dispersion``; it can have a prior, but no
        known value.
    inflation : prior of coefficients, optional
        By default ``p`` is the same for all rows and has a uniform prior; results call it ``inflation``. If the model
        has columns for it, ``GLM(X, y, ZeroInflated(Poisson()), predictors={"inflation": Z})``, the logit of ``p`` is
        ``z.gamma``: ``z`` is the row of ``Z``, and the coefficients ``gamma`` are unknown. Only in this case you can
        set ``inflation``: it is the prior of ``gamma``. Default: ``Normal(scale=2.5)``.

    Examples
    --------
    >>> tunamh.GLM(X, y, tunamh.ZeroInflated(tunamh.Poisson()))
    """

    counts: Any
    inflation: Any = None

    parameters = ("inflation", "dispersion")
    probabilities = ("inflation",)
    described = ("inflation",)
    parameter_links: ClassVar = {"inflation": LOGIT}
    likelihood = ZeroInflatedPoisson()
    count_families = (Poisson, NegativeBinomial)

    def __post_init__(self) -> None:
        self.check_settings()
        if isinstance(self.counts, NegativeBinomial) and isinstance(self.counts.dispersion, float):
            raise ValueError(
                "ZeroInflated(NegativeBinomial(...)) takes a prior of the dispersion, or none: a known dispersion "
                "is not offered. A narrow prior comes close, such as tunamh.priors.LogNormal(log(r), 0.01)."
            )

    def arrange(self, observations: Observations, temper: float) -> RowLayout:
        if isinstance(self.counts, Poisson):
            return super().arrange(observations, temper)
        return _with_dispersion(observations, temper, self.counts.dispersion, self.probability_prior(observations))

    def response_distribution(self) -> ResponseDistribution | None:
        counts = self.counts.response_distribution()
        return None if counts is None else ZeroInflatedCounts(counts)

    @classmethod
    def words(cls) -> dict[str, Callable[[], BaseFamily]]:
        """Return the names of the family in the command ``tunamh``, each with a function that makes the family."""
        return {f"zero-inflated-{counts.word}": lambda counts=counts: cls(counts()) for counts in cls.count_families}  # type: ignore[misc]


def _with_dispersion(observations: Observations, temper: float, dispersion: Any, prior: Any) -> RowLayout:
    """Rows of three predictors: ``x.theta``, the log dispersion of all rows, and the inflation's logit.

    The dispersion is the last parameter. A zero's probability holds all that the dispersion says of it, so that
    ``Gamma(r + y) / Gamma(r)`` is a matter of the positive counts here too.
    """
    d, values = observations.design.dim, positive_counts(observations, temper)
    law = (WIDE if dispersion is None else dispersion).law()
    columns: tuple[Any, int] | None = None
    if described_by_columns(observations):
        second, labels = observations.others[0], observations.other_names[0]
        columns = second.numbers, second.dim
        names = tuple(str(j) for j in range(second.dim)) if labels is None else tuple(labels)
        coordinates: Form = Dispersion(d, *values, between=second.dim)
        inflation, laws = Extra("inflation", names), prior_of_columns(observations, 0, prior).laws(second.dim)
        start = np.append(start_at(observations), 1.0)
    else:
        coordinates, inflation, laws = ProbabilityAndDispersion(d, *values), Extra("inflation"), Probability.uniform()
        start = np.append(np.zeros(d), [0.5, 1.0])
    extras = inflation, Extra("dispersion")
    blocks = [(observations.design.numbers, d), None, columns]
    layout = MultiPredictorLayout(blocks, [Term(0, 0, 0), Term(1, 1, coordinates.dim - 1), Term(2, 2, d)], predictors=3)

    def with_predictors(rows: Rows) -> Rows:
        other = rows.others[0] if columns is not None else None
        return rows._replace(X=MultiPredictorBlock((rows.X, None, other), layout, len(rows.y)), others=())

    rows = TransformedRows(observations, layout, with_predictors)
    family = ZeroInflatedNegativeBinomial()
    return RowLayout(rows, family, column_names(observations), coordinates, extras, (laws, law), start)


class ZeroInflatedCounts(ResponseDistribution):
    """The distribution of `ZeroInflated`: zero with probability ``inflation``, otherwise a count."""

    discrete = True

    def __init__(self, counts: ResponseDistribution):
        self.counts = counts

    def mean(self, eta: np.ndarray, p: Parameters) -> np.ndarray:
        return (1 - p["inflation"]) * self.counts.mean(eta, p)

    def variance(self, eta: np.ndarray, p: Parameters) -> np.ndarray:
        squares = self.counts.variance(eta, p) + np.square(self.counts.mean(eta, p))
        return (1 - p["inflation"]) * squares - np.square(self.mean(eta, p))

    def draw(self, rng: np.random.Generator, eta: np.ndarray, p: Parameters) -> np.ndarray:
        return np.where(rng.random(eta.shape) < p["inflation"], 0.0, self.counts.draw(rng, eta, p))

    def log_density(self, y: np.ndarray, eta: np.ndarray, p: Parameters) -> np.ndarray:
        counted = np.log1p(-np.asarray(p["inflation"])) + self.counts.log_density(y, eta, p)
        return np.where(y == 0, np.logaddexp(np.log(p["inflation"]), counted), counted)

    def tails(self, y: np.ndarray, eta: np.ndarray, p: Parameters) -> tuple[np.ndarray, np.ndarray] | None:
        counted = self.counts.tails(y, eta, p)
        if counted is None:
            return None
        inflation = np.asarray(p["inflation"])
        return np.where(y < 0, 0.0, inflation + (1 - inflation) * counted[0]), np.where(
            y < 0, 1.0, (1 - inflation) * counted[1]
        )
