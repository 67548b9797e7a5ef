"""Priors of positive parameters: scales, degrees of freedom, dispersions.

Half-normal, half-Student-t and half-Cauchy laws are the symmetric ones about zero, of which a positive parameter sees
one half; an exponential law is half of a Laplace law.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from .._arguments import moderate_number, shown
from .flat import Flat
from .laws import Laws
from .potential import Prior
from .words import ShellWord


@runtime_checkable
class FamilyLike(Protocol):
    """An object with the method ``arrange``: a family. Errors use it to tell a family from a prior of the same name.

    Both families and priors have a `Gamma` and a `StudentT`.
    """

    def arrange(self, observations: Any, temper: float) -> Any: ...


class PositivePrior(ShellWord):
    """Base class of the priors of one positive parameter, such as a scale or a shape."""

    @abstractmethod
    def law(self) -> Laws:
        """Return the prior in the form that compiled code reads: four arrays of length 1.

        The first array has the kind of distribution, as a number. The other three have the numbers of the distribution,
        such as its mean, its scale and its degrees of freedom.
        """

    vanishes_at_zero: bool = False
    """Whether the density falls faster than any power of the parameter, as the parameter goes to zero."""

    falls_fast: ClassVar[bool] = False
    """Whether the density falls faster than any power of the parameter, as the parameter goes to infinity."""

    def inside(self, value: float) -> float:
        """Return a number near ``value`` at which the prior density is positive.

        If the density is positive at ``value``, this is ``value`` itself.
        """
        return value


def limited(name: str, value: Any, limits: tuple[float, float]) -> float:
    return moderate_number(f"{name} of the prior", value, *limits)


def one_law(kind: int, mean: float, scale: float, df: float = 1.0) -> Laws:
    return Laws(*(np.array([float(value)]) for value in (kind, mean, scale, df)))


SCALES, SHAPES = (1e-50, 1e50), (1e-6, 1e10)


def refuse_flat(name: str, value: Any) -> None:
    """Raise `TypeError` if the prior of a positive parameter is `Flat`, which is a prior of coefficients."""
    if isinstance(value, Flat) or value is Flat:
        raise TypeError(
            f"{name} is positive, and Flat() is a prior of coefficients: say tunamh.priors.FlatPositive(), or a proper "
            "prior such as tunamh.priors.Uniform(0, 100)."
        )


def known_or_prior(name: str, value: Any) -> Any:
    """Check a parameter of a family and return it: a known positive number, a prior of an unknown number, or None."""
    if value is None or isinstance(value, PositivePrior):
        return value
    refuse_flat(name, value)
    if isinstance(value, FamilyLike):
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
