"""Regressions of every family on a few rows, each with its likelihood and its priors as SciPy has them.

Nothing here knows how the library writes an energy, which constants it leaves out or in which coordinates it walks:
likelihoods are whole densities of `scipy.stats` in the parameters that a user sees.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any

import numba
import numpy as np
from scipy import special, stats

import tunamh
from tunamh import priors

# ------------------------------------------------------------------------------- what a parameter is plotted against


@dataclass(frozen=True)
class Extra:
    """A parameter beside the coefficients: its variable, its log prior, and a coordinate without ends."""

    name: str
    log_prior: Callable[[np.ndarray], np.ndarray]
    link: str = "log"
    at: int | None = None  # of a variable that is a vector
    start: float = 1.0

    def to_user(self, u):
        return {"log": np.exp, "logit": special.expit, "same": np.asarray}[self.link](u)

    def unbounded(self, value):
        return {"log": np.log, "logit": special.logit, "same": np.asarray}[self.link](value)

    def log_jacobian(self, u):
        return {"log": u, "logit": -np.logaddexp(0, u) - np.logaddexp(0, -u), "same": np.zeros_like(u)}[self.link]


def law(prior) -> Callable[[np.ndarray], np.ndarray]:
    """The density of a prior of a positive parameter, by SciPy."""
    made = {
        "HalfNormal": lambda p: stats.halfnorm(scale=p.scale),
        "HalfStudentT": lambda p: stats.t(p.df, scale=p.scale),
        "HalfCauchy": lambda p: stats.halfcauchy(scale=p.scale),
        "Exponential": lambda p: stats.expon(scale=p.mean),
        "Gamma": lambda p: stats.gamma(p.shape, scale=p.scale),
        "InverseGamma": lambda p: stats.invgamma(p.shape, scale=p.scale),
        "LogNormal": lambda p: stats.lognorm(p.scale, scale=np.exp(p.mean)),
    }[type(prior).__name__](prior)
    return made.logpdf


def default_scale(y, power=1) -> Callable[[np.ndarray], np.ndarray]:
    """As the documentation says: half-Student-t with 3 degrees of freedom, 2.5 typical deviations wide."""
    typical = np.median(np.abs(y - np.median(y))) / 0.6745
    return stats.t(3, scale=float(f"{2.5 * typical**power:.3g}")).logpdf


WIDE = stats.lognorm(2.0, scale=np.exp(1.0)).logpdf
PLAIN = stats.norm(scale=2.5).logpdf
UNIFORM = stats.uniform.logpdf

# ---------------------------------------------------------------------------------------------- priors of coefficients


@numba.njit
def bumpy_log_prior(theta):
    """A user's own: neither normal nor symmetric."""
    total = 0.0
    for j in range(theta.size):
        total -= np.log(np.cosh(1.5 * (theta[j] - 0.3))) + 0.2 * np.exp(-theta[j])
    return total


def bumpy(beta):
    return -(np.log(np.cosh(1.5 * (beta - 0.3))) + 0.2 * np.exp(-beta)).sum(axis=1)


COVARIANCE = np.array([[0.09, 0.05], [0.05, 0.16]])
CORRELATED = (
    tunamh.Normal(mean=[0.2, -0.1], covariance=COVARIANCE),
    lambda beta: stats.multivariate_normal([0.2, -0.1], COVARIANCE).logpdf(beta),
)
FLAT = None, lambda beta: np.zeros(len(beta))
NORMAL = tunamh.Normal(scale=0.5), lambda beta: stats.norm(scale=0.5).logpdf(beta).sum(axis=1)
STUDENT = (
    priors.StudentT(df=3, mean=0.4, scale=0.2),
    lambda beta: stats.t(3, loc=0.4, scale=0.2).logpdf(beta).sum(axis=1),
)
LAPLACE = priors.Laplace(scale=0.3), lambda beta: stats.laplace(scale=0.3).logpdf(beta).sum(axis=1)
OWN = bumpy_log_prior, bumpy


def given_a_scale(density):
    """The law of coefficients that share an unknown scale, by a sum over that; a table of it, as it takes time."""
    s = np.exp(np.linspace(-12, 12, 1201))
    weight = np.log(density(s)) + np.log(s)
    lengths = np.exp(np.linspace(-12, 6, 1001))

    @cache
    def table(d):
        return special.logsumexp(weight - d * np.log(s) - 0.5 * np.square(lengths[:, None] / s), axis=1)

    def log_prior(beta):
        return np.interp(np.log(np.linalg.norm(beta, axis=1) + 1e-5), np.log(lengths), table(beta.shape[1]))

    return log_prior


def product_of_half_cauchys(s, scale):
    u = s / scale
    return 4 / np.pi**2 * np.where(np.abs(u - 1) < 1e-6, 0.5, np.log(u) / (u * u - 1 + 1e-300)) / scale


