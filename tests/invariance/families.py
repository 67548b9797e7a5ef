"""Every family on a few rows: its likelihood by SciPy, priors to draw parameters from, and data that are hard for it.

Priors are proper and moderate, so that draws from them hit the posterior; data are few, and not benign: lumps at both
ends, outliers at columns that pull, pure classes, zeros beside large counts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special, stats

import tunamh
from tunamh import priors

sys.path.insert(0, str(Path(__file__).parent.parent / "statistical"))
import regressions as R  # noqa: N812  likelihoods as SciPy has them

Map = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Unknown:
    """A parameter beside the coefficients, or several of one name, as a function of standard normals."""

    name: str
    at: Map
    size: int = 1


@dataclass(frozen=True)
class Family:
    """``rows(eta, y, *unknown)`` are log-likelihoods; ``hard`` are responses that it finds difficult."""

    family: Any
    rows: Callable[..., np.ndarray]
    hard: str  # which of RESPONSES
    unknown: tuple[Unknown, ...] = ()
    classes: int = 0
    intercept: bool = True
    groups: bool = True  # whether `MixedModel` takes it
    more: dict[str, Any] = field(default_factory=dict)
    spread: float = 1.5  # of the coefficients' prior
    described: str = ""  # the parameter that a second predictor describes
    plain: Any = None  # the family without a prior of its own for that predictor's coefficients

    @property
    def given_all(self) -> Callable[..., np.ndarray]:
        """``rows`` with the censoring, where there is any, in its place."""
        if "censored" in self.more:
            codes = self.more["censored"]
            return lambda eta, y, *unknown: self.rows(eta, y, codes, *unknown)
        if "trials" in self.more:
            trials = self.more["trials"]
            return lambda eta, y, *unknown: self.rows(eta, y, trials, *unknown)
        return self.rows


N_ROWS = 12
COLUMN = np.array([-1.0, 0.4, 1.2, -0.3, 2.5, 0.0, -0.7, 1.0, 0.2, -2.0, 0.6, -0.1])
_REAL = np.array([-2.6, 2.9, -2.4, 2.2, -3.0, 0.3, 2.7, -2.2, 3.1, 0.1, 2.5, -2.7])
_PURE = np.array([1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0])

RESPONSES: dict[str, np.ndarray] = {
    "real": _REAL,
    "positive": np.exp(0.6 * _REAL),
    "labels": _PURE,
    "trials": np.array([3.0, 0.0, 4.0, 2.0, 0.0, 1.0, 0.0, 5.0, 1.0, 2.0, 0.0, 1.0]),
    "counts": np.array([0.0, 0.0, 5.0, 0.0, 0.0, 1.0, 0.0, 0.0, 3.0, 0.0, 2.0, 0.0]),
    "shares": np.array([0.02, 0.95, 0.1, 0.9, 0.03, 0.5, 0.97, 0.15, 0.9, 0.4, 0.85, 0.05]),
    "classes": np.array([0.0, 0.0, 2.0, 2.0, 0.0, 1.0, 2.0, 0.0, 2.0, 2.0, 0.0, 1.0]),
}
TRIALS = np.array([3.0, 1.0, 4.0, 3.0, 2.0, 1.0, 2.0, 5.0, 1.0, 4.0, 1.0, 2.0])
RIGHT = np.array([0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0])
BOTH = np.array([-1.0, 1.0, 0.0, 0.0, -1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0])
LATE = np.array([0.0, 0.0, 0.1, 2.0, 0.0, 0.6, 0.0, 0.2, 3.0, 0.0, 0.5, 0.0])
OFFSET = np.array([0.5, -0.3, 0.0, 1.0, -0.8, 0.2, 0.0, 0.4, -0.5, 0.1, 0.9, -0.2])
WEIGHTS = np.array([1.0, 0.5, 2.0, 1.0, 0.0, 1.0, 1.5, 0.5, 1.0, 1.0, 2.0, 1.0])


def log_normal(mean: float, scale: float) -> tuple[Any, Map]:
    """A prior of a positive parameter, and the parameter at standard normals."""
    return priors.LogNormal(mean, scale), lambda z: np.exp(mean + scale * z)


SCALE, SCALE_AT = log_normal(0.0, 0.6)
DF, DF_AT = log_normal(0.6, 0.4)  # 1 to 4
SHAPE, SHAPE_AT = log_normal(0.3, 0.6)
PRECISION, PRECISION_AT = log_normal(1.0, 0.7)


def _cutpoints(z: np.ndarray) -> np.ndarray:
    """Independent normals, given that they increase."""
    return np.sort(1.5 * z, axis=1)


def _second(z: np.ndarray) -> np.ndarray:
    """The intercept of a second predictor."""
    return 0.6 * z


SCALED = (Unknown("scale", SCALE_AT),)


def two_wells(eta, y):
    """An energy of one's own with two minima in the predictor: a folded law."""
    return -np.log(np.exp(-0.5 * (y - eta) ** 2) + np.exp(-0.5 * (y + eta) ** 2))


