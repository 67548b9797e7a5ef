"""Elementary functions of probability: the normal distribution and the logarithm of the gamma function."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy.special import erfcx, gammaln, log_ndtr, ndtr

from .elementary import Elementary, Orders
from .interval import RELATIVE, Interval, outward
from .polygamma import polygamma_to

_FAR = 40.0
"""Beyond it the normal density, times any polynomial met here, is less than the smallest float."""


# ------------------------------------------------------------------------------------------------------- gamma


def _gammaln(x: np.ndarray, order: int) -> Orders:
    return [gammaln(x), *polygamma_to(x, order)]


def _gammaln_noise(x: np.ndarray, values: Orders) -> Orders:
    """`gammaln` and `psi` have zeros, near which they are right to so many absolute digits."""
    return [1.0, 1.0, 0.0, 0.0, 0.0][: len(values)]


GAMMALN = Elementary(
    "gammaln",
    _gammaln,
    ((1.4616321449683623,), (), (), (), ()),  # by psi' = sum 1/(x+j)^2 > 0 and its derivatives, of one sign each
    undefined=lambda low, high: low <= 0,
    noise=_gammaln_noise,
)


# ---------------------------------------------------------------------------------------- normal probabilities


def _ndtr(x: np.ndarray, order: int) -> Orders:
    """``phi`` times Hermite's polynomials: ``phi, -x phi, (x^2-1) phi, -(x^3-3x) phi``."""
    z = np.clip(x, -_FAR, _FAR)
    phi = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
    return [ndtr(x), phi, -z * phi, (z - 1) * (z + 1) * phi, -z * (z * z - 3) * phi][: order + 1]


def _ndtr_noise(x: np.ndarray, values: Orders) -> Orders:
    """The density loses ``z^2/2`` units of its last place, as the square in its exponent is rounded."""
    square = np.square(np.clip(x, -_FAR, _FAR))
    sizes = [np.abs(value) for value in values]
    if len(values) > 4:
        sizes[4] = np.abs(x.clip(-_FAR, _FAR)) * (square + 3) * values[1]
    return [(1 + square) * size for size in sizes]


NDTR = Elementary(
    "ndtr",
    _ndtr,
    (
        (),
        (0.0,),
        (-1.0, 1.0),
        (0.0, -sqrt(3), sqrt(3)),
        tuple(sign * sqrt(3 + root * sqrt(6)) for sign in (-1, 1) for root in (-1, 1)),  # x^4 - 6x^2 + 3
    ),
    noise=_ndtr_noise,
)


# ------------------------------------------------------------------------------ logarithm of normal probabilities

_FRACTION_FROM, _FRACTION_TERMS = 2.0, 80
_PEAK_OF_THIRD = 1.0023693422683706


def _moment_ratios(t: np.ndarray) -> list[np.ndarray]:
    """``r_j = E[V^j] / E[V^{j-1}]``, j = 1..4, at ``t = -z >= 2``, by ``r_j = j / (t + r_{j+1})``."""
    r1 = _FRACTION_TERMS / (0.5 * t + np.sqrt(_FRACTION_TERMS + 0.25 * t * t))  # where the recursion is nearly at rest
    r2 = r3 = r4 = r1
    for j in range(_FRACTION_TERMS, 0, -1):
        r1, r2, r3, r4 = j / (t + r1), r1, r2, r3
    return [r1, r2, r3, r4]


def _hazard(z: np.ndarray) -> np.ndarray:
    """``h = phi/Phi``; above 0 as it stands, for `erfcx` overflows before ``h`` underflows."""
    below = np.sqrt(2 / np.pi) / erfcx(-np.minimum(z, 0.0) / np.sqrt(2))
    above = np.exp(-0.5 * z * z) / (np.sqrt(2 * np.pi) * ndtr(z))
    return np.where(z > 0, above, below)


def _log_ndtr(x: np.ndarray, order: int) -> Orders:
    """``h``, ``-hw``, ``k3`` and ``k4`` in the words of `families.probit.Probit`, whose source has the proofs.

    ``w = z + h``, ``k3 = h (w^2 + hw - 1)``, ``k4 = h (3w + h - w^3 - 4hw^2 - h^2 w)``; far below 0, where these
    cancel, from the moments of V: ``k2 = m2 - m1^2`` and so on.
    """
    shape, x = x.shape, np.atleast_1d(x)
    z = np.clip(x, -_FRACTION_FROM, _FAR)
    h = _hazard(z)
    w = z + h
    slopes = [h, -h * w, h * (w * w + h * w - 1), h * (3 * w + h - w * w * (w + 4 * h) - h * h * w)]
    far = x < -_FRACTION_FROM
    if far.any():
        r1, r2, r3, r4 = _moment_ratios(-x[far])
        slopes[0][far] = r1 - x[far]
        slopes[1][far] = r1 * (r2 - r1) - 1
        slopes[2][far] = r1 * (r2 * r3 - 3 * r1 * r2 + 2 * r1 * r1)
        slopes[3][far] = r1 * (r2 * (r3 * (r4 - 4 * r1) - 3 * r1 * r2 + 12 * r1 * r1) - 6 * r1**3)
    return [value.reshape(shape) for value in (log_ndtr(x), *slopes)][: order + 1]


