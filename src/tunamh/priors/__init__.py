"""Priors. They are not part of the minibatch: every step evaluates them completely, because they are cheap.

    Flat()   Normal(mean=, scale=)   Normal(mean=, covariance=)   StudentT(df=, mean=, scale=)   Cauchy(mean=, scale=)
    Laplace(mean=, scale=)   Logistic(mean=, scale=)   Horseshoe(scale)   Grouped(groups, scale)
    ByName({"age": Flat()}, others=Normal(scale=2.5))   UserPrior(log_prior, gradient, hessian)

A new prior is one file; `tunamh.priors.potential` has its base class.
"""

from .by_name import ByName
from .coerce import as_prior
from .independent import Cauchy, Flat, Laplace, Logistic, Normal, StudentT
from .mixtures import Grouped, Horseshoe
from .positive import (
    Exponential,
    FlatPositive,
    Gamma,
    HalfCauchy,
    HalfNormal,
    HalfStudentT,
    InverseGamma,
    LogNormal,
    OnPrecision,
    OnVariance,
    PositivePrior,
    Uniform,
)
from .potential import Prior, PriorExpansion, ReadyPrior
from .user import UserPrior

__all__ = [
    "ByName",
    "Cauchy",
    "Exponential",
    "Flat",
    "FlatPositive",
    "Gamma",
    "Grouped",
    "HalfCauchy",
    "HalfNormal",
    "HalfStudentT",
    "Horseshoe",
    "InverseGamma",
    "Laplace",
    "LogNormal",
    "Logistic",
    "Normal",
    "OnPrecision",
    "OnVariance",
    "PositivePrior",
    "Prior",
    "PriorExpansion",
    "ReadyPrior",
    "StudentT",
    "Uniform",
    "UserPrior",
    "as_prior",
]
