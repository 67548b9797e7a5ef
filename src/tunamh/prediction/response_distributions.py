"""What a family says of a new response, given its linear predictor: mean, variance, random responses, log-density.

Predictors ``eta`` are (draws, rows), or (draws, rows, classes - 1) for `Categorical`. Parameters ``p`` are arrays that
go with them: (draws, 1), or (draws, rows) where columns describe them. Densities have all their constants.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special, stats

Parameters = dict[str, Any]


class Law(ABC):
    """One family."""

    of_classes = False

    @abstractmethod
    def mean(self, eta: np.ndarray, p: Parameters) -> np.ndarray:
        """Of the response; of classes, their probabilities, along one more axis."""

    def variance(self, eta: np.ndarray, p: Parameters) -> np.ndarray:
        """Of the response; of labels, of one trial. Classes have none."""
        raise NotImplementedError

    @abstractmethod
    def draw(self, rng: np.random.Generator, eta: np.ndarray, p: Parameters) -> np.ndarray:
        """A response for every draw and row; of classes, their numbers."""

    @abstractmethod
    def log_density(self, y: np.ndarray, eta: np.ndarray, p: Parameters) -> np.ndarray:
        """Of responses ``y``, one per row."""


class Labels(Law):
    """``p["trials"]`` trials, of which each succeeds with a probability; the mean is that probability."""

    def __init__(self, probability: Callable[[np.ndarray], np.ndarray]):
        self.mean_of = probability

    def mean(self, eta: np.ndarray, p: Parameters) -> np.ndarray:
        return self.mean_of(eta)

    def variance(self, eta: np.ndarray, p: Parameters) -> np.ndarray:
        m = self.mean_of(eta)
        return m * (1 - m)

    def draw(self, rng: np.random.Generator, eta: np.ndarray, p: Parameters) -> np.ndarray:
        return rng.binomial(np.asarray(p.get("trials", 1)).astype(np.int64), self.mean_of(eta)).astype(np.float64)

    def log_density(self, y: np.ndarray, eta: np.ndarray, p: Parameters) -> np.ndarray:
        return stats.binom.logpmf(y, p.get("trials", 1), self.mean_of(eta))


class Located(Law):
    """``y = eta + scale eps``, or the logarithm of ``y`` is."""

    def __init__(self, errors: Callable[[Parameters], Any], *, logarithm: bool = False):
        self.errors, self.logarithm = errors, logarithm

    def mean(self, eta: np.ndarray, p: Parameters) -> np.ndarray:
        if not self.logarithm:
            return eta + np.where(np.asarray(p.get("df", np.inf)) > 1, 0.0, np.nan)
        return np.exp(eta) * self.factor(p)

    def variance(self, eta: np.ndarray, p: Parameters) -> np.ndarray:
        if not self.logarithm:
            return np.square(p["scale"]) * self.errors(p).var() + np.zeros_like(eta)
        squares = self.factor({**p, "scale": 2 * np.asarray(p["scale"])})  # the mean of e^(2 scale eps)
        return np.exp(2 * eta) * np.where(np.isfinite(squares), squares - np.square(self.factor(p)), np.inf)

    def factor(self, p: Parameters) -> Any:
        """The mean of ``e^(scale eps)``."""
        raise NotImplementedError

    def draw(self, rng: np.random.Generator, eta: np.ndarray, p: Parameters) -> np.ndarray:
        found = eta + p["scale"] * self.errors(p).rvs(size=eta.shape, random_state=rng)
        return np.exp(found) if self.logarithm else found

    def log_density(self, y: np.ndarray, eta: np.ndarray, p: Parameters) -> np.ndarray:
        at = np.log(y) if self.logarithm else y
        found = self.errors(p).logpdf((at - eta) / p["scale"]) - np.log(p["scale"])
        return found - at if self.logarithm else found


class LogNormalLaw(Located):
    def __init__(self) -> None:
        super().__init__(lambda p: stats.norm(), logarithm=True)

    def factor(self, p: Parameters) -> Any:
        return np.exp(0.5 * np.square(p["scale"]))


class LogLogisticLaw(Located):
    """The mean is infinite from a scale of 1 on."""

    def __init__(self) -> None:
        super().__init__(lambda p: stats.logistic(), logarithm=True)

    def factor(self, p: Parameters) -> Any:
        a = np.pi * np.asarray(p["scale"])
        return np.where(a < np.pi, a / np.sin(np.minimum(a, 3.14)), np.inf)


class HuberLaw(Law):
    """Normal in the middle, exponential beyond ``delta`` scales, as the energy is."""

    def mean(self, eta: np.ndarray, p: Parameters) -> np.ndarray:
        return eta

    def variance(self, eta: np.ndarray, p: Parameters) -> np.ndarray:
        """``int t^2 e^-f(t) dt`` over the middle and over the tails, in units of the scale."""
        delta = np.asarray(p["delta"])
        middle, tails = self._masses(delta)
        end = np.exp(-0.5 * delta * delta)
        squares = middle - 2 * delta * end + 2 * end * (delta + 2 / delta + 2 / delta**3)
        return np.square(p["scale"]) * squares / (middle + tails) + np.zeros_like(eta)

    @staticmethod
    def _masses(delta: Any) -> tuple[Any, Any]:
        return np.sqrt(2 * np.pi) * (2 * special.ndtr(delta) - 1), 2 * np.exp(-0.5 * delta * delta) / delta

    def draw(self, rng: np.random.Generator, eta: np.ndarray, p: Parameters) -> np.ndarray:
        delta = np.asarray(p["delta"])
        middle, tails = self._masses(delta)
        low = special.ndtr(-delta)
        inside = special.ndtri(low + (1 - 2 * low) * rng.random(eta.shape))
        outside = np.where(rng.random(eta.shape) < 0.5, -1, 1) * (delta + rng.standard_exponential(eta.shape) / delta)
        t = np.where(rng.random(eta.shape) < middle / (middle + tails), inside, outside)
        return eta + p["scale"] * t

    def log_density(self, y: np.ndarray, eta: np.ndarray, p: Parameters) -> np.ndarray:
        delta = np.asarray(p["delta"])
        t = np.abs(y - eta) / p["scale"]
        energy = np.where(t <= delta, 0.5 * t * t, delta * t - 0.5 * delta * delta)
        return -energy - np.log(sum(self._masses(delta))) - np.log(p["scale"])


class Distribution(Law):
    """A law of SciPy, by the mean ``m`` and the family's parameters."""

    def __init__(self, mean_of: Callable[[np.ndarray], np.ndarray], law: Callable[[np.ndarray, Parameters], Any]):
        self.mean_of, self.law = mean_of, law

    def mean(self, eta: np.ndarray, p: Parameters) -> np.ndarray:
        return self.mean_of(eta)

    def variance(self, eta: np.ndarray, p: Parameters) -> np.ndarray:
        return self.law(self.mean_of(eta), p).var()

    def draw(self, rng: np.random.Generator, eta: np.ndarray, p: Parameters) -> np.ndarray:
        return np.asarray(self.law(self.mean_of(eta), p).rvs(size=eta.shape, random_state=rng), dtype=np.float64)

    def log_density(self, y: np.ndarray, eta: np.ndarray, p: Parameters) -> np.ndarray:
        law = self.law(self.mean_of(eta), p)
        return law.logpmf(y) if hasattr(law.dist, "logpmf") else law.logpdf(y)


