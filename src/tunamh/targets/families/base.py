"""What the GLM target needs to know of a family, and the maximum of a derivative over an interval."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...compiled import Part


class Suprema(NamedTuple):
    """For each row, the suprema over ``eta`` of ``|f'|``, ``|f''|`` and ``|f'''|``; infinity is allowed."""

    first: np.ndarray
    second: np.ndarray
    third: np.ndarray


class LowerBound(NamedTuple):
    """For each row, the quadratic ``a (eta - anchor)^2 + b (eta - anchor) + k``."""

    anchor: np.ndarray
    a: np.ndarray
    b: np.ndarray
    k: np.ndarray


class Family(Protocol):
    """A response family for `GLM`. ``f(eta, y)`` is the energy (minus log-likelihood) of a row of weight 1."""

    @property
    @abstractmethod
    def energy(self) -> Part:
        """The compiled energy, in the role `FamilyEnergy`."""

    @property
    @abstractmethod
    def rise(self) -> Part:
        """The compiled difference of two energies, in the role `FamilyRise`."""

    @property
    def hyper(self) -> tuple[float, ...]:
        """The family's numbers, passed to ``energy`` and ``rise``."""
        return ()

    def check(self, y: np.ndarray) -> None:
        """Raise a ValueError for responses that the family does not allow."""

    @abstractmethod
    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """``f'``, ``f''`` and ``f'''`` with respect to ``eta``."""

    @abstractmethod
    def suprema(self, y: np.ndarray) -> Suprema:
        """For each row, the suprema over all ``eta``. The docstring of each family has the proof."""


class WellKnownFamily(Family, Protocol):
    """Optional knowledge about a family. Without ``convex``, tunamh searches for several modes."""

    convex: bool
    """Whether ``f`` is convex in ``eta``, so that a posterior has one mode at most."""

    self_concordant: bool
    """Whether ``|f'''| <= f''`` everywhere."""

    def guess(self, y: np.ndarray) -> np.ndarray:
        """Linear predictors that would explain the responses, as a start for the search for a mode."""

    def rises(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For each row, whether ``f`` grows without bound as ``eta`` goes to plus and to minus infinity.

        If a convex ``f`` does not grow in a direction, the row does not bound the posterior in this direction.
        """

    def suprema_near(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> Suprema:
        """For each row, the suprema of ``|f'|``, ``|f''|``, ``|f'''|`` over predictors within ``radius`` of ``eta``.

        They are upper bounds up to rounding, and never larger than `suprema`.
        """

    def slope_constants(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """For each row, an upper bound of ``sup_{0<|z|<=radius} 2 |f'(eta+z) - f'(eta) - f''(eta) z| / z^2`` (spec 5m).

        It holds up to rounding; infinity is allowed. Without this method, the third entry of `suprema_near` is used,
        which is never smaller.
        """

    # A family may also offer `bend_constants(y, eta, radius)`, per row an upper bound of
    # ``sup_{0<|z|<=radius} 6 |f'(eta+z) - f'(eta) - f''(eta) z - f'''(eta) z^2/2| / |z|^3``, such as the supremum of
    # ``|f''''|``: effects of groups are then expanded to the third order (spec 5r).


class FamilyWithLowerBound(Family, Protocol):
    """A family that also works with FlyMC."""

    def lower_bound(self, y: np.ndarray, eta: np.ndarray | None) -> LowerBound:
        """A quadratic below ``-f(eta, y)`` for FlyMC, tight at ``eta`` (None: untuned)."""


def same_for_all(y: np.ndarray, first: float, second: float, third: float) -> Suprema:
    return Suprema(*(np.broadcast_to(value, y.shape) for value in (first, second, third)))


# ------------------------------------------------------------------------------------- suprema over an interval

Peaks = Sequence[tuple[Any, Any]]
"""Where a derivative has its local extrema, and its absolute value there; numbers, or arrays with one per row."""

SLACK = 1e-12
ENDLESS = 1e50  # a radius beyond it counts as infinite


def reach_of(eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """The radius, a little wider: what rounding does to predictors and near zeros of derivatives is far smaller."""
    return radius + SLACK * (1 + np.abs(eta) + radius)


def largest(low: np.ndarray, high: np.ndarray, peaks: Peaks, eta: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """The maximum of ``|g|`` over ``[eta - reach, eta + reach]``, given ``g`` at the two ends and all its peaks.

    A continuous function attains its maximum at an end or at a critical point inside.
    """
    result = np.maximum(np.abs(low), np.abs(high))
    for where, height in peaks:
        result = np.where(np.abs(where - eta) <= reach, np.maximum(result, height), result)
    return (1 + SLACK) * result


def nearby(
    family: Family, y: np.ndarray, eta: np.ndarray, radius: np.ndarray, first: Peaks, second: Peaks, third: Peaks
) -> Suprema:
    """`Family.suprema_near` of a family that knows all peaks of its derivatives; `suprema` for an endless radius."""
    reach = np.minimum(reach_of(eta, radius), ENDLESS)
    lows, highs = family.derivatives(eta - reach, y), family.derivatives(eta + reach, y)
    found = (largest(*ends, eta, reach) for ends in zip(lows, highs, (first, second, third), strict=True))
    return Suprema(
        *(np.where(reach < ENDLESS, np.minimum(*both), both[1]) for both in zip(found, family.suprema(y), strict=True))
    )


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
