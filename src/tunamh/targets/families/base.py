"""What the GLM target needs to know of a family, and the maximum of a derivative over an interval."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..._jit import Part


class Suprema(NamedTuple):
    """Per row, the suprema over ``eta`` of ``|f'|``, ``|f''|`` and ``|f'''|``; infinity is allowed."""

    first: np.ndarray
    second: np.ndarray
    third: np.ndarray


class LowerBound(NamedTuple):
    """Per row, ``a (eta - anchor)^2 + b (eta - anchor) + k``."""

    anchor: np.ndarray
    a: np.ndarray
    b: np.ndarray
    k: np.ndarray


class Family(Protocol):
    """What the GLM target needs to know of a family; ``f(eta, y)`` is the energy of a row of weight 1."""

    @property
    @abstractmethod
    def energy(self) -> Part:
        """In the role `FamilyEnergy`."""

    @property
    @abstractmethod
    def rise(self) -> Part:
        """In the role `FamilyRise`."""

    @property
    def hyper(self) -> tuple[float, ...]:
        """Numbers of its own, which the two are given."""
        return ()

    def check(self, y: np.ndarray) -> None:
        """Raise a ValueError for responses that the family does not know."""

    @abstractmethod
    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """``f'``, ``f''`` and ``f'''`` with respect to ``eta``."""

    @abstractmethod
    def suprema(self, y: np.ndarray) -> Suprema:
        """Per row, the suprema over all ``eta``, proved in this docstring."""


class WellKnownFamily(Family, Protocol):
    """What a family may say of itself beside, each by itself; without ``convex`` it is searched for several modes."""

    convex: bool
    """Whether ``f`` is convex in ``eta``, so that a posterior has one mode at most."""

    self_concordant: bool
    """Whether ``|f'''| <= f''`` everywhere."""

    def guess(self, y: np.ndarray) -> np.ndarray:
        """Predictors that would explain the responses, from which the search for a mode may start."""

    def rises(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Per row, whether ``f`` grows without end as ``eta`` goes to plus and to minus infinity.

        Where a convex ``f`` does not, it falls for ever: no such row keeps a posterior from spreading that way.
        """

    def suprema_near(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> Suprema:
        """Per row, the suprema of ``|f'|``, ``|f''|``, ``|f'''|`` over predictors within ``radius`` of ``eta``.

        Upper bounds up to rounding, never above `suprema`.
        """

    def slope_constants(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """Per row, an upper bound of ``sup_{0<|z|<=radius} 2 |f'(eta+z) - f'(eta) - f''(eta) z| / z^2`` (spec 5m).

        Up to rounding; infinity is allowed. Without it the third entry of `suprema_near` serves, which is no less.
        """

    # A family may also offer `bend_constants(y, eta, radius)`, per row an upper bound of
    # ``sup_{0<|z|<=radius} 6 |f'(eta+z) - f'(eta) - f''(eta) z - f'''(eta) z^2/2| / |z|^3``, such as the supremum of
    # ``|f''''|``: effects of groups are then expanded to the third order (spec 5r).


class FamilyWithLowerBound(Family, Protocol):
    """A family that serves FlyMC too."""

    def lower_bound(self, y: np.ndarray, eta: np.ndarray | None) -> LowerBound:
        """A quadratic below ``-f(eta, y)``, tight at the given ``eta`` (None: untuned), for FlyMC."""


def same_for_all(y: np.ndarray, first: float, second: float, third: float) -> Suprema:
    return Suprema(*(np.broadcast_to(value, y.shape) for value in (first, second, third)))


# ------------------------------------------------------------------------------------- suprema over an interval

Peaks = Sequence[tuple[Any, Any]]
"""Where a derivative has its local extrema, and its absolute value there; numbers, or arrays with one per row."""

_SLACK = 1e-12
_ENDLESS = 1e50  # a radius beyond it counts as infinite


def reach_of(eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """The radius, a little wider: what rounding does to predictors and near zeros of derivatives is far smaller."""
    return radius + _SLACK * (1 + np.abs(eta) + radius)


def largest(low: np.ndarray, high: np.ndarray, peaks: Peaks, eta: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """The maximum of ``|g|`` over ``[eta - reach, eta + reach]``, given ``g`` at the two ends and all its peaks.

    A continuous function attains its maximum at an end or at a critical point inside.
    """
    result = np.maximum(np.abs(low), np.abs(high))
    for where, height in peaks:
        result = np.where(np.abs(where - eta) <= reach, np.maximum(result, height), result)
    return (1 + _SLACK) * result


def nearby(
    family: Family, y: np.ndarray, eta: np.ndarray, radius: np.ndarray, first: Peaks, second: Peaks, third: Peaks
) -> Suprema:
    """`Family.suprema_near` of a family that knows all peaks of its derivatives; `suprema` for an endless radius."""
    reach = np.minimum(reach_of(eta, radius), _ENDLESS)
    lows, highs = family.derivatives(eta - reach, y), family.derivatives(eta + reach, y)
    found = (largest(*ends, eta, reach) for ends in zip(lows, highs, (first, second, third), strict=True))
    return Suprema(
        *(np.where(reach < _ENDLESS, np.minimum(*both), both[1]) for both in zip(found, family.suprema(y), strict=True))
    )


# ----------------------------------------------------------------------------------------------- slope constants

Derivatives = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]

_DIGITS = 64 * np.finfo(float).eps  # what derivatives may lose
_PHI = tuple(2 / math.factorial(k + 2) for k in range(18))


def slope_near(
    derivatives: Derivatives, eta: np.ndarray, radius: np.ndarray, peaks: Peaks, supremum: np.ndarray | float
) -> np.ndarray:
    """An upper bound of the slope constant, given all ``peaks`` of ``f'''`` and the supremum of ``|f'''|``.

    Let ``h(z)`` be the quotient, without the bars. It is ``int_0^1 2 (1-t) f'''(eta + t z) dt``, a mean of ``f'''``
    between ``eta`` and ``eta + z``. Where ``f'''`` is monotone from ``eta`` to ``eta + rho``, so is the integrand in
    ``z``, hence ``h``: on this side ``|h|`` is largest at ``z = rho`` or, in the limit, at 0, where it is ``|f'''|``.
    Where ``f'''`` turns on the way, its largest value on this side is a bound.

    The quotient cancels for small radii; what it may have lost is added, and ``sup |f'''|`` taken where it is less.
    """
    reach = np.minimum(reach_of(eta, radius), _ENDLESS)
    here, result = derivatives(eta), np.zeros_like(reach)
    for sign in (-1, 1):
        end = derivatives(eta + sign * reach)
        most, turns = np.maximum(np.abs(here[2]), np.abs(end[2])), np.zeros(reach.shape, bool)
        for where, height in peaks:
            ahead = sign * (where - eta)
            inside = (ahead >= -_SLACK * (1 + np.abs(eta))) & (ahead <= reach)
            most, turns = np.where(inside, np.maximum(most, height), most), turns | inside
        sizes = np.abs(end[0]) + np.abs(here[0]) + np.abs(here[1]) * reach
        sizes = sizes + (np.abs(end[1]) + np.abs(here[1])) * (np.abs(eta) + reach)  # eta + reach is rounded, too
        mean = np.abs(end[0] - here[0] - sign * reach * here[1]) + _DIGITS * sizes
        mean = np.maximum(np.abs(here[2]), 2 * mean / reach**2)
        result = np.maximum(result, np.where(turns, most, np.minimum(most, mean)))
    return np.where(reach < _ENDLESS, np.minimum((1 + _SLACK) * result, supremum), supremum)


_PHI_THIRD = np.array([6 / math.factorial(k + 3) for k in range(18)])  # up to rho = 1


def exponential_slopes(log_second: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """``f''(eta) phi(rho)``, ``phi(x) = 2 (e^x - 1 - x) / x^2``: the slope constant of ``e^eta`` and of ``e^-eta``.

    The quotient without the bars is ``f''(eta) phi(+-z)``, and ``phi(x) = int_0^1 2 (1-t) e^{tx} dt`` is positive and
    grows on the whole line. Where only ``|f'''| <= f''``, ``f''(eta + s) <= f''(eta) e^|s|`` makes it an upper bound.

    ``phi`` by its series below 1, with ``f''`` in the exponent above, so that their product overflows only if it must.
    """
    reach = np.minimum(reach_of(eta, radius), _ENDLESS)
    small, large = np.minimum(reach, 1.0), np.maximum(reach, 1.0)
    with np.errstate(over="ignore"):
        second, above = np.exp(log_second), np.exp(log_second + large)
        near = second * np.polynomial.polynomial.polyval(small, _PHI)
        far = 2 / large**2 * (above - np.where(np.isfinite(above), second * (1 + large), 0.0))
        return np.where(reach < _ENDLESS, (1 + _SLACK) * np.where(reach < 1, near, far), np.inf)


def exponential_bends(log_second: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """``f'' 6 (e^rho - 1 - rho - rho^2/2) / rho^3``: the constants of third order of ``e^eta``, attained at ``rho``."""
    reach = reach_of(eta, radius)
    with np.errstate(over="ignore", invalid="ignore"):
        second = np.exp(log_second)
        small, large = np.minimum(reach, 1), np.maximum(np.minimum(reach, 600.0), 1)
        near = np.polynomial.polynomial.polyval(small, _PHI_THIRD)
        far = 6 / large**3 * (np.exp(large) - 1 - large - large**2 / 2)
        return np.where(reach < 600.0, (1 + _SLACK) * second * np.where(reach < 1, near, far), np.inf)


# --------------------------------------------------------------------------------------- the logistic function


def sigmoids(eta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``p = 1 / (1 + e^-eta)`` and ``1 - p``, each with all its digits."""
    small = np.exp(-np.abs(eta))
    large = 1 / (1 + small)
    small = small * large
    return np.where(eta > 0, large, small), np.where(eta > 0, small, large)


SIGMOID_THIRD = 1 / (6 * np.sqrt(3.0))
"""The supremum of ``|p''| = p (1-p) |1-2p|``, at ``p = (1 -+ 1/sqrt 3) / 2``, that is ``eta = -+log(2 + sqrt 3)``."""

SIGMOID_SLOPE_PEAKS: Peaks = ((0.0, 0.25),)
SIGMOID_THIRD_PEAKS: Peaks = tuple((sign * np.log(2 + np.sqrt(3.0)), SIGMOID_THIRD) for sign in (-1, 1))


def logistic_slopes(eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Slope constants of ``log(1 + e^eta)``: by `slope_near`, and by ``f'' phi(rho)``, as ``|f'''| = f'' |1 - 2p|``."""
    near = slope_near(_softplus_derivatives, eta, radius, SIGMOID_THIRD_PEAKS, SIGMOID_THIRD)
    size = np.abs(eta)
    log_second = -size - 2 * np.log1p(np.exp(-size))  # where f'' underflows, too
    return np.minimum(near, exponential_slopes(log_second, eta, radius))


_SIGMOID_FOURTH_PEAKS: Peaks = (
    (0.0, 1 / 8),
    *((sign * np.log((1 + np.sqrt(2 / 3)) / (1 - np.sqrt(2 / 3))), 1 / 24) for sign in (-1, 1)),
)


def logistic_bends(eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """The supremum nearby of ``|f''''| = w |1 - 6w|``, ``w = p (1-p)``: critical points are ``w`` = 1/4 and 1/12."""
    reach = reach_of(eta, radius)

    def fourth(at: np.ndarray) -> np.ndarray:
        p, q = sigmoids(at)
        return p * q * (1 - 6 * p * q)

    return (1 + _SLACK) * largest(fourth(eta - reach), fourth(eta + reach), _SIGMOID_FOURTH_PEAKS, eta, reach)


def _softplus_derivatives(eta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    p, q = sigmoids(eta)
    return p, p * q, p * q * (q - p)
