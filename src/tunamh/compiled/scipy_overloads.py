"""What Numba is to do where a user's function calls `scipy.special`: scalars, as accurate as SciPy.

Importing this module teaches Numba. It is imported when a user's function is compiled, not before: `scipy.special`
takes a while to load.
"""

from __future__ import annotations

import math

from numba.extending import overload, register_jitable
from scipy import special

_ROOT_HALF = math.sqrt(0.5)
_LOG_ROOT_TAU = 0.5 * math.log(2 * math.pi)
_TERMS = 40


@register_jitable
def _softplus(x):
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


@register_jitable
def _ndtr(x):
    return 0.5 * math.erfc(-_ROOT_HALF * x)


@register_jitable
def _log_ndtr(x):
    """``log(1 - tail)`` above -1; far below, ``phi(x) r`` with Mills' ratio ``r = 1/(t + 1/(t + 2/(t + ...)))``."""
    if x > -1.0:
        return math.log1p(-_ndtr(-x))
    if x > -8.0:
        return math.log(_ndtr(x))
    rest = 0.0
    for j in range(_TERMS, 0, -1):
        rest = j / (rest - x)
    return -0.5 * x * x - _LOG_ROOT_TAU - math.log(rest - x)


@overload(special.expit)
def _expit(x):
    def compiled(x):
        small = math.exp(-abs(x))
        return (1.0 if x > 0.0 else small) / (1.0 + small)

    return compiled


@overload(special.log_expit)
def _log_expit(x):
    return lambda x: -_softplus(-x)


@overload(special.gammaln)
def _gammaln(x):
    return lambda x: math.lgamma(x)


@overload(special.ndtr)
def _normal(x):
    return lambda x: _ndtr(x)


@overload(special.log_ndtr)
def _log_normal(x):
    return lambda x: _log_ndtr(x)


@overload(special.xlogy)
def _xlogy(x, y):
    return lambda x, y: 0.0 if x == 0.0 else x * math.log(y)


@overload(special.xlog1py)
def _xlog1py(x, y):
    return lambda x, y: 0.0 if x == 0.0 else x * math.log1p(y)
