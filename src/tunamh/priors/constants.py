"""The constants of densities that chains leave out: with them, priors integrate to one.

`tunamh.priors.laws.laws_at` is the log density of independent coordinates up to these constants, so that

    log p(theta) = laws_at(theta, records) + sum(log_constants(laws, positive)).

A law that is symmetric on all numbers is restricted to positive ones where the parameter is positive: half-normal and
exponential priors are of this kind. Its density is then divided by the probability of positive numbers.
"""

from __future__ import annotations

import numpy as np

from .densities import DENSITIES, FLAT_KINDS, Numbers
from .laws import ON_VARIANCE, RECORD, Laws, laws_at, records


def improper(laws: Laws) -> np.ndarray:
    """Return a boolean array: True for each coordinate with a flat prior."""
    return np.isin(laws.kind % ON_VARIANCE, FLAT_KINDS)


def log_density(laws: Laws, values: np.ndarray, *, positive: bool = False) -> float:
    """Return the log density, with all constants, of independent proper laws at ``values``."""
    zero = np.zeros(len(values))
    kept = np.ones(len(values), dtype=np.bool_)
    whole = records(laws, kept, zero, zero, zero).reshape(len(values), RECORD)
    value = float(laws_at(np.ascontiguousarray(values, dtype=np.float64), whole))
    return value + float(log_constants(laws, positive=positive).sum())


def log_constants(laws: Laws, *, positive: bool = False) -> np.ndarray:
    """Return the logarithm of the constant of each law."""
    found = np.empty(len(laws.kind))
    for k, (kind, *numbers) in enumerate(zip(*laws, strict=True)):
        own = Numbers(*map(float, numbers))
        if int(kind) % ON_VARIANCE in FLAT_KINDS:
            raise ValueError("a flat prior has no density that integrates to one.")
        density = DENSITIES[int(kind) % ON_VARIANCE]
        found[k] = density.constant(own)
        if positive and density.log_above_zero is not None:
            found[k] -= density.log_above_zero(own.mean / own.scale, own.df)
    return found + np.where(laws.kind >= ON_VARIANCE, np.log(2.0), 0.0)  # of the derivative of the power
