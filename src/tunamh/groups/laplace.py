"""Laplace's approximation of a model with groups: a Gaussian law of what all groups share (spec 5q).

With one factor it is the law of common parameters and log scales, the effects integrated out of the quadratic about
their mode. With several factors that integral has no closed form in all scales at once: the law is that of the common
parameters, at the scales of the centre. Effects are not part of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..laplace.gaussian import LaplaceGaussian
from .centre import CrossedSystem
from .parameters import GroupedParameters


class SharedParameters:
    """A model with groups without its effects, in the form that `tunamh.laplace.gaussian` reads."""

    walks_linearly = False

    def __init__(self, model: Any):
        self.model, self.n_rows, self.fingerprint = model, model.n_rows, model.fingerprint
        self.data_rows = model.data_rows
        self._prior = _OfCommon(model)
        names = {"group_scale", "group_correlation"} if len(model.groupings) == 1 else set()
        own = {name for name, _ in model.base.variables}
        self.variables = [(name, of) for name, of in model.variables if name in own | names]

    @property
    def places(self) -> int:
        """Return how many numbers at the beginning of a state are these parameters."""
        model = self.model
        return int(model.p + (model.m if len(model.groupings) == 1 else 0))

    def to_user(self, points: np.ndarray) -> np.ndarray:
        if len(self.model.groupings) > 1:
            return self.model.base.to_user(points)
        return GroupedParameters.to_user(self.model, points)

    def __repr__(self) -> str:
        return repr(self.model)


class _OfCommon:
    """The common parameters' prior, asked about points that have scales behind them."""

    def __init__(self, model: Any):
        self._prior, self._p, self.hyper = model.base._prior, model.p, model.base._prior.hyper
        self.gaussian = self._prior.gaussian

    def log_prior(self, point: np.ndarray, hyper: np.ndarray) -> float:
        return float(self._prior.log_prior(np.ascontiguousarray(point[: self._p]), hyper))


def law_of_shared(model: Any) -> LaplaceGaussian:
    """Return the Laplace law of the shared parameters in the coordinates of chains."""
    centre = model.centre
    if len(model.groupings) == 1:
        scales = centre.scales[0][: model.groupings[0].scales]
        return LaplaceGaussian(np.concatenate([centre.at.common, scales]), model.factors[0].root)
    covariance = CrossedSystem.at(model.grouped, centre, model.scale_priors).covariance_of_common()
    return LaplaceGaussian(centre.at.common, np.linalg.cholesky(0.5 * (covariance + covariance.T)))
