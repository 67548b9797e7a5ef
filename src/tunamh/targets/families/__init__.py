"""Families: the distribution of a response, given the linear predictors of its row.

Each public family has a file with its name, and a line in this module. Its names, its word in the command ``tunamh``
and its predictions are members of its class (`base.BaseFamily`). A family gives the energies (negative log-likelihoods)
of a block of rows, their differences, the derivatives of the energies, and bounds of these derivatives (`likelihood`).
The differences are a separate function, because a difference of two large energies would lose digits.
"""

from .base import BaseFamily as BaseFamily
from .base import Family as Family
from .beta import Beta as Beta
from .categorical import Categorical as Categorical
from .cloglog import Cloglog as Cloglog
from .exponential import Exponential as Exponential
from .gamma import Gamma as Gamma
from .gaussian import Gaussian as Gaussian
from .huber import Huber as Huber
from .hurdle import Hurdle as Hurdle
from .log_logistic import LogLogistic as LogLogistic
from .log_normal import LogNormal as LogNormal
from .logistic import Logistic as Logistic
from .logistic_errors import LogisticErrors as LogisticErrors
from .negative_binomial import NegativeBinomial as NegativeBinomial
from .ordinal import Ordinal as Ordinal
from .piecewise_exponential import PiecewiseExponential as PiecewiseExponential
from .poisson import Poisson as Poisson
from .probit import Probit as Probit
from .registry import register as _register
from .softplus_poisson import SoftplusPoisson as SoftplusPoisson
from .student_t import StudentT as StudentT
from .user import family as family
from .weibull import Weibull as Weibull
from .zero_inflated import ZeroInflated as ZeroInflated

_register(globals())
