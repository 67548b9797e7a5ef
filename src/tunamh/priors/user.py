"""A user's own prior: a compiled function, with derivatives of the user's own or by differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from .._arguments import shown
from ..compiled import LogPrior, Part, compile_now, fixed, helper, part, read_only
from ..compiled.layouts import Layout
from ..compiled.user_functions import audit, kept, refuse_uncompiled
from .differences import by_differences
from .potential import Prior, PriorExpansion, ReadyPrior

_QUADRATIC = Layout("Quadratic", "d", point=("d",), gradient=("d",), hessian=("d", "d"))
_SEPARABLE = Layout("Separable", "d", point=("d",), gradient=("d",), curvature=("d",))
"""``hyper`` of `_quadratic`: t, g and H; of a diagonal H, its diagonal alone."""

_quadratic_at, _separable_at = _QUADRATIC.reader(), _SEPARABLE.reader()


def _packed(at: np.ndarray, expansion: PriorExpansion) -> np.ndarray:
    gradient, hessian = expansion.gradient, expansion.hessian
    diagonal = np.diag(hessian)
    if np.array_equal(hessian, np.diag(diagonal)):
        return fixed(_SEPARABLE.pack(point=at, gradient=gradient, curvature=diagonal))
    return fixed(_QUADRATIC.pack(point=at, gradient=gradient, hessian=hessian))


@helper
def _quadratic(theta, hyper):
    """``g.u + u'Hu/2``, ``u = theta - t``; zero where ``hyper`` is empty."""
    d, total = theta.size, 0.0
    if hyper.size == 0:
        return 0.0
    separable, whole = _separable_at(hyper, 0, d), _quadratic_at(hyper, 0, d)
    point, gradient = whole.point, whole.gradient
    if hyper.size == separable.end:
        curvature = separable.curvature
        for j in range(d):
            u = theta[j] - point[j]
            total += (gradient[j] + 0.5 * curvature[j] * u) * u
        return total
    hessian = whole.hessian
    for j in range(d):
        slope = gradient[j]
        for k in range(d):
            slope += 0.5 * hessian[j, k] * (theta[k] - point[k])
        total += slope * (theta[j] - point[j])
    return total


@dataclass(frozen=True, eq=False)
class ReadyOwn(ReadyPrior):
    gradient: Callable | None
    hessian: Callable | None

    own: ClassVar[bool] = True

    @property
    def gaussian(self) -> bool:
        return False

    def expansion(self, theta: np.ndarray, width: np.ndarray) -> PriorExpansion:
        d, whole = theta.size, fixed([])

        def energy(point: np.ndarray) -> float:
            return -float(self.log_prior(point, whole))

        if self.gradient is None or self.hessian is None:
            found = by_differences(energy, theta, width)
        else:
            found = PriorExpansion(energy(theta), np.zeros(d), np.zeros((d, d)))
        if np.isfinite(found.energy) and self.gradient is not None:
            found = found._replace(gradient=-_called(self.gradient, "gradient", theta, (d,)))
        if np.isfinite(found.energy) and self.hessian is not None:
            found = found._replace(hessian=-_called(self.hessian, "hessian", theta, (d, d)))
        return found

    def without(self, at: np.ndarray, expansion: PriorExpansion) -> ReadyPrior:
        return replace(self, hyper=_packed(at, expansion))


def _called(function: Callable, name: str, theta: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """A derivative of the log prior, as the user's function has it."""
    found = np.asarray(function(theta.copy()), dtype=np.float64)
    if found.shape != shape:
        raise ValueError(f"{name} of the prior must return an array of shape {shape}, got {found.shape}.")
    if not np.isfinite(found).all():
        raise ValueError(f"{name} of the prior is not finite at theta = {np.array2string(theta, precision=4)}.")
    return found


@dataclass(frozen=True)
class UserPrior(Prior):
    """A prior of coefficients from your own compiled function.

    Parameters
    ----------
    function : ``@numba.njit`` function ``log_prior(theta) -> float``
        The log density up to a constant; ``-inf`` outside the support.
    gradient, hessian : functions of ``theta``, optional
        Functions, compiled or not, that return the gradient (d,) and the Hessian (d, d) of the log prior. Without them
        tunamh uses finite differences. The derivatives are used only for proposals: wrong derivatives lower the
        acceptance rate, but do not change the posterior.
    """

    function: Callable
    gradient: Callable | None = None
    hessian: Callable | None = None

    def __post_init__(self) -> None:
        for name, value in (("gradient", self.gradient), ("hessian", self.hessian)):
            if value is not None and not callable(value):
                raise TypeError(f"{name} of the prior must be a function of theta, got {shown(value)}.")

    def bind(self, dim: int) -> ReadyPrior:
        refuse_uncompiled(self.function, "log_prior")
        log_prior = kept(self.function, "log_prior", lambda: _users_log_prior(self.function))
        audit(self.function, "log_prior", dim)
        none = np.zeros(dim)
        return ReadyOwn(log_prior, fixed([]), none, none, none > 0, self.gradient, self.hessian)


def _users_log_prior(function: Callable) -> Part:
    """An exception inside the user's code becomes NaN, which raises in Python."""

    @part(LogPrior, cache=False)
    def log_prior(theta, hyper):
        try:
            return float(function(read_only(theta))) + _quadratic(theta, hyper)
        except Exception:
            return np.nan

    return compile_now(log_prior, "log_prior(theta)")
