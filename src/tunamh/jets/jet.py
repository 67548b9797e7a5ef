"""Truncated Taylor series in one or more predictors, of numbers or of intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import factorial, prod
from typing import Any, NamedTuple

import numpy as np

from . import series
from .elementary import EXP, EXPIT, LOG, LOG1P, RECIPROCAL, SOFTPLUS, Elementary
from .interval import Interval, outward, plain
from .series import Index, Series
from .special import NDTR
from .traced import CannotBound, Traced

_LOG_OF_NDTR = "the energy uses log(ndtr(x)): write scipy.special.log_ndtr(x) instead of log(ndtr(x)), whose bounds "
_LOG_OF_NDTR += "are useless."


class WrongShape(ValueError):
    """A constant of the energy has more numbers than there are rows."""


class Maker(NamedTuple):
    """How a jet was made: ``function(argument) + shift``."""

    function: Elementary
    argument: Jet
    shift: Any = None


class Jet(Traced):
    """A Taylor series ``f(eta + t) = sum_index coefficient t^index`` up to a total degree, for each row.

    For intervals, every coefficient contains the derivative (divided by ``index!``) at all points of the box. Sums,
    products and Faa di Bruno's formula are identities between derivatives at a point, so they are valid for such
    intervals, too. Rows have a ``shape``; constants of the user's function are repeated for all rows.
    """

    __slots__ = ("degree", "made_by", "series", "shape")

    def __init__(self, of: Series, degree: int, shape: tuple[int, ...], made_by: Maker | None = None):
        self.series, self.degree, self.shape, self.made_by = of, degree, shape, made_by

    def derivative(self, index: Index) -> Any:
        """Return the derivative ``d^index f``: numbers or an interval."""
        scale, value = float(prod(map(factorial, index))), self.series.coefficient(index)
        if not self.series.bounded:
            return scale * (value if type(value) is float else value.reshape(self.shape))
        if value.low.ndim:
            value = Interval(value.low.reshape(self.shape), value.high.reshape(self.shape))
        return value if scale == 1 else value.times(scale)

    def finite(self) -> bool:
        """Return True if all intervals are finite in every row."""
        return bool(np.isfinite(self.series.low).all() and np.isfinite(self.series.high).all())

    def _constant(self, value: Any) -> Any:
        """A constant of the user's function: one number, or one for each row."""
        if isinstance(value, Interval):
            if value.low.ndim == 0:
                return value
            return Interval(self._spread(value.low), self._spread(value.high))
        return self._spread(plain(value))

    def _spread(self, value: np.ndarray) -> np.ndarray:
        if value.size == 1:
            return value.reshape(())
        try:
            return np.broadcast_to(value, self.shape).ravel()
        except ValueError:
            raise WrongShape(f"an array of shape {value.shape} beside rows of shape {self.shape}") from None

    # ------------------------------------------------------------------------------------------------ arithmetic

    def plus(self, other: Any) -> Jet:
        if isinstance(other, Jet):
            return self._made(series.total(self.series, other.series))
        shift = self._constant(other)
        maker = self.made_by
        once = maker is not None and maker.shift is None and not isinstance(shift, Interval)
        return self._made(series.shifted(self.series, shift), maker._replace(shift=shift) if maker and once else None)

    def negated(self) -> Jet:
        return self._made(series.negated(self.series))

    def times(self, other: Any) -> Jet:
        if isinstance(other, Jet):
            return self._made(series.product(self.series, other.series, self.degree))
        return self._made(series.scaled(self.series, self._constant(other)))

    def over(self, divisor: np.ndarray) -> Jet:
        return self._made(series.divided(self.series, self._constant(divisor)))

    def rounded(self, constant: Any) -> Any:
        return outward(plain(constant), plain(constant)) if self.series.bounded else plain(constant)

    def through(self, function: Elementary) -> Jet:
        """Return ``sum_k g^(k)(u) v^k / k!``, where ``u`` is the value and ``v`` the rest of the series."""
        better = self._rewritten(function)
        if better is not None:
            return better
        here = self.series.value
        values = (function.images if self.series.bounded else function.values)(here, self.degree)
        return self._made(series.composed(self.series, values, self.degree), Maker(function, self))

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

    def _made(self, of: Series, made_by: Maker | None = None) -> Jet:
        return Jet(of, self.degree, self.shape, made_by)


# ----------------------------------------------------------------------------------------------------- variables


def variables(values: Sequence[Any], degree: int, shape: tuple[int, ...] | None = None) -> list[Jet]:
    """Return the predictors themselves as jets, at numbers or over intervals."""
    ends = [value.low if isinstance(value, Interval) else plain(value) for value in values]
    shape = np.broadcast_shapes(*(end.shape for end in ends)) if shape is None else shape
    rows, size = prod(shape), len(values)

    def flat(value: np.ndarray) -> np.ndarray:
        return np.broadcast_to(value, shape).ravel()

    spread = [Interval(flat(v.low), flat(v.high)) if isinstance(v, Interval) else flat(plain(v)) for v in values]
    made = [series.variable(value, which, size, rows) for which, value in enumerate(spread)]
    return [Jet(one if degree else one.part(slice(1)), degree, shape) for one in made]


def expand(
    energy: Callable[..., Any], values: Sequence[Any], y: np.ndarray, degree: int, known: Sequence[np.ndarray] = ()
) -> Jet:
    """Return the energy's jet at these predictors. ``known`` are columns that come after the predictors."""
    ends = [value.low if isinstance(value, Interval) else plain(value) for value in values]
    shape = np.broadcast_shapes(*(np.shape(one) for one in (*ends, *known, y)))
    jets = variables(values, degree, shape)
    with np.errstate(all="ignore"):
        result = energy(*jets, *known, y)
        return result if isinstance(result, Jet) else jets[0].times(0.0).plus(result)
