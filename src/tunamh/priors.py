"""Priors stay outside the minibatch: they are cheap, so every step uses them whole.

A prior is a potential ``V = -log prior`` with an expansion ``V(t) + g.u + u'Hu/2``, ``u = theta - t``, in closed form
or by differences. The expansion joins the data's in the search for a mode, in the Laplace law and in the starts; what
is left of the prior is evaluated at every step (spec 5h): a poor expansion costs acceptance, never exactness.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba.core.dispatcher import Dispatcher

from ._arguments import has_row_labels, moderate_number, number, numbers, settle, shown
from ._jit import LogPrior, Part, compile_now, fixed, helper, part, read_only
from ._users import audit, kept, refuse_uncompiled


class PriorExpansion(NamedTuple):
    """``V = -log prior`` and its first two derivatives at a point."""

    energy: float
    gradient: np.ndarray
    hessian: np.ndarray


class ReadyPrior(NamedTuple):
    """A prior made ready for a target of known dimension.

    ``mean`` and ``precision`` are those of its Gaussian part: precision zero where it has none. ``own`` is true for a
    user's function, whose derivatives are taken by differences and which counts as proper.
    """

    log_prior: Part
    hyper: np.ndarray
    mean: np.ndarray
    precision: np.ndarray
    own: bool = False

    @property
    def proper(self) -> bool:
        """Whether it makes a posterior of any data; of a user's own prior its owner must know."""
        return self.own or bool(self.precision.all())

    @property
    def gaussian(self) -> bool:
        """Whether nothing is left of it beside its expansion."""
        return not self.own

    def expansion(self, theta: np.ndarray, width: np.ndarray) -> PriorExpansion:
        """At ``theta``; differences are taken over no more than ``width``, the posterior's, in each coordinate."""
        if self.own:
            return _by_differences(self, theta, width)
        off = theta - self.mean
        pull = self.precision * off
        return PriorExpansion(0.5 * float(off @ pull), pull, np.diag(self.precision))

    def without(self, at: np.ndarray, expansion: PriorExpansion) -> ReadyPrior:
        """What is left of the prior when its expansion at ``at`` is accounted for elsewhere."""
        if self.gaussian:
            return self._replace(log_prior=_flat, hyper=fixed([]))
        quadratic = [at, expansion.gradient, expansion.hessian.ravel()]
        return self._replace(hyper=fixed(np.concatenate(quadratic)))


_LARGEST_SECOND_DIFFERENCE = 1.0
_ROUNDING = 1e-10


def _by_differences(prior: ReadyPrior, theta: np.ndarray, width: np.ndarray) -> PriorExpansion:
    """Central differences, over steps in which the log prior thirds_at by no more than about 1.

    Such steps are short beside the prior's own scale, whatever that is, and long beside rounding; across a kink (a
    Laplace prior) they give the curvature as seen from the posterior's width (spec 5k). Coordinates that do not
    interact, by two random checks, cost no mixed differences. Points outside the support count as no curvature.
    """
    d, whole = theta.size, fixed([])

    def energy(point: np.ndarray) -> float:
        return -float(prior.log_prior(point, whole))

    here = energy(theta)
    if not np.isfinite(here):
        return PriorExpansion(np.inf, np.zeros(d), np.zeros((d, d)))
    step = np.minimum(np.where(np.isfinite(width), width, np.inf), np.maximum(1.0, np.abs(theta)))
    gradient, hessian = np.zeros(d), np.zeros((d, d))
    sides = np.empty((2, d))
    for j, e in enumerate(np.eye(d)):
        while True:
            after, before = energy(theta + step[j] * e), energy(theta - step[j] * e)
            second = after + before - 2 * here
            if abs(second) <= _LARGEST_SECOND_DIFFERENCE or step[j] <= 1e-9 * (1 + abs(theta[j])):
                break
            step[j] /= 4
        sides[:, j] = after - here, before - here
        if np.isfinite(second):
            gradient[j] = (after - before) / (2 * step[j])
            hessian[j, j] = second / step[j] ** 2 if abs(second) > _ROUNDING * (1 + abs(here)) else 0.0
    rng = np.random.default_rng(0)
    for side in rng.integers(2, size=(2, d)):
        together = energy(theta + np.where(side == 0, step, -step)) - here
        alone = float(sides[side, np.arange(d)].sum())
        if np.isfinite(together) and np.isfinite(alone) and abs(together - alone) > _ROUNDING * (1 + abs(here)):
            _mixed_differences(energy, theta, step, hessian)
            break
    return PriorExpansion(here, gradient, hessian)


def _mixed_differences(
    energy: Callable[[np.ndarray], float], theta: np.ndarray, step: np.ndarray, hessian: np.ndarray
) -> None:
    """Fill the Hessian's entries beside its diagonal."""
    moves = np.diag(step)
    for j in range(theta.size):
        for k in range(j):
            same = energy(theta + moves[j] + moves[k]) + energy(theta - moves[j] - moves[k])
            opposite = energy(theta + moves[j] - moves[k]) + energy(theta - moves[j] + moves[k])
            if np.isfinite(same - opposite) and abs(same - opposite) > _ROUNDING * (1 + abs(same)):
                hessian[j, k] = hessian[k, j] = (same - opposite) / (4 * step[j] * step[k])


@helper
def _quadratic(theta, hyper):
    """``g.u + u'Hu/2``, ``u = theta - t``; ``hyper`` is t, g and H one after the other, or empty: zero."""
    d = theta.size
    if hyper.size == 0:
        return 0.0
    total = 0.0
    for j in range(d):
        pull = hyper[d + j]
        for k in range(d):
            pull += 0.5 * hyper[2 * d + j * d + k] * (theta[k] - hyper[k])
        total += pull * (theta[j] - hyper[j])
    return total


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

    def bind(self, dim: int) -> ReadyPrior:
        return ReadyPrior(_flat, fixed([]), np.zeros(dim), np.zeros(dim))


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

    def bind(self, dim: int) -> ReadyPrior:
        mean, scale = (_per_coordinate(v, dim, n) for v, n in ((self.mean, "mean"), (self.scale, "scale")))
        return ReadyPrior(_normal, fixed(np.concatenate([mean, scale])), mean, scale**-2)


@dataclass(frozen=True)
class UserPrior:
    """A user's own compiled ``log_prior(theta) -> float``; ``-inf`` outside the support."""

    function: Callable

    def bind(self, dim: int) -> ReadyPrior:
        refuse_uncompiled(self.function, "log_prior")
        log_prior = kept(self.function, "log_prior", lambda: _users_log_prior(self.function))
        audit(self.function, "log_prior", dim)
        return ReadyPrior(log_prior, fixed([]), np.zeros(dim), np.zeros(dim), own=True)


def _users_log_prior(function: Callable) -> Part:
    """An exception inside the user's code becomes NaN, which raises in Python."""

    @part(LogPrior, cache=False)
    def log_prior(theta, hyper):
        try:
            return float(function(read_only(theta))) + _quadratic(theta, hyper)
        except Exception:
            return np.nan

    return compile_now(log_prior, "log_prior(theta)")


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
