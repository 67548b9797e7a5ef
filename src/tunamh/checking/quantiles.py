"""Quantile residuals of rows under draws of the posterior, and the means of their scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import NotApplicable
from ..prediction.fitted import Fitted
from ..prediction.times import Seen
from ..targets.families.responses import ResponseDistribution
from .scores import EXTREME, LOCATION, SPREAD, THIRD, VARIANCE, Between, quantile, residual, scores
from .statistics import Moments
from .under_draws import UnderDraws, under_draws

_RANKED_DRAWS, _RANKED_AMONG = 10, 20


def of_quantiles(
    fitted: Fitted,
    eta: np.ndarray,
    p: Any,
    y: np.ndarray,
    seen: Seen,
    kept: np.ndarray,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Compute scores of quantile residuals and the residuals. ``kept`` are the draws that are examined one by one."""
    responses = fitted.responses
    known = between(responses, y, eta, p, seen)
    drawn, ranked = None, known is None
    if known is None:
        drawn = responses.draw(rng, eta, p)
        known = _by_ranks(drawn, y, seen.codes)
    own, r = _scored(known, seen.codes, rng)
    variance, third = (np.broadcast_to(one[:, None, None], own.shape) for one in (VARIANCE, THIRD))
    if responses.discrete:
        drawn = responses.draw(rng, eta, p)
        simulated = between_of_draws(responses, drawn, eta, p)
        if simulated is not None:
            again = scores(simulated)
            variance, third = np.square(again), again**3
            variance[EXTREME], third[EXTREME] = VARIANCE[EXTREME], THIRD[EXTREME]  # at most; too rare to be simulated
    shape = [means_over_draws(*parts) for parts in zip(own, variance, third, strict=True)]
    if ranked:
        kept, own = _ranked_by_draw(responses, eta, p, y, seen.codes, rng)
    return {
        "own": shape[0],
        "shape": shape,
        "shape_learned": _learned(eta, own, shape, kept),
        "residual": np.broadcast_to(r.mean(axis=0), y.shape).copy(),
        "pearson": _pearson(responses, y, eta, p) if seen.codes is None and seen.entry is None else None,
        "drawn": drawn if responses.discrete else None,
    }


def _scored(known: Between, codes: np.ndarray | None, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Scores and residuals."""
    own, r = scores(known), residual(known, rng.random(known.low.shape[-1:]))
    if codes is not None and (codes != 0).any():  # censoring times have no law of which to take means
        own = np.where(codes == 0, own, scores(Between(r, r)))
    return own, r


def _learned(eta: np.ndarray, own: np.ndarray, shape: list[Moments], kept: np.ndarray) -> UnderDraws | None:
    if eta.ndim > 2:
        return None
    location, spread = (
        Moments(own[which] if len(own[which]) == len(kept) else own[which][kept], *shape[which][1:])
        for which in (LOCATION, SPREAD)
    )
    return under_draws(eta[kept], location, spread)


def between(responses: ResponseDistribution, y: np.ndarray, eta: np.ndarray, p: Any, seen: Seen) -> Between | None:
    """Return the limits of the quantile residual for every draw and row.

    The result is None for families that can only be simulated.
    """
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
    """Return the limits of the quantile residuals of simulated responses, one response for every draw and row."""
    above, below = responses.tails(drawn, eta, p), responses.tails(drawn - 1, eta, p)
    return None if above is None or below is None else Between(quantile(*below), quantile(*above))


def _by_ranks(drawn: np.ndarray, y: np.ndarray, codes: np.ndarray | None) -> Between:
    """From the rank of a response among simulated ones: uniform on a grid, whatever the law is."""
    n = len(drawn) + 1
    low, high = (drawn < y).sum(axis=0) / n, ((drawn <= y).sum(axis=0) + 1) / n
    if codes is not None:
        low, high = np.where(codes < 0, 0.0, low), np.where(codes > 0, 1.0, high)
    return Between(quantile(low, 1 - low)[None], quantile(high, 1 - high)[None])


def _ranked_by_draw(
    responses: ResponseDistribution,
    eta: np.ndarray,
    p: Any,
    y: np.ndarray,
    codes: np.ndarray | None,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Some draws, and the scores of ranks among responses that each of them simulates: functions of (data, draw)."""
    kept = np.unique(np.linspace(0, len(eta) - 1, min(len(eta), _RANKED_DRAWS)).round().astype(int))
    some = {name: value[kept] if np.ndim(value) > 1 and len(value) == len(eta) else value for name, value in p.items()}
    drawn = np.stack([responses.draw(rng, eta[kept], some) for _ in range(_RANKED_AMONG - 1)])
    ranks = [_by_ranks(drawn[:, d], y, codes) for d in range(len(kept))]
    return kept, _scored(Between(*map(np.concatenate, zip(*ranks, strict=True))), codes, rng)[0]


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
    """Return the means over draws; the arguments have the dimensions (draws, rows)."""
    n = score.shape[-1]
    return Moments(*(np.broadcast_to(one.mean(axis=0), n).copy() for one in (score, variance, third)))
