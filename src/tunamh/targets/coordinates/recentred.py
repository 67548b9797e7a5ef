"""Coefficients of a further predictor as a user knows them, where its columns are taken about their means.

Rows have ``z - o`` in the place of ``z``, so that the intercept ``a`` belongs to a typical row and has its prior there.
Of the columns as they are, the intercept is ``a - o.gamma``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Recentred(NamedTuple):
    """For one predictor: the position of its intercept, the positions of all its coefficients, and their origins.

    The origins are the numbers that were subtracted from its columns.
    """

    intercept: int
    coefficients: slice
    origin: np.ndarray

    def out(self, points: np.ndarray) -> np.ndarray:
        """Convert points from coordinates with subtracted origins to the user's coefficients."""
        return self._moved(points, -1.0)

    def back(self, points: np.ndarray) -> np.ndarray:
        return self._moved(points, 1.0)

    def _moved(self, points: np.ndarray, sign: float) -> np.ndarray:
        """The intercept's own origin is zero, so that it does not matter which one is in the sum."""
        found = np.array(points)
        found[..., self.intercept] += sign * (points[..., self.coefficients] @ self.origin)
        return found


def recentrings(given: Any, coefficients: int, extras: tuple[Any, ...]) -> list[Recentred]:
    """Return the conversions for further predictors whose columns have an origin (`NamedDesign.origin`)."""
    starts, at = {}, coefficients
    for extra in extras:
        starts[extra.name] = at
        at += extra.size
    found = []
    for name, origin in zip(given.described, given.other_origins, strict=False):
        if origin is not None and origin.any():
            first = starts[name]
            intercept = first + list(extras[[extra.name for extra in extras].index(name)].labels).index("Intercept")
            found.append(Recentred(intercept, slice(first, first + len(origin)), origin))
    return found
