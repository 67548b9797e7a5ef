"""Priors of positive parameters: scales, degrees of freedom, dispersions.

Half-normal, half-Student-t and half-Cauchy laws are the symmetric ones about zero, of which a positive parameter sees
one half; an exponential law is half of a Laplace law.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arguments import moderate_number, number, settle, shown
from .laws import GAMMA, INVERSE_GAMMA, LAPLACE, LOG_NORMAL, NORMAL, STUDENT_T, Laws


class PositivePrior:
    """A prior of one positive parameter."""

    @abstractmethod
    def law(self) -> Laws:
        """Four vectors of length one."""

    def _settled(self, **limits: tuple[float, float]) -> None:
        for name, (low, high) in limits.items():
            settle(self, **{name: moderate_number(f"{name} of the prior", getattr(self, name), low, high)})


def _law(kind: int, mean: float, scale: float, df: float = 1.0) -> Laws:
    return Laws(*(np.array([float(value)]) for value in (kind, mean, scale, df)))


_SCALES, _SHAPES = (1e-50, 1e50), (1e-2, 1e10)


@dataclass(frozen=True)
class HalfNormal(PositivePrior):
    """Density ``exp(-x^2 / (2 scale^2))``, ``x > 0``."""

    scale: float

    def __post_init__(self) -> None:
        self._settled(scale=_SCALES)

    def law(self) -> Laws:
        return _law(NORMAL, 0.0, self.scale)


@dataclass(frozen=True)
class HalfStudentT(PositivePrior):
    """Density ``(1 + x^2 / (df scale^2))^(-(df + 1) / 2)``, ``x > 0``."""

    df: float
    scale: float

    def __post_init__(self) -> None:
        self._settled(df=_SHAPES, scale=_SCALES)

    def law(self) -> Laws:
        return _law(STUDENT_T, 0.0, self.scale, self.df)


@dataclass(frozen=True)
class HalfCauchy(PositivePrior):
    """Half-Student-t with one degree of freedom."""

    scale: float

    def __post_init__(self) -> None:
        self._settled(scale=_SCALES)

    def law(self) -> Laws:
        return _law(STUDENT_T, 0.0, self.scale, 1.0)


@dataclass(frozen=True)
class Exponential(PositivePrior):
    """Density ``exp(-x / mean)``, ``x > 0``."""

    mean: float

    def __post_init__(self) -> None:
        self._settled(mean=_SCALES)

    def law(self) -> Laws:
        return _law(LAPLACE, 0.0, self.mean)


@dataclass(frozen=True)
class Gamma(PositivePrior):
    """Density ``x^(shape - 1) exp(-x / scale)``, ``x > 0``; the mean is ``shape * scale``."""

    shape: float
    scale: float

    def __post_init__(self) -> None:
        self._settled(shape=_SHAPES, scale=_SCALES)

    def law(self) -> Laws:
        return _law(GAMMA, 0.0, self.scale, self.shape)


@dataclass(frozen=True)
class InverseGamma(PositivePrior):
    """Density ``x^(-shape - 1) exp(-scale / x)``, ``x > 0``."""

    shape: float
    scale: float

    def __post_init__(self) -> None:
        self._settled(shape=_SHAPES, scale=_SCALES)

    def law(self) -> Laws:
        return _law(INVERSE_GAMMA, 0.0, self.scale, self.shape)


@dataclass(frozen=True)
class LogNormal(PositivePrior):
    """``log x`` is normal with this mean and standard deviation."""

    mean: float
    scale: float

    def __post_init__(self) -> None:
        settle(self, mean=number("mean of the prior", self.mean))
        self._settled(scale=(1e-6, 1e6))

    def law(self) -> Laws:
        return _law(LOG_NORMAL, self.mean, self.scale)


def known_or_prior(name: str, value: Any) -> Any:
    """A parameter of a family: a positive number that is known, a prior of one that is not, or None."""
    if value is None or isinstance(value, PositivePrior):
        return value
    if hasattr(value, "arrange") or hasattr(value, "suprema"):
        raise TypeError(
            f"{name} is the family {type(value).__name__}: give a prior such as tunamh.HalfNormal(2.5) "
            "or one of tunamh.priors, such as tunamh.priors.Gamma(2, 10)."
        )
    if isinstance(value, type) and issubclass(value, PositivePrior):
        raise TypeError(f"{name} is the class {value.__name__}: give a value, such as {value.__name__}(2.5).")
    if isinstance(value, str | bytes) or np.ndim(value) != 0 or hasattr(value, "bind"):
        raise TypeError(
            f"{name} must be a number (known), a prior of a positive parameter such as tunamh.HalfNormal(2.5), or left "
            f"out (unknown, with a default prior), got {shown(value)}."
        )
    return moderate_number(name, value)
