"""Rows left out one at a time by Pareto smoothed importance sampling.

Draws of all unknowns ``c`` have the importance ``p(c | y_-i) / p(c | y) ~ 1 / r_i(c)``. In general ``r_i`` is the row's
density ``p(y_i | c)^w_i``. Where the row is in a small group, ``c`` leaves the group's effect out, and ``r_i`` is the
integral of `integrated`: a draw of the effect has seen the row, and no importance of draws makes up for that.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from .fitted import Fitted
from .group_rows import Sample, group_rows
from .integrated import integrated
from .model_rows import model_rows
from .predictions import Predictor


class ExactRows(NamedTuple):
    """Log densities of rows with the row left out and with it, each multiplied by the row's weight."""

    left_out: np.ndarray
    within: np.ndarray
    pareto_k: np.ndarray
    weights: np.ndarray | None


def exact_rows(fitted: Fitted, sample: Sample) -> ExactRows:
    """Compute the rows of a sample exactly. The data are read again for the other rows of the groups of these rows."""
    predictor = Predictor(fitted, "error", np.random.default_rng(0))
    n, weights = len(sample.places), None
    left, within, k = np.zeros(n), np.zeros(n), np.zeros(n)
    small = group_rows(fitted, sample)
    held = np.ones(n, dtype=bool)
    for one in small:
        held[one.sampled[one.sampled >= 0]] = False
    for chunk, own, seen in model_rows(fitted, sample.frame, predictor.rows_at_once):
        assert chunk.y is not None
        eta, p = predictor.linear(chunk), predictor.parameters(chunk)
        density = seen.log_density(fitted.responses, chunk.y, eta, p)
        density = np.broadcast_to(density, (len(fitted.picked), chunk.n_rows)).T
        here = slice(chunk.first, chunk.first + chunk.n_rows)
        w = np.ones(chunk.n_rows) if own is None else own
        within[here] = w * (logsumexp(density, axis=1) - np.log(density.shape[1]))
        some = held[here]
        at = chunk.first + np.flatnonzero(some)
        left[at], k[at] = smoothed(w[some, None] * density[some], density[some], w[some])
        if own is not None:
            weights = np.zeros(n) if weights is None else weights
            weights[here] = own
    for one in small:
        for at, removed, density in integrated(predictor, one):
            left[at], k[at] = smoothed(removed, density, np.ones(len(at)) if weights is None else weights[at])
    return ExactRows(left, within, k, weights)


def smoothed(removed: np.ndarray, density: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each row, the log of its mean density without the row, times ``w``, and its Pareto k.

    Draws are weighted by ``1 / r``: ``removed`` is ``log r``, and ``density`` is the log density given a draw. Both
    arrays are (row, draw).
    """
    from arviz_stats.base import array_stats

    left, k, some = np.zeros(len(w)), np.zeros(len(w)), w > 0  # without weight a row is left out of the fit already
    if some.any():
        importance, k[some] = array_stats.psislw(removed[some], axis=-1)
        left[some] = w[some] * logsumexp(importance + density[some], axis=-1)
    return left, k
