"""Families: what a row says given its linear predictors, and everything else that is known of its responses.

One file per public family, named after it, and one line here: names, the shell's words and prediction follow from the
class (`base.BaseFamily`). Energies are given as a block of energies, a block of rises ``f(eta', y) - f(eta, y)``
(written as one, because the difference of two large energies would lose digits and time), three derivatives in ``eta``
and their suprema, everywhere and near a predictor (`likelihood`). What several families share is in modules of nouns.
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
