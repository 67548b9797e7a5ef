"""Log hazards beside coefficients. A chain does not transform them; their prior is a random walk over time."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ...compiled import helper
from ...compiled.layouts import NUMBER, WHOLE, Layout
from ...compiled.vector import copy_into
from ...priors.potential import PriorExpansion
from .base import Same

_WALK = Layout("Walk", first=WHOLE, strata=WHOLE, gaps=WHOLE, precision=NUMBER)
"""Where the hazards begin, the number of strata, the number of steps in each, and the precision of a step."""

_walk_at = _WALK.reader()


class Hazards(Same):
    """The form of log hazards that have independent priors."""

    linear: ClassVar[bool] = True
    of_columns: ClassVar[bool] = True


@helper
def fill_walk(theta, natural, numbers):
    """Return ``-sum_s sum_j (a_{s, j+1} - a_{s, j})^2 precision / 2``."""
    copy_into(natural, theta)
    own = _walk_at(numbers, 0)
    total = 0.0
    for s in range(own.strata):
        at = own.first + s * (own.gaps + 1)
        for j in range(own.gaps):
            step = theta[at + j + 1] - theta[at + j]
            total += step * step
    return -0.5 * own.precision * total


class Walk(Hazards):
    """The form of log hazards ``a_{s, 0}, a_{s, 1}, ...`` of each stratum ``s`` with normal steps between neighbours.

    The first log hazard of each stratum has its own prior law. So the prior is proper if this law is proper.
    """

    fill = staticmethod(fill_walk)

    def __init__(self, coefficients: int, strata: int, each: int, deviation: float):
        super().__init__(coefficients, strata * each)
        self.strata, self.each, self.deviation = strata, each, deviation

    @property
    def numbers(self) -> np.ndarray:
        precision = self.deviation**-2
        return _WALK.pack(first=self.coefficients, strata=self.strata, gaps=self.each - 1, precision=precision)

    @property
    def bound(self) -> np.ndarray:
        return np.arange(self.strata * self.each) % self.each > 0

    def expansion(self, theta: np.ndarray) -> PriorExpansion:
        """Return the exact expansion: the closed part is quadratic."""
        between = np.diff(np.eye(self.each), axis=0)
        precision = between.T @ between / self.deviation**2
        hessian = np.zeros((self.dim, self.dim))
        for s in range(self.strata):
            at = self.coefficients + s * self.each + np.arange(self.each)
            hessian[np.ix_(at, at)] = precision
        gradient = hessian @ theta
        return PriorExpansion(0.5 * float(theta @ gradient), gradient, hessian)

    def thirds(self, theta: np.ndarray, factor: np.ndarray) -> np.ndarray:
        return np.zeros(len(theta))