def _two_wells_rows(eta, y):
    return np.logaddexp(-0.5 * (y - eta) ** 2, -0.5 * (y + eta) ** 2)


def cauchy(eta, y):
    return np.log1p((y - eta) ** 2)


DOSE = np.array([0.2, 3.0, 0.5, 1.0, 6.0, 0.1, 2.0, 0.4, 3.0, 0.05, 1.5, 0.8])


def dose_curve(eta, log_ed50, log_sigma, dose, y):
    """Not linear in any of its predictors: a curve that saturates, and the size of its errors."""
    return log_sigma + 0.5 * ((y - eta * dose / (np.exp(log_ed50) + dose)) * np.exp(-log_sigma)) ** 2


def _dose_rows(eta, y, log_ed50, log_sigma):
    return stats.norm(eta * DOSE / (np.exp(log_ed50) + DOSE), np.exp(log_sigma)).logpdf(y)


_CURVE = {
    "family": tunamh.family(
        dose_curve,
        columns=["dose"],
        shared={"log_ed50": tunamh.Normal(scale=0.6), "log_sigma": tunamh.Normal(mean=0.3, scale=0.5)},
    ),
    "rows": _dose_rows,
    "hard": "real",
    "unknown": (Unknown("log_ed50", _second), Unknown("log_sigma", lambda z: 0.3 + 0.5 * z)),
    "more": {"predictors": {"dose": DOSE}},
}

