"""The default prior of coefficients: one rule, for formulas and estimators. `GLM` is flat unless told.

    coefficient of column j    Normal(0, 2.5 u / s_j)
    intercept                  Normal(m, sqrt((10 u)^2 + sum_j (2.5 u / s_j)^2 mean_j^2))

``s_j`` is the standard deviation of a column or, where it has two values, their distance: a level of a factor, however
rare, has ``s_j = 1``. So a change of a column by its standard deviation moves the predictor by a few units at most,
before the data are seen (Gelman et al., 2008; as in rstanarm and Bambi).

``u`` and ``m`` are unit and centre of the linear predictor, from the responses alone (`BaseFamily.location`): standard
deviation and mean of real responses, or of their logarithms where these are regressed; 1 and the logarithm of the mean
behind a log link; 1 and 0 behind the others. A user's own family that does not say what its responses are has the unit
1 and a flat intercept.

Without an intercept the columns must explain the centre, too: ``sqrt(u^2 + m^2)`` takes the place of ``u``. For real
responses this is their root mean square.

The intercept is the predictor where all columns are zero, which may be far from all rows: the sum is what the
coefficients' priors say of it there. Columns of zeros and ones, and levels, hardly add to it and are left out of it.
Numbers are rounded to three digits, in which a prior is to be read.
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
    """Per column, or per term: its mean, and the size ``s_j`` by which its coefficient is measured."""

    mean: np.ndarray
    size: np.ndarray

    @classmethod
    def of_moments(cls, mean: np.ndarray, deviation: np.ndarray, low: np.ndarray, high: np.ndarray) -> Columns:
        """From means, standard deviations and ranges.

        No variance exceeds ``(high - mean) (mean - low)``, and only that of two values attains it (Bhatia and Davis).
        """
        most = (high - mean) * (mean - low)
        two = (high > low) & (most - deviation**2 <= _TWO_VALUES * most)
        size = np.where(two, high - low, deviation)
        known = size > _NO_DEVIATION * np.maximum(np.abs(high), np.abs(low))
        size = np.where(known, size, np.where(high != 0, np.abs(high), 1.0))
        return cls(np.where(two & (low == 0) & (high == 1), 0.0, mean), size)


@dataclass(frozen=True)
class ByTerm(IndependentPrior):
    """A prior for every term, which serves the coefficients of its span; the same for every class but one."""

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
    """To three digits."""
    return float(f"{value:.3g}")


def unit_without_intercept(centre: float | None, unit: float) -> float:
    """Return the unit of coefficients if no intercept explains the centre of the predictors."""
    return math.hypot(unit, centre or 0.0)


def coefficient_scales(columns: Columns, unit: float) -> list[float]:
    """Of every column."""
    return [rounded(COEFFICIENT_WIDTH * unit / size) for size in columns.size.tolist()]


def intercept_prior(columns: Columns, centre: float | None, unit: float) -> IndependentPrior:
    """About the centre of predictors, rounded to a thousandth of the prior's width; flat if no centre is known."""
    if centre is None:
        return Flat()
    far = float(np.square(np.array(coefficient_scales(columns, unit)) * columns.mean).sum())
    width = rounded(math.sqrt((INTERCEPT_WIDTH * unit) ** 2 + far))
    return Normal(mean=round(centre, 3 - math.floor(math.log10(width))), scale=width)


def beside_intercept(given: Any, intercepts: Mapping[str, IndependentPrior]) -> Any:
    """A user's prior with scales of its own, with the default of the intercepts; None for any other prior.

    `Flat` is no prior at all, of the intercept neither.
    """
    if isinstance(given, Flat):
        return given
    if isinstance(given, MixturePrior):
        return ByName(intercepts, others=given) if intercepts else given
    return None
