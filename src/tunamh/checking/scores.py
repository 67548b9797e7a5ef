"""Scores of rows: numbers whose mean is zero if the model is right, whatever the family.

The probability that a draw of the parameters gives to responses up to that of a row is uniform if the model is right.
Of a whole number, and of a censored response, it is known that it lies between two numbers; a uniform number between
them is uniform again: the *randomised quantile residual* is its normal quantile ``r`` (Dunn and Smyth 1996). A score is
the mean of a function of ``r`` over what is not known of it, so that no random number is needed:

    E(r | a < r < b)         = (phi(a) - phi(b)) / (Phi(b) - Phi(a))
    E(r^2 - 1 | a < r < b)   = (a phi(a) - b phi(b)) / (Phi(b) - Phi(a))
    E(L_k(u) | A < u < B)    = (J_k(B) - J_k(A)) / (B - A),     J_k the integral of Legendre's polynomial L_k on [0, 1].

**Why the means are zero also where the parameters were learned from the same rows.** If the parameters are from the
prior, parameters and data have one joint law; given the data, a draw of the posterior has the law of the parameters. So
(data, draw) and (data, true parameters) have the same law, and a function of both has mean zero for the one if it has
for the other (Johnson 2007; Gosselin 2011). The mean of a score over draws has mean zero, too, and by Jensen's
inequality no larger variance: tests with the variance under the true parameters are right or cautious, at any number of
rows and with any group effects.

A test looks at a weighted sum of scores, and the argument is about the sum: under the true parameters its mean is zero
only if a row's weight does not depend on the row's response. Weights that are given by columns do not. The place of a
row along the linear predictor is learned, in small groups from this very row; so such weights are those under each
draw, a function of the parameters, and the sums are averaged (`tunamh.checking.under_draws`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

LOCATION, SPREAD, SKEWNESS, TAILS, EXTREME = range(5)
"""The scores: ``r``, ``r^2 - 1``, Legendre's polynomials of order 3 and 4, and whether ``|r| > 3``."""

FAR = 3.0
SHARE_FAR = float(2 * ndtr(-FAR))
_FARTHEST = 37.0  # normal quantiles beyond are no floating-point numbers
_NARROW = 1e-5

VARIANCE = np.array([1.0, 2.0, 1.0, 1.0, SHARE_FAR * (1 - SHARE_FAR)])
"""Of the scores of a response that is seen and has a density."""
THIRD = np.array([0.0, 8.0, 0.0, 486 / 1001, SHARE_FAR * (1 - SHARE_FAR) * (1 - 2 * SHARE_FAR)])
"""Their third moments."""


class Between(NamedTuple):
    """The limits ``low`` and ``high`` of a quantile residual ``r``. They are equal if ``r`` is known."""

    low: np.ndarray
    high: np.ndarray


def quantile(below: np.ndarray, above: np.ndarray) -> np.ndarray:
    """Return the normal quantile of a probability.

    ``below`` is the probability and ``above`` is one minus it. The smaller one is used, because it is more accurate.
    """
    with np.errstate(divide="ignore"):
        return np.where(below < 0.5, ndtri(below), -ndtri(above))


def scores(known: Between) -> np.ndarray:
    """Return all five scores, an array (score, ...)."""
    a, b = (np.clip(end, -_FARTHEST, _FARTHEST) for end in known)
    middle = 0.5 * (a + b)
    narrow = b - a < _NARROW
    # of an interval above zero its mirror image is taken, whose probabilities are accurate
    mirrored = middle > 0
    low, high = np.where(mirrored, -b, a), np.where(mirrored, -a, b)
    size = np.where(narrow, 1.0, ndtr(high) - ndtr(low))
    size = np.where(size > 0, size, 1.0)
    sign = np.where(mirrored, -1.0, 1.0)
    first, last = _density(low), _density(high)
    found = np.empty((5, *middle.shape))
    found[LOCATION] = np.where(narrow, middle, sign * (first - last) / size)
    found[SPREAD] = np.where(narrow, middle * middle - 1, (low * first - high * last) / size)
    A, B = ndtr(low), ndtr(high)
    for which, order in ((SKEWNESS, 3), (TAILS, 4)):
        there = sign if order == 3 else 1.0
        integral = (_integral(order, B) - _integral(order, A)) / size
        found[which] = np.where(narrow, _legendre(order, ndtr(middle)), there * integral)
    outside = np.maximum(ndtr(np.minimum(high, -FAR)) - A, 0.0) + np.maximum(B - ndtr(np.maximum(low, FAR)), 0.0)
    found[EXTREME] = np.where(narrow, np.abs(middle) > FAR, np.minimum(outside / size, 1.0)) - SHARE_FAR
    return found


def residual(known: Between, uniform: np.ndarray) -> np.ndarray:
    """Return the residual ``r`` at a uniform random position between its limits."""
    a, b = (np.clip(end, -_FARTHEST, _FARTHEST) for end in known)
    mirrored = a + b > 0
    low, high = np.where(mirrored, -b, a), np.where(mirrored, -a, b)
    share = np.where(mirrored, 1 - uniform, uniform)
    with np.errstate(divide="ignore"):
        found = ndtri(ndtr(low) + share * (ndtr(high) - ndtr(low)))
    found = np.clip(np.where(b - a < _NARROW, 0.5 * (low + high), found), low, high)
    return np.where(mirrored, -found, found)


def _density(x: np.ndarray) -> np.ndarray:
    return np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi)


def _legendre(order: int, u: np.ndarray) -> np.ndarray:
    t = 2 * u - 1
    square = t * t
    if order == 3:
        return np.sqrt(7) * 0.5 * t * (5 * square - 3)
    return np.sqrt(9) * 0.125 * ((35 * square - 30) * square + 3)


def _integral(order: int, u: np.ndarray) -> np.ndarray:
    """From 0 to ``u``: by ``d/dt (P_(k+1) - P_(k-1)) = (2k + 1) P_k``."""
    t = 2 * u - 1
    square = t * t
    if order == 3:
        return np.sqrt(7) * 0.5 * (((35 * square - 30) * square + 3) / 8 - (3 * square - 1) / 2) / 7
    return np.sqrt(9) * 0.5 * t * (((63 * square - 70) * square + 15) / 8 - (5 * square - 3) / 2) / 9


__all__ = ["Between", "quantile", "residual", "scores"]
