"""Quantile residuals of rows under draws of the posterior, and the means of their scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import NotApplicable
from ..prediction.fitted import Fitted
from ..prediction.times import Seen
from ..targets.families.responses import ResponseDistribution
from .scores import EXTREME, THIRD, VARIANCE, Between, quantile, residual, scores
from .statistics import Moments


def of_quantiles(
    fitted: Fitted, eta: np.ndarray, p: Any, y: np.ndarray, seen: Seen, rng: np.random.Generator
) -> dict[str, Any]:
    responses = fitted.responses
    known = between(responses, y, eta, p, seen)
    drawn = None
    if known is None:
        drawn = responses.draw(rng, eta, p)
        known = _by_ranks(drawn, y, seen.codes)
    own = scores(known)
    uniform = rng.random(len(y))
    r = residual(known, uniform)
    if seen.codes is not None and (seen.codes != 0).any():
        own = np.where(
            seen.codes == 0, own, scores(Between(r, r))
        )  # censoring times have no law of which to take means
    variance, third = (np.broadcast_to(one[:, None, None], own.shape) for one in (VARIANCE, THIRD))
    if responses.discrete:
        drawn = responses.draw(rng, eta, p)
        simulated = between_of_draws(responses, drawn, eta, p)
        if simulated is not None:
            again = scores(simulated)
            variance, third = np.square(again), again**3
            variance[EXTREME], third[EXTREME] = VARIANCE[EXTREME], THIRD[EXTREME]  # at most; too rare to be simulated
    shape = [means_over_draws(*parts) for parts in zip(own, variance, third, strict=True)]
    return {
        "own": shape[0],
        "shape": shape,
        "residual": np.broadcast_to(r.mean(axis=0), y.shape).copy(),
        "pearson": _pearson(responses, y, eta, p) if seen.codes is None and seen.entry is None else None,
        "drawn": drawn if responses.discrete else None,
    }


def between(responses: ResponseDistribution, y: np.ndarray, eta: np.ndarray, p: Any, seen: Seen) -> Between | None:
    """What is known of the quantile residual of every draw and row; None of families that say only how to draw."""
    found = responses.tails(y, eta, p)
    if found is None:
        return None
    if seen.entry is not None:  # given that nothing happened before
        late = responses.tails(seen.entry, eta, p)
        assert late is not None
        above = np.minimum(found[1] / np.maximum(late[1], 1e-300), 1.0)
        found = 1.0 - above, above
    high = quantile(*found)
    if responses.discrete:
        below = responses.tails(y - 1, eta, p)
        assert below is not None
        low = quantile(*below)
    else:
        low = high
    if seen.codes is None:
        return Between(low, high)
    return Between(np.where(seen.codes < 0, -np.inf, low), np.where(seen.codes > 0, np.inf, high))


def between_of_draws(responses: ResponseDistribution, drawn: np.ndarray, eta: np.ndarray, p: Any) -> Between | None:
    """The same of simulated responses, one for every draw and row."""
    above, below = responses.tails(drawn, eta, p), responses.tails(drawn - 1, eta, p)
    return None if above is None or below is None else Between(quantile(*below), quantile(*above))


def _by_ranks(drawn: np.ndarray, y: np.ndarray, codes: np.ndarray | None) -> Between:
    """From the rank of a response among simulated ones: uniform on a grid, whatever the law is."""
    n = len(drawn) + 1
    low, high = (drawn < y).sum(axis=0) / n, ((drawn <= y).sum(axis=0) + 1) / n
    if codes is not None:
        low, high = np.where(codes < 0, 0.0, low), np.where(codes > 0, 1.0, high)
    return Between(quantile(low, 1 - low)[None], quantile(high, 1 - high)[None])


def _pearson(responses: ResponseDistribution, y: np.ndarray, eta: np.ndarray, p: Any) -> np.ndarray | None:
    """``(y - mean)^2 / variance``, in the mean of the draws; None where the family has no variance."""
    try:
        mean, variance = responses.mean(eta, p), responses.variance(eta, p)
    except (NotImplementedError, NotApplicable):
        return None
    n = np.asarray(p.get("trials", 1.0))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        found = (np.square(y - n * mean) / (n * variance)).mean(axis=0)
    return found if np.isfinite(found).all() else None


def means_over_draws(score: np.ndarray, variance: np.ndarray, third: np.ndarray) -> Moments:
    """Means over draws (draws, rows)."""
    n = score.shape[-1]
    return Moments(*(np.broadcast_to(one.mean(axis=0), n).copy() for one in (score, variance, third)))
