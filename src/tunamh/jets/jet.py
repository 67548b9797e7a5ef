"""Truncated Taylor series in one or more predictors, of numbers or of intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import factorial, prod
from typing import Any, NamedTuple

import numpy as np

from .elementary import EXP, EXPIT, LOG, LOG1P, RECIPROCAL, SOFTPLUS, Elementary
from .interval import Interval, as_interval, outward, plain
from .special import NDTR
from .traced import CannotBound, Traced

Index = tuple[int, ...]
Series = dict[Index, Any]
"""Coefficients ``d^index f / index!``; what is absent is 0. Intervals, or exact numbers: arrays, or floats."""

_EXACT = 2**26


_LOG_OF_NDTR = "the energy uses log(ndtr(x)): write scipy.special.log_ndtr(x) instead of log(ndtr(x)), whose bounds "
_LOG_OF_NDTR += "are useless."


class Maker(NamedTuple):
    """How a jet came about: ``function(argument) + shift``."""

    function: Elementary
    argument: Jet
    shift: Any = None


class Jet(Traced):
    """``f(eta + t) = sum_index coefficient t^index`` up to a total degree, per row.

    Over intervals every coefficient encloses that derivative (by ``index!``) at all points of the box: sums, products
    and Faa di Bruno's formula are identities between derivatives at a point, hence hold between enclosures.
    """

    __slots__ = ("bounded", "degree", "made_by", "series")

    def __init__(self, series: Series, degree: int, bounded: bool, made_by: Maker | None = None):
        self.series, self.degree, self.bounded, self.made_by = series, degree, bounded, made_by

    @property
    def origin(self) -> Index:
        return (0,) * len(next(iter(self.series)))

    def derivative(self, index: Index) -> Any:
        """``d^index f``: numbers or an interval."""
        scale = float(prod(map(factorial, index)))
        value = self.series.get(index, 0.0)
        if self.bounded:
            return as_interval(value) if scale == 1 else as_interval(value).times(scale)
        return scale * plain(value)

    def finite(self) -> bool:
        """Whether all enclosures are, in every row."""
        return all(bool(np.isfinite(as_interval(value).magnitude()).all()) for value in self.series.values())

    # ------------------------------------------------------------------------------------------------ arithmetic

    def plus(self, other: Any) -> Jet:
        series = dict(self.series)
        if isinstance(other, Jet):
            for index, value in other.series.items():
                series[index] = _sum(series[index], value, self.bounded) if index in series else value
            return self._made(series)
        shift = other if isinstance(other, Interval) else plain(other)
        series[self.origin] = _sum(series[self.origin], shift, self.bounded)
        maker = self.made_by
        once = maker is not None and maker.shift is None and not isinstance(shift, Interval)
        return self._made(series, maker._replace(shift=shift) if maker and once else None)

    def negated(self) -> Jet:
        return self._made({index: -value for index, value in self.series.items()})

    def times(self, other: Any) -> Jet:
        if isinstance(other, Jet):
            return self._made(_multiplied(self.series, other.series, self.degree, self.bounded))
        factor = other if isinstance(other, Interval) else plain(other)
        return self._made({index: _product(value, factor, self.bounded) for index, value in self.series.items()})

    def over(self, divisor: np.ndarray) -> Jet:
        kind: Callable[[Any], Any] = as_interval if self.bounded else plain
        return self._made({index: kind(value) / divisor for index, value in self.series.items()})

    def rounded(self, constant: Any) -> Any:
        return outward(plain(constant), plain(constant)) if self.bounded else plain(constant)

    def through(self, function: Elementary) -> Jet:
        """``sum_k g^(k)(u) v^k / k!`` with ``u`` the value and ``v`` the rest of the series."""
        better = self._rewritten(function)
        if better is not None:
            return better
        here = self.series[self.origin]
        if self.bounded:
            values = function.images(as_interval(here), self.degree)
        else:
            values = function.values(plain(here), self.degree)
        rest = {index: value for index, value in self.series.items() if sum(index)}
        series: Series = {self.origin: values[0]}
        power = rest
        for k in range(1, self.degree + 1):
            if k > 1:
                power = _multiplied(power, rest, self.degree, self.bounded)
            if type(values[k]) is float and values[k] == 0:
                continue
            scaled = _over_factorial(values[k], k, self.bounded)
            for index, value in power.items():
                term = _product(value, scaled, self.bounded)
                series[index] = _sum(series[index], term, self.bounded) if index in series else term
        return self._made(series, Maker(function, self))

    def _rewritten(self, function: Elementary) -> Jet | None:
        """Compositions that a function of their own bounds far better: softplus and expit, however they are written."""
        if self.made_by is None:
            return None
        inner, argument, shift = self.made_by
        if shift is None:
            if function is LOG and inner is NDTR:
                raise CannotBound(_LOG_OF_NDTR)
            if function is LOG and inner is EXPIT:
                return argument.negated().through(SOFTPLUS).negated()
            if function is LOG and inner is EXP:
                return argument
            return argument.through(SOFTPLUS) if function is LOG1P and inner is EXP else None
        if inner is not EXP or function not in (LOG, RECIPROCAL) or not np.all(shift > 0):
            return None
        height = self.rounded(np.log(shift))
        lower = argument.plus(-height)  # c + e^u = c (1 + e^(u - log c))
        return lower.through(SOFTPLUS).plus(height) if function is LOG else lower.negated().through(EXPIT).over(shift)

    def _made(self, series: Series, made_by: Maker | None = None) -> Jet:
        return Jet(series, self.degree, self.bounded, made_by)


# -------------------------------------------------------------------------------------------------- coefficients


def _product(a: Any, b: Any, bounded: bool) -> Any:
    """Of exact numbers it stays exact if it is: one of them is 1, or both are small integers."""
    if type(a) is float and a == 1:
        return b
    if type(b) is float and b == 1:
        return a
    if not bounded or isinstance(a, Interval):
        return a * b
    if isinstance(b, Interval) or (_is_small_integer(a) and _is_small_integer(b)):
        return b * a
    return as_interval(a) * b


def _sum(a: Any, b: Any, bounded: bool) -> Any:
    if not bounded or isinstance(a, Interval) or isinstance(b, Interval):
        return a + b
    return a + b if _is_small_integer(a) and _is_small_integer(b) else as_interval(a) + b


def _over_factorial(value: Any, k: int, bounded: bool) -> Any:
    if k == 1:
        return value
    return (as_interval(value) if bounded else value) / factorial(k)


def _is_small_integer(value: Any) -> bool:
    return np.ndim(value) == 0 and abs(value) < _EXACT and value == int(value)


def _multiplied(a: Series, b: Series, degree: int, bounded: bool) -> Series:
    """A series by itself squares its coefficients, whose intervals are narrower than those of a product."""
    result: Series = {}
    left, right = list(a.items()), list(b.items())
    for place, (i, u) in enumerate(left):
        for j, v in right[place:] if a is b else right:
            if sum(i) + sum(j) > degree:
                continue
            term = _product(u, v, bounded)
            if a is b and i != j:
                term = _product(term, 2.0, bounded)
            index = tuple(p + q for p, q in zip(i, j, strict=True))
            result[index] = _sum(result[index], term, bounded) if index in result else term
    return result


# ----------------------------------------------------------------------------------------------------- variables


def variables(values: Sequence[Any], degree: int) -> list[Jet]:
    """The predictors themselves at these values, numbers or intervals."""
    size = len(values)
    bounded = isinstance(values[0], Interval)
    units = [tuple(int(j == a) for j in range(size)) for a in range(size)]
    return [Jet({(0,) * size: value, unit: 1.0}, degree, bounded) for value, unit in zip(values, units, strict=True)]


def expand(
    energy: Callable[..., Any], values: Sequence[Any], y: np.ndarray, degree: int, known: Sequence[np.ndarray] = ()
) -> Jet:
    """The energy's jet at these predictors; ``known`` are columns that stand behind them."""
    jets = variables(values, degree)
    with np.errstate(all="ignore"):
        result = energy(*jets, *known, y)
        return result if isinstance(result, Jet) else jets[0].times(0.0).plus(result)
