"""The joint density of a model with groups, its effects integrated out group by group (docs/spec-evidence.md 4).

Of one factor with one effect ``u_g = s v_g`` for each group, ``v_g ~ N(0, 1)``, the marginal likelihood at common
parameters ``b`` and a scale ``s`` is a product of integrals of one dimension,

    p(y | b, s) = prod_g integral N(v; 0, 1) prod_{i in g} p(y_i | eta_i(b) + s z_i v)^w_i dv.

Each is computed by the trapezoidal rule about its mode, in steps of half a standard deviation of the Gaussian there:
for analytic functions its error falls exponentially (Trefethen and Weideman, SIAM Review 2014), and is below 1e-9 here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ..errors import NotApplicable
from ..groups import MixedModel
from ..priors.constants import log_density
from ..rows.source import Rows
from ..targets.normalised.likelihood import log_densities, of_trials, row_density
from ..targets.normalised.prior_density import log_prior_at, refuse_flat_laws, refuse_without_density

MOST_ROWS = 200_000
_STEP, _NODES = 0.5, np.arange(-14, 15)
_NEWTON, _AGAIN, _AWAY = 30, 3, 2.0
_NUMBERS_AT_ONCE = 2_000_000
_H = 1e-2  # of v, for derivatives
_WAY_OUT = "tunamh.compare says which of these models predicts better."


def refuse_other_groups(target: MixedModel) -> None:
    """Raise for models whose integral over effects is no product of integrals of one dimension."""
    one = target.groupings[0]
    reason = None
    if len(target.groupings) > 1:
        reason = "for models with one factor of groups, and this one has several factors or classes"
    elif one.q > 1:
        reason = f"for one effect for each group, and each group of {one.name} has {one.q}"
    elif one.df or one.parameter is not None or one.pinned is not None:
        reason = "for normal effects in the main predictor"
    elif target.base.predictors > 1 or len(one.codes) != target.base.user_rows.n_rows:
        reason = "for families with one predictor and a row for each response"
    elif len(one.codes) > MOST_ROWS:
        reason = f"up to {MOST_ROWS:,} rows, since every proposal reads all of them"
    if reason is not None:
        raise NotApplicable(f"the evidence of models with group effects is offered {reason}. {_WAY_OUT}")
    refuse_without_density(target.base)
    if one.laws is not None:
        refuse_flat_laws(one.laws, [f"the scale of {one.name}"])


class MarginalOfGroups:
    """``log p(y, b, s)`` in the coordinates that chains walk of ``b``, and ``log s``."""

    def __init__(self, target: MixedModel):
        self.target, self.base, self.one = target, target.base, target.groupings[0]
        self.n_rows, self.z = len(self.one.codes), self.one.Z[:, 0]
        rows: Any = self.base.user_rows
        self.rows: Rows = rows.rows()
        weights = np.ones(self.n_rows) if self.rows.weights is None else self.rows.weights
        self.members = csr_array((weights, (np.arange(self.n_rows), self.one.codes)))
        self.constant = of_trials(self.base)
        self.start = np.zeros(self.one.groups)
        self.started = False

    def points(self, states: np.ndarray) -> np.ndarray:
        """Of states of chains, (..., dim): the coordinates without the effects."""
        p, form = self.target.p, self.target.form
        common = states[..., :p]
        if self.one.known is not None:
            return common
        tau = 1.0 if form is None else common[..., form.tau_at]
        return np.concatenate([common, (states[..., p] - np.log(tau))[..., None]], axis=-1)

    def log_joint(self, point: np.ndarray) -> float:
        p, one = self.target.p, self.one
        prior = log_prior_at(self.base, point[:p])
        if one.known is not None:
            scale = float(one.known[0, 0] ** -0.5)
        else:
            assert one.laws is not None
            scale = float(np.exp(point[p]))
            prior += log_density(one.laws, np.array([scale]), positive=True) + float(point[p])
        return prior + self.constant + self._log_likelihood(point[:p], scale) if np.isfinite(prior) else -np.inf

    def energies_at(self, points: np.ndarray) -> np.ndarray:
        return -np.array([self.log_joint(point) for point in points])

    def _log_likelihood(self, common: np.ndarray, scale: float) -> float:
        density = row_density(self.base, common)
        eta, codes = self.rows.X.matvec(density.coefficients[0]), self.one.codes

        def log_integrand(v: np.ndarray) -> np.ndarray:
            """(nodes, groups) at ``v`` of the same shape."""
            at_once = max(1, _NUMBERS_AT_ONCE // self.n_rows)
            parts = [v[k : k + at_once] for k in range(0, len(v), at_once)]
            each = [log_densities(density, self.rows, eta + scale * self.z * part[:, codes]) for part in parts]
            found = np.concatenate([own @ self.members for own in each])
            return found - 0.5 * np.square(v) - 0.5 * np.log(2 * np.pi)

        mode, width = self._modes(log_integrand)
        values = log_integrand(mode + _STEP * _NODES[:, None] * width)
        top = values.max(axis=0)
        return float(np.sum(top + np.log(np.exp(values - top).sum(axis=0)) + np.log(_STEP * width)))

    def _modes(self, log_integrand: Any) -> tuple[np.ndarray, np.ndarray]:
        """By Newton's method with differences; it need not end at the mode, since the rule reaches far."""
        v = self.start.copy()
        for _ in range(_AGAIN if self.started else _NEWTON):
            below, here, above = log_integrand(np.stack([v - _H, v, v + _H]))
            slope, curvature = (above - below) / (2 * _H), np.minimum((above - 2 * here + below) / _H**2, -0.5)
            v = v + np.clip(-slope / curvature, -_AWAY, _AWAY)
        if not self.started:
            self.start, self.started = v, True
        return v, 1 / np.sqrt(-curvature)
