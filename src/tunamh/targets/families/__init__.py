"""Families of the GLM target: the energy ``f(eta, y)`` of one observation given its linear predictor.

A family is a block of energies, a block of rises ``f(eta', y) - f(eta, y)`` (written as one, because the difference
of two large energies would lose digits and time), three derivatives in ``eta`` and their suprema: everywhere, and over
predictors near a given one. Suprema may be infinite, and may depend on the row's response.

Where they are infinite, as for Poisson counts with a log link, bounds hold near a predictor: the suprema there, and the
slope constants (spec 5m).
"""

from .base import Family, FamilyWithLowerBound, LowerBound, Suprema
from .binary import Logistic, Probit
from .categorical import Categorical
from .cloglog import Cloglog
from .counts import NegativeBinomial, Poisson
from .described import Beta, Gamma
from .gaussian import Gaussian
from .lifetimes import LogisticErrors, LogLogistic, LogNormal, Weibull
from .ordinal import Ordinal
from .own import family
from .positive import Exponential, GammaRows
from .robust import Huber, StudentT
from .softplus import SoftplusPoisson
from .survival import LogisticRows, NormalRows, WeibullRows
from .zeros import Hurdle, ZeroInflated

__all__ = [
    "Beta",
    "Categorical",
    "Cloglog",
    "Exponential",
    "Family",
    "FamilyWithLowerBound",
    "Gamma",
    "GammaRows",
    "Gaussian",
    "Huber",
    "Hurdle",
    "LogLogistic",
    "LogNormal",
    "Logistic",
    "LogisticErrors",
    "LogisticRows",
    "LowerBound",
    "NegativeBinomial",
    "NormalRows",
    "Ordinal",
    "Poisson",
    "Probit",
    "SoftplusPoisson",
    "StudentT",
    "Suprema",
    "Weibull",
    "WeibullRows",
    "ZeroInflated",
    "family",
]
