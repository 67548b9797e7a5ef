"""Survival of censored responses: Kaplan and Meier's estimate beside the model's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..prediction.new_rows import NewRowExtras, NewRows
from ..prediction.predictions import Predictor

if TYPE_CHECKING:
    from .looked import Looked

_TIMES = 60
_DRAWS = 50


def kaplan_meier(time: np.ndarray, seen: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the Kaplan-Meier estimate of ``P(T > t)``, and Greenwood's standard error of its logarithm."""
    ends = np.unique(time[seen])
    at_risk = len(time) - np.searchsorted(np.sort(time), ends, side="left")
    died = np.searchsorted(np.sort(time[seen]), ends, side="right") - np.searchsorted(
        np.sort(time[seen]), ends, side="left"
    )
    with np.errstate(divide="ignore"):
        log_survival = np.cumsum(np.log1p(-died / at_risk))
        variance = np.cumsum(died / np.where(at_risk > died, at_risk * (at_risk - died), np.inf))
    which = np.searchsorted(ends, at, side="right")
    return np.exp(np.append(0.0, log_survival)[which]), np.sqrt(np.append(0.0, variance)[which])


def survival(looked: Looked) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None:
    """Return times, the Kaplan-Meier estimate, the model's mean survival, and a band about it.

    The result is None if a response is left-censored or has a time of entry. The model's survival is the mean over rows
    and draws of the posterior. The width of the band is the uncertainty of the Kaplan-Meier estimate.
    """
    found = looked.residuals
    codes, entry = found.rows.seen
    assert codes is not None
    if entry is not None or (codes < 0).any() or not (codes == 0).any():
        return None
    seen = codes == 0
    at = np.quantile(found.observed, np.linspace(0.0, 1.0, _TIMES))
    estimate, error = kaplan_meier(found.observed, seen, at)
    said = _of_model(looked, at)
    wide = 1.96 * error
    return at, estimate, said, said * np.exp(-wide), np.minimum(said * np.exp(wide), 1.0)


def _of_model(looked: Looked, at: np.ndarray) -> np.ndarray:
    fitted, rows = looked.fitted, looked.residuals.rows
    new = NewRows(fitted, rows.table, NewRowExtras(), with_response=True)
    predictor = Predictor(fitted, "error", np.random.default_rng(0))
    total = np.zeros(len(at))
    for chunk in new.chunks(min(predictor.rows_at_once, 2000)):
        eta, p = predictor.linear(chunk), predictor.parameters(chunk)
        some = np.unique(np.linspace(0, len(eta) - 1, min(len(eta), _DRAWS)).astype(int))
        p = {
            name: value[some] if np.ndim(value) >= 2 and len(value) == len(eta) else value for name, value in p.items()
        }
        for k, time in enumerate(at):
            tails = fitted.responses.tails(np.array([time]), eta[some], p)
            assert tails is not None, "families that take censoring know their distribution functions"
            total[k] += np.broadcast_to(tails[1], eta[some].shape).mean(axis=0).sum()
    return total / len(rows.numbers)
