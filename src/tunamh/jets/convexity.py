"""A proof that a user's own energy is not convex: a point at which it curves downwards, by more than rounding."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np

from .interval import Interval
from .jet import expand
from .series import Index

_STEPS = np.r_[-np.geomspace(30.0, 0.25, 8), 0.0, np.geomspace(0.25, 30.0, 8)]
_FEW_STEPS = np.array([-3.0, -1.0, -0.3, 0.0, 0.3, 1.0, 3.0])


class DownwardCurve(NamedTuple):
    """Predictors and a response at which the Hessian is proved to have a negative eigenvalue."""

    predictors: tuple[float, ...]
    y: float


def curved_downwards(energy: Callable[..., Any], size: int, y: np.ndarray) -> DownwardCurve | None:
    """Return a point where the energy is proved not to be convex, or None if none is found.

    The search is about 0 and about the responses, with ``size`` predictors. A matrix is not positive semidefinite if it
    has a negative entry on its diagonal or a negative minor of two rows. Both are computed with intervals, so rounding
    errors cannot give a false proof.
    """
    steps = _STEPS if size == 1 else _FEW_STEPS
    shifts = np.array(list(product(steps, repeat=size))).T
    grids = [shifts[:, None, :], shifts[:, None, :] + np.eye(size, 1)[:, :, None] * y[None, :, None]]
    etas = np.concatenate([np.broadcast_to(grid, (size, y.size, shifts.shape[1])) for grid in grids], axis=2)
    responses = np.repeat(y, etas.shape[2])
    points = etas.reshape(size, -1)
    jet = expand(energy, [Interval(column) for column in points], responses, 2)

    def entry(a: int, b: int) -> Interval:
        index: Index = tuple(int(j == a) + int(j == b) for j in range(size))
        return jet.derivative(index)

    with np.errstate(all="ignore"):
        found = [entry(a, a).high for a in range(size)]
        for a, b in combinations(range(size), 2):
            found.append((entry(a, a) * entry(b, b) - entry(a, b).squared()).high)
    negative = np.logical_or.reduce([np.broadcast_to(high < 0, responses.shape) for high in found])
    if not negative.any():
        return None
    first = int(negative.argmax())
    return DownwardCurve(tuple(points[:, first].tolist()), float(responses[first]))
