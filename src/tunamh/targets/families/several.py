"""What the library asks of a family of K linear predictors ``f(eta_1, ..., eta_K, y)``, and the box bound (spec 5j)."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from ..._jit import Part


class SeveralFamily(ABC):
    """A family of K predictors. Arrays of predictors are (K, n); compiled parts see them one behind the other."""

    predictors: int
    energy: Part
    """In the role `FamilyEnergy`; predictor ``k`` of row ``b`` is ``eta[k * stride + b]``, stride = eta.size // K."""
    rise: Part
    """In the role `FamilyRise`."""

    separable: bool = False
    """Whether ``f`` is a sum of functions of one predictor each: bounds of a single predictor then hold (spec 5h)."""

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
        """Bounds (K, K, K, n) on ``|f_abc|`` over the boxes ``|eta'_a - eta_a| <= reach_a``."""
        raise NotImplementedError

    def cubic_bounds(self, y: np.ndarray, eta: np.ndarray, white: np.ndarray, radius: float) -> np.ndarray:
        """Per row, ``c`` with ``|D^3 f[Yz, Yz, Yw]| <= c |z|^2 |w|`` while no predictor is further than the radius.

        ``white`` (K, n, d) are the rows ``Y = X_i L``. Here by the box: ``c = sum_abc T_abc s_a s_b s_c``, ``s_a =
        |Y_a|``, because ``|Y_a z| <= s_a |z|``. A family may know better.
        """
        size = np.sqrt(np.einsum("aij,aij->ai", white, white))
        bounds = self.third_bounds(y, eta, radius * size)
        return np.einsum("abci,ai,bi,ci->i", bounds, size, size, size, optimize=True)
