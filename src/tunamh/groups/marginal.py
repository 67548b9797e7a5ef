"""The energy of common parameters and one factor's scales, its effects integrated out of the quadratic (spec 5q)."""

from __future__ import annotations

import numpy as np

from .quadratic import all_convex, basis_of, convex_factors, inverses, least, positive, precision_at
from .scale_priors import ScalePriors
from .sums import DataSums, GroupedRows, OfFactor, Point

_MOST_STEPS, _CLOSE, _HALVINGS = 30, 1e-8, 12
_WIDEST, _ROUNDING = 1e-7, 1e-9  # the precision of scales beyond all doubt, and what its sums may be off


def _log_determinants(P: np.ndarray) -> np.ndarray:
    """Of every group's matrix; of a single effect's by a logarithm, a tenth of the time."""
    return np.log(np.abs(P[:, 0, 0])) if P.shape[1:] == (1, 1) else np.linalg.slogdet(P)[1]


class Marginal:
    """The energy ``E(b, lambda)`` of one factor; its effects are integrated out, and other factors are at the centre.

    The rows are replaced by their quadratic function. If rows are not convex, this function may fall without end at
    large scales. Then the convex parts of the rows are used, with the same gradient. This is allowed, because it
    changes only the proposals, not the decisions.
    """

    def __init__(self, rows: GroupedRows, f: int, at: Point, sums: DataSums, priors: ScalePriors):
        self.one, self.at, self.priors, self.f, self.p = rows.groupings[f], at, priors, f, rows.p
        self.prior_gradient, self.prior_hessian = priors.common_expansion(at.common, sums.hessian)
        self.slope = sums.gradient + self.prior_gradient
        self._take(sums)
        if sums.convex is not None and not self._holds():
            self._take(all_convex(sums))

    def _take(self, sums: DataSums) -> None:
        free, f = self.one.free, self.f
        self.of = OfFactor(*(array[free] for array in sums.factors[f]))
        self.convex = OfFactor(*(array[free] for array in convex_factors(sums)[f]))
        self.common_hessian = sums.hessian + self.prior_hessian
        self.v = self.at.effects[f][free]
        basis = basis_of(self.one, self.convex)
        if basis is not None:
            self.of, self.convex, self.v = basis.turned(self.of), basis.turned(self.convex), basis.into @ self.v

    def _holds(self) -> bool:
        """Whether no group is concave, and the Hessian in ``b`` not negative where wide effects take all of it."""
        if self.one.related is not None:  # whose curvatures are those of the convex rows
            return False
        if np.linalg.eigvalsh(self.of.curvature).min(initial=0.0) < 0.0:
            return False
        Q = _WIDEST * np.eye(self.one.q) if self.one.known is None or self.priors.tau_at >= 0 else self.one.known
        inverse = inverses(self.convex.curvature, Q)
        left = self.common_hessian - np.einsum("gaj,gab,gbk->jk", self.of.cross, inverse, self.of.cross)
        return bool(least(left, self.common_hessian) > -_ROUNDING)

    def inverse(self, scales: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        Q, logdet = precision_at(self.one, scales)
        return inverses(self.convex.curvature, Q), Q, logdet

    def settled(self, scales: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return what `solve` returns, with the scales' prior.

        Priors are expanded at the solution and not at the centre.

        If the scale of the errors is unknown, ``-n log tau`` is part of the common parameters' prior, and ``tau`` is in
        the prior of the scales. Far from the centre, for example if effects explain all or none of the errors, an
        expansion at the centre would be useless.
        """
        kept = self.slope, self.common_hessian
        rows = kept[0] - self.prior_gradient, kept[1] - self.prior_hessian
        b = np.zeros(self.p)
        try:
            for _ in range(_MOST_STEPS):
                gradient, hessian = self._expansion(scales, b, rows[1])
                self.slope, self.common_hessian = rows[0] + gradient - hessian @ b, rows[1] + hessian
                energy, new, bend = self.solve(scales)
                energy -= (gradient - hessian @ b) @ new + 0.5 * new @ hessian @ new
                step, b = new - b, self._inside(scales, b, new)
                if step @ bend @ step < _CLOSE:
                    break
            return energy + self._potential(scales, b), b, bend
        finally:
            self.slope, self.common_hessian = kept

    def _potential(self, scales: np.ndarray, b: np.ndarray) -> float:
        common = self.at.common + b
        return self.priors.common_energy(common) + self.priors.energy(self.f, scales, common)

    def _expansion(self, scales: np.ndarray, b: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of `_potential`: gradient, and a Hessian that is not negative in ``tau``."""
        common, at = self.at.common + b, self.priors.tau_at
        gradient, hessian = self.priors.common_expansion(common, rows)
        small = 1e-3 * common[at]
        sides = [self.priors.energy(self.f, scales, common + k * small * np.eye(self.p)[at]) for k in (-1, 0, 1)]
        if not np.isfinite(sides).all():  # the prior of a scale ends here
            return gradient, hessian
        gradient[at] += (sides[2] - sides[0]) / (2 * small)
        hessian = hessian.copy()
        hessian[at, at] = max(hessian[at, at] + (sides[2] - 2 * sides[1] + sides[0]) / small**2, 1e-3 / common[at] ** 2)
        return gradient, hessian

    def _inside(self, scales: np.ndarray, b: np.ndarray, new: np.ndarray) -> np.ndarray:
        """The new point, or one on the way to it at which ``tau`` has not changed too much at once."""
        at, centre = self.priors.tau_at, self.at.common
        for half in range(_HALVINGS):
            there = b + 0.5**half * (new - b)
            if 1 / 3 < (centre + there)[at] / (centre + b)[at] < 3 and np.isfinite(self._potential(scales, there)):
                return there
        return b

    def solve(self, scales: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the energy at the best ``b`` without the scales' prior, this ``b``, and the Hessian in ``b``."""
        P, Q, logdet = self.inverse(scales)
        H = self.convex.curvature
        middle = np.einsum("gab,gb->ga", P, np.einsum("gab,gb->ga", H, self.v) - self.of.gradient)
        leaned = np.einsum("gab,gbj->gaj", P, self.of.cross)
        hessian = positive(self.common_hessian - np.einsum("gaj,gak->jk", self.of.cross, leaned))
        slope = self.slope + np.einsum("gaj,ga->j", self.of.cross, middle - self.v)
        b = -np.linalg.solve(hessian, slope)
        of_common = self.slope @ b + 0.5 * b @ self.common_hessian @ b
        return self._with_groups(of_common, middle - leaned @ b, self.of.cross @ b, (P, Q, logdet)), b, hessian

    def _with_groups(
        self, energy: float, u: np.ndarray, push: np.ndarray, inverse: tuple[np.ndarray, np.ndarray, float]
    ) -> float:
        """With the energy of groups: the means of their effects are at ``u``, and common parameters push them."""
        (P, Q, logdet), d = inverse, u - self.v
        energy = energy + float(np.einsum("ga,ga->", self.of.gradient + push, d))
        energy += 0.5 * float(np.einsum("ga,gab,gb->", d, self.of.curvature, d) + np.einsum("ga,ab,gb->", u, Q, u))
        energy += 0.5 * len(self.v) * logdet - 0.5 * float(_log_determinants(P).sum())
        return energy

    def at_centre(self, scales: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the energy at ``b = 0`` with the prior of the scales, and its gradient in ``b`` (see `.shift`)."""
        P, Q, logdet = self.inverse(scales)
        u = np.einsum("gab,gb->ga", P, np.einsum("gab,gb->ga", self.convex.curvature, self.v) - self.of.gradient)
        gradient = self.slope + np.einsum("gaj,ga->j", self.of.cross, u - self.v)
        common, at = self.at.common, self.priors.tau_at
        if at >= 0:
            small = 1e-3 * common[at] * np.eye(self.p)[at]
            above, below = (self.priors.energy(self.f, scales, common + step) for step in (small, -small))
            gradient[at] += (above - below) / (2e-3 * common[at])
        energy = self._with_groups(0.0, u, np.zeros_like(self.of.gradient), (P, Q, logdet))
        return energy + self.priors.energy(self.f, scales, common), gradient

    def energy(self, scales: np.ndarray) -> float:
        """Return the energy with the scales' prior. It is infinite where rounding errors destroy the law."""
        if not np.abs(scales).max(initial=0.0) < 30.0:
            return np.inf
        try:
            value = self.solve(scales)[0] + self.priors.energy(self.f, scales, self.at.common)
        except np.linalg.LinAlgError:
            return np.inf
        return value if np.isfinite(value) else np.inf
