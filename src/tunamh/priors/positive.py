"""Priors of positive parameters: scales, degrees of freedom, dispersions.

Half-normal, half-Student-t and half-Cauchy laws are the symmetric ones about zero, of which a positive parameter sees
one half; an exponential law is half of a Laplace law.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._arguments import moderate_number, not_negative, number, settle, shown
from .independent import Flat
from .laws import (
    FLAT_POSITIVE,
    GAMMA,
    INVERSE_GAMMA,
    LAPLACE,
    LOG_NORMAL,
    NORMAL,
    ON_PRECISION,
    ON_VARIANCE,
    STUDENT_T,
    UNIFORM,
    Laws,
)
from .potential import Prior


class PositivePrior:
    """A prior of one positive parameter."""

    @abstractmethod
    def law(self) -> Laws:
        """The prior as a compiled record: kind, mean, scale and degrees of freedom, four vectors of length one."""

    vanishes_at_zero = False
    """Whether the density falls faster than any power towards zero."""

    def inside(self, value: float) -> float:
        """Return ``value``, or a number near it where the density is positive."""
        return value


def _limited(name: str, value: Any, limits: tuple[float, float]) -> float:
    return moderate_number(f"{name} of the prior", value, *limits)


def _law(kind: int, mean: float, scale: float, df: float = 1.0) -> Laws:
    return Laws(*(np.array([float(value)]) for value in (kind, mean, scale, df)))


_SCALES, _SHAPES = (1e-50, 1e50), (1e-6, 1e10)


@dataclass(frozen=True)
class HalfNormal(PositivePrior):
    """Density ``exp(-x^2 / (2 scale^2))``, ``x > 0``."""

    scale: float

    def __post_init__(self) -> None:
        settle(self, scale=_limited("scale", self.scale, _SCALES))

    def law(self) -> Laws:
        return _law(NORMAL, 0.0, self.scale)


@dataclass(frozen=True)
class HalfStudentT(PositivePrior):
    """Density ``(1 + x^2 / (df scale^2))^(-(df + 1) / 2)``, ``x > 0``."""

    df: float
    scale: float

    def __post_init__(self) -> None:
        settle(self, df=_limited("df", self.df, _SHAPES), scale=_limited("scale", self.scale, _SCALES))

    def law(self) -> Laws:
        return _law(STUDENT_T, 0.0, self.scale, self.df)


@dataclass(frozen=True)
class HalfCauchy(PositivePrior):
    """Half-Student-t with one degree of freedom."""

    scale: float

    def __post_init__(self) -> None:
        settle(self, scale=_limited("scale", self.scale, _SCALES))

    def law(self) -> Laws:
        return _law(STUDENT_T, 0.0, self.scale, 1.0)


@dataclass(frozen=True)
class Exponential(PositivePrior):
    """Density ``exp(-x / mean)``, ``x > 0``."""

    mean: float

    def __post_init__(self) -> None:
        settle(self, mean=_limited("mean", self.mean, _SCALES))

    def law(self) -> Laws:
        return _law(LAPLACE, 0.0, self.mean)


@dataclass(frozen=True)
class Gamma(PositivePrior):
    """Density ``x^(shape - 1) exp(-x / scale)``, ``x > 0``; the mean is ``shape * scale``."""

    shape: float
    scale: float

    def __post_init__(self) -> None:
        settle(self, shape=_limited("shape", self.shape, _SHAPES), scale=_limited("scale", self.scale, _SCALES))

    def law(self) -> Laws:
        return _law(GAMMA, 0.0, self.scale, self.shape)


@dataclass(frozen=True)
class InverseGamma(PositivePrior):
    """Density ``x^(-shape - 1) exp(-scale / x)``, ``x > 0``."""

    shape: float
    scale: float

    vanishes_at_zero = True

    def __post_init__(self) -> None:
        settle(self, shape=_limited("shape", self.shape, _SHAPES), scale=_limited("scale", self.scale, _SCALES))

    def law(self) -> Laws:
        return _law(INVERSE_GAMMA, 0.0, self.scale, self.shape)


@dataclass(frozen=True)
class LogNormal(PositivePrior):
    """``log x`` is normal with mean ``mean`` and standard deviation ``scale``."""

    mean: float
    scale: float

    vanishes_at_zero = True

    def __post_init__(self) -> None:
        settle(self, mean=number("mean of the prior", self.mean))
        settle(self, scale=_limited("scale", self.scale, (1e-6, 1e6)))

    def law(self) -> Laws:
        return _law(LOG_NORMAL, self.mean, self.scale)


@dataclass(frozen=True)
class Uniform(PositivePrior):
    """A constant density between ``low`` and ``high``. ``low`` may be 0."""

    low: float
    high: float

    def __post_init__(self) -> None:
        low = not_negative("low of the prior", self.low, infinite=False)
        settle(self, low=low, high=moderate_number("high of the prior", self.high, *_SCALES))
        if not low < self.high:
            raise ValueError(f"low of the prior must lie below high, got {shown(self)}.")

    def law(self) -> Laws:
        return _law(UNIFORM, self.low, self.high)

    def inside(self, value: float) -> float:
        margin = 0.01 * (self.high - self.low)
        return min(max(value, self.low + margin), self.high - margin)


@dataclass(frozen=True)
class FlatPositive(PositivePrior):
    """A constant density for all ``x > 0``. It is improper, so the data must make the posterior proper.

    tunamh accepts it only if it is proved that the posterior is proper (spec 5l). This is so for the scale of errors,
    if there are at least two rows more than coefficients without a prior; and for the scale of Gaussian random
    intercepts, or of one column of slopes, if there are at least two groups more than such coefficients. Use `Uniform`
    in other cases.
    """

    def law(self) -> Laws:
        return _law(FLAT_POSITIVE, 0.0, 1.0)


@dataclass(frozen=True)
class _OfPower(PositivePrior):
    """A prior of a power of the parameter."""

    prior: PositivePrior

    _added: ClassVar[int]
    _power: ClassVar[int]

    def __post_init__(self) -> None:
        name = type(self).__name__
        if isinstance(self.prior, FlatPositive | _OfPower) or not isinstance(self.prior, PositivePrior):
            raise TypeError(f"{name} takes a proper prior such as InverseGamma(2, 1), got {shown(self.prior)}.")

    def law(self) -> Laws:
        of = self.prior.law()
        return of._replace(kind=of.kind + self._added)

    def inside(self, value: float) -> float:
        return self.prior.inside(value**self._power) ** (1 / self._power)


class OnVariance(_OfPower):
    """A prior for the square of the parameter, such as ``OnVariance(InverseGamma(a, b))`` for a scale.

    The density of ``x`` is then ``2 x p(x^2)``.
    """

    _added, _power = ON_VARIANCE, 2

    @property
    def vanishes_at_zero(self) -> bool:  # type: ignore[override]
        return self.prior.vanishes_at_zero


class OnPrecision(_OfPower):
    """A prior for one over the square of the parameter, such as ``OnPrecision(Gamma(a, scale))`` for a scale.

    The density of ``x`` is then ``2 x^-3 p(x^-2)``.
    """

    _added, _power = ON_PRECISION, -2

    @property
    def vanishes_at_zero(self) -> bool:  # type: ignore[override]
        return isinstance(self.prior, Gamma | Exponential | HalfNormal | Uniform)


def refuse_flat(name: str, value: Any) -> None:
    """`Flat` is a prior of coefficients; of a positive parameter it would say neither where it ends nor of what."""
    if isinstance(value, Flat) or value is Flat:
        raise TypeError(
            f"{name} is positive, and Flat() is a prior of coefficients: say tunamh.priors.FlatPositive(), or a proper "
            "prior such as tunamh.priors.Uniform(0, 100)."
        )


def known_or_prior(name: str, value: Any) -> Any:
    """A parameter of a family: a positive number that is known, a prior of one that is not, or None."""
    if value is None or isinstance(value, PositivePrior):
        return value
    refuse_flat(name, value)
    if hasattr(value, "arrange") or hasattr(value, "suprema"):
        raise TypeError(
            f"{name} is the family {type(value).__name__}: give a prior such as tunamh.HalfNormal(2.5) "
            "or one of tunamh.priors, such as tunamh.priors.Gamma(2, 10)."
        )
    if isinstance(value, type) and issubclass(value, PositivePrior):
        raise TypeError(f"{name} is the class {value.__name__}: give a value, such as {value.__name__}(2.5).")
    if isinstance(value, str | bytes) or np.ndim(value) != 0 or isinstance(value, Prior):
        raise TypeError(
            f"{name} must be a number (known), a prior of a positive parameter such as tunamh.HalfNormal(2.5), or left "
            f"out (unknown, with a default prior), got {shown(value)}."
        )
    return moderate_number(name, value)
