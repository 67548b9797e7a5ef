"""The prior of an estimator's coefficients: proper, and in the units of the data, since a pipeline asks nobody.

    coefficient of column j    Normal(0, 2.5 u / s_j)
    intercept                  Normal(m, sqrt((10 u)^2 + sum_j (2.5 u / s_j)^2 mean_j^2))

``s_j`` is the standard deviation of the column, or, of a column with two values, their distance: a rare level of a
category is no reason for a wide prior. ``u`` and ``m`` are the unit and the centre of linear predictors: the standard
deviation and the mean of real responses, 1 and the logarithm of the mean behind a log link, 1 and 0 behind a logit. The
intercept is the predictor where all columns are zero, which may be far from all rows: the sum is what the coefficients'
priors say of it there. All moments are weighted by ``sample_weight``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ..priors import ByName, Normal, Prior, ReadyPrior
from ..priors.independent import IndependentPrior
from ..priors.laws import Laws, ready
from ..priors.mixtures import MixturePrior
from ..tables.libraries import is_sparse

INTERCEPT = "Intercept"

_COEFFICIENT, _INTERCEPT = 2.5, 10.0
_ROWS_AT_ONCE = 1 << 16


class Columns(NamedTuple):
    """Per column of ``X``: its mean, and the size by which coefficients are measured."""

    mean: np.ndarray
    size: np.ndarray


def columns_of(X: Any, weights: np.ndarray) -> Columns:
    """Of a matrix, dense or sparse."""
    total = float(weights.sum())
    if is_sparse(X):
        mean, variance, low, high, two = _sparse_moments(X, weights, total)
    else:
        mean, variance, low, high, two = _dense_moments(X, weights, total)
    size = np.where(two, high - low, np.sqrt(np.maximum(variance, 0.0)))
    known = size > 1e-10 * np.maximum(np.abs(high), np.abs(low))  # a constant column has rounding for a deviation
    fallback = np.where(high != 0, np.abs(high), 1.0)
    return Columns(mean, np.where(known, size, fallback))


def _dense_moments(X: np.ndarray, weights: np.ndarray, total: float) -> tuple[np.ndarray, ...]:
    blocks = [slice(start, start + _ROWS_AT_ONCE) for start in range(0, len(X), _ROWS_AT_ONCE)]
    low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
    mean = sum(weights[b] @ X[b] for b in blocks) / total
    variance = sum(weights[b] @ np.square(X[b] - mean) for b in blocks) / total
    two = np.all([((X[b] == low) | (X[b] == high)).all(axis=0) for b in blocks], axis=0)
    return mean, variance, low, high, two & (high > low)


def _sparse_moments(X: Any, weights: np.ndarray, total: float) -> tuple[np.ndarray, ...]:
    rows = X.tocsr()
    mean = np.asarray(rows.T @ weights).ravel() / total
    variance = np.asarray(rows.multiply(rows).T @ weights).ravel() / total - mean**2
    low, high = (np.asarray(end.toarray(), dtype=np.float64).ravel() for end in (rows.min(axis=0), rows.max(axis=0)))
    third = (rows.data != low[rows.indices]) & (rows.data != high[rows.indices])
    stored = np.bincount(rows.indices, minlength=rows.shape[1])
    has_zero_between = (stored < rows.shape[0]) & (low < 0) & (high > 0)
    two = (np.bincount(rows.indices[third], minlength=rows.shape[1]) == 0) & ~has_zero_between & (high > low)
    return mean, variance, low, high, two


@dataclass(frozen=True)
class OfColumns(IndependentPrior):
    """Independent priors of the columns' coefficients and of an intercept before them, the same for every class."""

    coefficients: IndependentPrior
    intercept: IndependentPrior | None
    columns: Sequence[str] = field(repr=False)

    def in_order(self, names: Sequence[str]) -> Prior:
        found = self.coefficients.in_order(self.columns)
        assert isinstance(found, IndependentPrior)
        return replace(self, coefficients=found)

    def laws(self, dim: int) -> Laws:
        of_columns = self.coefficients.laws(len(self.columns))
        if self.intercept is not None:
            both = zip(self.intercept.laws(1), of_columns, strict=True)
            of_columns = Laws(*(np.concatenate(pair) for pair in both))
        classes = dim // len(of_columns.kind)
        return Laws(*(np.tile(numbers, classes) for numbers in of_columns))

    def bind(self, dim: int) -> ReadyPrior:
        return ready(self.laws(dim))


def _rounded(value: float) -> float:
    """To three digits, in which a prior is to be read."""
    return float(f"{value:.3g}")


def prior_of(
    given: Any, names: Sequence[str], columns: Columns, unit: float, centre: float, fit_intercept: bool
) -> Any:
    """The user's prior of the coefficients or the default one, with the default one of the intercept.

    A prior that names the intercept keeps what it says of it; a function of all parameters is taken as it is.
    """
    scale = np.array([_rounded(value) for value in _COEFFICIENT * unit / columns.size])
    width = _rounded(float(np.sqrt((_INTERCEPT * unit) ** 2 + np.square(scale * columns.mean).sum())))
    intercept = Normal(mean=centre, scale=width) if fit_intercept else None
    if given is None:
        return OfColumns(Normal(scale=scale.tolist()), intercept, names)
    correlated = isinstance(given, Normal) and given.covariance is not None
    if isinstance(given, IndependentPrior) and not correlated:
        return OfColumns(given, intercept, names)
    if intercept is None:
        return given
    if isinstance(given, ByName):
        return replace(given, priors={INTERCEPT: intercept, **given.priors})
    if isinstance(given, MixturePrior):
        return ByName({INTERCEPT: intercept}, others=given)
    if correlated:
        covariance = np.zeros((len(scale) + 1, len(scale) + 1))
        covariance[0, 0], covariance[1:, 1:] = width**2, np.array(given.covariance)
        return Normal(mean=[centre, *np.broadcast_to(given.mean, len(scale))], covariance=covariance)
    return given
