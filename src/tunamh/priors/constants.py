"""The constants of densities that chains leave out: with them, priors integrate to one.

`tunamh.priors.laws.laws_at` is the log density of independent coordinates up to these constants, so that

    log p(theta) = laws_at(theta, records) + sum(log_constants(laws, positive)).

A law that is symmetric on all numbers is restricted to positive ones where the parameter is positive: half-normal and
exponential priors are of this kind. Its density is then divided by the probability of positive numbers.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, log_expit, log_ndtr, stdtr

from .laws import (
    FLAT,
    FLAT_POSITIVE,
    GAMMA,
    INVERSE_GAMMA,
    LAPLACE,
    LOG_NORMAL,
    LOGISTIC,
    NORMAL,
    ON_VARIANCE,
    RECORD,
    STUDENT_T,
    UNIFORM,
    Laws,
    laws_at,
    records,
)

_ROOT = 0.5 * np.log(2 * np.pi)


def improper(laws: Laws) -> np.ndarray:
    """Which coordinates have a flat prior."""
    kind = laws.kind % ON_VARIANCE
    return (kind == FLAT) | (kind == FLAT_POSITIVE)


def log_density(laws: Laws, values: np.ndarray, *, positive: bool = False) -> float:
    """Of independent proper laws at ``values``, with all constants."""
    zero = np.zeros(len(values))
    kept = np.ones(len(values), dtype=np.bool_)
    whole = records(laws, kept, zero, zero, zero).reshape(len(values), RECORD)
    value = float(laws_at(np.ascontiguousarray(values, dtype=np.float64), whole))
    return value + float(log_constants(laws, positive=positive).sum())


def log_constants(laws: Laws, *, positive: bool = False) -> np.ndarray:
    """The logarithm of each law's constant."""
    kind = laws.kind % ON_VARIANCE
    found = np.empty(len(kind))
    for k, (own, mean, scale, df) in enumerate(zip(kind, laws.mean, laws.scale, laws.df, strict=True)):
        found[k] = _constant(int(own), float(mean), float(scale), float(df))
        if positive and own in (NORMAL, STUDENT_T, LAPLACE, LOGISTIC):
            found[k] -= _log_above_zero(int(own), float(mean) / float(scale), float(df))
    return found + np.where(laws.kind >= ON_VARIANCE, np.log(2.0), 0.0)  # of the derivative of the power


def _constant(kind: int, mean: float, scale: float, df: float) -> float:
    if kind in (FLAT, FLAT_POSITIVE):
        raise ValueError("a flat prior has no density that integrates to one.")
    if kind in (NORMAL, LOG_NORMAL):
        return -float(np.log(scale)) - float(_ROOT)
    if kind == STUDENT_T:
        return float(gammaln(0.5 * (df + 1)) - gammaln(0.5 * df) - 0.5 * np.log(np.pi * df) - np.log(scale))
    if kind == LAPLACE:
        return -float(np.log(2.0 * scale))
    if kind == LOGISTIC:
        return -float(np.log(scale))
    if kind == UNIFORM:
        return -float(np.log(scale - mean))
    if kind == GAMMA:
        return -float(gammaln(df)) - df * float(np.log(scale))
    assert kind == INVERSE_GAMMA
    return df * float(np.log(scale)) - float(gammaln(df))


def _log_above_zero(kind: int, z: float, df: float) -> float:
    """``log P(X > 0)``, ``z`` the centre over the scale."""
    if kind == NORMAL:
        return float(log_ndtr(z))
    if kind == STUDENT_T:
        return float(np.log(stdtr(df, z)))
    if kind == LOGISTIC:
        return float(log_expit(z))
    return float(np.log(0.5) + z) if z < 0 else float(np.log1p(-0.5 * np.exp(-z)))
