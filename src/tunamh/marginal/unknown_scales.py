"""The unknown scales of a model, as numbers without limits: of effects, and of coefficients (docs/spec-evidence.md 4).

They are ``h = (lambda, mu)``. ``lambda`` are the coordinates of every factor's covariance, as chains walk them. ``mu =
log v`` are the logarithms of the squared scales of a prior. Beside errors of unknown scale both are in units of the
errors, ``mu = log v + 2 log tau``: then coefficients and effects are Gaussian given ``h``, whatever ``tau`` is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import betaln

from ..groups.covariance import log_correlations
from ..groups.grouping import Grouping
from ..priors.constants import log_density
from ..priors.laws import STUDENT_T, Laws
from ..priors.mixtures import HORSESHOE, Mixture
from ..targets.coordinates.base import Scale

_ROOT = 0.5 * np.log(2 * np.pi)


def log_of_covariance(one: Grouping, scales: np.ndarray, tau: float) -> float:
    """Return the log density of the coordinates ``lambda`` of a factor's covariance, with all constants."""
    if one.laws is None:
        return 0.0
    q = one.q
    natural = np.exp(scales[:q]) / tau
    found = log_density(one.laws, natural, positive=True) + float(np.log(natural).sum())
    found += float(log_correlations(np.ascontiguousarray(scales), 0, q, one.correlation))
    powers = [one.correlation + 0.5 * (q - 2 - j) for i in range(q) for j in range(i)]
    return found - sum((2 * a - 1) * np.log(2.0) + float(betaln(a, a)) for a in powers)


class ScalesOfPrior:
    """The unknown scales of coefficients that are normal given the scales. There are none without such a prior."""

    def __init__(self, base: Any):
        mixture: Mixture | None = base._prior.mixture
        form = base.row_layout.form
        self.p, self.mixture = base.dim, mixture
        self.tau_at = form.tau_at if isinstance(form, Scale) else -1
        self.offset = np.zeros(self.p)
        if isinstance(form, Scale):
            self.offset[form.coefficients_at] = form.b0
        self.mixed = np.zeros(self.p, bool) if mixture is None else mixture.mixed
        self.mean = np.zeros(self.p) if mixture is None else np.where(self.mixed, mixture.mean, 0.0)
        self.local = mixture is not None and mixture.arrangement == HORSESHOE
        count = 0 if mixture is None else len(mixture.start)
        self.kept = np.append(self.mixed, True) if self.local else np.ones(count, bool)
        """Which of the variances that a state has are unknown scales."""
        self.count = int(self.kept.sum())
        self.laws = self._laws()

    def _laws(self) -> Laws:
        if self.mixture is None:
            return Laws(*(np.empty(0) for _ in range(4)))
        own, m = self.mixture.numbers, self.count
        df = np.ones(m) if self.local else np.array(own.df)
        width = np.append(np.ones(m - 1), own.width) if self.local else np.array(own.width)
        return Laws(np.full(m, float(STUDENT_T)), np.zeros(m), width, df)

    def tau(self, common: np.ndarray) -> float:
        return 1.0 if self.tau_at < 0 else float(common[self.tau_at])

    @property
    def _shift(self) -> np.ndarray:
        """How many times ``2 log tau`` is added: products of scales count once."""
        found = np.ones(self.count)
        if self.local:
            found[:-1] = 0.0
        return found

    def coordinates(self, log_variances: np.ndarray, tau: float) -> np.ndarray:
        """Return ``mu`` from the log variances in a state."""
        return log_variances[self.kept] + 2 * np.log(tau) * self._shift

    def precisions(self, mu: np.ndarray) -> np.ndarray:
        """Return the prior precision of every common parameter in units of the errors; 0 if it has no unknown scale."""
        found = np.zeros(self.p)
        if self.mixture is None:
            return found
        if self.local:
            found[self.mixed] = np.exp(-mu[:-1] - mu[-1])
            return found
        return np.asarray(self.mixture.shares @ np.exp(-mu))

    def log_density(self, common: np.ndarray, mu: np.ndarray) -> float:
        """Return the log density of the coefficients given their scales, plus that of the scales, with all constants.

        The density is that of the user's coefficients. The Jacobian of the coordinates of chains is added elsewhere.
        """
        if self.mixture is None:
            return 0.0
        tau, own = self.tau(common), self.mixed
        if not tau > 0:
            return -np.inf
        away = (common / tau + self.offset - self.mean)[own]
        precision = self.precisions(mu)[own] * tau**2
        total = float(np.sum(0.5 * np.log(precision) - 0.5 * precision * away**2 - _ROOT))
        scales = np.exp(0.5 * (mu - 2 * np.log(tau) * self._shift))
        return total + log_density(self.laws, scales, positive=True) + float(np.log(0.5 * scales).sum())

    @property
    def lean(self) -> np.ndarray:
        """Return the matrix ``A`` of the numbers ``A c - a``, which are normal given the scales."""
        found = np.eye(self.p)
        if self.tau_at >= 0:
            found[self.mixed, self.tau_at] += (self.offset - self.mean)[self.mixed]
        return found

    @property
    def about(self) -> np.ndarray:
        """Return the vector ``a`` of the numbers ``A c - a``, which are normal given the scales."""
        return np.zeros(self.p) if self.tau_at >= 0 else np.where(self.mixed, self.mean - self.offset, 0.0)

    def quadratic(self, mu: np.ndarray, common: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return gradient and Hessian, at a point, of minus the log density of the coefficients given the scales."""
        if self.mixture is None:
            return np.zeros(self.p), np.zeros((self.p, self.p))
        A, D = self.lean, self.precisions(mu)
        weighted = A.T * D
        gradient, hessian = weighted @ (A @ common - self.about), weighted @ A
        if self.tau_at >= 0:  # densities of coefficients have a power of tau, where scales are in its units
            tau, power = common[self.tau_at], float(self.mixed.sum())
            gradient[self.tau_at] -= power / tau
            hessian[self.tau_at, self.tau_at] += power / tau**2
        return gradient, hessian
