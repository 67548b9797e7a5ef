"""Statistics of the draws of effects: means, intervals, probabilities."""

from __future__ import annotations

import numpy as np

from ..results.group_effects import interval_names


def summarised(draws: np.ndarray, probability: float) -> dict[str, np.ndarray]:
    """Return mean, standard deviation and interval of every line. ``draws`` has the dimensions (chain, draw, line)."""
    flat = draws.reshape(-1, draws.shape[-1])
    tail = 0.5 - probability / 2
    low, high = interval_names(probability)
    with np.errstate(invalid="ignore"):
        ends = np.quantile(flat, [tail, 1 - tail], axis=0)
        return {"mean": flat.mean(axis=0), "sd": flat.std(axis=0), low: ends[0], high: ends[1]}


def share_above(draws: np.ndarray, value: float) -> np.ndarray:
    """Return the share of draws above a value, for each line. The result is NaN where draws are not finite."""
    flat = draws.reshape(-1, draws.shape[-1])
    return np.where(np.isfinite(flat).all(axis=0), (flat > value).mean(axis=0), np.nan)
