"""The shape of a random walk's steps, learned in warm-up from the draws of its windows.

The knobs of such a walk are the step size, its factor ``F`` and, behind these, what is known: how many draws, their
mean and the sums of squares about it. So all of it lies in a run's state, and chunks of any length give the same draws.
"""

from __future__ import annotations

import math

import numpy as np

from .base import OPTIMAL_WALK

MOST_CORRELATED = 20
"""Coordinates, beyond which each has a length of its own and no correlations are learned."""

_CHANGES = 0.08, 0.15, 0.25, 0.4, 0.65  # shares of warm-up after which ``F`` is what the draws since the last one say
_EACH = 10  # draws that stand for one, since neighbours are alike
_SHRUNK = 5  # times d: so many draws count as much as that coordinates are independent


def shape_size(dim: int) -> int:
    """Of ``F``: a factor, or one length for each coordinate."""
    return dim * dim if dim <= MOST_CORRELATED else dim


def unshaped(step: float, dim: int) -> np.ndarray:
    """The knobs before anything is known."""
    shape = np.eye(dim).ravel() if dim <= MOST_CORRELATED else np.ones(dim)
    return np.concatenate([[step], shape, np.zeros(1 + dim + shape_size(dim))])


def learn_shape(knobs: np.ndarray, draws: np.ndarray, done: int, total: int) -> float | None:
    """Take in the draws of a window, after which ``done`` of ``total`` steps are made; a new step size where F changes.

    With ``F F'`` the covariance of the draws, the best step size is about ``2.38 / sqrt(d)``. It goes on being tuned;
    the last change comes before the last third of warm-up, over which it is averaged.
    """
    n, d = draws.shape
    size = shape_size(d)
    known = knobs[1 + size :]
    _take_in(known, draws)
    if not any(done - n < share * total <= done for share in _CHANGES):
        return None
    factor = _factor(known, d)
    known[:] = 0.0
    if factor is None:
        return None
    knobs[1 : 1 + size] = factor.ravel()
    return OPTIMAL_WALK / math.sqrt(d)


def _take_in(known: np.ndarray, draws: np.ndarray) -> None:
    """Count, mean and sums of squares with some more draws (Chan, Golub and LeVeque 1979)."""
    n, d = draws.shape
    before, mean = known[0], known[1 : 1 + d]
    off = draws.mean(axis=0) - mean
    about = draws - draws.mean(axis=0)
    both = before * n / (before + n)
    if len(known) == 1 + d + d * d and d <= MOST_CORRELATED:
        known[1 + d :] += (about.T @ about + both * np.outer(off, off)).ravel()
    else:
        known[1 + d :] += (about * about).sum(axis=0) + both * off * off
    known[1 : 1 + d] = mean + off * n / (before + n)
    known[0] = before + n


def _factor(known: np.ndarray, d: int) -> np.ndarray | None:
    """Of the covariance, drawn towards its diagonal; None where a coordinate never moved."""
    count, squares = known[0], known[1 + d :] / max(known[0] - 1, 1.0)
    if d > MOST_CORRELATED:
        return np.sqrt(squares) if (squares > 0).all() and np.isfinite(squares).all() else None
    covariance = squares.reshape(d, d)
    spread = np.sqrt(np.diag(covariance))
    if not (spread > 0).all() or not np.isfinite(covariance).all():
        return None
    weight = count / (count + _EACH * _SHRUNK * d)
    correlation = weight * covariance / np.outer(spread, spread)
    np.fill_diagonal(correlation, 1.0)
    return spread[:, None] * np.linalg.cholesky(correlation)
