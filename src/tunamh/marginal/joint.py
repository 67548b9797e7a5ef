"""The joint density of data, coefficients, scales and effects, with all constants (docs/spec-evidence.md 4).

Chains leave constants out of the energies of rows and of fixed priors. What they leave out is one number, and it is
found at one point, where the effects are zero: there the model with groups is the regression without them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..groups import MixedModel
from ..groups.grouping import Grouping
from ..groups.quadratic import precision_at
from ..groups.sums import Point
from ..targets.normalised.likelihood import log_likelihood
from ..targets.normalised.prior_density import log_prior_at
from .effects_prior import log_of_all_effects
from .rows_alone import RowsAlone
from .unknown_scales import ScalesOfPrior, log_of_covariance


class State(NamedTuple):
    """A state. ``lam`` are the coordinates of every factor's covariance, ``mu`` those of the prior's scales."""

    common: np.ndarray
    lam: list[np.ndarray]
    mu: np.ndarray
    effects: list[np.ndarray]


class Joint:
    """The joint density for a regression or a model with groups."""

    def __init__(self, target: Any):
        grouped = isinstance(target, MixedModel)
        self.base: Any = target.base if grouped else target
        self.groupings: list[Grouping] = target.groupings if grouped else []
        self.rows: Any = target.grouped if grouped else RowsAlone(self.base)
        self.scales = ScalesOfPrior(self.base)
        prior = self.base._prior
        self.fixed = prior if prior.mixture is None else prior.without_scaled()
        self.constant = np.nan

    def settle(self, common: np.ndarray) -> None:
        """Find the constant of the density at a point, by two passes over the rows."""
        none = [np.zeros((one.groups, one.q)) for one in self.groupings]
        whole = log_likelihood(self.base, common) + log_prior_at(self.base, common)
        self.constant = whole + self.rows.energy(Point(common, none)) - self.log_fixed(common)

    def log_fixed(self, common: np.ndarray) -> float:
        """Return the log density of the priors without unknown scales, as chains compute it, up to the constant."""
        return float(self.fixed.log_prior(np.ascontiguousarray(common), self.fixed.hyper))

    def log_prior(self, state: State, without: int = -1) -> float:
        """Return the log prior of a state. ``without`` is the number of a factor whose effects are left out."""
        common, total = state.common, self.log_fixed(state.common)
        if not total > -np.inf:
            return -np.inf
        total += self.constant + self.scales.log_density(common, state.mu)
        tau = self.scales.tau(common)
        for f, (one, lam, effects) in enumerate(zip(self.groupings, state.lam, state.effects, strict=True)):
            total += log_of_covariance(one, lam, tau)
            if f != without:
                total += log_of_all_effects(one, effects, *precision_at(one, lam))
        return total if np.isfinite(total) else -np.inf

    def log_density(self, state: State) -> float:
        """Return ``log p(y, state)``; this takes one pass over the rows."""
        prior = self.log_prior(state)
        return prior - float(self.rows.energy(Point(state.common, state.effects))) if prior > -np.inf else -np.inf

    # ----------------------------------------------------------------------------------------- scales as one vector

    @property
    def count(self) -> int:
        """Return the number of unknown scales, including correlations of effects."""
        return sum(one.scales for one in self.groupings) + self.scales.count

    def in_vector(self, state: State) -> np.ndarray:
        lam = [lam for one, lam in zip(self.groupings, state.lam, strict=True) if one.scales]
        return np.concatenate([*lam, state.mu])

    def from_vector(self, h: np.ndarray, common: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        """Return ``lam`` and ``mu``.

        For known scales ``lam`` is ``log tau``, or empty if the errors' scale is known.
        """
        lam, at = [], 0
        for one in self.groupings:
            own = h[at : at + one.scales]
            lam.append(self.known(common) if one.known is not None else own)
            at += one.scales
        return lam, h[at:]

    def known(self, common: np.ndarray) -> np.ndarray:
        return np.zeros(0) if self.scales.tau_at < 0 else np.log([max(self.scales.tau(common), 1e-300)])

    def state(self, numbers: np.ndarray) -> State:
        """Return the state from the numbers of a chain.

        These are the common parameters, coordinates of scales, log variances of the prior, and effects.
        """
        of_scales = [one.scales for one in self.groupings]
        of_effects = [one.groups * one.q for one in self.groupings]
        ends = np.cumsum([self.rows.p, *of_scales, len(self.scales.kept), *of_effects])
        common, *others = np.split(numbers[: ends[-1]], ends[:-1])
        own, (variances, *effects) = others[: len(of_scales)], others[len(of_scales) :]
        lam = [own[k] if one.known is None else self.known(common) for k, one in enumerate(self.groupings)]
        mu = self.scales.coordinates(variances, self.scales.tau(common))
        shaped = [v.reshape(one.groups, one.q) for v, one in zip(effects, self.groupings, strict=True)]
        return State(common, lam, mu, shaped)