GROUPED = priors.Grouped(scale=tunamh.HalfStudentT(3, 0.3)), given_a_scale(stats.t(3, scale=0.3).pdf)
HORSESHOE = priors.Horseshoe(0.1), given_a_scale(lambda s: product_of_half_cauchys(s, 0.1))


# ---------------------------------------------------------------------------------------------------------- the models


@dataclass
class Model:
    """``rows(eta, y, *extras)`` are log-likelihoods of rows, arrays of points by rows; extras are columns of points."""

    family: Any
    rows: Callable[..., np.ndarray]
    respond: Callable[[np.ndarray, np.random.Generator], np.ndarray]
    extras: Any = ()  # or a function of y
    prior: tuple[Any, Callable] = FLAT
    columns: int = 1
    n: int = 40
    classes: int = 0  # of softmax: so many stretches of coefficients
    temper: float = 1.0
    weighted: bool = False
    offset: bool = False
    trials: bool = False
    censor: str = ""
    described: str = ""
    more: dict = field(default_factory=dict)


class Ready:
    """A model's data, its target, and its log density at points of coordinates without ends."""

    def __init__(self, model: Model, seed: int):
        rng = np.random.default_rng([seed, 77])
        n = model.n
        self.model = model
        self.X = np.column_stack([rng.normal(size=n) for _ in range(model.columns)]) + 0.3
        truth = np.array([0.5, -0.4])[: model.columns]
        self.offset = rng.normal(scale=0.5, size=n) if model.offset else np.zeros(n)
        eta = self.X @ truth + self.offset
        settings: dict[str, Any] = dict(model.more)
        self.trials = rng.integers(1, 6, n).astype(float) if model.trials else None
        if self.trials is not None:
            settings["trials"] = self.trials
            self.y = model.respond(eta, rng, self.trials)  # type: ignore[call-arg]
        else:
            self.y = model.respond(eta, rng)
        self.codes = np.zeros(n)
        if model.censor:
            self._censor(model.censor, rng)
            settings["censored"] = self.codes
        self.weights = np.ones(n)
        if model.weighted:
            self.weights = rng.choice([0.0, 0.5, 1.0, 2.0], size=n, p=[0.15, 0.25, 0.4, 0.2])
            settings["weights"] = self.weights
        if model.offset:
            settings["offset"] = self.offset
        self.Z = np.column_stack([np.ones(n), rng.normal(size=n)])[:, : 2 if model.described.endswith("2") else 1]
        if model.described:
            settings["predictors"] = {model.described.rstrip("2"): self.Z}
        self.extras = list(model.extras(self.y) if callable(model.extras) else model.extras)
        self.coefficients = model.columns * max(model.classes, 1)
        prior, self.log_prior = model.prior
        self.target = tunamh.GLM(self.X, self.y, model.family, prior=prior, temper=model.temper, **settings)

    def _censor(self, how: str, rng: np.random.Generator) -> None:
        """Some responses are known only to be larger than a limit, or smaller, or either."""
        middle = np.quantile(self.y, 0.3), np.quantile(self.y, 0.75)
        if how in ("left", "both"):
            below = self.y < middle[0]
            self.y, self.codes = np.where(below, middle[0], self.y), np.where(below, -1.0, self.codes)
        if how in ("right", "both"):
            above = self.y > middle[1]
            self.y, self.codes = np.where(above, middle[1], self.y), np.where(above, 1.0, self.codes)

    @property
    def dim(self) -> int:
        return self.coefficients + len(self.extras)

    @property
    def start(self) -> np.ndarray:
        return np.array([0.1] * self.coefficients + [float(e.unbounded(e.start)) for e in self.extras])

    def log_density(self, points: np.ndarray, *, jacobian: bool = True) -> np.ndarray:
        """At points (G, dim); without the Jacobian it is a wrong one."""
        model, points = self.model, np.atleast_2d(points)
        beta, raw = points[:, : self.coefficients], points[:, self.coefficients :]
        values = [extra.to_user(raw[:, k]) for k, extra in enumerate(self.extras)]
        total = self.log_prior(beta)
        for k, extra in enumerate(self.extras):
            total = total + extra.log_prior(values[k])
            if jacobian:
                total = total + extra.log_jacobian(raw[:, k])
        given = [value[:, None] for value in values]
        if model.classes:
            eta = [beta[:, k : k + 1] @ self.X.T for k in range(model.classes)]
            rows = model.rows(eta, self.y)
        else:
            eta = beta @ self.X.T + self.offset
            if model.described:
                wide = self.Z.shape[1]
                given = [np.stack(values[:wide], axis=1) @ self.Z.T, *given[wide:]]
            with np.errstate(all="ignore"):
                if model.trials:
                    rows = model.rows(eta, self.y, self.trials)
                elif model.censor:
                    rows = model.rows(eta, self.y, self.codes, *given)
                else:
                    rows = model.rows(eta, self.y, *given)
        counts = self.weights > 0
        total = total + model.temper * (rows[:, counts] * self.weights[counts]).sum(axis=1)
        return np.where(np.isnan(total), -np.inf, total)

    def draws(self, tree) -> np.ndarray:
        """(chains, draws, dim) in the coordinates without ends."""
        found = [tree.posterior["theta"].values]
        for extra in self.extras:
            values = tree.posterior[extra.name].values
            values = values[..., None] if values.ndim == 2 else values[..., extra.at : extra.at + 1]
            found.append(extra.unbounded(values))
        return np.concatenate(found, axis=-1)


