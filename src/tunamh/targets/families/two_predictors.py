"""Built-in row families of two predictors (and one of three): all that depends on a row's predictors and response.

What depends on shared scalars and counts of responses only, as normalising constants do, is not part of them: it is
added in closed form where such a family is used (spec 5n).
"""

from .dispersed import GammaRows2, NegativeBinomialRows
from .inflated import HurdlePoissonRows, ZeroInflatedNegativeBinomialRows, ZeroInflatedPoissonRows
from .scaled import HeteroscedasticGaussianRows, StudentRows
from .shares import BetaRows

__all__ = [
    "BetaRows",
    "GammaRows2",
    "HeteroscedasticGaussianRows",
    "HurdlePoissonRows",
    "NegativeBinomialRows",
    "StudentRows",
    "ZeroInflatedNegativeBinomialRows",
    "ZeroInflatedPoissonRows",
]
