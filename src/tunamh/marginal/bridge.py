"""The ratio of two normalising constants from draws of both laws (docs/spec-evidence.md 5).

``w = p / q`` with ``p`` not normalised: for any number ``r``,

    Z = E_q[w / (s w + (1 - s) r)] / E_p[1 / (s w + (1 - s) r)],

and at ``r = Z`` the error is the least (Bennett 1976; Meng and Wong 1996), ``s`` being the share of draws of ``p``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from ..errors import NotApplicable
from ..results.convergence import effective_draws

_MOST_STEPS, _CLOSE = 1000, 1e-10
_LEAST_OVERLAP = 0.01


class Bridged(NamedTuple):
    """``log Z``, its standard error, and how much the two laws overlap."""

    log_z: float
    se: float
    overlap: tuple[float, float]


def bridged(of_posterior: np.ndarray, of_law: np.ndarray) -> Bridged:
    """Return ``log Z`` from ``log w`` at draws of the posterior (chain, draw) and at independent draws of the law."""
    here, there = of_posterior.ravel(), of_law
    share = _effective(of_posterior) / (_effective(of_posterior) + len(there))
    log_s, log_rest = np.log(share), np.log1p(-share)
    log_z = float(np.median(here))
    for _ in range(_MOST_STEPS):
        before = log_z
        up = logsumexp(there - np.logaddexp(log_s + there, log_rest + log_z)) - np.log(len(there))
        down = logsumexp(-np.logaddexp(log_s + here, log_rest + log_z)) - np.log(len(here))
        log_z = float(up - down)
        if not np.isfinite(log_z):
            raise _too_far()
        if abs(log_z - before) < _CLOSE:
            break
    a = np.exp(there - np.logaddexp(log_s + there, log_rest + log_z))
    b = np.exp(log_z - np.logaddexp(log_s + of_posterior, log_rest + log_z))
    overlap = float(np.exp(np.minimum(log_z - here, 0)).mean()), float(np.exp(np.minimum(there - log_z, 0)).mean())
    if not min(overlap) > _LEAST_OVERLAP:
        raise _too_far()
    errors = a.std() / np.sqrt(len(a)) / a.mean(), b.std() / np.sqrt(_worth(b)) / b.mean()
    return Bridged(log_z, float(np.hypot(*errors)), overlap)


def _effective(values: np.ndarray) -> float:
    """How many independent draws those of chains are worth, for these values without their far tails."""
    return _worth(np.clip(values, *np.quantile(values, (0.01, 0.99))))


def _worth(values: np.ndarray) -> float:
    found = float(effective_draws(values[None])[0]) if values.shape[1] > 3 and np.ptp(values) > 0 else values.size
    return float(np.clip(found, 4.0, values.size)) if np.isfinite(found) else 4.0


def _too_far() -> NotApplicable:
    return NotApplicable(
        "the posterior is too far from the distribution of the proposals, so the standard error of the evidence is "
        "not reliable: use more draws for the posterior, fewer columns, or narrower priors. "
        "tunamh.compare says which model predicts better."
    )
