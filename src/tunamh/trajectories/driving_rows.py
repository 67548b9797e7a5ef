"""Which rows' forces a trajectory takes as they are (spec 5t).

The others are taken by their quadratics about the nearest Gaussian. What a trajectory does not see of the energy,
``rest = sum (f - quadratic)`` over the others, decides at its end: two independent points differ by
``N(0, 2 sigma^2)`` there, which accepts ``erfc(sigma / 2)`` of the trajectories. More rows cost more and leave less.
Effective draws of the worst parameter grow with about the third power of the acceptance (measured: census, 478
parameters), since chains stay long where ``rest`` is small.
"""

from __future__ import annotations

import numpy as np
import scipy  # its parts are loaded when they are asked for, not at import

from ..targets.expansion.one_predictor import OnePredictor
from .gaussian_fit import NearestGaussian, moments_of
from .sparse_rows import ShortRows

_STEPS = 4  # of a trajectory, about
_FORCE = 3.0  # a row's force costs as much as three energies
_DRAWS = 48
_HALVINGS = 12


def residuals(of: OnePredictor, law: NearestGaussian, short: ShortRows, eta: np.ndarray) -> np.ndarray:
    """Return for each row ``weight (f(eta) - first D - second D^2 / 2)``; ``D`` is the distance from the centre's
    predictor.
    """
    away = eta - law.eta
    energies = of.energies(eta, np.ascontiguousarray(short.columns.y))
    return short.columns.weight * (energies - law.first * away - 0.5 * law.second * away * away)


def near_rows(of: OnePredictor, law: NearestGaussian, short: ShortRows) -> np.ndarray:
    """Return the rows for which the quadratic approximation is worst, in the order of the rows.

    It returns as many rows as make trajectories cheaper.
    """
    n = len(short.table)
    _, variance = moments_of(lambda eta: residuals(of, law, short, eta), law.eta, law.spread)
    worst = np.argsort(-variance, kind="stable")
    sizes = np.unique([0, n, *(n >> k for k in range(1, _HALVINGS))])
    shell = np.empty(n, dtype=np.int64)  # how many of the sizes leave a row out
    shell[worst] = np.searchsorted(sizes, np.arange(n), side="right")
    rng, left = np.random.default_rng(1), np.zeros((_DRAWS, len(sizes)))
    for draw in left:
        eta = short.predictors(law.mean + law.factor @ rng.standard_normal(len(law.mean)))
        by_shell = np.bincount(shell, residuals(of, law, short, eta), minlength=len(sizes) + 1)
        draw[:] = by_shell[:0:-1].cumsum()[::-1]
    accepted = scipy.special.erfc(0.5 * left.std(axis=0))
    cost = (n + _FORCE * _STEPS * sizes) / np.maximum(accepted, 1e-4) ** 3
    return np.sort(worst[: sizes[int(np.argmin(cost))]])
