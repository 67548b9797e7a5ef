"""The effects of one factor integrated out, group by group, without an error that matters (docs/spec-evidence.md 4).

With ``x`` all other parameters and ``r_g`` a law that is about as wide as that of a group's effects,

    L_g(U) = 1/K sum_k f_g(v_k) / r_g(v_k),    v_k = F_g^-1(U + x_k mod 1),

``f_g`` the density of the group's rows and effects, and ``x_k`` a lattice. If ``U`` is uniform, its mean is the
integral. Of a draw of the posterior, ``U = F_g(v_g)``.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri

from ..groups.quadratic import precision_at, roots
from ..groups.sums import GroupedRows
from .effects_prior import log_of_effects
from .lattice import lattice

NORMAL, LOGISTIC, CAUCHY = "normal", "logistic", "Cauchy"
_WIDTH = {NORMAL: 1.0, LOGISTIC: 0.8, CAUCHY: 1.0}  # in standard deviations of the Gaussian at the mode
_STEPS, _LONGEST, _LEAST = 2, 2.0, 1e-12  # of Newton; in standard deviations


class EffectsInside:
    """Integrals over the effects of factor ``f``.

    ``law`` is the law of ``r_g``, and ``size`` is the number of points.
    """

    def __init__(self, rows: GroupedRows, f: int):
        self.rows, self.one, self.direction = rows, rows.groupings[f], rows.seen.directions[f]
        self.f, self.blocks = f, list(rows.base.observations.map(lambda block: (block, rows.base.weight(block))))
        self.y = np.concatenate([np.asarray(block.y, np.float64) for block, _ in self.blocks])
        self.weight = np.concatenate([np.broadcast_to(weight, len(block.y)) for block, weight in self.blocks])
        self.codes, self.Z = self.one.codes, self.one.Z
        self.law, self.size = NORMAL, 1
        self.curvature: np.ndarray | None = None
        """Of every group's rows, where it is the same everywhere; None where modes are looked for."""

    def predictors(self, common: np.ndarray, effects: list[np.ndarray]) -> np.ndarray:
        """Return the predictors (K, n) without the effects that are integrated out."""
        seen, eta = self.rows.seen, [self.rows.seen.of(block, common) for block, _ in self.blocks]
        found = np.concatenate(eta, axis=1)
        for f, (one, effect) in enumerate(zip(self.rows.groupings, effects, strict=True)):
            if f != self.f:
                s = seen.directions[f]
                found[: len(s)] += s[:, None] * np.einsum("ij,ij->i", one.Z, effect[one.codes])
        return found

    def _moved(self, eta: np.ndarray, effects: np.ndarray) -> np.ndarray:
        moved, s = eta.copy(), self.direction
        moved[: len(s)] += s[:, None] * np.einsum("ij,ij->i", self.Z, effects[self.codes])
        return moved

    def _by_group(self, values: np.ndarray) -> np.ndarray:
        return np.bincount(self.codes, values, minlength=self.one.groups)

    def centred(self, eta: np.ndarray, start: np.ndarray, Q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return a point near the mode of every group and a root of the precision there.

        Both are functions of ``x``.
        """
        v, q, s = start, self.one.q, self.direction
        if self.curvature is not None:
            return v, roots(self.curvature + Q)
        for _ in range(_STEPS):
            first, second, _ = self.rows.seen.derivatives(self._moved(eta, v), self.y)
            slope = self.weight * (s @ first[: len(s)])
            bent = self.weight * np.einsum("a,b,abn->n", s, s, second[: len(s), : len(s)])
            gradient = np.stack([self._by_group(slope * z) for z in self.Z.T], axis=1) + v @ Q
            P = np.empty((self.one.groups, q, q))
            for a in range(q):
                for b in range(a + 1):
                    P[:, a, b] = P[:, b, a] = self._by_group(np.maximum(bent, 0.0) * self.Z[:, a] * self.Z[:, b])
            P += Q
            step = np.linalg.solve(P, gradient[:, :, None])[:, :, 0]
            length = np.sqrt(np.einsum("ga,gab,gb->g", step, P, step))
            v = v - step * np.minimum(1.0, _LONGEST / np.maximum(length, _LEAST))[:, None]
        v[~self.one.free] = 0.0
        return v, roots(P)

    def places(self, effects: np.ndarray, centre: np.ndarray, root: np.ndarray) -> np.ndarray:
        """Return the positions ``U`` of effects in the unit cube, an array (G, q)."""
        t = np.einsum("gba,gb->ga", root, effects - centre) / _WIDTH[self.law]
        if self.law == NORMAL:
            return np.asarray(ndtr(t))
        return np.asarray(expit(t)) if self.law == LOGISTIC else 0.5 + np.arctan(t) / np.pi

    def log_integrals(
        self, eta: np.ndarray, lam: np.ndarray, centred: tuple[np.ndarray, np.ndarray], U: np.ndarray
    ) -> np.ndarray:
        """Return ``log L_g(U)`` of every group. For levels without effects it is the log likelihood of their rows."""
        (centre, root), one = centred, self.one
        Q, logdet = precision_at(one, lam)
        width, inverse = _WIDTH[self.law], np.linalg.inv(root)
        volume = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1) - one.q * np.log(width)
        found = []
        for point in lattice(self.size, one.q):
            u = np.clip((U + point) % 1.0, 1e-300, 1 - 1e-16)
            t, log_density = self._quantiles(u)
            v = centre + width * np.einsum("gba,gb->ga", inverse, t)
            v[~one.free] = 0.0
            with np.errstate(over="ignore", invalid="ignore"):
                energies = self.rows.seen.energies(self._moved(eta, v), self.y)
            data = -self._by_group(self.weight * energies)
            own = log_of_effects(one, v, Q, logdet) - log_density - volume
            found.append(data + np.where(one.free, own, 0.0))
        values = np.stack(found)
        values = np.where(np.isnan(values), -np.inf, values)
        top = values.max(axis=0)
        top = np.where(np.isfinite(top), top, 0.0)
        with np.errstate(divide="ignore"):
            return np.asarray(top + np.log(np.exp(values - top).mean(axis=0)))

    def _quantiles(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of the standard law, and the sum of its log densities there."""
        if self.law == NORMAL:
            t = ndtri(u)
            each = -0.5 * t**2 - 0.5 * np.log(2 * np.pi)
        elif self.law == LOGISTIC:
            t = logit(u)
            each = np.log(u) + np.log1p(-u)
        else:
            t = np.tan(np.pi * (u - 0.5))
            each = -np.log(np.pi) - np.log1p(t**2)
        return t, each.sum(axis=1)
