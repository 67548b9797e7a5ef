"""Scores and places of rows under one draw of the posterior at a time: trends along what was learned.

A sum of scores has mean zero under a draw if its weights depend on the parameters alone (`tunamh.checking.scores`). The
posterior mean of a row's predictor depends on the response of the row: much, where the effect of a small group is
learned from a few rows. So the weights of a trend along the predictor are those at the draw's own predictor,

    z(y, theta) = sum_i w_i(theta) s_i(y, theta) / sd,      E z = 0 and var z = 1 under (data, draw),

and what is tested is their mean over draws: its mean is zero, too, and its variance at most one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc

from .statistics import Moments, sums_of_scores, unskewed

_MOST_NUMBERS = 3_000_000
_FEWEST_DRAWS = 4


class UnderDraws(NamedTuple):
    """Positions of rows and their scores, arrays (draws, rows).

    There are scores of the mean, and of the spread if there are any.
    """

    position: np.ndarray
    location: Moments
    spread: Moments | None = None

    def each(self) -> Iterator[tuple[np.ndarray, Moments, Moments | None]]:
        """Yield positions and scores, draw by draw."""
        for d, position in enumerate(self.position):
            yield position, _at(self.location, d), None if self.spread is None else _at(self.spread, d)


def _at(rows: Moments, draw: int) -> Moments:
    return Moments(*(part[draw] for part in rows))


def draws_kept(draws: int, rows: int) -> np.ndarray:
    """Return the numbers of the draws that are examined one by one: all or, with many rows, some evenly spaced ones.

    The test is valid with any number of draws.
    """
    most = max(_FEWEST_DRAWS, _MOST_NUMBERS // max(rows, 1))
    return np.unique(np.linspace(0, draws - 1, min(draws, most)).round().astype(int))


def under_draws(position: np.ndarray, location: Moments, spread: Moments | None = None) -> UnderDraws:
    """Return the object for positions and scores; scores may be the same for all draws."""

    def whole(part: np.ndarray) -> np.ndarray:
        return np.broadcast_to(part, position.shape)

    parts = [None if one is None else Moments(*map(whole, one)) for one in (location, spread)]
    assert parts[0] is not None
    return UnderDraws(position, parts[0], parts[1])


def trend_under_draws(
    parts: Iterator[tuple[np.ndarray, Moments]], degrees: int = 3, *, constant: bool = False
) -> float:
    """Return the probability of a trend at least as large along the positions, if the model is right."""
    z, skew = np.mean([sums_of_scores(*part, degrees, constant) for part in parts], axis=0)
    normal = np.array([unskewed(float(one), float(own)) for one, own in zip(z, skew, strict=True)])
    count = np.count_nonzero(z)
    return float(chdtrc(count, float(normal @ normal))) if count else 1.0


def by_bins(
    position: np.ndarray, bins: int, of_bin: Callable[[int, np.ndarray], tuple[float, ...]]
) -> tuple[np.ndarray, ...]:
    """Return means over draws of numbers that ``of_bin`` computes for each bin.

    A bin contains rows whose positions under the draw are close to each other.
    """
    found = [
        [of_bin(d, own) for own in np.array_split(np.argsort(one, kind="stable"), bins)]
        for d, one in enumerate(position)
    ]
    return tuple(np.mean(found, axis=0).T)


def fifths_under_draws(position: np.ndarray, values: np.ndarray, form: str = "+.2f") -> str:
    """Return in words the means in the lowest, the middle and the highest fifth of the rows."""
    (means,) = by_bins(position, 5, lambda d, own: (float(values[d, own].mean()),))
    low, _, middle, _, high = means
    return f"{low:{form}} in the lowest fifth, {middle:{form}} in the middle, {high:{form}} in the highest"


def shares_by_probability(
    learned: UnderDraws, trials: np.ndarray | None, bins: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return, for bins of rows, the predicted probability, the observed share, and its standard deviation."""
    n = np.ones(learned.position.shape[1]) if trials is None else trials

    def of_bin(d: int, own: np.ndarray) -> tuple[float, ...]:
        total, said = float(n[own].sum()), float(np.average(learned.position[d, own], weights=n[own]))
        off = float(learned.location.score[d, own].sum()) / total
        return said, said + off, float(np.sqrt(learned.location.variance[d, own].sum())) / total

    said, seen, deviation = by_bins(learned.position, bins, of_bin)
    return said, seen, deviation
