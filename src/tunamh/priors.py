"""Priors stay outside the minibatch: they are cheap, so every step uses them whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba.core.dispatcher import Dispatcher

from ._arguments import has_row_labels, moderate_number, number, numbers, settle, shown
from ._jit import LogPrior, Part, compile_now, fixed, part, read_only, refuse_foreign_memory


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
    """Independent normal priors ``theta_j ~ N(mean_j, scale_j^2)``.

    Each of the two is a number that serves every coordinate, a list in the order of the columns, or a dict or pandas
    Series that names every column.
    """

    mean: Any = 0.0
    scale: Any = 1.0

    def __post_init__(self) -> None:
        mean, scale = (_plain(value, name) for value, name in ((self.mean, "mean"), (self.scale, "scale")))
        for value in scale.values() if isinstance(scale, dict) else np.ravel(scale):
            moderate_number("scale of the prior", value, 1e-100, 1e100)
        settle(self, mean=mean, scale=scale)

    def in_order(self, names: Sequence[str]) -> Normal:
        """The same prior with numbers that went by name in the order of the columns."""
        return Normal(mean=_by_name(self.mean, names, "mean"), scale=_by_name(self.scale, names, "scale"))

    def bind(self, dim: int) -> BoundPrior:
        mean, scale = (_per_coordinate(v, dim, n) for v, n in ((self.mean, "mean"), (self.scale, "scale")))
        return BoundPrior(_normal, fixed(np.concatenate([mean, scale])), mean, scale**-2)


@dataclass(frozen=True)
class UserPrior:
    """A user's own compiled ``log_prior(theta) -> float``; ``-inf`` outside the support."""

    function: Callable

    def bind(self, dim: int) -> BoundPrior:
        function = self.function
        refuse_foreign_memory(function, "log_prior", np.zeros(dim))

        @part(LogPrior, cache=False)
        def log_prior(theta, hyper):
            try:
                return float(function(read_only(theta)))
            except Exception:
                return np.nan

        compile_now(log_prior, "log_prior(theta)")
        return BoundPrior(log_prior, fixed([]), np.zeros(dim), np.zeros(dim))


def as_prior(prior: Any, names: Sequence[str]) -> Any:
    """None is flat, a compiled function is the user's own, the rest must be a prior; ``names`` are the columns'."""
    if prior is None:
        return Flat()
    if isinstance(prior, Dispatcher):
        return UserPrior(prior)
    if isinstance(prior, Normal):
        return prior.in_order(names)
    if isinstance(prior, Flat | UserPrior):
        return prior
    if isinstance(prior, type):
        raise TypeError(f"prior is the class {prior.__name__}: give a value, such as {prior.__name__}(...).")
    if callable(prior):
        raise TypeError("prior is a plain Python function: compile it first with @numba.njit.")
    raise TypeError(f"prior must be None, tunamh.Normal(...) or an @numba.njit function, got {shown(prior)}.")


def _per_coordinate(values: Any, dim: int, what: str) -> np.ndarray:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 1 and array.size != dim:
        raise ValueError(
            f"{what} of the prior must be a number or have {dim} entries, one per column, got {array.size}."
        )
    return np.broadcast_to(array, dim)


def _plain(values: Any, what: str) -> Any:
    """A float, a tuple of floats, or a dict of floats by column name (also from a pandas Series)."""
    name = f"{what} of the prior"
    if has_row_labels(values):
        if not values.index.is_unique:
            raise ValueError(f"{name} names the column {values.index[values.index.duplicated()][0]} more than once.")
        values = dict(zip(values.index, values, strict=True))
    if isinstance(values, dict):
        return {str(key): number(f"{name} for {key}", value) for key, value in values.items()}
    array = numbers(name, values)
    if array.ndim > 1:
        raise ValueError(f"{name} must be a number or one number per column, got shape {array.shape}.")
    return float(array) if array.ndim == 0 else tuple(array.tolist())


def _by_name(values: Any, names: Sequence[str], what: str) -> Any:
    if not isinstance(values, dict):
        return values
    unknown, missing = [key for key in values if key not in names], [name for name in names if name not in values]
    problems = [f"{verb} {', '.join(which)}" for verb, which in (("names", unknown), ("leaves out", missing)) if which]
    if problems:
        raise ValueError(
            f"{what} of the prior {' and '.join(problems)}; it must name every column of the data and no other: "
            f"{', '.join(names)}."
        )
    return tuple(values[name] for name in names)
