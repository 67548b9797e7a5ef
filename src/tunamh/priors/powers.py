"""Priors of a power of a positive parameter: of a variance, or of a precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .._arguments import shown
from .flat_positive import FlatPositive
from .laws import ON_PRECISION, ON_VARIANCE, Laws
from .positive import PositivePrior


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
    """A prior for the square of a positive parameter ``x``. If ``x`` is a scale, it is a prior for the variance.

    If ``p`` is the density of ``x^2``, then ``x`` has the density ``2 x p(x^2)``.

    Parameters
    ----------
    prior : proper prior of a positive parameter
        The prior of ``x^2``.

    Examples
    --------
    >>> tunamh.Gaussian(scale=OnVariance(InverseGamma(2, 1)))  # the variance of the errors is inverse gamma
    """

    _added, _power = ON_VARIANCE, 2

    @property
    def vanishes_at_zero(self) -> bool:  # type: ignore[override]
        """Return True if the density of ``x`` falls faster than any power of ``x`` as ``x`` goes to zero."""
        return self.prior.vanishes_at_zero


class OnPrecision(_OfPower):
    """A prior for ``1 / x^2`` with a positive parameter ``x``. If ``x`` is a scale, it is a prior for the precision.

    If ``p`` is the density of ``1 / x^2``, then ``x`` has the density ``2 x^-3 p(x^-2)``.

    Parameters
    ----------
    prior : proper prior of a positive parameter
        The prior of ``1 / x^2``.

    Examples
    --------
    >>> tunamh.Gaussian(scale=OnPrecision(Gamma(2, 1)))  # the precision of the errors has a gamma distribution
    """

    _added, _power = ON_PRECISION, -2

    @property
    def vanishes_at_zero(self) -> bool:  # type: ignore[override]
        """Return True if the density of ``x`` falls faster than any power of ``x`` as ``x`` goes to zero."""
        return self.prior.falls_fast
