"""Priors. Every step evaluates the whole prior, because this is cheap; minibatches are only for the likelihood.

    Flat()   Normal(mean=, scale=)   Normal(mean=, covariance=)   StudentT(df=, mean=, scale=)   Cauchy(mean=, scale=)
    Laplace(mean=, scale=)   Logistic(mean=, scale=)   Horseshoe(scale)   Grouped(groups, scale)
    Ridge(scale)   RandomWalk(scale, start), of log hazards
    ByName({"age": Flat()}, others=Normal(scale=2.5))   UserPrior(log_prior, gradient, hessian)

A new prior is one file, and one line here; `tunamh.priors.potential` has its base class. `tunamh.priors.default` has
the rule for the default prior of formulas and estimators.
"""

from .by_name import ByName as ByName
from .cauchy import Cauchy as Cauchy
from .coerce import as_prior as as_prior
from .exponential import Exponential as Exponential
from .flat import Flat as Flat
from .flat_positive import FlatPositive as FlatPositive
from .gamma import Gamma as Gamma
from .half_cauchy import HalfCauchy as HalfCauchy
from .half_normal import HalfNormal as HalfNormal
from .half_student_t import HalfStudentT as HalfStudentT
from .inverse_gamma import InverseGamma as InverseGamma
from .laplace import Laplace as Laplace
from .log_normal import LogNormal as LogNormal
from .logistic import Logistic as Logistic
from .mixtures import Grouped as Grouped
from .mixtures import Horseshoe as Horseshoe
from .mixtures import Ridge as Ridge
from .normal import Normal as Normal
from .positive import PositivePrior as PositivePrior
from .potential import Prior as Prior
from .potential import PriorExpansion as PriorExpansion
from .potential import ReadyPrior as ReadyPrior
from .powers import OnPrecision as OnPrecision
from .powers import OnVariance as OnVariance
from .random_walk import RandomWalk as RandomWalk
from .registry import register as _register
from .student_t import StudentT as StudentT
from .uniform import Uniform as Uniform
from .user import UserPrior as UserPrior

_register(globals())
