"""Tests of scores: is a weighted sum of numbers whose means are zero further from zero than chance takes it?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc, ndtr, ndtri

_LEAST_SKEW = 1e-4  # below, a sum is normal


class Moments(NamedTuple):
    """Of scores under the model, a number per row."""

    score: np.ndarray
    variance: np.ndarray
    third: np.ndarray

    def of(self, rows: np.ndarray) -> Moments:
        return Moments(self.score[rows], self.variance[rows], self.third[rows])

    def wider(self) -> Moments:
        """With at least the variance that the scores have: a wrong spread is told once, and not by every trend."""
        total, seen = float(self.variance.sum()), float(np.square(self.score - self.score.mean()).sum())
        more = max(1.0, seen / total) if total > 0 else 1.0
        return Moments(self.score, more * self.variance, more**1.5 * self.third)


def normal_scores(weights: np.ndarray, rows: Moments) -> np.ndarray:
    """A standard normal number for every column of ``weights`` (rows, sums).

    The sum over its standard deviation has the law of a gamma number with the same skewness, as far as three moments go
    (Pearson's type III); its normal quantile is the answer.
    """
    z, skew = standardised(weights, rows)
    return np.array([unskewed(float(one), float(own)) for one, own in zip(z, skew, strict=True)])


def standardised(weights: np.ndarray, rows: Moments) -> tuple[np.ndarray, np.ndarray]:
    """Every weighted sum over its standard deviation, and its skewness; zero where it has no variance."""
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
    """(rows, sums) of polynomials in the position of a row, orthonormal under the variances.

    Rows stand in the order of ``position``, each as far from the last as its variance is large: rare events count where
    they are. Rows of equal positions stand in one place. Polynomials that positions are too few for are zero.
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
    """The probability of a trend at least as large, if the model is right; 1 where positions do not differ."""
    weights = smooth_weights(position, rows.variance, degrees, constant)
    z, count = normal_scores(weights, rows), int(weights.any(axis=0).sum())
    return float(chdtrc(count, float(z @ z))) if count else 1.0


def sums_of_scores(position: np.ndarray, rows: Moments, degrees: int, constant: bool) -> tuple[np.ndarray, np.ndarray]:
    """Of the weighted sums that a trend is judged by: how many standard deviations each is, and its skewness."""
    return standardised(smooth_weights(position, rows.variance, degrees, constant), rows)


def without_trend(position: np.ndarray, spread: Moments, location: Moments) -> Moments:
    """Scores of the spread about a smooth mean, ``(r - m)^2 - 1`` for ``r^2 - 1``: a wrong mean is told once."""
    W = smooth_weights(position, location.variance, 3, True)
    mean = location.variance * (W @ (W.T @ location.score))
    return spread._replace(score=spread.score - 2 * location.score * mean + mean * mean)


def total(rows: Moments) -> float:
    """Of the sum of all scores: its normal quantile."""
    return float(normal_scores(np.ones((len(rows.score), 1)), rows)[0])


def two_sided(z: float) -> float:
    return float(2 * ndtr(-abs(z)))


def strength(p: float) -> float:
    """How many standard deviations a normal number would be away, to be as rare."""
    return float(-ndtri(max(p, 1e-300) / 2)) if p < 1 else 0.0


class ByLevel(NamedTuple):
    """Levels that have rows enough: which, their z, mean scores and rows."""

    levels: np.ndarray
    z: np.ndarray
    mean: np.ndarray
    rows: np.ndarray

    @property
    def p(self) -> float:
        """That levels differ as much, or one of them is as far off."""
        if not len(self.z):
            return 1.0
        together = float(chdtrc(len(self.z), float(self.z @ self.z)))
        alone = min(1.0, len(self.z) * two_sided(float(np.abs(self.z).max())))
        return min(1.0, 2 * min(together, alone))


def by_level(codes: np.ndarray, rows: Moments, *, fewest: int, least: float) -> ByLevel:
    """Sums of the scores of every level with so many rows, and so much variance."""
    n = int(codes.max(initial=-1)) + 1
    count, variance = np.bincount(codes, minlength=n), np.bincount(codes, weights=rows.variance, minlength=n)
    kept = np.flatnonzero((count >= fewest) & (variance >= least))
    sums = np.bincount(codes, weights=rows.score, minlength=n)[kept]
    thirds = np.bincount(codes, weights=rows.third, minlength=n)[kept]
    deviation = np.sqrt(np.where(variance[kept] > 0, variance[kept], 1.0))
    z = np.array([unskewed(float(a), float(b)) for a, b in zip(sums / deviation, thirds / deviation**3, strict=True)])
    return ByLevel(kept, z, sums / count[kept], count[kept])