FAMILIES: dict[str, Family] = {
    # real responses
    "Gaussian, known": Family(tunamh.Gaussian(1.3), R.density(R.normal), "real"),
    "Gaussian": Family(tunamh.Gaussian(SCALE), R.density(R.normal), "real", SCALED),
    "Gaussian, described": Family(
        tunamh.Gaussian(tunamh.Normal(scale=0.6)),
        lambda eta, y, s: stats.norm(eta, np.exp(s)).logpdf(y),
        "real",
        (Unknown("scale", _second),),
        described="scale",
        plain=tunamh.Gaussian(),
        groups=False,
    ),
    "Student-t, known": Family(tunamh.StudentT(2.0, 1.0), R.density(lambda eta: stats.t(2.0, eta, 1.0)), "real"),
    "Cauchy, known": Family(tunamh.StudentT(1.0, 0.7), R.density(lambda eta: stats.t(1.0, eta, 0.7)), "real"),
    "Student-t": Family(tunamh.StudentT(2.0, SCALE), R.density(lambda eta, s: stats.t(2.0, eta, s)), "real", SCALED),
    "Student-t, df": Family(
        tunamh.StudentT(DF, SCALE),
        R.density(lambda eta, s, df: stats.t(df, eta, s)),
        "real",
        (*SCALED, Unknown("df", DF_AT)),
    ),
    "Student-t, df, known scale": Family(
        tunamh.StudentT(DF, 0.8),
        R.density(lambda eta, df: stats.t(df, eta, 0.8)),
        "real",
        (Unknown("df", DF_AT),),
        groups=False,
    ),
    "Huber, known": Family(tunamh.Huber(1.345, 1.1), R.huber_rows, "real"),
    "Huber": Family(tunamh.Huber(1.345, SCALE), R.huber_rows, "real", SCALED),
    "logistic errors, known": Family(tunamh.LogisticErrors(0.7), R.density(R.logistic_errors), "real"),
    "logistic errors": Family(tunamh.LogisticErrors(SCALE), R.density(R.logistic_errors), "real", SCALED),
    # censored and positive ones
    "Tobit, known": Family(tunamh.Gaussian(1.3), R.censored(R.normal), "real", more={"censored": BOTH}),
    "Tobit": Family(tunamh.Gaussian(SCALE), R.censored(R.normal), "real", SCALED, more={"censored": BOTH}),
    "log-normal, known": Family(tunamh.LogNormal(0.9), R.density(R.log_normal), "positive"),
    "log-normal": Family(tunamh.LogNormal(SCALE), R.density(R.log_normal), "positive", SCALED),
    "log-normal, censored": Family(
        tunamh.LogNormal(SCALE), R.censored(R.log_normal), "positive", SCALED, more={"censored": BOTH}
    ),
    "log-logistic, known": Family(tunamh.LogLogistic(0.5), R.density(R.log_logistic), "positive"),
    "log-logistic": Family(tunamh.LogLogistic(SCALE), R.density(R.log_logistic), "positive", SCALED),
    "log-logistic, censored": Family(
        tunamh.LogLogistic(0.5), R.censored(R.log_logistic), "positive", more={"censored": BOTH}
    ),
    "Weibull, known": Family(tunamh.Weibull(1.4), R.density(R.weibull), "positive"),
    "Weibull": Family(tunamh.Weibull(SHAPE), R.density(R.weibull), "positive", (Unknown("shape", SHAPE_AT),)),
    "Weibull, censored": Family(
        tunamh.Weibull(SHAPE),
        R.censored(R.weibull),
        "positive",
        (Unknown("shape", SHAPE_AT),),
        more={"censored": RIGHT},
    ),
    "exponential": Family(tunamh.Exponential(), R.density(lambda eta: stats.expon(scale=np.exp(eta))), "positive"),
    "exponential, censored": Family(
        tunamh.Exponential(),
        R.censored(lambda eta: stats.expon(scale=np.exp(eta))),
        "positive",
        more={"censored": BOTH},
    ),
    "gamma, known": Family(tunamh.Gamma(1.8), R.density(R.gamma), "positive"),
    "gamma": Family(tunamh.Gamma(SHAPE), R.density(R.gamma), "positive", (Unknown("shape", SHAPE_AT),)),
    "piecewise exponential": Family(
        tunamh.PiecewiseExponential((0.6, 2.5), priors.RandomWalk(0.8, tunamh.Normal(mean=-0.3))),
        R.piecewise_hazards((0.6, 2.5), LATE),
        "positive",
        (Unknown("log_hazard", lambda z: np.cumsum(z * [1.0, 0.8, 0.8] + [-0.3, 0.0, 0.0], axis=1), 3),),
        intercept=False,
        more={"censored": RIGHT, "entry": LATE},
        spread=0.8,
    ),
    # labels
    "logistic": Family(tunamh.Logistic(), R.successes(special.expit), "labels"),
    "logistic, trials": Family(tunamh.Logistic(), R.successes(special.expit), "trials", more={"trials": TRIALS}),
    "probit": Family(tunamh.Probit(), R.successes(special.ndtr), "labels"),
    "probit, trials": Family(tunamh.Probit(), R.successes(special.ndtr), "trials", more={"trials": TRIALS}),
    "cloglog": Family(tunamh.Cloglog(), R.successes(R.cloglog), "labels"),
    "cloglog, trials": Family(tunamh.Cloglog(), R.successes(R.cloglog), "trials", more={"trials": TRIALS}),
    # counts
    "Poisson": Family(tunamh.Poisson(), R.mass(lambda eta: stats.poisson(np.exp(eta))), "counts"),
    "softplus Poisson": Family(tunamh.SoftplusPoisson(), R.mass(R.softplus_law), "counts"),
    "negative binomial, known": Family(tunamh.NegativeBinomial(2.0), R.mass(R.negative_binomial), "counts"),
    "negative binomial": Family(
        tunamh.NegativeBinomial(SHAPE), R.mass(R.negative_binomial), "counts", (Unknown("dispersion", SHAPE_AT),)
    ),
    "zero-inflated": Family(
        tunamh.ZeroInflated(tunamh.Poisson()),
        R.inflated_rows,
        "counts",
        (Unknown("inflation", special.ndtr),),
    ),
    "zero-inflated, described": Family(
        tunamh.ZeroInflated(tunamh.Poisson(), tunamh.Normal(scale=0.6)),
        lambda eta, y, z: R.inflated_rows(eta, y, special.expit(z)),
        "counts",
        (Unknown("inflation", _second),),
        described="inflation",
        plain=tunamh.ZeroInflated(tunamh.Poisson()),
        groups=False,
    ),
    "zero-inflated negative binomial": Family(
        tunamh.ZeroInflated(tunamh.NegativeBinomial(SHAPE)),
        R.inflated_binomial_rows,
        "counts",
        (Unknown("inflation", special.ndtr), Unknown("dispersion", SHAPE_AT)),
    ),
    "hurdle": Family(
        tunamh.Hurdle(tunamh.Poisson()),
        R.hurdle_rows,
        "counts",
        (Unknown("positive", special.ndtr),),
    ),
    # shares and classes
    "beta": Family(tunamh.Beta(PRECISION), R.beta_rows, "shares", (Unknown("precision", PRECISION_AT),)),
    "categorical": Family(tunamh.Categorical(), R.softmax_rows, "classes", classes=2),
    "ordinal": Family(
        tunamh.Ordinal(tunamh.Normal(scale=1.5)),
        R.ordinal_rows,
        "classes",
        (Unknown("cutpoint", _cutpoints, 2),),
        intercept=False,
    ),
    # families of one's own
    "own, Cauchy": Family(tunamh.family(cauchy), lambda eta, y: -np.log1p((y - eta) ** 2), "real"),
    "own, two wells": Family(tunamh.family(two_wells), _two_wells_rows, "real"),
    "own, curve": Family(**_CURVE),
    "own, curve, described": Family(
        **_CURVE,
        described="log_ed50",
        plain=tunamh.family(dose_curve, columns=["dose"], shared={"log_sigma": tunamh.Normal(mean=0.3, scale=0.5)}),
        groups=False,
    ),
    "zero-inflated negative binomial, described": Family(
        tunamh.ZeroInflated(tunamh.NegativeBinomial(SHAPE), tunamh.Normal(scale=0.6)),
        lambda eta, y, z, dispersion: R.inflated_binomial_rows(eta, y, special.expit(z), dispersion),
        "counts",
        (Unknown("inflation", _second), Unknown("dispersion", SHAPE_AT)),
        described="inflation",
        plain=tunamh.ZeroInflated(tunamh.NegativeBinomial(SHAPE)),
        groups=False,
    ),
}
