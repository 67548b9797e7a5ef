"""The centre of an expansion: a mode of the posterior, by damped Newton steps over full passes.

Any centre is exact; a good one makes the remainders small. A user's own prior is left out of the search, its Gaussian
counterpart is not.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from ._linear import scaled_eigen

if TYPE_CHECKING:
    from .targets.base import Expansion, Target

_MOST_STEPS = 100


def find_mode(target: Target, start: np.ndarray | None = None, tolerance: float = 1e-10) -> np.ndarray:
    """Damped Newton from ``start`` (default: where the target says) until half its decrement is below ``tolerance``.

    A Hessian that is not positive definite is lifted by a multiple of the identity, and steps are halved until the
    energy falls. Without a mode (separable data under a flat prior) the search ends after 100 steps where it is.
    """
    prior = target._prior
    theta = target.search_start() if start is None else np.array(start, dtype=np.float64)

    def posterior(theta: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        data: Expansion = target.expansion(theta)  # type: ignore[attr-defined]
        away = theta - prior.mean
        return (
            data.energy + 0.5 * float(away @ (prior.precision * away)),
            data.gradient + prior.precision * away,
            data.hessian + np.diag(prior.precision),
        )

    energy, gradient, hessian = posterior(theta)
    rng = np.random.default_rng(0)
    for _ in range(_MOST_STEPS):
        if np.isfinite(energy):
            break
        theta = target.start(rng)  # the first point lies outside the energies' domain
        energy, gradient, hessian = posterior(theta)
    decrement = np.inf
    for _ in range(_MOST_STEPS):
        step = _downhill(gradient, hessian)
        decrement = float(gradient @ step)
        if decrement < 2 * tolerance:
            break
        length = 1.0
        while length > 1e-10:
            new = posterior(theta - length * step)
            if new[0] <= energy - 1e-4 * length * decrement:
                break
            length *= 0.5
        else:
            break  # rounding alone is left
        theta = theta - length * step
        energy, gradient, hessian = new
    if not decrement < 1.0:
        warnings.warn(
            f"the search for a mode stopped some {np.sqrt(decrement):.3g} posterior standard deviations away from one; "
            "draws stay exact, but batches will be larger. Is there a mode? A prior makes one.",
            stacklevel=4,
        )
    return target.nearest(theta)


def _downhill(gradient: np.ndarray, hessian: np.ndarray) -> np.ndarray:
    """A Newton step, with the size of every curvature and none below 1e-8 of the largest."""
    scale, values, vectors = scaled_eigen(hessian)
    bend = np.maximum(np.abs(values), 1e-8 * max(float(np.abs(values).max()), 1e-300))
    return (vectors @ ((vectors.T @ (gradient / scale)) / bend)) / scale
