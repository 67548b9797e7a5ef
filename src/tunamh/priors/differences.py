"""The expansion of a user's own prior by differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .potential import PriorExpansion

_LARGEST_SECOND_DIFFERENCE = 5.0
_ROUNDING = 1e-10


def by_differences(energy: Callable[[np.ndarray], float], theta: np.ndarray, width: np.ndarray) -> PriorExpansion:
    """Return the expansion of a user's prior by central differences of ``energy = -log prior``.

    The steps are as long as the posterior would be wide by the data alone, but at most 2 or 3 of the prior's own
    scales: over a step, the energy bends by at most 5. At a kink (a Laplace prior) such a step gives the curvature that
    the posterior sees (spec 5k). A shorter step would make the Laplace law too narrow, and then a chain of independent
    draws would stay too long in the tails. If two random checks show that coordinates do not interact, mixed
    differences are not computed. At points outside the support the curvature counts as zero.
    """
    with np.errstate(all="ignore"):  # what is not finite counts as no curvature
        return _by_differences(energy, theta, width)


def _by_differences(energy: Callable[[np.ndarray], float], theta: np.ndarray, width: np.ndarray) -> PriorExpansion:
    d, here = theta.size, energy(theta)
    if not np.isfinite(here):
        return PriorExpansion(np.inf, np.zeros(d), np.zeros((d, d)))
    step = np.minimum(np.where(np.isfinite(width), width, np.inf), np.maximum(1.0, np.abs(theta)))
    gradient, hessian = np.zeros(d), np.zeros((d, d))
    sides = np.empty((2, d))
    for j, e in enumerate(np.eye(d)):
        while True:
            after, before = energy(theta + step[j] * e), energy(theta - step[j] * e)
            second = after + before - 2 * here
            if abs(second) <= _LARGEST_SECOND_DIFFERENCE or step[j] <= 1e-9 * (1 + abs(theta[j])):
                break
            step[j] /= 2
        sides[:, j] = after - here, before - here
        if np.isfinite(second):
            gradient[j] = (after - before) / (2 * step[j])
            hessian[j, j] = second / step[j] ** 2 if abs(second) > _ROUNDING * (1 + abs(here)) else 0.0
    rng = np.random.default_rng(0)
    for side in rng.integers(2, size=(2, d)):
        together = energy(theta + np.where(side == 0, step, -step)) - here
        alone = float(sides[side, np.arange(d)].sum())
        if np.isfinite(together) and np.isfinite(alone) and abs(together - alone) > _ROUNDING * (1 + abs(here)):
            _mixed_differences(energy, theta, step, hessian)
            break
    return PriorExpansion(here, gradient, hessian)


def _mixed_differences(
    energy: Callable[[np.ndarray], float], theta: np.ndarray, step: np.ndarray, hessian: np.ndarray
) -> None:
    """Fill the Hessian's entries beside its diagonal."""
    moves = np.diag(step)
    for j in range(theta.size):
        for k in range(j):
            same = energy(theta + moves[j] + moves[k]) + energy(theta - moves[j] - moves[k])
            opposite = energy(theta + moves[j] - moves[k]) + energy(theta - moves[j] + moves[k])
            if np.isfinite(same - opposite) and abs(same - opposite) > _ROUNDING * (1 + abs(same)):
                hessian[j, k] = hessian[k, j] = (same - opposite) / (4 * step[j] * step[k])
