"""A random state of a model with groups that a chain may begin in."""

from __future__ import annotations

from typing import Any

import numpy as np

from .grouping import Grouping
from .quadratic import precision_at


def initial_state(model: Any, rng: np.random.Generator) -> np.ndarray:
    """Return a random state: common parameters and scales about their centre, wider than the posterior, and effects.

    The effects are drawn given the common parameters and scales.
    """
    state = np.empty(model.dim)
    p, scales_at, effects_at = model.p, model.p, model.p + model.m
    for k, (one, numbers) in enumerate(zip(model.groupings, model.factors, strict=True)):
        away = numbers.root @ rng.standard_normal(p + one.scales)
        if k == 0:
            state[:p] = model.centre.at.common + 2.0 * away[:p]
            prior = model.base._prior
            if not prior.log_prior(state[:p], prior.hyper) > -np.inf:  # scales are positive, cutpoints in order
                state[:p] = model.centre.at.common
        known = one.known is not None
        scales = (
            model.scale_priors.known_scales(state)
            if known
            else _supported_scales(model, k, model.centre.scales[k] + np.clip(2.0 * away[p:], -3, 3), state[:p])
        )
        cross = model.centre.sums.factors[k].cross
        slope = numbers.gradient + np.einsum("gaj,j->ga", cross, state[:p] - model.centre.at.common)
        drawn = _start_of_effects(one, numbers, precision_at(one, scales)[0], slope, rng)
        state[scales_at : scales_at + one.scales] = scales[: one.scales]
        state[effects_at : effects_at + drawn.size] = drawn.ravel()
        scales_at, effects_at = scales_at + one.scales, effects_at + drawn.size
    if model.scaled_prior:
        wide = model.wide_prior
        away = 2.0 * wide.spread * rng.standard_normal(len(wide.lam))
        state[scales_at : model.p + model.m] = wide.lam + np.clip(away, -3, 3)
    return state


def _supported_scales(model: Any, k: int, scales: np.ndarray, common: np.ndarray) -> np.ndarray:
    """Scales where their prior's density is positive: those given, or those of the centre as a user knows them."""
    priors, centre = model.scale_priors, model.centre
    if not scales.size or np.isfinite(priors.energy(k, scales, common)):
        return scales
    size = np.log(priors.tau(common) / priors.tau(centre.at.common))
    return centre.scales[k] + np.where(np.arange(scales.size) < model.groupings[k].q, size, 0.0)


def _start_of_effects(
    one: Grouping, numbers: Any, Q: np.ndarray, slope: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Draws around the conditional means of the quadratic; of related levels in their basis."""
    if one.related is not None:
        P = numbers.basis_curvature + Q[0, 0]
        mean = (numbers.basis_curvature * numbers.basis_mode - numbers.basis.T @ slope[:, 0]) / P
        return (numbers.basis @ (mean + rng.standard_normal(len(P)) / np.sqrt(P)))[:, None]
    P = np.linalg.pinv(numbers.convex + Q)
    drawn = np.einsum("gab,gb->ga", P, np.einsum("gab,gb->ga", numbers.convex, numbers.mode) - slope)
    drawn += np.sqrt(np.einsum("gaa->ga", P)) * rng.standard_normal(drawn.shape)
    drawn[~one.free] = 0.0
    return drawn
