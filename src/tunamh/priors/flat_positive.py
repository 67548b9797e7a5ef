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
    a proof in two cases. In both, ``d`` is the number of coefficients that have a flat prior. For the scale of errors,
    there must be at least ``d + 2`` rows. For the scale of normal random intercepts, or of random slopes of one column,
    the family must be `Gaussian`, the model must have a single factor, and there must be at least ``d + 2`` groups (if
    the scale of errors has this prior, too, also at least ``d + 3`` rows). In other cases, use `Uniform`.
    """

    def law(self) -> Laws:
        return one_law(FLAT_POSITIVE, 0.0, 1.0)
