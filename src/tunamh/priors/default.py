"""The default prior of coefficients, for formulas and estimators. (The default prior of `tunamh.GLM` is flat.)

    coefficient of column j    Normal(0, 2.5 u / s_j)
    intercept                  Normal(m, sqrt((10 u)^2 + sum_j (2.5 u / s_j)^2 mean_j^2))

The first number of ``Normal`` is the mean, the second the standard deviation. ``mean_j`` is the mean of column ``j``,
and ``s_j`` is its standard deviation. If the column has only two values, ``s_j`` is their distance; so every level of a
factor has ``s_j = 1``. With this prior, a change of a column by its standard deviation changes the linear predictor
only by a few units (Gelman et al. 2008; rstanarm and Bambi have similar priors).

``u`` is a typical size of the linear predictor, and ``m`` is a typical value. Both are computed from the responses
(`BaseFamily.location`). For real responses they are the standard deviation and the mean, or those of the logarithms if
the family models the logarithm. For a log link, ``u = 1``, and ``m`` is the logarithm of the mean. For other links,
``u = 1`` and ``m = 0``. If your own family does not define the type of its responses, ``u = 1``, and the
intercept has a flat prior.

Without an intercept, the columns must explain the typical value, too. Then ``sqrt(u^2 + m^2)`` replaces ``u``. For real
responses this is the root mean square.

The intercept is the linear predictor of a row in which all columns are zero, and this row may be far from all data.
The sum in the formula is the variance that the priors of the coefficients give to the difference between that row and
the mean row. Columns of zeros and ones, and levels, are left out of the sum, because they hardly change it. Numbers are
rounded to three digits, so that a prior is easy to read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .by_name import ByName
from .flat import Flat
from .independent import IndependentPrior
from .laws import Laws
from .mixtures import MixturePrior
from .normal import Normal

INTERCEPT = "Intercept"

COEFFICIENT_WIDTH, INTERCEPT_WIDTH = 2.5, 10.0

_TWO_VALUES = 1e-6  # relative; the variance of two values is computed to more digits than that
_NO_DEVIATION = 1e-10  # of the largest value: what is left of a constant column is rounding


class Columns(NamedTuple):
    """For each column or term: the mean, and the size ``s_j`` that is the unit of its coefficient."""

    mean: np.ndarray
    size: np.ndarray

    @classmethod
    def of_moments(cls, mean: np.ndarray, deviation: np.ndarray, low: np.ndarray, high: np.ndarray) -> Columns:
        """Make the object from means, standard deviations and ranges.

        A column with only two values has their difference as its size. To find such columns: no variance exceeds
        ``(high - mean) (mean - low)``, and only a column with two values attains it (Bhatia and Davis).
        """
        most = (high - mean) * (mean - low)
        two = (high > low) & (most - deviation**2 <= _TWO_VALUES * most)
        size = np.where(two, high - low, deviation)
        known = size > _NO_DEVIATION * np.maximum(np.abs(high), np.abs(low))
        size = np.where(known, size, np.where(high != 0, np.abs(high), 1.0))
        return cls(np.where(two & (low == 0) & (high == 1), 0.0, mean), size)


@dataclass(frozen=True)
class ByTerm(IndependentPrior):
    """One prior for each term; it is the prior of all coefficients of this term.

    With several classes, every class except the reference has the same priors.
    """

    priors: Mapping[str, IndependentPrior]
    spans: Sequence[tuple[str, int]] = field(repr=False)

    def laws(self, dim: int) -> Laws:
        if not self.spans:  # hazards without columns
            return Flat().laws(0)
        parts = [self.priors[name].laws(count) for name, count in self.spans]
        laws = Laws(*(np.concatenate(numbers) for numbers in zip(*parts, strict=True)))
        classes = dim // max(len(laws.kind), 1)
        return Laws(*(np.tile(numbers, classes) for numbers in laws))


def rounded(value: float) -> float:
    """Return a number rounded to three digits."""
    return float(f"{value:.3g}")


def unit_without_intercept(centre: float | None, unit: float) -> float:
    """Return the unit of coefficients if no intercept explains the centre of the predictors."""
    return math.hypot(unit, centre or 0.0)


def coefficient_scales(columns: Columns, unit: float) -> list[float]:
    """Return the default prior's scale for the coefficient of every column."""
    return [rounded(COEFFICIENT_WIDTH * unit / size) for size in columns.size.tolist()]


def intercept_prior(columns: Columns, centre: float | None, unit: float) -> IndependentPrior:
    """Return the default prior of the intercept.

    Its centre is the centre of the predictors, rounded to a thousandth of the prior's width. It is flat if no centre is
    known.
    """
    if centre is None:
        return Flat()
    far = float(np.square(np.array(coefficient_scales(columns, unit)) * columns.mean).sum())
    width = rounded(math.sqrt((INTERCEPT_WIDTH * unit) ** 2 + far))
    return Normal(mean=round(centre, 3 - math.floor(math.log10(width))), scale=width)


def beside_intercept(given: Any, intercepts: Mapping[str, IndependentPrior]) -> Any:
    """Return a user's prior with unknown scales, together with the default prior of the intercepts.

    `Flat` is returned as it is: then the prior of the intercept is flat, too. The result is None for any other prior.
    """
    if isinstance(given, Flat):
        return given
    if isinstance(given, MixturePrior):
        return ByName(intercepts, others=given) if intercepts else given
    return None
