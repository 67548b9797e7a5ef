"""The shape of a random walk's steps, learned in warm-up from the draws of its windows.

The knobs of such a walk are the step size, its factor ``F`` and, behind these, what is known: how many draws, their
mean and the sums of squares about it. So all of it lies in a run's state, and chunks of any length give the same draws.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..compiled.layouts import NUMBER, Layout
from .base import OPTIMAL_WALK

MOST_CORRELATED = 20
"""Coordinates, beyond which each has a length of its own and no correlations are learned."""

_CHANGES = 0.08, 0.15, 0.25, 0.4, 0.65  # shares of warm-up after which ``F`` is what the draws since the last one say
_EACH = 10  # draws that stand for one, since neighbours are alike
_SHRUNK = 5  # times d: so many draws count as much as that coordinates are independent


_KNOWN = Layout("KnownOfShape", "d", "size", count=(1,), mean=("d",), squares=("size",))
_KNOBS = Layout("LearnedShape", "d", "size", step=NUMBER, shape=("size",), **_KNOWN.fields)
"""Knobs of a walk whose shape is learned: the step size, ``F``, and what is known."""


def shape_size(dim: int) -> int:
    """Return the size of ``F``: a matrix, or one length for each coordinate."""
    return dim * dim if dim <= MOST_CORRELATED else dim


def unshaped(step: float, dim: int) -> np.ndarray:
    """Return the knobs before the shape is learned."""
    shape = np.eye(dim).ravel() if dim <= MOST_CORRELATED else np.ones(dim)
    size = shape_size(dim)
    return _KNOBS.pack(step=step, shape=shape, count=np.zeros(1), mean=np.zeros(dim), squares=np.zeros(size))


def learn_shape(knobs: np.ndarray, draws: np.ndarray, done: int, total: int) -> float | None:
    """Learn from the draws of a window, after which ``done`` of ``total`` steps are made.

    Return a new step size if ``F`` changes, otherwise None. With ``F F'`` the covariance of the draws, the best step
    size is about ``2.38 / sqrt(d)``; warm-up continues to tune it. The last change of ``F`` comes before the last third
    of warm-up, over which the step size is averaged.
    """
    n, d = draws.shape
    known = _KNOBS.views(knobs, d=d, size=shape_size(d))
    _take_in(known, draws)
    if not any(done - n < share * total <= done for share in _CHANGES):
        return None
    factor = _factor(known, d)
    for name in _KNOWN.fields:
        getattr(known, name)[:] = 0.0
    if factor is None:
        return None
    known.shape[:] = factor.ravel()
    return OPTIMAL_WALK / math.sqrt(d)


def _take_in(known: Any, draws: np.ndarray) -> None:
    """Count, mean and sums of squares with some more draws (Chan, Golub and LeVeque 1979)."""
    n, d = draws.shape
    before = float(known.count[0])
    off = draws.mean(axis=0) - known.mean
    about = draws - draws.mean(axis=0)
    both = before * n / (before + n)
    if d <= MOST_CORRELATED:
        known.squares[:] += (about.T @ about + both * np.outer(off, off)).ravel()
    else:
        known.squares[:] += (about * about).sum(axis=0) + both * off * off
    known.mean[:] = known.mean + off * n / (before + n)
    known.count[0] = before + n


def _factor(known: Any, d: int) -> np.ndarray | None:
    """Of the covariance, drawn towards its diagonal; None where a coordinate never moved."""
    count = float(known.count[0])
    squares = known.squares / max(count - 1, 1.0)
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
