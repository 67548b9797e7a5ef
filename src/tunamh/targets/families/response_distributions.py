"""Distributions of responses that several families share: by a probability, an error, a mean, or classes.

SciPy's distributions take their time to import: families import this module when they are asked for theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from .responses import Parameters, ResponseDistribution

__all__ = ["Classes", "Labels", "Located", "LogLocated", "OfMean", "stats"]


class Labels(ResponseDistribution):
    """The distribution of a number of successes in ``p["trials"]`` trials. Its mean is the probability of success."""

    discrete = True

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

    def tails(self, y: np.ndarray, eta: np.ndarray, p: Parameters) -> tuple[np.ndarray, np.ndarray]:
        law = stats.binom(p.get("trials", 1), self.mean_of(eta))
        return law.cdf(y), law.sf(y)


class Located(ResponseDistribution):
    """The distribution of ``y = eta + scale eps``. ``errors(p)`` is the distribution of ``eps``."""

    def __init__(self, errors: Callable[[Parameters], Any]):
        self.errors = errors

    def mean(self, eta: np.ndarray, p: Parameters) -> np.ndarray:
        return eta + np.where(np.asarray(p.get("df", np.inf)) > 1, 0.0, np.nan)

    def variance(self, eta: np.ndarray, p: Parameters) -> np.ndarray:
        return self.error_variance(p) + np.zeros_like(eta)

    def error_variance(self, p: Parameters) -> Any:
        return np.square(p["scale"]) * self.errors(p).var()

    def draw(self, rng: np.random.Generator, eta: np.ndarray, p: Parameters) -> np.ndarray:
        return eta + p["scale"] * self.errors(p).rvs(size=eta.shape, random_state=rng)

    def log_density(self, y: np.ndarray, eta: np.ndarray, p: Parameters) -> np.ndarray:
        return self.errors(p).logpdf((y - eta) / p["scale"]) - np.log(p["scale"])

    def log_tail(self, y: np.ndarray, eta: np.ndarray, p: Parameters, *, above: bool) -> np.ndarray:
        errors, z = self.errors(p), (y - eta) / p["scale"]
        return errors.logsf(z) if above else errors.logcdf(z)

    def tails(self, y: np.ndarray, eta: np.ndarray, p: Parameters) -> tuple[np.ndarray, np.ndarray]:
        return self.both_tails(y, eta, p)


class LogLocated(Located):
    """The distribution of ``y`` with ``log y = eta + scale eps``.

    ``factor(scale)`` is the mean of ``e^(scale eps)``.
    """

    def __init__(self, errors: Callable[[Parameters], Any], factor: Callable[[Any], Any]):
        super().__init__(errors)
        self.factor = factor

    def mean(self, eta: np.ndarray, p: Parameters) -> np.ndarray:
        return np.exp(eta) * self.factor(p["scale"])

    def variance(self, eta: np.ndarray, p: Parameters) -> np.ndarray:
        squares = self.factor(2 * np.asarray(p["scale"]))  # the mean of e^(2 scale eps)
        return np.exp(2 * eta) * np.where(np.isfinite(squares), squares - np.square(self.factor(p["scale"])), np.inf)

    def draw(self, rng: np.random.Generator, eta: np.ndarray, p: Parameters) -> np.ndarray:
        return np.exp(super().draw(rng, eta, p))

    def log_density(self, y: np.ndarray, eta: np.ndarray, p: Parameters) -> np.ndarray:
        return super().log_density(np.log(y), eta, p) - np.log(y)

    def quantile(self, q: float, eta: np.ndarray, p: Parameters) -> np.ndarray:
        return np.exp(eta + p["scale"] * self.errors(p).ppf(q))

    def log_tail(self, y: np.ndarray, eta: np.ndarray, p: Parameters, *, above: bool) -> np.ndarray:
        return super().log_tail(np.log(y), eta, p, above=above)


class OfMean(ResponseDistribution):
    """A distribution of SciPy, given by the mean ``m`` and the parameters of the family.

    ``discrete`` is True for probabilities of counts and False for densities.
    """

    def __init__(
        self,
        mean_of: Callable[[np.ndarray], np.ndarray],
        law: Callable[[np.ndarray, Parameters], Any],
        *,
        discrete: bool = False,
    ):
        self.mean_of, self.law, self.discrete = mean_of, law, discrete

    def mean(self, eta: np.ndarray, p: Parameters) -> np.ndarray:
        return self.mean_of(eta)

    def variance(self, eta: np.ndarray, p: Parameters) -> np.ndarray:
        return self.law(self.mean_of(eta), p).var()

    def draw(self, rng: np.random.Generator, eta: np.ndarray, p: Parameters) -> np.ndarray:
        return np.asarray(self.law(self.mean_of(eta), p).rvs(size=eta.shape, random_state=rng), dtype=np.float64)

    def log_density(self, y: np.ndarray, eta: np.ndarray, p: Parameters) -> np.ndarray:
        law = self.law(self.mean_of(eta), p)
        return law.logpmf(y) if self.discrete else law.logpdf(y)

    def quantile(self, q: float, eta: np.ndarray, p: Parameters) -> np.ndarray:
        return np.asarray(self.law(self.mean_of(eta), p).ppf(q), dtype=np.float64)

    def log_tail(self, y: np.ndarray, eta: np.ndarray, p: Parameters, *, above: bool) -> np.ndarray:
        law = self.law(self.mean_of(eta), p)
        return np.asarray(law.logsf(y) if above else law.logcdf(y))

    def tails(self, y: np.ndarray, eta: np.ndarray, p: Parameters) -> tuple[np.ndarray, np.ndarray]:
        return self.both_tails(y, eta, p)


class Classes(ResponseDistribution):
    """The distribution of classes by number. ``probabilities(eta, p)`` is an array (draws, rows, classes)."""

    of_classes = discrete = True

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

    def tails(self, y: np.ndarray, eta: np.ndarray, p: Parameters) -> tuple[np.ndarray, np.ndarray]:
        """Return ``P(Y <= y)`` and ``P(Y > y)`` in the order of the numbers of the classes, ordered or not."""
        probabilities = self.probabilities(eta, p)
        below = np.concatenate([np.zeros((*eta.shape[:2], 1)), np.cumsum(probabilities, axis=-1)], axis=-1)
        at = np.broadcast_to(y.astype(np.int64) + 1, eta.shape[:2])[..., None]
        found = np.minimum(np.take_along_axis(below, at, axis=-1)[..., 0], 1.0)
        return found, 1.0 - found