def _log_ndtr_noise(x: np.ndarray, values: Orders) -> Orders:
    """Above 0 ``h`` loses digits as the density does; k3's terms are below 8 k3 far below 0, elsewhere below 4h.

    SciPy's `log_ndtr` was seen to lose 31 units in the last place.
    """
    lost = 1 + np.square(np.clip(x, 0, _FAR))
    sizes = [share * lost * np.abs(value) for share, value in zip((4, 1, 1), values[:3], strict=False)]
    if len(values) > 3:
        sizes.append(8 * lost * np.abs(values[3]) + np.where(x > -_FRACTION_FROM, 4 * lost * np.abs(values[1]), 0.0))
    return sizes + [0.0] * (len(values) - 4)


@dataclass(frozen=True, eq=False)
class LogNdtr(Elementary):
    """The function ``log Phi``. It and its derivatives ``h`` and ``-hw`` are monotone; ``k3`` has one critical point.

    ``k4``, the fourth derivative, is bounded by interval arithmetic. *k4 over [low, high]*: ``h`` falls, ``hw`` falls,
    and ``w`` and every ``r_j`` rise with z (``(log r_j)' = r_{j+1} - r_j > 0`` by Cauchy-Schwarz). So they lie between
    their values at the ends. Above -2, with ``a = hw``, ``k4 = 3a + h^2 (1-a) - a w^2 - 4a^2``; below -2, ``k4`` is
    computed from the ratios. And ``k4 >= -2 k2^2 >= -2`` by Jensen's inequality.
    """

    def images(self, x: Interval, order: int) -> Orders:
        result = super().images(x, min(order, 3))
        if order < 4:
            return result
        low, high = np.broadcast_arrays(np.atleast_1d(x.low), np.atleast_1d(x.high))
        with np.errstate(all="ignore"):
            fourth = _fourth(low, high)
        return [*result, Interval(np.maximum(fourth.low, -2.0).reshape(x.low.shape), fourth.high.reshape(x.low.shape))]


def _fourth(low: np.ndarray, high: np.ndarray) -> Interval:
    """The hull of the parts above and below -2."""
    least, most = np.full(low.shape, np.inf), np.full(low.shape, -np.inf)
    right, left = high >= -_FRACTION_FROM, low < -_FRACTION_FROM
    above = _fourth_right(np.clip(low[right], -_FRACTION_FROM, _FAR), np.clip(high[right], -_FRACTION_FROM, _FAR))
    least[right], most[right] = above.low, above.high
    if left.any():
        below = _fourth_left(-low[left], np.maximum(-high[left], _FRACTION_FROM))
        least[left], most[left] = np.minimum(least[left], below.low), np.maximum(most[left], below.high)
    return Interval(least, most)


def _fourth_right(low: np.ndarray, high: np.ndarray) -> Interval:
    first, last = _hazard(low), _hazard(high)
    w = _wider(low + first, high + last)
    h, a = _wider(last, first), _wider(last * (high + last), first * (low + first))
    return 3.0 * a + h.squared() * (1.0 - a) - a * w.squared() - 4.0 * a.squared()


def _fourth_left(t_low: np.ndarray, t_high: np.ndarray) -> Interval:
    r1, r2, r3, r4 = map(_wider, _moment_ratios(t_low), _moment_ratios(t_high))
    inner = r2 * (r3 * (r4 - 4.0 * r1) - 3.0 * r1 * r2 + 12.0 * r1.squared()) - 6.0 * r1.squared() * r1
    return r1 * inner


def _wider(low: np.ndarray, high: np.ndarray) -> Interval:
    """By what `_hazard` and its sum with z may lose."""
    return outward(low - 1e3 * RELATIVE * np.abs(low), high + 1e3 * RELATIVE * np.abs(high))


LOG_NDTR = LogNdtr("log_ndtr", _log_ndtr, ((), (), (), (_PEAK_OF_THIRD,), ()), noise=_log_ndtr_noise)
