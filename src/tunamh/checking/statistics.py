"""Tests of scores: is a weighted sum of numbers whose means are zero further from zero than chance takes it?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc, ndtr, ndtri

_LEAST_SKEW = 1e-4  # below, a sum is normal


class Moments(NamedTuple):
    """Of the score of each row: its value, and its variance and third moment under the model."""

    score: np.ndarray
    variance: np.ndarray
    third: np.ndarray

    def of(self, rows: np.ndarray) -> Moments:
        return Moments(self.score[rows], self.variance[rows], self.third[rows])

    def wider(self) -> Moments:
        """Return the scores with a variance that is at least the observed one.

        So a wrong spread is reported once, and not also by every test of a trend.
        """
        total, seen = float(self.variance.sum()), float(np.square(self.score - self.score.mean()).sum())
        more = max(1.0, seen / total) if total > 0 else 1.0
        return Moments(self.score, more * self.variance, more**1.5 * self.third)


def normal_scores(weights: np.ndarray, rows: Moments) -> np.ndarray:
    """Return a number for every column of ``weights`` (rows, sums) that is standard normal if the model is right.

    The weighted sum divided by its standard deviation is compared with a gamma law of the same skewness (Pearson's type
    III), which has the same first three moments. The result is the normal quantile of its probability.
    """
    z, skew = standardised(weights, rows)
    return np.array([unskewed(float(one), float(own)) for one, own in zip(z, skew, strict=True)])


def standardised(weights: np.ndarray, rows: Moments) -> tuple[np.ndarray, np.ndarray]:
    """Return every weighted sum divided by its standard deviation, and its skewness.

    Both are zero if the sum has no variance.
    """
    variance = np.square(weights).T @ rows.variance
    deviation = np.sqrt(np.where(variance > 0, variance, 1.0))
    z = np.where(variance > 0, weights.T @ rows.score, 0.0) / deviation
    return z, (weights**3).T @ rows.third / deviation**3


def unskewed(z: float, skew: float) -> float:
    if abs(skew) < _LEAST_SKEW:
        return z
    from scipy import stats  # a third of a second, which only this needs

    law = stats.pearson3(skew)
    upper, lower = float(law.logsf(z)), float(law.logcdf(z))
    quantile = _normal_quantile(min(upper, lower))
    return quantile if upper < lower else -quantile


def _normal_quantile(log_tail: float) -> float:
    """The number above which a standard normal one lies with this log probability."""
    if not np.isfinite(log_tail):
        return 37.0
    return float(-ndtri(np.exp(log_tail))) if log_tail > -690 else float(np.sqrt(-2 * log_tail))


def smooth_weights(position: np.ndarray, variance: np.ndarray, degrees: int, constant: bool) -> np.ndarray:
    """Return polynomials in the positions of rows, an array (rows, sums), orthonormal with respect to the variances.

    Rows are placed in the order of ``position``. The distance of a row from the row before is proportional to its
    variance, so that rare events are resolved where they occur. Rows with equal positions have the same place. A
    polynomial is zero if there are too few different positions for it.
    """
    order = np.argsort(position, kind="stable")
    up_to = np.cumsum(variance[order]) - 0.5 * variance[order]
    _, group = np.unique(position[order], return_inverse=True)
    mass = np.bincount(group, weights=variance[order])
    centre = np.bincount(group, weights=variance[order] * up_to) / np.where(mass > 0, mass, 1.0)
    t = np.empty(len(position))
    t[order] = 2 * centre[group] / max(variance.sum(), 1e-300) - 1
    root = np.sqrt(variance)
    Q, R = np.linalg.qr(root[:, None] * np.vander(t, degrees + 1, increasing=True))
    size = np.diag(R)
    kept = np.where(np.abs(size) > 1e-6 * np.abs(R[0, 0]), np.sign(size), 0.0)
    W = kept * Q / np.where(root > 0, root, 1.0)[:, None]
    return W[:, 0 if constant else 1 :]


def trend(position: np.ndarray, rows: Moments, degrees: int = 3, *, constant: bool = False) -> float:
    """Return the probability of a trend at least as large, if the model is right; 1 if all positions are equal."""
    weights = smooth_weights(position, rows.variance, degrees, constant)
    z, count = normal_scores(weights, rows), int(weights.any(axis=0).sum())
    return float(chdtrc(count, float(z @ z))) if count else 1.0


def sums_of_scores(position: np.ndarray, rows: Moments, degrees: int, constant: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the weighted sums with which a trend is tested, in standard deviations, and their skewness."""
    return standardised(smooth_weights(position, rows.variance, degrees, constant), rows)


def without_trend(position: np.ndarray, spread: Moments, location: Moments) -> Moments:
    """Return scores of the spread about a smooth mean: ``(r - m)^2 - 1`` in place of ``r^2 - 1``.

    So a wrong mean is reported once, and not also as a wrong spread.
    """
    W = smooth_weights(position, location.variance, 3, True)
    mean = location.variance * (W @ (W.T @ location.score))
    return spread._replace(score=spread.score - 2 * location.score * mean + mean * mean)


def total(rows: Moments) -> float:
    """Return the sum of all scores as a standard normal number."""
    return float(normal_scores(np.ones((len(rows.score), 1)), rows)[0])


def two_sided(z: float) -> float:
    return float(2 * ndtr(-abs(z)))


def strength(p: float) -> float:
    """Return how many standard deviations from zero a normal number has this two-sided probability."""
    return float(-ndtri(max(p, 1e-300) / 2)) if p < 1 else 0.0


class ByLevel(NamedTuple):
    """Levels with enough rows: their codes, their sums as normal numbers z, their mean scores and numbers of rows."""

    levels: np.ndarray
    z: np.ndarray
    mean: np.ndarray
    rows: np.ndarray

    @property
    def p(self) -> float:
        """Return the probability that levels differ at least as much, or that one level is at least as far off."""
        if not len(self.z):
            return 1.0
        together = float(chdtrc(len(self.z), float(self.z @ self.z)))
        alone = min(1.0, len(self.z) * two_sided(float(np.abs(self.z).max())))
        return min(1.0, 2 * min(together, alone))


def by_level(codes: np.ndarray, rows: Moments, *, fewest: int, least: float) -> ByLevel:
    """Return the sums of scores of the levels with at least ``fewest`` rows and at least the variance ``least``."""
    n = int(codes.max(initial=-1)) + 1
    count, variance = np.bincount(codes, minlength=n), np.bincount(codes, weights=rows.variance, minlength=n)
    kept = np.flatnonzero((count >= fewest) & (variance >= least))
    sums = np.bincount(codes, weights=rows.score, minlength=n)[kept]
    thirds = np.bincount(codes, weights=rows.third, minlength=n)[kept]
    deviation = np.sqrt(np.where(variance[kept] > 0, variance[kept], 1.0))
    z = np.array([unskewed(float(a), float(b)) for a, b in zip(sums / deviation, thirds / deviation**3, strict=True)])
    return ByLevel(kept, z, sums / count[kept], count[kept])
