"""The flat prior of a positive parameter."""

from __future__ import annotations

from dataclasses import dataclass

from .laws import FLAT_POSITIVE, Laws
from .positive import PositivePrior, one_law


@dataclass(frozen=True)
class FlatPositive(PositivePrior):
    """Flat prior of a positive parameter: a constant density for all ``x > 0``.

    It is improper, so the data must make the posterior proper.

    tunamh accepts it only if it is proved that the posterior is proper (spec 5l). This is so for the scale of errors,
    if there are at least two rows more than coefficients without a prior; and for the scale of Gaussian random
    intercepts, or of one column of slopes, if there are at least two groups more than such coefficients. Use `Uniform`
    in other cases.
    """

    def law(self) -> Laws:
        return one_law(FLAT_POSITIVE, 0.0, 1.0)
