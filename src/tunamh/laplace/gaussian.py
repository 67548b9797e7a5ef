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

_PUSHED = 2000  # draws, where natural parameters are not those that are walked
_TRIES = 100


class LaplaceGaussian(NamedTuple):
    """``N(mean, factor factor')``, in the coordinates in which chains walk."""

    mean: np.ndarray
    factor: np.ndarray

    def draws(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return self.mean + rng.standard_normal((n, len(self.mean))) @ self.factor.T


def laplace_gaussian(target: Any) -> LaplaceGaussian | None:
    """Of an expanded target: at the mode, where one was found, else at the centre, if that is one.

    The search stops a tenth of a standard deviation or so before the mode; one more Newton step is made. Of a target
    with a law of its own, such as one with groups: what it says. Where a centre was kept from an earlier set-up, all of
    Newton's step from there is made; its length is no reason to refuse, since the law's distance is measured.
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
    """Of a target with one mode; None where there are several, or where the search found none."""
    if len(modes) > 1 or not modes[0].found:
        return None
    return _one_more_step(modes[0].posterior.metric(), modes[0].point, modes[0].posterior.gradient)


def _one_more_step(metric: Any, point: np.ndarray, gradient: np.ndarray) -> LaplaceGaussian | None:
    away = metric.factor.T @ gradient
    if not metric.positive_definite or not np.linalg.norm(away) < max(0.5, 0.1 * np.sqrt(len(point))):
        return None
    return LaplaceGaussian(point - metric.factor @ away, metric.factor)


def approximated_target(target: Any) -> Any:
    """The target whose parameters `laplace_gaussian` is a law of."""
    return target.laplace_gaussian()[1] if offers(target, Approximated) else target.base


def supported_draws(target: Any, law: LaplaceGaussian, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draws of the law in walked coordinates, none outside the support: a scale is positive, a Gaussian is not.

    Restricted to the posterior's support the law is no further from the posterior in total variation.
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
    """Mean and covariance of Laplace's law in natural units.

    In closed form where these are linear in what is walked; else from 2000 draws of a fixed seed, moved and stretched
    to the law's own mean and covariance in walked coordinates, so that only what is curved in the map has sampling
    errors.
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
