"""The prior of an estimator's coefficients and intercept: the default (`tunamh.priors.default`), or a user's.

A pipeline asks nobody, so that the intercept keeps its proper prior whatever the user says of the coefficients, unless
that prior names it. All moments are weighted by ``sample_weight``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..priors import ByName, Normal
from ..priors.default import (
    INTERCEPT,
    ByTerm,
    Columns,
    beside_intercept,
    coefficient_scales,
    intercept_prior,
    unit_without_intercept,
)
from ..priors.independent import IndependentPrior
from ..tables.libraries import is_sparse

_COEFFICIENTS = "coefficients"
_ROWS_AT_ONCE = 1 << 16


def columns_of(X: Any, weights: np.ndarray) -> Columns:
    """Return mean and size of the columns of a matrix, which may be sparse."""
    total = float(weights.sum())
    mean, variance, low, high = (_sparse_moments if is_sparse(X) else _dense_moments)(X, weights, total)
    return Columns.of_moments(mean, np.sqrt(np.maximum(variance, 0.0)), low, high)


def _dense_moments(X: np.ndarray, weights: np.ndarray, total: float) -> tuple[np.ndarray, ...]:
    blocks = [slice(start, start + _ROWS_AT_ONCE) for start in range(0, len(X), _ROWS_AT_ONCE)]
    low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
    mean = sum(weights[b] @ X[b] for b in blocks) / total
    variance = sum(weights[b] @ np.square(X[b] - mean) for b in blocks) / total
    return mean, variance, low, high


def _sparse_moments(X: Any, weights: np.ndarray, total: float) -> tuple[np.ndarray, ...]:
    rows = X.tocsr()
    mean = np.asarray(rows.T @ weights).ravel() / total
    variance = np.asarray(rows.multiply(rows).T @ weights).ravel() / total - mean**2
    low, high = (np.asarray(end.toarray(), dtype=np.float64).ravel() for end in (rows.min(axis=0), rows.max(axis=0)))
    return mean, variance, low, high


def prior_of(
    given: Any,
    names: Sequence[str],
    columns: Columns,
    location: tuple[float | None, float],
    intercepts: Sequence[str],
) -> Any:
    """Return the prior of the coefficients, the user's or the default, and the default prior of the intercept.

    ``names`` are the names of the features, ``intercepts`` those of the intercepts: one for every class except the
    first. If the user's prior names the intercept, its prior is used. A function of all parameters is used as it is.
    """
    centre, unit = location
    own = intercept_prior(columns, centre, unit) if intercepts else None
    if given is None:
        unit = unit if intercepts else unit_without_intercept(centre, unit)
        return _of_columns(Normal(scale=coefficient_scales(columns, unit)), own, len(names))
    of_intercepts = {} if own is None else dict.fromkeys(intercepts, own)
    found = beside_intercept(given, of_intercepts)
    if found is not None:
        return found
    correlated = isinstance(given, Normal) and given.covariance is not None
    if isinstance(given, IndependentPrior) and not correlated:
        return _of_columns(given.in_order(names), own, len(names))
    if own is None:
        return given
    if isinstance(given, ByName):
        return replace(given, priors={**of_intercepts, **given.priors})
    if correlated and isinstance(own, Normal):
        covariance = np.zeros((len(names) + 1, len(names) + 1))
        covariance[0, 0], covariance[1:, 1:] = own.scale**2, np.array(given.covariance)
        return Normal(mean=[own.mean, *np.broadcast_to(given.mean, len(names))], covariance=covariance)
    return given


def _of_columns(coefficients: Any, intercept: IndependentPrior | None, count: int) -> ByTerm:
    if intercept is None:
        return ByTerm({_COEFFICIENTS: coefficients}, [(_COEFFICIENTS, count)])
    return ByTerm({INTERCEPT: intercept, _COEFFICIENTS: coefficients}, [(INTERCEPT, 1), (_COEFFICIENTS, count)])
