"""The flat prior of a positive parameter."""

from __future__ import annotations

from dataclasses import dataclass

from .laws import FLAT_POSITIVE, Laws
from .positive import PositivePrior, one_law


@dataclass(frozen=True)
class FlatPositive(PositivePrior):
    """Flat prior of a positive parameter: a constant density for all ``x > 0``.

    It is improper, so the data must make the posterior proper.

    tunamh accepts this prior only if there is a proof that the posterior is proper (spec 5l). There is a proof in two
    cases. For the scale of errors: if the number of rows exceeds the number of coefficients without a prior by at least
    two. For the scale of Gaussian random intercepts, or of one column of slopes: if the number of groups exceeds the
    number of these coefficients by at least two. Use `Uniform` in other cases.
    """

    def law(self) -> Laws:
        return one_law(FLAT_POSITIVE, 0.0, 1.0)
