"""The flat prior of a positive parameter."""

from __future__ import annotations

from dataclasses import dataclass

from .laws import FLAT_POSITIVE, Laws
from .positive import PositivePrior, one_law


@dataclass(frozen=True)
class FlatPositive(PositivePrior):
    """The same density for all ``x > 0``, which has no integral: the data must make a posterior of it.

    Taken where that is proved (spec 5l): for the scale of errors with more rows than coefficients without a prior, by
    more than one, and for the scale of Gaussian random intercepts (or of one column of slopes) with at least two groups
    more than such coefficients. Elsewhere it is refused; `Uniform` is the way out.
    """

    def law(self) -> Laws:
        return one_law(FLAT_POSITIVE, 0.0, 1.0)
