"""Starts for models that are not linear: spread as their priors are, since rows do not say what predictors they like.

A predictor's intercept decides where on its curve the data are, so that it is spread the most. Slopes begin at the
centres of their priors, or near them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...priors.laws import FLAT
from ..coordinates.closed_form_prior import closed_form
from .newton import descend

if TYPE_CHECKING:
    from ..glm import GLM

_STARTS = 200
_SPREADS = 1.0, 0.3, 0.1  # of a prior's scale, in turn
_SLOPES = 0.1  # of what intercepts are spread by
_FLAT_SCALE = 2.5
_WIDER = 1e6
_DESCENTS, _STEPS = 6, 60


def scales(target: GLM) -> np.ndarray:
    """Return how far each parameter may be from the start, from the scale of its prior."""
    found = []
    for laws in target.row_layout.laws:
        known = (laws.kind != FLAT) & np.isfinite(laws.scale) & (laws.scale > 0)
        found.append(np.where(known, laws.scale, _FLAT_SCALE))
    return np.concatenate(found)


def spread_starts(target: GLM) -> np.ndarray:
    """Return starts of a search: points (k, d) from a normal law about the first start."""
    begin = np.asarray(target.search_starts()[0])
    z = np.random.default_rng(0).standard_normal((_STARTS, target.dim))
    z *= np.resize(_SPREADS, _STARTS)[:, None] * np.where(_intercepts(target), 1.0, _SLOPES)
    return np.concatenate([begin[None, :], begin + scales(target) * z])


def _intercepts(target: GLM) -> np.ndarray:
    """Which coefficients are a predictor's intercept; of a predictor without one, all."""
    found = []
    for extra in target.row_layout.extras:
        own = np.array([label == "Intercept" for label in extra.labels or ("Intercept",)])
        found.append(own if own.any() else np.ones(len(own), bool))
    return np.concatenate(found)


def of_curves(target: GLM) -> np.ndarray:
    """Return a boolean array: True for coefficients of curves. Their prior's width is no matter of units."""
    joint = target.joint_prior
    return np.zeros(target.dim, bool) if joint is None else joint.scales.mixed


def wide_mode(target: GLM, known: np.ndarray) -> np.ndarray | None:
    """Return a lower mode under much wider priors, if there is one; otherwise None.

    The rows decide whether it is lower than ``known``. A lower point may be far away and hard to find: descents begin
    at the lowest of starts that are spread as widely as the wider priors.
    """
    curved, sizes = of_curves(target), [one.size for one in target.row_layout.extras]
    wider = np.split(np.where(curved, 1.0, _WIDER), np.cumsum(sizes)[:-1])
    laws = [one._replace(scale=by * one.scale) for one, by in zip(target.row_layout.laws, wider, strict=True)]
    form, start = target.row_layout.form, np.asarray(target.row_layout.start)
    assert form is not None
    wide = target._with(_prior=closed_form(form, target.coefficient_prior, laws, start), known_columns=target.columns)
    z = np.random.default_rng(1).standard_normal((_STARTS, target.dim)) * np.where(_intercepts(target), 1.0, _SLOPES)
    far = np.where(curved, 1.0, np.geomspace(0.1, 0.1 * _WIDER, _STARTS)[:, None])
    spread = far * z * scales(target)
    starts = np.concatenate([known[None, :], start + spread])
    energies = wide.energies_at(starts)
    order = [0, *(k for k in np.argsort(energies)[:_DESCENTS] if k != 0 and np.isfinite(energies[k]))]
    ends = [descend(wide, starts[k], _STEPS) for k in order]
    ends = [mode for mode in ends if mode.found and np.isfinite(mode.posterior.energy)]
    best = min(ends, key=lambda mode: mode.posterior.energy, default=None)
    return None if best is None or not best.posterior.energy < energies[0] - target.dim else best.point
