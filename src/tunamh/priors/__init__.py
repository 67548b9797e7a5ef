"""Priors of coefficients, and priors of positive parameters such as scales.

Priors of coefficients, for ``prior=``::

    Flat()   Normal(mean=, scale=)   Normal(mean=, covariance=)   StudentT(df=, mean=, scale=)   Cauchy(mean=, scale=)
    Laplace(mean=, scale=)   Logistic(mean=, scale=)   Horseshoe(scale)   Grouped(groups, scale)   Ridge(scale)
    ByName({"age": Flat()}, others=Normal(scale=2.5))   UserPrior(log_prior, gradient, hessian)
    RandomWalk(scale, start), for log hazards

Priors of positive parameters, for example ``Gaussian(scale=HalfNormal(2))``::

    HalfNormal(scale)   HalfStudentT(df, scale)   HalfCauchy(scale)   Exponential(mean)   Gamma(shape, scale)
    InverseGamma(shape, scale)   LogNormal(mean, scale)   Uniform(low, high)   FlatPositive()
    OnVariance(prior)   OnPrecision(prior)

`tunamh.priors.default` has the rule for the default prior of formulas and estimators. Every step of a chain evaluates
the whole prior, because this is cheap. To add a prior to the library, write one file with a subclass of
`tunamh.priors.potential.Prior`, and import it in this module.
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
