"""Rows of several predictors that all have formulas: what a curve of a user's own is made of."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._arguments import shown
from .responses import Parameters
from .user import UserFamily
from .user_responses import UserResponses


class NonlinearFamily(UserFamily):
    """A family of `tunamh.nonlinear`: every predictor has a name and its own columns; none is the main one."""

    main = False
    hazards_alone = True

    @property
    def named_predictors(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.parameters

    def start(self, laws: tuple[Any, ...], size: int) -> np.ndarray:
        """Return the point from which the search for a mode begins, an array: the means of the priors."""
        return np.concatenate([np.asarray(one.mean, dtype=np.float64) for one in laws])


class NamedResponses(UserResponses):
    """The mean and the random responses of a user's family, given as functions of named predictors and columns.

    The arguments of these functions may be in any order.
    """

    def __init__(
        self,
        energy: Callable[..., Any],
        names: tuple[str, ...],
        mean: Callable[..., Any] | None,
        draw: Callable[..., Any] | None,
    ):
        super().__init__(energy, names, mean, draw)
        self.asked = {
            what: _asked(what, function, names, first)
            for what, function, first in (("mean", mean, 0), ("draw", draw, 1))
            if function is not None
        }

    def mean(self, eta: np.ndarray, p: Parameters) -> np.ndarray:
        if self._mean is None:
            return super().mean(eta, p)
        return self._shaped("mean", self._mean(*(p[name] for name in self.asked["mean"])), eta)

    def draw(self, rng: np.random.Generator, eta: np.ndarray, p: Parameters) -> np.ndarray:
        if self._draw is None:
            return super().draw(rng, eta, p)
        given = [np.broadcast_to(p[name], eta.shape) for name in self.asked["draw"]]
        return self._shaped("draw", self._draw(rng, *given), eta)

    def log_density(self, y: np.ndarray, eta: np.ndarray, p: Parameters) -> np.ndarray:
        return -self._shaped("energy", self.energy(*(p[name] for name in self.names), y), eta)


def _asked(what: str, function: Any, names: tuple[str, ...], first: int) -> tuple[str, ...]:
    """The arguments of a function, by their names; ``first`` of them come before (a generator)."""
    if not callable(function):
        raise TypeError(f"{what} must be a function of the predictors, got {shown(function)}.")
    given = tuple(inspect.signature(function).parameters)
    unknown = [name for name in given[first:] if name not in names]
    if unknown or len(given) < first:
        kind = "draw(rng, ...)" if first else "mean(...)"
        raise TypeError(
            f"{what} must be a function {kind} of {', '.join(names)}, or of some of them, by these names; got the "
            f"arguments {', '.join(given) or 'none'}."
        )
    return given[first:]
