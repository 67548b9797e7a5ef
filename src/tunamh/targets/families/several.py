"""What the library asks of a family of K linear predictors ``f(eta_1, ..., eta_K, y)``, and the box bound (spec 5n)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import cos, pi

import numpy as np

from ...compiled import Part


class SeveralFamily(ABC):
    """A family of K predictors. Arrays of predictors are (K, n); compiled parts see them one behind the other."""

    predictors: int
    energy: Part
    """In the role `FamilyEnergy`; predictor ``k`` of row ``b`` is ``eta[k * stride + b]``, stride = eta.size // K."""
    rise: Part
    """In the role `FamilyRise`."""

    separable: bool = False
    """Whether ``f`` is a sum of functions of one predictor each: bounds of a single predictor then hold (spec 5l)."""

    bounded_everywhere: bool = False
    """Whether `cubic_bounds` are the same, and finite, whatever the radius."""

    @property
    def hyper(self) -> tuple[float, ...]:
        """Numbers of its own, which the two are given."""
        return ()

    @abstractmethod
    def check(self, y: np.ndarray) -> None:
        """Raise a ValueError for responses that the family does not know."""

    @abstractmethod
    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Gradient (K, n), Hessian (K, K, n) and third derivatives (K, K, K, n)."""

    def third_bounds(self, y: np.ndarray, eta: np.ndarray, reach: np.ndarray) -> np.ndarray:
        """Bounds (K, K, K, n) on ``|f_abc|`` over the boxes ``|eta'_a - eta_a| <= reach_a``.

        For `cubic_bounds`; a family that has these by itself needs none.
        """
        raise NotImplementedError

    def cubic_bounds(self, y: np.ndarray, eta: np.ndarray, white: np.ndarray, radius: float) -> np.ndarray:
        """Per row, ``c`` with ``|D^3 f[Yz, Yz, Yw]| <= c |z|^2 |w|`` while no predictor is further than the radius.

        ``white`` (K, n, d) are the rows ``Y = X_i L``. Here from `third_bounds` over the box that ``|Y_a z| <= s_a
        |z|``, ``s_a = |Y_a|``, leaves, by `largest_cubic`. A family may know better.
        """
        overlaps = np.einsum("aij,bij->abi", white, white)
        size = np.sqrt(np.einsum("aai->ai", overlaps))
        reach = np.multiply(radius, size, out=np.zeros_like(size), where=size > 0)  # inf times 0 is no reach
        return largest_cubic(self.third_bounds(y, eta, reach), size, overlaps)


# ------------------------------------------------------------------------- from third derivatives to one number

_ANGLES = 48  # on a half circle
_BETWEEN = 1 / cos(3 * pi / (2 * _ANGLES))


def largest_cubic(bounds: np.ndarray, size: np.ndarray, overlaps: np.ndarray) -> np.ndarray:
    """Per row, at least ``sup |D[z, z', w]|`` over unit vectors, given ``|D_abc| <= bounds`` in the predictors.

    ``D`` is symmetric, so that the supremum is attained with all three equal (Banach): with ``T_abc = bounds_abc s_a
    s_b s_c`` and the unit vectors ``e_a = Y_a / s_a`` it is at most the largest ``sum_abc T_abc |v_a v_b v_c|``,
    ``v_a = e_a.z``. Then:

    - ``|v_a| <= 1``: the sum of all ``T`` (spec 5n).
    - ``|v|^2 <= lambda``, the largest eigenvalue of ``e e'``: ``(sum T^2)^(1/2) lambda^(3/2)``, by Cauchy-Schwarz.
    - Two predictors at the angle ``phi``: ``v = (cos t, +-cos(t - phi))`` makes the sum a trigonometric polynomial of
      degree 3, the absolute value of which has the period pi. It falls from its peak no faster than ``cos 3t`` (M.
      Riesz), so a grid of m angles misses no more than the factor ``cos(3 pi / 2m)``.
    """
    scaled = np.einsum("abci,ai,bi,ci->abci", bounds, size, size, size, optimize=True)
    scaled = np.where(np.isnan(scaled), 0.0, scaled)  # an infinite bound of what does not move
    total = scaled.sum(axis=(0, 1, 2))
    if len(size) == 1:
        return total
    lengths = np.where(size > 0, size, 1.0)
    cosines = overlaps / (lengths[:, None] * lengths[None, :])
    if len(size) == 2:
        return np.minimum(total, _on_the_circle(scaled, np.clip(cosines[0, 1], -1.0, 1.0)))
    largest = np.linalg.eigvalsh(np.moveaxis(cosines, -1, 0))[:, -1]
    return np.minimum(total, np.sqrt(np.square(scaled).sum(axis=(0, 1, 2))) * (1 + 1e-12) * largest**1.5)


def _on_the_circle(scaled: np.ndarray, cosine: np.ndarray) -> np.ndarray:
    """Both signs at once: the terms have no sign of their own, so that absolute values of ``v`` do."""
    sine = np.sqrt((1 - cosine) * (1 + cosine))
    first, second, third, fourth = scaled[0, 0, 0], 3 * scaled[0, 0, 1], 3 * scaled[0, 1, 1], scaled[1, 1, 1]
    best = np.zeros(cosine.shape)
    with np.errstate(invalid="ignore"):  # 0 times an infinite bound: the sum of all is infinite then
        for t in pi / _ANGLES * np.arange(_ANGLES):
            v, w = abs(cos(t)), np.abs(cosine * np.cos(t) + sine * np.sin(t))
            best = np.fmax(best, ((fourth * w + third * v) * w + second * v * v) * w + first * v**3)
    unknown = ~np.isfinite(scaled).all(axis=(0, 1, 2))
    return np.where(unknown, np.inf, best * (_BETWEEN * (1 + 1e-12)))
