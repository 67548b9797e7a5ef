"""What a user's own family says of a response: the energy is known, the mean and random responses are as given.

``log p(y | eta) = -energy(eta, y)``, up to a number that depends on ``y`` alone: as many constants as the user wrote.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import NotApplicable
from .responses import Parameters, ResponseDistribution


class UserResponses(ResponseDistribution):
    """The distribution of the responses of a user's own family.

    ``names`` are the parameters after the linear predictor, in the order of the energy's arguments.
    """

    def __init__(
        self,
        energy: Callable[..., Any],
        names: tuple[str, ...],
        mean: Callable[..., Any] | None,
        draw: Callable[..., Any] | None,
    ):
        self.energy, self.names, self._mean, self._draw = energy, names, mean, draw

    def mean(self, eta: np.ndarray, p: Parameters) -> np.ndarray:
        if self._mean is None:
            raise NotApplicable(
                "tunamh cannot compute the mean of a response from an energy alone: pass tunamh.family(energy, "
                "mean=...) a function of the predictors, or set kind='linear'."
            )
        return self._shaped("mean", self._mean(eta, *self._others(p)), eta)

    def draw(self, rng: np.random.Generator, eta: np.ndarray, p: Parameters) -> np.ndarray:
        if self._draw is None:
            raise NotApplicable(
                "tunamh cannot simulate responses from an energy alone, because the energy does not say which values "
                "a response can have: pass tunamh.family(energy, draw=...) a function draw(rng, eta) of the predictors."
            )
        return self._shaped("draw", self._draw(rng, eta, *self._others(p)), eta)

    def log_density(self, y: np.ndarray, eta: np.ndarray, p: Parameters) -> np.ndarray:
        return -self._shaped("energy", self.energy(eta, *self._others(p), y), eta)

    @property
    def draws_responses(self) -> bool:
        return self._draw is not None

    def _others(self, p: Parameters) -> list[Any]:
        return [p[name] for name in self.names]

    @staticmethod
    def _shaped(name: str, found: Any, eta: np.ndarray) -> np.ndarray:
        try:
            return np.array(np.broadcast_to(np.asarray(found, dtype=np.float64), eta.shape))
        except (ValueError, TypeError):
            raise ValueError(
                f"{name} must return a number for every predictor, shape {eta.shape}, got {np.shape(found)}."
            ) from None
