"""What a family says of a response, given its linear predictor: mean, variance, random responses, log density.

Predictors ``eta`` are (draws, rows), or (draws, rows, classes - 1) for `Categorical`. Parameters ``p`` are arrays that
go with them: (draws, 1), or (draws, rows) where columns describe them. Densities have all their constants.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

Parameters = dict[str, Any]


class ResponseDistribution(ABC):
    """The distribution of a response of one family."""

    of_classes = False

    discrete = False
    """Whether responses are whole numbers, each of which has a probability."""

    @abstractmethod
    def mean(self, eta: np.ndarray, p: Parameters) -> np.ndarray:
        """Return the mean of each response (draws, rows); for classes, their probabilities along one more axis."""

    def variance(self, eta: np.ndarray, p: Parameters) -> np.ndarray:
        """Return the variance of each response; for labels, of one trial. Classes have none."""
        raise NotImplementedError

    def error_variance(self, p: Parameters) -> Any:
        """Return the variance of ``y - eta`` or ``log y - eta``; only for distributions of errors."""
        raise NotImplementedError

    @abstractmethod
    def draw(self, rng: np.random.Generator, eta: np.ndarray, p: Parameters) -> np.ndarray:
        """Return a random response for every draw and row, an array (draws, rows); for classes, their numbers."""

    @abstractmethod
    def log_density(self, y: np.ndarray, eta: np.ndarray, p: Parameters) -> np.ndarray:
        """Return the log density of the responses ``y``, one per row, at every draw."""

    def log_tail(self, y: np.ndarray, eta: np.ndarray, p: Parameters, *, above: bool) -> np.ndarray:
        """Return ``log P(Y > y)``, or ``log P(Y <= y)``, if the family can compute it."""
        raise NotImplementedError

    def both_tails(self, y: np.ndarray, eta: np.ndarray, p: Parameters) -> tuple[np.ndarray, np.ndarray]:
        """Return the two arrays of `tails`, computed with `log_tail`."""
        with np.errstate(divide="ignore"):  # the logarithm of no probability
            return np.exp(self.log_tail(y, eta, p, above=False)), np.exp(self.log_tail(y, eta, p, above=True))

    # -------------------------------------------------------------------------------------------- times to event

    def log_survival(self, t: np.ndarray, eta: np.ndarray, p: Parameters) -> np.ndarray:
        """Return ``log P(T > t)`` for positive responses ``T``, at one time ``t`` per row."""
        return self.log_tail(t, eta, p, above=True)

    def log_hazard(self, t: np.ndarray, eta: np.ndarray, p: Parameters) -> np.ndarray:
        """Return the logarithm of the hazard: the rate of events at ``t`` among those that had none before."""
        return self.log_density(t, eta, p) - self.log_survival(t, eta, p)

    def quantile(self, q: float, eta: np.ndarray, p: Parameters) -> np.ndarray:
        """Return the time before which the event happens with probability ``q``, for every draw and row."""
        raise NotImplementedError

    def tails(self, y: np.ndarray, eta: np.ndarray, p: Parameters) -> tuple[np.ndarray, np.ndarray] | None:
        """Return ``P(Y <= y)`` and ``P(Y > y)``, each accurate where it is small; None if they are not known."""
        return None
