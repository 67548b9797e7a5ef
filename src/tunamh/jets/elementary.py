"""Elementary functions: derivatives up to order 4 at numbers, and their exact images over intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from math import atanh, sqrt
from typing import Any

import numpy as np

from .interval import RELATIVE, Interval, outward

Orders = list[Any]
"""Per order an array; or a float, if that derivative is a constant."""

Places = tuple[tuple[float, ...], ...]

_NEAR = 1e-12


@dataclass(frozen=True, eq=False)
class Elementary:
    """A function ``g`` whose derivatives have known critical points.

    *Image of the k-th derivative over [low, high]*: a continuous function attains its extremes at the ends or at
    critical points inside. ``critical[k]`` are all zeros of ``g^(k+1)``. A critical point that lies outside by a
    rounding error counts as inside, which can only make the image larger.
    """

    name: str
    values: Callable[[np.ndarray, int], Orders]
    """``g, g', ...`` up to the given order, infinite arguments included."""
    critical: Places = ((), (), (), (), ())
    undefined: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    """Where an interval touches points outside the domain or a pole: the images are the whole line there."""
    noise: Callable[[np.ndarray, Orders], Orders] | None = None
    """Per order, the terms that cancel: rounding errors are relative to these."""

    def images(self, x: Interval, order: int) -> Orders:
        with np.errstate(all="ignore"):
            ends = [self._rounded(end, order) for end in (x.low, x.high)]
            outside = None if self.undefined is None else self.undefined(x.low, x.high)
            return [self._image(x, k, ends[0][k], ends[1][k], outside) for k in range(order + 1)]

    def _rounded(self, x: np.ndarray, order: int) -> list[tuple[Any, Any]]:
        """Per order a lower and an upper value at ``x``."""
        values = self.values(x, order)
        if self.noise is None:
            return [(value, value) for value in values]
        noises = self.noise(x, values)
        return [(v - RELATIVE * e, v + RELATIVE * e) for v, e in zip(values, noises, strict=True)]

    def _image(self, x: Interval, order: int, one: Any, two: Any, outside: np.ndarray | None) -> Any:
        if type(one[0]) is float:  # a constant; NumPy's float64 is not
            return one[0]
        low, high = np.minimum(one[0], two[0]), np.maximum(one[1], two[1])
        for where in self.critical[order]:
            slack = _NEAR * (1 + abs(where))
            inside = (x.low <= where + slack) & (x.high >= where - slack)
            if inside.any():
                peak = _peak(self, order, where)
                low = np.where(inside, np.minimum(low, peak), low)
                high = np.where(inside, np.maximum(high, peak), high)
        if outside is not None and outside.any():
            low = np.where(outside, np.nan, low)
        return outward(low, high)


@cache
def _peak(function: Elementary, order: int, where: float) -> float:
    return float(function.values(np.array([where]), order)[order][0])


# ------------------------------------------------------------------------------ exponentials, logarithms, powers


def _exp(x: np.ndarray, order: int) -> Orders:
    return [np.exp(x)] * (order + 1)


def _expm1(x: np.ndarray, order: int) -> Orders:
    return [np.expm1(x), *_exp(x, order)[1:]]


def _log_slopes(x: np.ndarray, order: int) -> Orders:
    """``1/x, -1/x^2, 2/x^3, -6/x^4``."""
    inverse = 1 / x
    slopes = [inverse]
    for k in range(1, order):
        slopes.append(-k * inverse * slopes[-1])
    return slopes[:order]


def _log(x: np.ndarray, order: int) -> Orders:
    return [np.log(x), *_log_slopes(x, order)]


def _log1p(x: np.ndarray, order: int) -> Orders:
    return [np.log1p(x), *_log_slopes(1 + x, order)]


