"""What a user calls the parameters of a model with groups, and what chains walk in."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..priors.mixtures import Mixture
from ..targets.base import Target
from ..targets.coordinates.base import Scale
from ..targets.glm import GLM
from .covariance import coordinates_of, correlations
from .grouping import Grouping
from .layout import MEAN, SQUARES, SUMMARY


class GroupedParameters(Target):
    """The parameters of a model with groups.

    A state of the chain is ``(common, lambda, effects)``: the common parameters, the coordinates of the effects'
    covariances and of unknown scales of the prior, and the group effects. If the scale of the errors is unknown,
    covariances and effects are in units of this scale.
    """

    base: GLM
    form: Scale | None
    effects: int
    groupings: list[Grouping]
    p: int
    m: int
    keeps_effects: bool

    def to_user(self, points: np.ndarray) -> np.ndarray:
        shared, tau, at = self._shared_of_user(points)
        first = shared.shape[-1]
        found = np.empty((*points.shape[:-1], first + points.shape[-1] - at))
        found[..., :first] = shared
        np.divide(points[..., at:], tau, out=found[..., first:])  # most of the numbers: written once
        return found

    def to_user_in_place(self, points: np.ndarray) -> np.ndarray:
        """Convert points as `to_user` does. The array ``points`` is overwritten."""
        shared, tau, at = self._shared_of_user(points)
        if shared.shape[-1] != at:
            return self.to_user(points)
        if self.form is not None:
            points[..., at:] /= tau
        points[..., :at] = shared
        return points

    def _shared_of_user(self, points: np.ndarray) -> tuple[np.ndarray, Any, int]:
        """All but the effects as a user knows them, what effects are divided by, and where a point has effects."""
        p = self.p
        tau = 1.0 if self.form is None else points[..., self.form.tau_at, None].copy()
        parts = [self.base.to_user(points[..., :p])]
        scales, related, at = [], [], p
        for one in self.groupings:
            if one.scales:
                own = points[..., at : at + one.scales]
                scales.append(np.exp(own[..., : one.q]) / tau)
                related.append(correlations(own, one.q))
            at += one.scales
        parts += [np.exp(0.5 * points[..., at : at + self.prior_scales]), *scales, *related]
        return np.concatenate(parts, axis=-1), tau, at + self.prior_scales

    def to_chain(self, point: np.ndarray) -> np.ndarray:
        """Convert one point (d,) from the user's parameters to the coordinates of a chain.

        For example, a chain has logarithms of scales. The user's parameters are ``theta``, the parameters of the
        family, unknown scales of the prior, the scales of the effects, their correlations and the effects, in this
        order.
        """
        p = self.p
        common, of_prior, rest = self.base.to_chain(point[:p]), *np.split(point[p:], [self.prior_scales])
        tau = 1.0 if self.form is None else float(common[self.form.tau_at])
        unknown = [one for one in self.groupings if one.scales]
        scales, rest = np.split(rest, [sum(one.q for one in unknown)])
        related, effects = np.split(rest, [sum(one.scales - one.q for one in unknown)])
        parts = [common]
        for one in unknown:
            own, scales = np.split(scales, [one.q])
            of_own, related = np.split(related, [one.scales - one.q])
            parts.append(coordinates_of(own * tau, of_own))
        return np.concatenate([*parts, 2.0 * np.log(of_prior), effects * tau])

    @property
    def prior_scales(self) -> int:
        """Return how many unknown scales the prior of the common parameters has."""
        mixture = self.base._prior.mixture
        return 0 if mixture is None else len(mixture.start)

    @property
    def recorded(self) -> list[str]:
        return self.names if self.keeps_effects else self.names[: self.p + self.m]

    def summaries(self, memories: list[np.ndarray]) -> dict[str, np.ndarray] | None:
        """Return the means and standard deviations of the group effects: a dict with two arrays (chains, effects).

        ``memories`` has, for each chain, the means and the sums of squares of the effects over its draws. The result is
        None if the draws of all effects are kept.
        """
        if self.keeps_effects:
            return None
        kept = [SUMMARY.views(memory, effects=self.effects) for memory in memories]
        squares, counts = np.array([one.moments[:, SQUARES] for one in kept]), np.array([one.count for one in kept])
        return {"mean": np.array([one.moments[:, MEAN] for one in kept]), "sd": np.sqrt(squares / counts)}

    @property
    def variables(self) -> list[tuple[str, list[str] | None]]:
        found = list(self.base.variables)
        if self.base._prior.mixture is not None:
            named = self.base._prior.mixture.variables
            found += [(name, None if labels is None else list(labels)) for name, labels in named]
        unknown = [one for one in self.groupings if one.scales]
        if unknown:
            found.append(("group_scale", [name for one in unknown for name in scale_names(one)[: one.q]]))
        related = [name for one in unknown for name in correlation_names(one)]
        if related:
            found.append(("group_correlation", related))
        if self.keeps_effects:
            found.append(("group_effect", self.effect_labels))
        return found

    @property
    def effect_labels(self) -> list[str]:
        """Return a list with the names of all group effects, in the order of the chain."""
        return [name for one in self.groupings for name in effect_names(one)]


def prior_scale_names(mixture: Mixture) -> list[str]:
    """Return the names of the unknown scales of the common parameters' prior, in the coordinates of chains."""
    return [
        f"log square of {name}" + ("" if label is None else f"[{label}]")
        for name, labels in mixture.variables
        for label in labels or (None,)
    ]


def scale_names(one: Grouping) -> list[str]:
    """Return the names of the coordinates of a factor's covariance."""
    if one.known is not None:
        return []
    own = [f"{one.name}: {column}" if column else one.name for column in one.columns]
    return [*own, *correlation_names(one)]


def correlation_names(one: Grouping) -> list[str]:
    return [f"{one.name}: {one.columns[i]}, {one.columns[j]}" for i in range(one.q) for j in range(i)]


def effect_names(one: Grouping) -> list[str]:
    return [
        f"{one.name}[{level}]: {column}" if column else f"{one.name}[{level}]"
        for level in one.levels
        for column in one.columns
    ]
