"""Families of the GLM target: the energy ``f(eta, y)`` of one observation given its linear predictor.

A family is a block of energies, a block of rises ``f(eta', y) - f(eta, y)`` (written as one, because the difference
of two large energies would lose digits and time), three derivatives in ``eta`` and their suprema: everywhere, and over
predictors near a given one. Suprema may be infinite, and may depend on the row's response.

Poisson counts with a log link are not among them: ``f = e^eta - y eta``, and ``e^eta`` is as unbounded as all its
derivatives, so that no constant ``c_i`` exists, with or without a control variate. `NegativeBinomial` keeps the log
link, `SoftplusPoisson` keeps the Poisson law; both have bounded derivatives.
"""

from .base import Family, FamilyWithLowerBound, LowerBound, Suprema
from .binary import Logistic, Probit
from .counts import NegativeBinomial, SoftplusPoisson
from .robust import Gaussian, Huber, StudentT

__all__ = [
    "Family",
    "FamilyWithLowerBound",
    "Gaussian",
    "Huber",
    "Logistic",
    "LowerBound",
    "NegativeBinomial",
    "Probit",
    "SoftplusPoisson",
    "StudentT",
    "Suprema",
]