# ----------------------------------------------------------------------------------------- likelihoods and responses


def noisy(errors, scale=0.8):
    return lambda eta, rng: eta + scale * errors.rvs(size=len(eta), random_state=rng)


def lifetimes(errors, scale=0.6):
    return lambda eta, rng: np.exp(eta + scale * errors.rvs(size=len(eta), random_state=rng))


def censored(of):
    """From a frozen SciPy law of each row to what a censored response says."""

    def rows(eta, y, codes, *extra):
        at = of(eta, *extra)
        return np.where(codes == 0, at.logpdf(y), np.where(codes > 0, at.logsf(y), at.logcdf(y)))

    return rows


def density(of):
    return lambda eta, y, *extra: of(eta, *extra).logpdf(y)


def mass(of):
    return lambda eta, y, *extra: of(eta, *extra).logpmf(y)


def successes(chance):
    return lambda eta, y, trials=1: stats.binom(trials, chance(eta)).logpmf(y)


def labels(chance):
    return lambda eta, rng, trials=1: rng.binomial(np.asarray(trials, int), chance(eta), size=len(eta)).astype(float)


def cloglog(eta):
    return -np.expm1(-np.exp(eta))


def normal(eta, scale=1.3):
    return stats.norm(eta, scale)


def student(eta, scale=1.2, df=4.0):
    return stats.t(df, eta, scale)


def logistic_errors(eta, scale=0.7):
    return stats.logistic(eta, scale)


def log_normal(eta, scale=0.9):
    return stats.lognorm(scale, scale=np.exp(eta))


def log_logistic(eta, scale=0.5):
    return stats.fisk(1 / scale, scale=np.exp(eta))


def weibull(eta, shape=1.4):
    return stats.weibull_min(shape, scale=np.exp(eta))


def gamma(eta, shape=1.8):
    return stats.gamma(shape, scale=np.exp(eta) / shape)


def negative_binomial(eta, r=2.0):
    return stats.nbinom(r, r / (r + np.exp(eta)))


def huber_rows(eta, y, scale=1.1):
    return -special.huber(1.345, (y - eta) / scale) - np.log(scale)


def beta_rows(eta, y, precision):
    p = special.expit(eta)
    return stats.beta(p * precision, (1 - p) * precision).logpdf(y)


def inflated_rows(eta, y, share):
    with np.errstate(divide="ignore"):  # a share that rounds to 1
        counts = np.log1p(-share) + stats.poisson(np.exp(eta)).logpmf(y)
    return np.where(y == 0, np.logaddexp(np.log(share), counts), counts)


def inflated_binomial_rows(eta, y, share, r):
    counts = np.log1p(-share) + stats.nbinom(r, r / (r + np.exp(eta))).logpmf(y)
    return np.where(y == 0, np.logaddexp(np.log(share), counts), counts)


def hurdle_rows(eta, y, share):
    law = stats.poisson(np.exp(eta))
    return np.where(y == 0, np.log1p(-share), np.log(share) + law.logpmf(y) - np.log(law.sf(0)))


def ordinal_rows(eta, y, *cuts):
    """``P(y <= k) = s(c_k - eta)`` with the categories 0, 1, ..., zero probability where cutpoints are out of order."""
    below = [np.zeros_like(eta), *(special.expit(cut - eta) for cut in cuts), np.ones_like(eta)]
    chance = np.stack([high - low for low, high in pairwise(below)])
    found = np.take_along_axis(chance, np.broadcast_to(y.astype(int), (1, *eta.shape)), axis=0)[0]
    ordered = np.all([low < high for low, high in pairwise(cuts)], axis=0)
    return np.where(ordered & (found > 0), np.log(np.maximum(found, 1e-300)), -np.inf)


def softmax_rows(eta, y):
    whole = np.stack([np.zeros_like(eta[0]), *eta])
    chosen = np.take_along_axis(whole, np.broadcast_to(y.astype(int), (1, *eta[0].shape)), axis=0)[0]
    return chosen - special.logsumexp(whole, axis=0)


def three_classes(eta, rng):
    return (stats.logistic.rvs(size=len(eta), random_state=rng) + eta > [[-0.8], [0.9]]).sum(axis=0).astype(float)


