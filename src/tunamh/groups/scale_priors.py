"""Priors of a model with groups, outside compiled code: of the common parameters and of the scales (spec 5q)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..priors.laws import RECORD, laws_at, records
from ..priors.potential import ReadyPrior
from .covariance import log_correlations
from .grouping import Grouping


@dataclass(frozen=True, eq=False)
class ScalePriors:
    """The energy of the prior of the common parameters, and of the user's scales ``e^lambda / tau`` of every factor."""

    common: ReadyPrior
    groupings: list[Grouping]
    tau_at: int
    push: float = 0.0
    """A slope in ``tau`` beside: what scales that are known say of it, to the first order."""

    @property
    def prior_scales(self) -> int:
        """Return the number of unknown scales of the common parameters' prior."""
        return 0 if self.common.mixture is None else len(self.common.mixture.start)

    def pushed(self, push: float) -> ScalePriors:
        return replace(self, push=push)

    def common_energy(self, point: np.ndarray) -> float:
        return self.push * self.tau(point) - float(self.common.log_prior(point, self.common.hyper))

    def common_expansion(self, point: np.ndarray, hessian: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return gradient and Hessian of the prior's energy.

        The Hessian of the data gives the width over which kinks are smooth.
        """
        curvature = np.abs(np.diag(hessian))
        width = np.divide(1.0, np.sqrt(curvature), out=np.full(len(point), np.inf), where=curvature > 0)
        found = self.common.expansion(point, width)
        gradient = np.array(found.gradient)
        gradient[self.tau_at] += self.push  # without an unknown scale there is none
        return gradient, found.hessian

    def tau(self, common: np.ndarray) -> float:
        return 1.0 if self.tau_at < 0 else float(common[self.tau_at])

    def known_scales(self, common: np.ndarray) -> np.ndarray:
        """Return the coordinate of a factor with known scales: ``log tau``, or nothing if ``tau`` is known."""
        return np.zeros(0) if self.tau_at < 0 else np.log([self.tau(common)])

    def energy(self, f: int, scales: np.ndarray, common: np.ndarray) -> float:
        """Return minus the log density of ``lambda``."""
        one = self.groupings[f]
        if one.laws is None:
            return 0.0
        tau = self.tau(common)
        if not tau > 0:
            return np.inf
        natural = np.exp(scales[: one.q]) / tau
        own = float(laws_at(natural, self.records(f))) + float(scales[: one.q].sum()) - one.q * np.log(tau)
        return -(own + log_correlations(np.ascontiguousarray(scales), 0, one.q, one.correlation))

    def records(self, f: int) -> np.ndarray:
        """Return the laws of a factor's scales in the form that compiled code reads."""
        laws = self.groupings[f].laws
        if laws is None:
            return np.zeros((0, RECORD))
        zero = np.zeros(len(laws.kind))
        return records(laws, laws.kind > 0, zero, zero, zero).reshape(-1, RECORD)
