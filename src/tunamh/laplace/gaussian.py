"""Laplace's approximation as a law: the Gaussian ``N(m, Q^-1)``, and what it is in natural units.

``m`` is the mode and ``Q`` the Hessian of minus the log density there, in the coordinates in which chains walk: of a
regression with an unknown scale ``beta / scale`` and ``1 / scale``, in which posteriors are nearer to Gaussian.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..capabilities import Approximated, Examined, Kept, Whitenable, offers
from ..errors import NotApplicable

_PUSHED = 2000  # draws, if the user's parameters are not the coordinates of chains
_TRIES = 100


class LaplaceGaussian(NamedTuple):
    """The law ``N(mean, factor factor')`` in the coordinates of chains."""

    mean: np.ndarray
    factor: np.ndarray

    def draws(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return self.mean + rng.standard_normal((n, len(self.mean))) @ self.factor.T


def laplace_gaussian(target: Any) -> LaplaceGaussian | None:
    """Return the Laplace law of a target at its mode; if no mode was found, at the centre, if this is close to a mode.

    The search stops about a tenth of a standard deviation from the mode, so one more Newton step is made. A target with
    a law of its own, such as one with groups, returns its own law. If the centre comes from an earlier set-up, a whole
    Newton step is made from there. The step may have any length, because the distance of the law is measured.
    """
    if offers(target, Approximated):
        return target.laplace_gaussian()[0]
    if not offers(target, Whitenable):
        return None
    if offers(target.base, Kept) and target.base.kept is not None:
        metric = target.metric
        step = metric.factor @ (metric.factor.T @ target.centre_gradient)
        return LaplaceGaussian(target.centre - step, metric.factor) if metric.positive_definite else None
    searched = offers(target.base, Examined) and not (target.centre_as_told and target.base.convex)
    if searched:  # else no search is made for this
        return gaussian_at_mode(target.base.modes)
    return _one_more_step(target.metric, target.centre, target.centre_gradient)


def gaussian_at_mode(modes: Sequence[Any]) -> LaplaceGaussian | None:
    """Return the law of a target with one mode; None if there are several modes, or if the search found none."""
    if len(modes) > 1 or not modes[0].found:
        return None
    return _one_more_step(modes[0].posterior.metric(), modes[0].point, modes[0].posterior.gradient)


def _one_more_step(metric: Any, point: np.ndarray, gradient: np.ndarray) -> LaplaceGaussian | None:
    away = metric.factor.T @ gradient
    if not metric.positive_definite or not np.linalg.norm(away) < max(0.5, 0.1 * np.sqrt(len(point))):
        return None
    return LaplaceGaussian(point - metric.factor @ away, metric.factor)


def approximated_target(target: Any) -> Any:
    """Return the target whose parameters have the law of `laplace_gaussian`."""
    return target.laplace_gaussian()[1] if offers(target, Approximated) else target.base


def supported_draws(target: Any, law: LaplaceGaussian, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw from the law, in the coordinates of chains, until all draws are in the support of the posterior.

    A scale is positive, but a Gaussian law is not restricted to positive numbers. The law restricted to the support is
    not farther from the posterior in total variation.
    """
    kept = np.empty((0, len(law.mean)))
    for _ in range(_TRIES):
        points = law.draws(n, rng)
        kept = np.concatenate([kept, points[_in_support(target, points)]])
        if len(kept) >= n:
            return kept[:n]
    raise NotApplicable("nearly all of Laplace's approximation is outside the support of the prior.")


def _in_support(target: Any, points: np.ndarray) -> np.ndarray:
    prior = target._prior
    if prior.gaussian:  # normal or flat: positive everywhere
        return np.full(len(points), True)
    return np.array([prior.log_prior(point, prior.hyper) > -np.inf for point in points])


def moments(target: Any, law: LaplaceGaussian) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and covariance of the Laplace law in the user's parameters.

    If these are linear in the coordinates of chains, they are in closed form. Otherwise they come from 2000 draws with
    a fixed seed, which are shifted and scaled to the law's own mean and covariance in the coordinates of chains. So
    only the curved part of the map has sampling errors.
    """
    if target.walks_linearly:
        factor = target.to_user(law.factor.T).T
        return target.to_user(law.mean), factor @ factor.T
    if target.to_user(law.mean) is law.mean:
        return law.mean, law.factor @ law.factor.T
    points = supported_draws(target, law, max(_PUSHED, 4 * len(law.mean)), np.random.default_rng(0))
    z = points - points.mean(axis=0)
    root = np.linalg.cholesky(np.atleast_2d(np.cov(z.T)))
    matched = law.mean + np.linalg.solve(root, z.T).T @ law.factor.T
    natural = target.to_user(matched if _in_support(target, matched).all() else points)
    return natural.mean(axis=0), np.atleast_2d(np.cov(natural.T))