def counts(eta, rng):
    return rng.poisson(np.exp(eta)).astype(float)


def overdispersed(eta, rng):
    return rng.poisson(np.exp(eta + 0.7) * rng.gamma(1.5, 1 / 1.5, len(eta))).astype(float)


def many_zeros(eta, rng):
    return np.where(rng.random(len(eta)) < 0.35, 0.0, rng.poisson(np.exp(eta + 0.5)))


def zeros_among_overdispersed(eta, rng):
    return np.where(rng.random(len(eta)) < 0.3, 0.0, overdispersed(eta + 0.5, rng))


def shares(eta, rng):
    p = special.expit(eta)
    return np.clip(rng.beta(6 * p, 6 * (1 - p)), 1e-4, 1 - 1e-4)


def piecewise_hazards(cuts, entry):
    """Log likelihoods of times with hazards ``e^{eta + a_j}`` between cuts, by integrals piece by piece."""

    def rows(eta, y, codes, *log_hazards):
        low, high, found = np.array([0.0, *cuts]), np.array([*cuts, np.inf]), np.where(codes == 0, eta, 0.0)
        for a, begin, end in zip(log_hazards, low, high, strict=True):
            time = np.maximum(np.minimum(y, end) - np.maximum(entry, begin), 0.0)
            found = found - np.exp(eta + a) * time + a * ((codes == 0) & (begin < y) & (y <= end))
        return found

    return rows


def softplus_law(eta):
    return stats.poisson(np.logaddexp(0, eta))


def tweedie_energy(eta, y):
    """Of power 1.5 and dispersion 1, in part: what depends on the predictor."""
    return 2 * y * np.exp(-0.5 * eta) + 2 * np.exp(0.5 * eta)


def gumbel_energy(eta, zeta, y):
    z = (y - eta) * np.exp(-zeta)
    return z + np.exp(-z) + zeta


def gumbel_rows(eta, y, zeta):
    return stats.gumbel_r(eta, np.exp(zeta)).logpdf(y)


def scale_by(prior):
    return (Extra("scale", law(prior)),)


def scale_of(response=lambda y: y):
    return lambda y: (Extra("scale", default_scale(response(y))),)


def shape_by(prior, name="shape", start=1.0):
    return (Extra(name, law(prior), start=start),)


def default_shape(response=np.log):
    """Of Weibull responses: as wide as 2.5 over the typical deviation of the logarithms."""
    return lambda y: (Extra("shape", default_scale(response(y), power=-1)),)


CUTS = tuple(Extra("cutpoint", stats.t(3, scale=2.5).logpdf, "same", k, start) for k, start in ((0, -1.0), (1, 1.0)))
NORMAL_CUTS = tuple(Extra("cutpoint", stats.norm(scale=1.5).logpdf, "same", k, (-1.0, 1.0)[k]) for k in range(2))

T, G, L = stats.t(4), stats.norm(), stats.logistic()
EXTREME = stats.gumbel_l()


def second(name, log_prior=PLAIN, size=1):
    return tuple(Extra(name, log_prior, "same", k, 0.0) for k in range(size))


