"""The log density of group effects given their scales, with all constants."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from ..groups.grouping import Grouping


def log_of_effects(one: Grouping, effects: np.ndarray, Q: np.ndarray, logdet: float) -> np.ndarray:
    """Return the log density of every group of independent levels. ``Q`` and ``logdet`` come from `precision_at`."""
    squares, q, df = np.einsum("ga,ab,gb->g", effects, Q, effects), one.q, one.df
    logdet = _whole(one, logdet)
    if df:
        constant = gammaln(0.5 * (df + q)) - gammaln(0.5 * df) - 0.5 * q * np.log(np.pi * df)
        return np.asarray(constant - 0.5 * logdet - 0.5 * (df + q) * np.log1p(squares / df))
    return np.asarray(-0.5 * squares - 0.5 * logdet - 0.5 * q * np.log(2 * np.pi))


def log_of_all_effects(one: Grouping, effects: np.ndarray, Q: np.ndarray, logdet: float) -> float:
    """Return the log density of all levels of a factor together. Related levels have one joint law."""
    if one.related is None:
        return float(log_of_effects(one, effects, Q, logdet)[one.free].sum())
    white, logdet = one.related.whitened(effects), _whole(one, logdet)
    whole = one.groups * (logdet + np.log(2 * np.pi)) + 2 * float(np.log(np.diag(one.related.root)).sum())
    return -0.5 * (float(Q[0, 0]) * float(np.sum(white**2)) + whole)


def _whole(one: Grouping, logdet: float) -> float:
    """`precision_at` leaves out a constant where scales are known."""
    return logdet if one.known is None else logdet - float(np.linalg.slogdet(one.known)[1])
