"""Priors stay outside the minibatch: they are cheap, so every step uses them whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba.core.dispatcher import Dispatcher

from ._jit import LogPrior, Part, compile_now, fixed, part, read_only
from ._users import audit, kept, refuse_uncompiled


class BoundPrior(NamedTuple):
    """A prior made ready for a target of known dimension, with its Gaussian part: precision zero where it has none."""

    log_prior: Part
    hyper: np.ndarray
    mean: np.ndarray
    precision: np.ndarray

    def without_gaussian(self) -> BoundPrior:
        """What is left of the prior when its Gaussian part is accounted for elsewhere."""
        return self._replace(log_prior=_flat, hyper=fixed([])) if self.precision.any() else self


@part(LogPrior)
def _flat(theta, hyper):
    return 0.0


@part(LogPrior)
def _normal(theta, hyper):
    """Independent normals; ``hyper`` is the means followed by the standard deviations."""
    d = theta.size
    total = 0.0
    for j in range(d):
        z = (theta[j] - hyper[j]) / hyper[d + j]
        total -= 0.5 * z * z
    return total


@dataclass(frozen=True)
class Flat:
    """No prior: the posterior is the likelihood, normalised."""

    def bind(self, dim: int) -> BoundPrior:
        return BoundPrior(_flat, fixed([]), np.zeros(dim), np.zeros(dim))


@dataclass(frozen=True, kw_only=True)
class Normal:
    """Independent normal priors ``theta_j ~ N(mean_j, scale_j^2)``; a number serves every coordinate."""

    mean: Any = 0.0
    scale: Any = 1.0

    def bind(self, dim: int) -> BoundPrior:
        mean, scale = (_per_coordinate(v, dim, n) for v, n in ((self.mean, "mean"), (self.scale, "scale")))
        if not (np.isfinite(mean).all() and np.isfinite(scale).all() and (scale > 0).all()):
            raise ValueError(f"Normal prior needs finite means and positive scales, got {self!r}")
        return BoundPrior(_normal, fixed(np.concatenate([mean, scale])), mean, scale**-2)


@dataclass(frozen=True)
class UserPrior:
    """A user's own compiled ``log_prior(theta) -> float``; ``-inf`` outside the support."""

    function: Callable

    def bind(self, dim: int) -> BoundPrior:
        refuse_uncompiled(self.function, "log_prior")
        log_prior = kept(self.function, "log_prior", lambda: _users_log_prior(self.function))
        audit(self.function, "log_prior", dim)
        return BoundPrior(log_prior, fixed([]), np.zeros(dim), np.zeros(dim))


def _users_log_prior(function: Callable) -> Part:
    """An exception inside the user's code becomes NaN, which raises in Python."""

    @part(LogPrior, cache=False)
    def log_prior(theta, hyper):
        try:
            return float(function(read_only(theta)))
        except Exception:
            return np.nan

    return compile_now(log_prior, "log_prior(theta)")


def as_prior(prior: Any) -> Any:
    """None is flat, a compiled function is the user's own, the rest must be a prior."""
    if prior is None:
        return Flat()
    if isinstance(prior, Dispatcher):
        return UserPrior(prior)
    if isinstance(prior, Flat | Normal | UserPrior):
        return prior
    if isinstance(prior, type):
        raise TypeError(f"prior is the class {prior.__name__}; give a value, such as {prior.__name__}(...)")
    if callable(prior):
        raise TypeError("prior is a plain Python function; compile it first with @numba.njit")
    raise TypeError(f"prior must be None, tunamh.Normal(...) or an @numba.njit function, got {prior!r}")


def _per_coordinate(values: Any, dim: int, what: str) -> np.ndarray:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim > 1 or (array.ndim == 1 and array.size != dim):
        raise ValueError(f"{what} of the prior must be a number or have {dim} entries, got shape {array.shape}")
    return np.broadcast_to(array, dim)