class WeibullLaw(Law):
    """``P(T > t) = exp(-(t e^-eta)^shape)``."""

    def mean(self, eta: np.ndarray, p: Parameters) -> np.ndarray:
        return np.exp(eta) * special.gamma(1 + 1 / np.asarray(p["shape"]))

    def variance(self, eta: np.ndarray, p: Parameters) -> np.ndarray:
        first, second = (special.gamma(1 + k / np.asarray(p["shape"])) for k in (1, 2))
        return np.exp(2 * eta) * (second - first**2)

    def draw(self, rng: np.random.Generator, eta: np.ndarray, p: Parameters) -> np.ndarray:
        return np.exp(eta) * rng.standard_exponential(eta.shape) ** (1 / np.asarray(p["shape"]))

    def log_density(self, y: np.ndarray, eta: np.ndarray, p: Parameters) -> np.ndarray:
        return stats.weibull_min.logpdf(y, p["shape"], scale=np.exp(eta))


class ZeroInflatedLaw(Law):
    """Zero with probability ``inflation``, else a count."""

    def __init__(self, counts: Law):
        self.counts = counts

    def mean(self, eta: np.ndarray, p: Parameters) -> np.ndarray:
        return (1 - p["inflation"]) * self.counts.mean(eta, p)

    def variance(self, eta: np.ndarray, p: Parameters) -> np.ndarray:
        squares = self.counts.variance(eta, p) + np.square(self.counts.mean(eta, p))
        return (1 - p["inflation"]) * squares - np.square(self.mean(eta, p))

    def draw(self, rng: np.random.Generator, eta: np.ndarray, p: Parameters) -> np.ndarray:
        return np.where(rng.random(eta.shape) < p["inflation"], 0.0, self.counts.draw(rng, eta, p))

    def log_density(self, y: np.ndarray, eta: np.ndarray, p: Parameters) -> np.ndarray:
        counted = np.log1p(-np.asarray(p["inflation"])) + self.counts.log_density(y, eta, p)
        return np.where(y == 0, np.logaddexp(np.log(p["inflation"]), counted), counted)


