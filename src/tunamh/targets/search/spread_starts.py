"""Starts for models that are not linear: spread as their priors are, since rows do not say what predictors they like.

A predictor's intercept decides where on its curve the data are, so that it is spread the most. Slopes begin at the
centres of their priors, or near them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...priors.laws import FLAT

if TYPE_CHECKING:
    from ..glm import GLM

_STARTS = 200
_SPREADS = 1.0, 0.3, 0.1  # of a prior's scale, in turn
_SLOPES = 0.1  # of what intercepts are spread by
_FLAT_SCALE = 2.5


def scales(target: GLM) -> np.ndarray:
    """How far parameters may be from the start, by their priors."""
    found = []
    for laws in target.row_layout.laws:
        known = (laws.kind != FLAT) & np.isfinite(laws.scale) & (laws.scale > 0)
        found.append(np.where(known, laws.scale, _FLAT_SCALE))
    return np.concatenate(found)


def spread_starts(target: GLM) -> np.ndarray:
    """Points (k, d), of a normal law about the start of the search."""
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
