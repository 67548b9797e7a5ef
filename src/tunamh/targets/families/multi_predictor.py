"""Likelihoods of K linear predictors ``f(eta_1, ..., eta_K, y)``, and the box bound (spec 5n).

All that depends on a row's predictors and response is part of them. What depends on shared scalars and counts of
responses only, as normalising constants do, is added in closed form where such a likelihood is used.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from .cubic_bounds import largest_cubic
from .likelihood import Likelihood


class MultiPredictorLikelihood(Likelihood):
    """Base class of likelihoods with K predictors.

    Arrays of predictors have the shape (K, n). Compiled functions read them as one array, predictor after predictor.
    """

    predictors: int

    separable: bool = False
    """Whether ``f`` is a sum of functions of one predictor each. If so, bounds for one predictor hold (spec 5l)."""

    bounded_everywhere: bool = False
    """Whether `cubic_bounds` are the same, and finite, whatever the radius."""

    @abstractmethod
    def check(self, y: np.ndarray) -> None:
        """Raise a ValueError for responses that the family does not allow."""

    def derivatives_to(self, most: int, eta: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
        """Return the derivatives of orders 1 to ``most``, as `derivatives` does; fewer orders may need less time."""
        return list(self.derivatives(eta, y)[:most])

    def third_bounds(self, y: np.ndarray, eta: np.ndarray, radii: np.ndarray) -> np.ndarray:
        """Return an array (K, K, K, n): bounds of ``|f_abc|`` over the boxes ``|eta'_a - eta_a| <= radii_a``.

        ``f_abc`` are the third derivatives of the energy with respect to the linear predictors. `cubic_bounds` uses
        these bounds; a likelihood with its own `cubic_bounds` does not need this method.
        """
        raise NotImplementedError

    def where_lost(self, y: float, eta: np.ndarray, reach: np.ndarray) -> str:
        """Return a text: the operation that leaves the third derivatives of a row without a bound; empty if unknown."""
        return ""

    def cubic_bounds(self, y: np.ndarray, eta: np.ndarray, white: np.ndarray, radius: float) -> np.ndarray:
        """Return an array (n,): a bound of the third derivative of the energy of each row, near ``eta``.

        It is a number ``c`` with ``|D^3 f[Yz, Yz, Yw]| <= c |z|^2 |w|`` at ``eta + Y v`` for all ``|v| <= radius``.
        ``white`` (K, n, d) are the rows ``Y = X_i L``. Here from `third_bounds` over the box that ``|Y_a z| <= s_a
        |z|``, ``s_a = |Y_a|``, leaves, by `largest_cubic`. A likelihood may know better.
        """
        overlaps = np.einsum("aij,bij->abi", white, white)
        size = np.sqrt(np.einsum("aai->ai", overlaps))
        radii = np.multiply(radius, size, out=np.zeros_like(size), where=size > 0)  # a row of zeros stays
        return largest_cubic(self.third_bounds(y, eta, radii), size, overlaps)