MODELS = {
    # linear regressions with a known scale
    "Gaussian, known": Model(tunamh.Gaussian(1.3), density(normal), noisy(G)),
    "Gaussian, known, correlated prior": Model(
        tunamh.Gaussian(1.3), density(normal), noisy(G), columns=2, prior=CORRELATED
    ),
    "Student-t, known": Model(tunamh.StudentT(4, 1.2), density(student), noisy(T), weighted=True),
    "Huber, known": Model(tunamh.Huber(1.345, 1.1), huber_rows, noisy(T), offset=True),
    "logistic errors, known": Model(
        tunamh.LogisticErrors(0.7), density(logistic_errors), noisy(L, 0.7), prior=NORMAL, offset=True
    ),
    "Tobit, known": Model(tunamh.Gaussian(1.3), censored(normal), noisy(G), censor="both"),
    "log-normal, known": Model(tunamh.LogNormal(0.9), density(log_normal), lifetimes(G), weighted=True),
    "log-normal, known, right": Model(tunamh.LogNormal(0.9), censored(log_normal), lifetimes(G), censor="right"),
    "log-logistic, known, left": Model(
        tunamh.LogLogistic(0.5), censored(log_logistic), lifetimes(L), censor="left", prior=STUDENT
    ),
    "Weibull, known": Model(tunamh.Weibull(1.4), density(weibull), lifetimes(EXTREME), temper=0.5),
    "Weibull, known, right": Model(tunamh.Weibull(1.4), censored(weibull), lifetimes(EXTREME), censor="right"),
    # with an unknown one
    "Gaussian": Model(tunamh.Gaussian(), density(normal), noisy(G), scale_of()),
    "Gaussian, normal prior": Model(
        tunamh.Gaussian(tunamh.HalfNormal(0.4)), density(normal), noisy(G), scale_by(tunamh.HalfNormal(0.4)), NORMAL
    ),
    "Gaussian, Student-t prior": Model(
        tunamh.Gaussian(priors.Exponential(0.3)), density(normal), noisy(G), scale_by(priors.Exponential(0.3)), STUDENT
    ),
    "Gaussian, correlated prior": Model(
        tunamh.Gaussian(tunamh.HalfCauchy(0.5)),
        density(normal),
        noisy(G),
        scale_by(tunamh.HalfCauchy(0.5)),
        CORRELATED,
        columns=2,
    ),
    "Gaussian, own prior": Model(
        tunamh.Gaussian(priors.Gamma(2.5, 0.2)), density(normal), noisy(G), scale_by(priors.Gamma(2.5, 0.2)), OWN
    ),
    "Gaussian, weights and temper": Model(
        tunamh.Gaussian(), density(normal), noisy(G), scale_of(), weighted=True, temper=0.6, n=60
    ),
    "Gaussian, offset": Model(tunamh.Gaussian(), density(normal), noisy(G), scale_of(), offset=True),
    "Student-t": Model(tunamh.StudentT(4), density(student), noisy(T), scale_of()),
    "Student-t, Student-t prior": Model(
        tunamh.StudentT(4, priors.InverseGamma(3, 2)),
        density(student),
        noisy(T),
        scale_by(priors.InverseGamma(3, 2)),
        STUDENT,
    ),
    "Student-t, own prior": Model(tunamh.StudentT(4), density(student), noisy(T), scale_of(), OWN),
    "Student-t, two columns, correlated": Model(
        tunamh.StudentT(4), density(student), noisy(T), scale_of(), CORRELATED, columns=2
    ),
    "Student-t, weights, temper, offset": Model(
        tunamh.StudentT(4), density(student), noisy(T), scale_of(), weighted=True, temper=1.5, offset=True
    ),
    "Student-t, df": Model(
        tunamh.StudentT(priors.Gamma(2, 10)),
        density(student),
        noisy(stats.t(3)),
        lambda y: (Extra("scale", default_scale(y)), Extra("df", law(priors.Gamma(2, 10)), start=5.0)),
    ),
    "Student-t, df, known scale": Model(
        tunamh.StudentT(priors.Gamma(2, 10), 0.8),
        density(lambda eta, df: student(eta, 0.8, df)),
        noisy(stats.t(3)),
        (Extra("df", law(priors.Gamma(2, 10)), start=5.0),),
    ),
    "Student-t, df, known scale, own prior": Model(
        tunamh.StudentT(None, 0.7),
        density(lambda eta, df: student(eta, 0.7, df)),
        noisy(stats.t(3)),
        (Extra("df", law(priors.Gamma(2, 10)), start=5.0),),
        OWN,
        columns=2,
        weighted=True,
        temper=0.8,
        offset=True,
    ),
    "Student-t, df, normal priors": Model(
        tunamh.StudentT(priors.LogNormal(1.5, 0.8), tunamh.HalfNormal(1.0)),
        density(student),
        noisy(stats.t(3)),
        (
            Extra("scale", law(tunamh.HalfNormal(1.0))),
            Extra("df", law(priors.LogNormal(1.5, 0.8)), start=5.0),
        ),
        NORMAL,
        weighted=True,
    ),
    "Student-t, df, own prior": Model(
        tunamh.StudentT(priors.Exponential(8.0), priors.LogNormal(0, 1)),
        density(student),
        noisy(stats.t(3)),
        (Extra("scale", law(priors.LogNormal(0, 1))), Extra("df", law(priors.Exponential(8.0)), start=5.0)),
        OWN,
        temper=1.4,
        offset=True,
    ),
    "Huber": Model(tunamh.Huber(), huber_rows, noisy(T), scale_of()),
    "Huber, Laplace prior": Model(
        tunamh.Huber(1.345, tunamh.HalfStudentT(4, 0.5)),
        huber_rows,
        noisy(T),
        scale_by(tunamh.HalfStudentT(4, 0.5)),
        LAPLACE,
        weighted=True,
    ),
    "Huber, own prior": Model(tunamh.Huber(), huber_rows, noisy(T), scale_of(), OWN, temper=0.7),
    "logistic errors": Model(tunamh.LogisticErrors(), density(logistic_errors), noisy(L, 0.5), scale_of()),
    "logistic errors, own prior": Model(
        tunamh.LogisticErrors(), density(logistic_errors), noisy(L, 0.5), scale_of(), OWN, weighted=True
    ),
    "logistic errors, both": Model(
        tunamh.LogisticErrors(), censored(logistic_errors), noisy(L, 0.5), scale_of(), censor="both"
    ),
    "log-normal": Model(tunamh.LogNormal(), density(log_normal), lifetimes(G), scale_of(np.log)),
    "log-normal, left": Model(
        tunamh.LogNormal(), censored(log_normal), lifetimes(G), scale_of(np.log), censor="left", offset=True
    ),
    "log-normal, both, own prior": Model(
        tunamh.LogNormal(), censored(log_normal), lifetimes(G), scale_of(np.log), OWN, censor="both"
    ),
    "log-logistic, right": Model(
        tunamh.LogLogistic(tunamh.HalfNormal(0.5)),
        censored(log_logistic),
        lifetimes(L, 0.4),
        scale_by(tunamh.HalfNormal(0.5)),
        NORMAL,
        censor="right",
    ),
    "log-logistic": Model(tunamh.LogLogistic(), density(log_logistic), lifetimes(L, 0.4), scale_of(np.log), temper=0.8),
    "Weibull": Model(tunamh.Weibull(), density(weibull), lifetimes(EXTREME), default_shape()),
    "Weibull, right": Model(
        tunamh.Weibull(priors.Gamma(3, 0.5)),
        censored(weibull),
        lifetimes(EXTREME),
        shape_by(priors.Gamma(3, 0.5)),
        censor="right",
        weighted=True,
    ),
    "Weibull, both, Student-t prior": Model(
        tunamh.Weibull(tunamh.HalfNormal(2)),
        censored(weibull),
        lifetimes(EXTREME),
        shape_by(tunamh.HalfNormal(2)),
        STUDENT,
        censor="both",
        offset=True,
        temper=1.3,
    ),
    "Weibull, own prior": Model(
        tunamh.Weibull(priors.InverseGamma(2, 2)),
        density(weibull),
        lifetimes(EXTREME),
        shape_by(priors.InverseGamma(2, 2)),
        OWN,
    ),
    "Tobit, left": Model(tunamh.Gaussian(), censored(normal), noisy(G), scale_of(), censor="left"),
    "Tobit, right, correlated": Model(
        tunamh.Gaussian(), censored(normal), noisy(G), scale_of(), CORRELATED, columns=2, censor="right", weighted=True
    ),
    "Tobit, both, own prior": Model(
        tunamh.Gaussian(tunamh.HalfNormal(1)),
        censored(normal),
        noisy(G),
        scale_by(tunamh.HalfNormal(1)),
        OWN,
        censor="both",
        offset=True,
        temper=0.8,
    ),
    "heteroscedastic Gaussian": Model(
        tunamh.Gaussian(),
        lambda eta, y, s: stats.norm(eta, np.exp(s)).logpdf(y),
        noisy(G),
        second("scale"),
        described="scale",
    ),
    "heteroscedastic Gaussian, two columns": Model(
        tunamh.Gaussian(tunamh.Normal(scale=0.4)),
        lambda eta, y, s: stats.norm(eta, np.exp(s)).logpdf(y),
        noisy(G),
        second("scale", stats.norm(scale=0.4).logpdf, 2),
        STUDENT,
        described="scale2",
        weighted=True,
        temper=1.2,
        offset=True,
    ),
    # labels
    "logistic": Model(tunamh.Logistic(), successes(special.expit), labels(special.expit), prior=NORMAL),
    "logistic, trials": Model(
        tunamh.Logistic(), successes(special.expit), labels(special.expit), trials=True, offset=True, weighted=True
    ),
    "probit": Model(tunamh.Probit(), successes(special.ndtr), labels(special.ndtr), prior=STUDENT, offset=True),
    "probit, trials": Model(
        tunamh.Probit(), successes(special.ndtr), labels(special.ndtr), trials=True, columns=2, weighted=True
    ),
    "cloglog": Model(tunamh.Cloglog(), successes(cloglog), labels(cloglog), temper=0.7),
    "cloglog, trials": Model(
        tunamh.Cloglog(), successes(cloglog), labels(cloglog), trials=True, prior=OWN, offset=True
    ),
    # counts and positive responses
    "Poisson": Model(tunamh.Poisson(), mass(lambda eta: stats.poisson(np.exp(eta))), counts, offset=True),
    "Poisson, own prior": Model(
        tunamh.Poisson(), mass(lambda eta: stats.poisson(np.exp(eta))), counts, prior=OWN, weighted=True, columns=2
    ),
    "softplus Poisson": Model(tunamh.SoftplusPoisson(), mass(softplus_law), counts, temper=0.5, prior=NORMAL),
    "exponential": Model(
        tunamh.Exponential(),
        density(lambda eta: stats.expon(scale=np.exp(eta))),
        lifetimes(EXTREME, 1.0),
        weighted=True,
    ),
    "exponential, both": Model(
        tunamh.Exponential(),
        censored(lambda eta: stats.expon(scale=np.exp(eta))),
        lifetimes(EXTREME, 1.0),
        prior=NORMAL,
        columns=2,
        censor="both",
        weighted=True,
        offset=True,
        temper=1.2,
    ),
    "gamma, known": Model(tunamh.Gamma(1.8), density(gamma), lifetimes(EXTREME), offset=True),
    "gamma": Model(tunamh.Gamma(), density(gamma), lifetimes(EXTREME), (Extra("shape", WIDE),)),
    "gamma, Student-t prior": Model(
        tunamh.Gamma(tunamh.HalfNormal(2.0)),
        density(gamma),
        lifetimes(EXTREME),
        shape_by(tunamh.HalfNormal(2.0)),
        STUDENT,
        weighted=True,
        temper=0.7,
        offset=True,
    ),
    "gamma, own prior": Model(tunamh.Gamma(), density(gamma), lifetimes(EXTREME), (Extra("shape", WIDE),), OWN),
    "negative binomial, known": Model(tunamh.NegativeBinomial(2.0), mass(negative_binomial), overdispersed, temper=2.0),
    "negative binomial": Model(
        tunamh.NegativeBinomial(), mass(negative_binomial), overdispersed, (Extra("dispersion", WIDE),), n=60
    ),
    "negative binomial, normal prior": Model(
        tunamh.NegativeBinomial(priors.Exponential(1.0)),
        mass(negative_binomial),
        overdispersed,
        shape_by(priors.Exponential(1.0), "dispersion"),
        NORMAL,
        weighted=True,
        temper=0.8,
        offset=True,
    ),
    "negative binomial, own prior": Model(
        tunamh.NegativeBinomial(tunamh.HalfCauchy(2.0)),
        mass(negative_binomial),
        overdispersed,
        shape_by(tunamh.HalfCauchy(2.0), "dispersion"),
        OWN,
    ),
    "negative binomial, large counts": Model(
        tunamh.NegativeBinomial(),
        mass(negative_binomial),
        lambda eta, rng: overdispersed(eta + 8.0, rng),
        (Extra("dispersion", WIDE),),
        offset=True,
        prior=(tunamh.Normal(scale=20.0), lambda beta: stats.norm(scale=20.0).logpdf(beta).sum(axis=1)),
    ),
    "zero-inflated": Model(
        tunamh.ZeroInflated(tunamh.Poisson()),
        inflated_rows,
        many_zeros,
        (Extra("inflation", UNIFORM, "logit", start=0.3),),
    ),
    "zero-inflated, columns": Model(
        tunamh.ZeroInflated(tunamh.Poisson(), tunamh.Normal(scale=1.0)),
        lambda eta, y, z: inflated_rows(eta, y, special.expit(z)),
        many_zeros,
        second("inflation", stats.norm.logpdf, 2),
        NORMAL,
        described="inflation2",
        n=60,
    ),
    "zero-inflated negative binomial": Model(
        tunamh.ZeroInflated(tunamh.NegativeBinomial()),
        inflated_binomial_rows,
        zeros_among_overdispersed,
        (Extra("inflation", UNIFORM, "logit", start=0.3), Extra("dispersion", WIDE, start=2.0)),
        n=80,
    ),
    "zero-inflated negative binomial, priors": Model(
        tunamh.ZeroInflated(tunamh.NegativeBinomial(priors.Gamma(2, 2))),
        inflated_binomial_rows,
        zeros_among_overdispersed,
        (Extra("inflation", UNIFORM, "logit", start=0.3), *shape_by(priors.Gamma(2, 2), "dispersion")),
        OWN,
        weighted=True,
        temper=0.8,
        offset=True,
        n=80,
    ),
    "zero-inflated negative binomial, large counts": Model(
        tunamh.ZeroInflated(tunamh.NegativeBinomial()),
        inflated_binomial_rows,
        lambda eta, rng: zeros_among_overdispersed(eta + 8.0, rng),
        (Extra("inflation", UNIFORM, "logit", start=0.3), Extra("dispersion", WIDE, start=2.0)),
        prior=(tunamh.Normal(scale=20.0), lambda beta: stats.norm(scale=20.0).logpdf(beta).sum(axis=1)),
    ),
    "zero-inflated negative binomial, columns": Model(
        tunamh.ZeroInflated(tunamh.NegativeBinomial(), tunamh.Normal(scale=1.0)),
        lambda eta, y, z, r: inflated_binomial_rows(eta, y, special.expit(z), r),
        zeros_among_overdispersed,
        (*second("inflation", stats.norm.logpdf), Extra("dispersion", WIDE, start=2.0)),
        NORMAL,
        described="inflation",
        n=80,
    ),
    "hurdle": Model(
        tunamh.Hurdle(tunamh.Poisson()),
        hurdle_rows,
        many_zeros,
        (Extra("positive", UNIFORM, "logit", start=0.6),),
        STUDENT,
        weighted=True,
        temper=0.8,
        offset=True,
    ),
    "hurdle, columns": Model(
        tunamh.Hurdle(tunamh.Poisson()),
        lambda eta, y, z: hurdle_rows(eta, y, special.expit(z)),
        many_zeros,
        second("positive"),
        described="positive",
    ),
    # priors that are Gaussian given scales, beside unknown parameters of the family; the peak of the prior is far away
    "Gaussian, grouped": Model(tunamh.Gaussian(), density(normal), noisy(G), scale_of(), GROUPED, n=150),
    "Gaussian, two in a group": Model(
        tunamh.Gaussian(), density(normal), noisy(G), scale_of(), GROUPED, columns=2, weighted=True, offset=True, n=150
    ),
    "Gaussian, horseshoe": Model(tunamh.Gaussian(), density(normal), noisy(G), scale_of(), HORSESHOE, n=150),
    "Student-t, horseshoe": Model(tunamh.StudentT(4), density(student), noisy(T), scale_of(), HORSESHOE, n=150),
    "Student-t, df, grouped": Model(
        tunamh.StudentT(priors.Gamma(2, 10)),
        density(student),
        noisy(stats.t(3)),
        lambda y: (Extra("scale", default_scale(y)), Extra("df", law(priors.Gamma(2, 10)), start=5.0)),
        GROUPED,
        n=150,
    ),
    "Weibull, right, grouped": Model(
        tunamh.Weibull(priors.Gamma(3, 0.5)),
        censored(weibull),
        lifetimes(EXTREME),
        shape_by(priors.Gamma(3, 0.5)),
        GROUPED,
        censor="right",
        temper=0.8,
        n=150,
    ),
    "negative binomial, horseshoe": Model(
        tunamh.NegativeBinomial(),
        mass(negative_binomial),
        overdispersed,
        (Extra("dispersion", WIDE),),
        HORSESHOE,
        n=150,
    ),
    "zero-inflated, grouped": Model(
        tunamh.ZeroInflated(tunamh.Poisson()),
        inflated_rows,
        many_zeros,
        (Extra("inflation", UNIFORM, "logit", start=0.3),),
        GROUPED,
        n=150,
    ),
    "ordinal, grouped": Model(tunamh.Ordinal(), ordinal_rows, three_classes, CUTS, GROUPED, n=400),
    "beta, columns, horseshoe": Model(
        tunamh.Beta(),
        lambda eta, y, z: beta_rows(eta, y, np.exp(z)),
        shares,
        second("precision", size=2),
        HORSESHOE,
        described="precision2",
        n=150,
    ),
    # shares
    "beta": Model(tunamh.Beta(), beta_rows, shares, (Extra("precision", WIDE, start=5.0),)),
    "beta, own prior": Model(
        tunamh.Beta(priors.Gamma(2, 3)),
        beta_rows,
        shares,
        shape_by(priors.Gamma(2, 3), "precision", 5.0),
        OWN,
        weighted=True,
        temper=1.3,
        offset=True,
    ),
    "beta, columns": Model(
        tunamh.Beta(),
        lambda eta, y, z: beta_rows(eta, y, np.exp(z)),
        shares,
        second("precision", size=2),
        NORMAL,
        described="precision2",
    ),
    # classes
    "categorical": Model(tunamh.Categorical(), softmax_rows, three_classes, classes=2),
    "categorical, Student-t prior": Model(
        tunamh.Categorical(), softmax_rows, three_classes, classes=2, prior=STUDENT, weighted=True, temper=0.8
    ),
    "ordinal": Model(tunamh.Ordinal(), ordinal_rows, three_classes, CUTS),
    "ordinal, priors": Model(
        tunamh.Ordinal(tunamh.Normal(scale=1.5)),
        ordinal_rows,
        three_classes,
        NORMAL_CUTS,
        NORMAL,
        weighted=True,
        temper=0.7,
        offset=True,
        n=60,
    ),
    "ordinal, own prior": Model(tunamh.Ordinal(), ordinal_rows, three_classes, CUTS, OWN),
    # a family of one's own
    "Tweedie": Model(
        tunamh.family(tweedie_energy, convex=True),
        lambda eta, y: -2 * y * np.exp(-0.5 * eta) - 2 * np.exp(0.5 * eta),
        lifetimes(EXTREME),
        weighted=True,
        offset=True,
    ),
    "Gumbel": Model(
        tunamh.family(gumbel_energy, shared={"zeta": tunamh.Normal(scale=0.5)}),
        gumbel_rows,
        noisy(stats.gumbel_r()),
        (Extra("zeta", stats.norm(scale=0.5).logpdf, "same", start=0.0),),
        NORMAL,
    ),
    "Gumbel, columns": Model(
        tunamh.family(gumbel_energy),
        gumbel_rows,
        noisy(stats.gumbel_r()),
        second("zeta", size=2),
        described="zeta2",
        weighted=True,
        temper=1.5,
    ),
}