class HurdleLaw(Law):
    """Positive with probability ``positive``, and then a Poisson count that is not zero."""

    def mean(self, eta: np.ndarray, p: Parameters) -> np.ndarray:
        rate = np.exp(eta)
        return p["positive"] * rate / -np.expm1(-rate)

    def variance(self, eta: np.ndarray, p: Parameters) -> np.ndarray:
        mean = self.mean(eta, p)
        return mean * (1 + np.exp(eta)) - np.square(mean)

    def draw(self, rng: np.random.Generator, eta: np.ndarray, p: Parameters) -> np.ndarray:
        """A count is not zero if the first event comes before the time is over, and then others may follow."""
        rate = np.exp(eta)
        first = -np.log1p(rng.random(eta.shape) * np.expm1(-rate))
        return np.where(rng.random(eta.shape) < p["positive"], 1.0 + rng.poisson(np.maximum(rate - first, 0.0)), 0.0)

    def log_density(self, y: np.ndarray, eta: np.ndarray, p: Parameters) -> np.ndarray:
        rate, positive = np.exp(eta), np.asarray(p["positive"])
        counted = np.log(positive) + stats.poisson.logpmf(y, rate) - np.log(-np.expm1(-rate))
        return np.where(y == 0, np.log1p(-positive), counted)


class Classes(Law):
    """Classes by number; ``probabilities(eta, p)`` is (draws, rows, classes)."""

    of_classes = True

    def __init__(self, probabilities: Callable[[np.ndarray, Parameters], np.ndarray]):
        self.probabilities = probabilities

    def mean(self, eta: np.ndarray, p: Parameters) -> np.ndarray:
        return self.probabilities(eta, p)

    def draw(self, rng: np.random.Generator, eta: np.ndarray, p: Parameters) -> np.ndarray:
        up_to = np.cumsum(self.probabilities(eta, p), axis=-1)
        return (rng.random(up_to.shape[:-1])[..., None] > up_to[..., :-1]).sum(axis=-1).astype(np.float64)

    def log_density(self, y: np.ndarray, eta: np.ndarray, p: Parameters) -> np.ndarray:
        found = self.probabilities(eta, p)
        at = np.broadcast_to(y.astype(np.int64)[None, :, None], (*found.shape[:-1], 1))
        return np.log(np.take_along_axis(found, at, axis=-1)[..., 0])
