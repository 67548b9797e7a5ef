"""Families of the GLM target: the energy ``f(eta, y)`` of one observation given its linear predictor.

A family is a block of energies, a block of rises ``f(eta', y) - f(eta, y)`` (written as one, because the difference
of two large energies would lose digits and time), three derivatives in ``eta`` and their suprema: everywhere, and over
predictors near a given one. Suprema may be infinite, and may depend on the row's response.

Where they are infinite, as for Poisson counts with a log link, bounds hold near a predictor: the suprema there, and the
slope constants (spec 5i).
"""

from .base import Family, FamilyWithLowerBound, LowerBound, Suprema
from .binary import Cloglog, Logistic, Probit
from .counts import NegativeBinomial, Poisson, SoftplusPoisson
from .positive import Exponential, GammaRows
from .robust import Gaussian, Huber, StudentT
from .survival import LogisticRows, NormalRows, WeibullRows

__all__ = [
    "Cloglog",
    "Exponential",
    "Family",
    "FamilyWithLowerBound",
    "GammaRows",
    "Gaussian",
    "Huber",
    "Logistic",
    "LogisticRows",
    "LowerBound",
    "NegativeBinomial",
    "NormalRows",
    "Poisson",
    "Probit",
    "SoftplusPoisson",
    "StudentT",
    "Suprema",
    "WeibullRows",
]
