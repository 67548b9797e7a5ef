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
        """Of the response; of classes, their probabilities, along one more axis."""

    def variance(self, eta: np.ndarray, p: Parameters) -> np.ndarray:
        """Of the response; of labels, of one trial. Classes have none."""
        raise NotImplementedError

    def error_variance(self, p: Parameters) -> Any:
        """Of ``y - eta``, or of ``log y - eta``, where the distribution is one of errors. Others have none."""
        raise NotImplementedError

    @abstractmethod
    def draw(self, rng: np.random.Generator, eta: np.ndarray, p: Parameters) -> np.ndarray:
        """A response for every draw and row; of classes, their numbers."""

    @abstractmethod
    def log_density(self, y: np.ndarray, eta: np.ndarray, p: Parameters) -> np.ndarray:
        """Of responses ``y``, one per row."""

    def log_tail(self, y: np.ndarray, eta: np.ndarray, p: Parameters, *, above: bool) -> np.ndarray:
        """Return ``log P(Y > y)``, or ``log P(Y <= y)``, of families that know them."""
        raise NotImplementedError

    def both_tails(self, y: np.ndarray, eta: np.ndarray, p: Parameters) -> tuple[np.ndarray, np.ndarray]:
        """`tails` of a family that has `log_tail`."""
        with np.errstate(divide="ignore"):  # the logarithm of no probability
            return np.exp(self.log_tail(y, eta, p, above=False)), np.exp(self.log_tail(y, eta, p, above=True))

    # -------------------------------------------------------------------------------------------- times to event

    def log_survival(self, t: np.ndarray, eta: np.ndarray, p: Parameters) -> np.ndarray:
        """``log P(T > t)`` at one time per row, of positive responses."""
        return self.log_tail(t, eta, p, above=True)

    def log_hazard(self, t: np.ndarray, eta: np.ndarray, p: Parameters) -> np.ndarray:
        """The logarithm of the rate of events at ``t``, among those that had none before."""
        return self.log_density(t, eta, p) - self.log_survival(t, eta, p)

    def quantile(self, q: float, eta: np.ndarray, p: Parameters) -> np.ndarray:
        """The time before which the event happens with probability ``q``."""
        raise NotImplementedError

    def tails(self, y: np.ndarray, eta: np.ndarray, p: Parameters) -> tuple[np.ndarray, np.ndarray] | None:
        """``P(Y <= y)`` and ``P(Y > y)``, each accurate where it is small. None: they are not known."""
        return None
