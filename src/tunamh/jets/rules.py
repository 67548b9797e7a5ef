"""What each of NumPy's and SciPy's functions does to intervals and jets."""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import Any

import numpy as np
from scipy import special

from .elementary import ARCTAN, COS, EXP, EXPIT, EXPM1, LOG, LOG1P, RECIPROCAL, SIN, SOFTPLUS, TANH, Elementary, power
from .interval import plain
from .special import GAMMALN, LOG_NDTR, NDTR
from .traced import Traced


def _add(a: Any, b: Any) -> Traced:
    return a.plus(b) if isinstance(a, Traced) else b.plus(a)


def _negative(x: Traced) -> Traced:
    return x.negated()


def _subtract(a: Any, b: Any) -> Traced:
    return a.plus(b.negated() if isinstance(b, Traced) else -plain(b)) if isinstance(a, Traced) else b.negated().plus(a)


def _multiply(a: Any, b: Any) -> Traced:
    return a.times(b) if isinstance(a, Traced) else b.times(a)


def _divide(a: Any, b: Any) -> Traced:
    if isinstance(b, Traced):
        return _multiply(a, b.through(RECIPROCAL))
    return a.over(plain(b))


def _power(a: Any, b: Any) -> Any:
    """A constant exponent; else ``exp(b log a)``, which needs ``a > 0``."""
    if isinstance(b, Traced) or np.ndim(b) > 0:
        logarithm = np.log(a) if isinstance(a, Traced) else b.rounded(np.log(plain(a)))
        return np.exp(_multiply(b, logarithm))
    exponent = float(b)
    if exponent == 0:
        return a.times(0.0).plus(1.0)
    if exponent == 1:
        return a
    return a.times(a) if exponent == 2 else a.through(power(exponent))


def _logaddexp(a: Any, b: Any) -> Traced:
    """``a + softplus(b - a)``, with the constant in the place of ``a`` if there is one."""
    if not isinstance(b, Traced):
        a, b = b, a
    if not isinstance(a, Traced) and not np.any(a):
        return b.through(SOFTPLUS)
    return _add(a, _subtract(b, a).through(SOFTPLUS))


def _through(function: Elementary) -> Callable[[Traced], Traced]:
    return lambda x: x.through(function)


RULES: dict[np.ufunc, Callable[..., Any]] = {
    np.add: _add,
    np.subtract: _subtract,
    np.multiply: _multiply,
    np.divide: _divide,
    np.negative: _negative,
    np.positive: lambda x: x,
    np.power: _power,
    np.float_power: _power,
    np.square: lambda x: x.times(x),
    np.sqrt: _through(power(0.5)),
    np.reciprocal: _through(RECIPROCAL),
    np.exp: _through(EXP),
    np.exp2: lambda x: x.times(x.rounded(log(2))).through(EXP),
    np.expm1: _through(EXPM1),
    np.log: _through(LOG),
    np.log1p: _through(LOG1P),
    np.log2: lambda x: x.through(LOG).times(x.rounded(1 / log(2))),
    np.log10: lambda x: x.through(LOG).times(x.rounded(1 / log(10))),
    np.logaddexp: _logaddexp,
    np.tanh: _through(TANH),
    np.arctan: _through(ARCTAN),
    np.sin: _through(SIN),
    np.cos: _through(COS),
    special.expit: _through(EXPIT),
    special.log_expit: lambda x: x.negated().through(SOFTPLUS).negated(),
    special.gammaln: _through(GAMMALN),
    special.ndtr: _through(NDTR),
    special.log_ndtr: _through(LOG_NDTR),
    special.xlogy: lambda a, b: _multiply(a, np.log(b)),
    special.xlog1py: lambda a, b: _multiply(a, np.log1p(b)),
}
