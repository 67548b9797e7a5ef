"""Targets: posteriors as the sampler needs them, with the energy of each row and its bound."""

from .base import Target
from .energy import EnergyTarget
from .families import (
    Beta,
    Categorical,
    Cloglog,
    Exponential,
    Gamma,
    Gaussian,
    Huber,
    Hurdle,
    Logistic,
    LogisticErrors,
    LogLogistic,
    LogNormal,
    NegativeBinomial,
    Ordinal,
    PiecewiseExponential,
    Poisson,
    Probit,
    SoftplusPoisson,
    StudentT,
    Weibull,
    ZeroInflated,
    family,
)
from .glm import GLM
from .mixture import GaussianMixture
from .named_regressions import LogisticRegression, RobustRegression
from .walk import FiniteWalk

__all__ = [
    "GLM",
    "Beta",
    "Categorical",
    "Cloglog",
    "EnergyTarget",
    "Exponential",
    "FiniteWalk",
    "Gamma",
    "Gaussian",
    "GaussianMixture",
    "Huber",
    "Hurdle",
    "LogLogistic",
    "LogNormal",
    "Logistic",
    "LogisticErrors",
    "LogisticRegression",
    "NegativeBinomial",
    "Ordinal",
    "PiecewiseExponential",
    "Poisson",
    "Probit",
    "RobustRegression",
    "SoftplusPoisson",
    "StudentT",
    "Target",
    "Weibull",
    "ZeroInflated",
    "family",
]
