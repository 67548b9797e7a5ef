"""The flat prior of a positive parameter."""

from __future__ import annotations

from dataclasses import dataclass

from .laws import FLAT_POSITIVE, Laws
from .positive import PositivePrior, one_law


@dataclass(frozen=True)
class FlatPositive(PositivePrior):
    """Flat prior of a positive parameter: a constant density for all ``x > 0``.

    It is improper, so the data must make the posterior proper.

    tunamh accepts this prior only if there is a proof that the posterior is proper (docs/spec.md, section 5l). There is
    a proof in two cases. For the scale of errors, the number of rows must exceed the number of coefficients without a
    prior by at least two. For the scale of Gaussian random intercepts, or of one column of slopes, the number of groups
    must exceed the number of these coefficients by at least two. In other cases, use `Uniform`.
    """

    def law(self) -> Laws:
        return one_law(FLAT_POSITIVE, 0.0, 1.0)