def _not_positive(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return low <= 0


EXP = Elementary("exp", _exp)
EXPM1 = Elementary("expm1", _expm1)
LOG = Elementary("log", _log, undefined=_not_positive)
LOG1P = Elementary("log1p", _log1p, undefined=lambda low, high: low <= -1)


@lru_cache(maxsize=64)
def power(exponent: float) -> Elementary:
    """Return the function ``x^c``, whose k-th derivative is ``c (c-1) ... (c-k+1) x^(c-k)``.

    If ``c - k`` is an integer of 2 or more, the derivative has a critical point at 0 (an extreme if it is even).
    Otherwise it is monotone on each side of 0. Negative integers have a pole at 0, and other exponents need ``x > 0``.
    """
    factors = [float(np.prod([exponent - j for j in range(k)])) for k in range(5)]

    def values(x: np.ndarray, order: int) -> Orders:
        result: Orders = []
        for k in range(order + 1):
            rest = exponent - k
            if factors[k] == 0 or rest == 0:
                result.append(factors[k])
            else:
                result.append(factors[k] * x**rest)
        return result

    if exponent != int(exponent):
        return Elementary(f"power {exponent:g}", values, undefined=_not_positive)
    if exponent < 0:
        return Elementary(f"power {exponent:g}", values, undefined=lambda low, high: (low <= 0) & (high >= 0))
    critical = tuple((0.0,) if exponent - k >= 2 else () for k in range(5))
    return Elementary(f"power {exponent:g}", values, critical)


SQUARE = power(2.0)
SQRT = power(0.5)
RECIPROCAL = power(-1.0)


# ---------------------------------------------------------------------------------------------- logistic, tanh


def _expit_slopes(x: np.ndarray, order: int) -> Orders:
    """With ``u = p(1-p)`` and ``d = 1-2p = -tanh(x/2)``: ``u, u d, u (1-6u), u d (1-12u)``; ``u' = u d, d' = -2u``."""
    small = np.exp(-np.abs(x))
    u = small / np.square(1 + small)
    d = -np.tanh(0.5 * x)
    return [u, u * d, u * (1 - 6 * u), u * d * (1 - 12 * u)][:order]


def _expit(x: np.ndarray, order: int) -> Orders:
    small = np.exp(-np.abs(x))
    return [np.where(x > 0, 1.0, small) / (1 + small), *_expit_slopes(x, order)]


def _softplus(x: np.ndarray, order: int) -> Orders:
    return [np.logaddexp(0, x), *_expit(x, order - 1)] if order else [np.logaddexp(0, x)]


def _tanh(x: np.ndarray, order: int) -> Orders:
    """``tanh x = 2 p(2x) - 1``."""
    return [np.tanh(x), *(2.0 ** (k + 2) * slope for k, slope in enumerate(_expit_slopes(2 * x, order)))]


def _at_u(*roots: float) -> tuple[float, ...]:
    """Where ``p(1-p)`` takes these values: ``d^2 = 1-4u``, ``x = -2 atanh d``."""
    places = [2 * atanh(sqrt(1 - 4 * u)) for u in roots]
    return tuple(sign * place for place in places for sign in (-1, 1))


_EXPIT_CRITICAL: Places = (
    (),  # p' = u > 0
    (0.0,),  # p'' = u d
    _at_u(1 / 6),  # p''' = u (1 - 6u)
    (0.0, *_at_u(1 / 12)),  # p'''' = u d (1 - 12u)
    _at_u((30 - sqrt(420)) / 240, (30 + sqrt(420)) / 240),  # p^(5) = u (1 - 30u + 120u^2)
)


def _relative_to(first: int) -> Callable[[np.ndarray, Orders], Orders]:
    """Derivatives that are the one of the order ``first`` times a polynomial of bounded numbers."""

    def noise(x: np.ndarray, values: Orders) -> Orders:
        return [values[first] if k > first else 0.0 for k in range(len(values))]

    return noise


def _tanh_noise(x: np.ndarray, values: Orders) -> Orders:
    return [0.0] * min(2, len(values)) + [2.0**k * values[1] for k in range(2, len(values))]


EXPIT = Elementary("expit", _expit, _EXPIT_CRITICAL, noise=_relative_to(1))
SOFTPLUS = Elementary("softplus", _softplus, ((), *_EXPIT_CRITICAL[:4]), noise=_relative_to(2))
TANH = Elementary("tanh", _tanh, tuple(tuple(0.5 * x for x in places) for places in _EXPIT_CRITICAL), noise=_tanh_noise)


# ---------------------------------------------------------------------------------------- arctan, sine, cosine


def _arctan(x: np.ndarray, order: int) -> Orders:
    """With ``s = 1/(1+x^2)`` and ``c = x s = 1/(x + 1/x)``: ``s, -2cs, s (6c^2 - 2s^2), 24 c s (s^2 - c^2)``."""
    s = 1 / (1 + x * x)
    c = 1 / (x + 1 / x)
    return [np.arctan(x), s, -2 * c * s, s * (6 * c * c - 2 * s * s), 24 * c * s * (s - c) * (s + c)][: order + 1]


def _both(*places: float) -> tuple[float, ...]:
    return tuple(sign * place for place in places for sign in (-1, 1))


ARCTAN = Elementary(
    "arctan",
    _arctan,
    ((), (0.0,), _both(sqrt(1 / 3)), (0.0, -1.0, 1.0), _both(sqrt(1 - 2 / sqrt(5)), sqrt(1 + 2 / sqrt(5)))),
    noise=_relative_to(1),  # zeros of s, -2cs, 3x^2 - 1, x (1 - x^2) and 5x^4 - 10x^2 + 1, each times powers of s
)


@dataclass(frozen=True, eq=False)
class Wave(Elementary):
    """The function ``sin(x + quarter pi/2)``. Its derivatives are such functions, too, with the next ``quarter``.

    *Image*: the maximum is 1 if a peak ``pi/2 (1 - quarter) + 2 pi j`` lies inside, otherwise it is at an end. The same
    holds for minima.
    """

    quarter: int = 0

    def images(self, x: Interval, order: int) -> Orders:
        with np.errstate(all="ignore"):
            ends = self.values(x.low, order), self.values(x.high, order)
            result: Orders = []
            for k in range(order + 1):
                low, high = np.minimum(ends[0][k], ends[1][k]), np.maximum(ends[0][k], ends[1][k])
                low = np.where(_meets(x, 3 - self.quarter - k), -1.0, low)
                high = np.where(_meets(x, 1 - self.quarter - k), 1.0, high)
                result.append(outward(low, high))
            return result


def _meets(x: Interval, quarters: int) -> np.ndarray:
    """Whether the interval, a little wider, holds a ``quarters pi/2 + 2 pi j``; yes where that is not known."""
    slack = RELATIVE * (1 + np.abs(x.low) + np.abs(x.high))
    first = np.ceil((x.low - slack) / (2 * np.pi) - 0.25 * quarters)
    last = np.floor((x.high + slack) / (2 * np.pi) - 0.25 * quarters)
    return ~(first > last)


def _wave(quarter: int) -> Wave:
    turns = (np.sin, np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x))
    name = ("sin", "cos")[quarter]
    return Wave(name, lambda x, order: [turns[(quarter + k) % 4](x) for k in range(order + 1)], quarter=quarter)


SIN, COS = _wave(0), _wave(1)
