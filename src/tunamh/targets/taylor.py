"""What all Taylor targets share: the polynomial in the offset, and the bounds of the remainder (spec 5a).

About a centre ``t`` write ``u = theta - t``, ``v = prop - t``, ``p = v - u``, ``w = v + u``. The sum of the rows'
Taylor polynomials, ``g.u + u'Hu/2`` (order 1: ``g.u``), is known in closed form and goes into the offset; the rows keep
their remainders ``R_i``. The posterior is the same, the bounds are smaller.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._jit import Differences, Distance, Offset, helper, part
from .._linear import metric_root
from ..errors import NotApplicable
from .base import Parts, Target

# hyper: four numbers of the base target, the order, centre (d), gradient (d), Hessian (d x d), metric root (d x d).
BASE_HYPER = 4


@helper
def polynomial_fall(theta, prop, hyper):
    """Minus the rise of the Taylor polynomial, ``-p.(g + H w / 2)``."""
    d = theta.size
    centre, slope = BASE_HYPER + 1, BASE_HYPER + 1 + d
    bend = slope + d
    second = hyper[BASE_HYPER] > 1.0
    total = 0.0
    for j in range(d):
        pull = hyper[slope + j]
        if second:
            for k in range(d):
                pull += 0.5 * hyper[bend + j * d + k] * (prop[k] + theta[k] - 2.0 * hyper[centre + k])
        total -= (prop[j] - theta[j]) * pull
    return total


@part(Offset)
def polynomial_offset(theta, prop, hyper):
    return polynomial_fall(theta, prop, hyper)


@helper
def _products(theta, prop, hyper):
    """``|p|^2, |w|^2, p.w`` in the metric ``A = R'R``."""
    d = theta.size
    centre, root = BASE_HYPER + 1, BASE_HYPER + 1 + 2 * d + d * d
    pp, ww, pw = 0.0, 0.0, 0.0
    for j in range(d):
        p, w = 0.0, 0.0
        for k in range(j, d):  # the root is upper triangular
            p += hyper[root + j * d + k] * (prop[k] - theta[k])
            w += hyper[root + j * d + k] * (prop[k] + theta[k] - 2.0 * hyper[centre + k])
        pp += p * p
        ww += w * w
        pw += p * w
    return pp, ww, pw


@part(Distance)
def first_order_distance(theta, prop, hyper):
    """The sharp M1 of spec 5a for energies of a linear predictor; ``u.v >= 0`` is ``|w| >= |p|``."""
    pp, ww, pw = _products(theta, prop, hyper)
    if ww >= pp:
        return (abs(pw) + np.sqrt(pp * ww)) / 4.0
    return (0.5 * (pp + ww) + np.sqrt(pw * pw + 0.25 * (ww - pp) ** 2)) / 4.0


@part(Distance)
def second_order_distance(theta, prop, hyper):
    """M2 of spec 5a, ``|p| (3 |w|^2 D2 + |p|^2) / 24`` with ``D2`` the largest ``|x.p^| (x.w^)^2`` of a unit ``x``."""
    pp, ww, pw = _products(theta, prop, hyper)
    if pp == 0.0:
        return 0.0
    cosine = min(1.0, abs(pw) / np.sqrt(pp * ww)) if ww > 0.0 else 0.0
    k = np.sqrt(2.0 + 0.25 * cosine * cosine) - 0.5 * cosine
    largest = (2.0 + cosine * k) ** 1.5 / (3.0**1.5 * k)
    return np.sqrt(pp) * (3.0 * ww * largest + pp) / 24.0


@part(Distance)
def first_order_distance_general(theta, prop, hyper):
    """For any energy whose Hessian has a bounded norm: ``min(|p| (|u| + |v|), |u|^2 + |v|^2) / 2``."""
    pp, ww, pw = _products(theta, prop, hyper)
    uu, vv = 0.25 * (pp + ww - 2.0 * pw), 0.25 * (pp + ww + 2.0 * pw)
    uu, vv = max(uu, 0.0), max(vv, 0.0)
    return 0.5 * min(np.sqrt(pp) * (np.sqrt(uu) + np.sqrt(vv)), uu + vv)


@part(Distance)
def second_order_distance_general(theta, prop, hyper):
    """For any energy with a Lipschitz Hessian: ``|p| (|u|^2 + u.v + |v|^2) / 6 = |p| (3 |w|^2 + |p|^2) / 24``."""
    pp, ww, _ = _products(theta, prop, hyper)
    return np.sqrt(pp) * (3.0 * ww + pp) / 24.0


@part(Distance)
def original_distance(theta, prop, hyper):
    """SMH's own bound, ``(|u|_1^{k+1} + |v|_1^{k+1}) / (k+1)!`` (spec 2.6)."""
    d, order = theta.size, hyper[BASE_HYPER]
    u, v = 0.0, 0.0
    for j in range(d):
        u += abs(theta[j] - hyper[BASE_HYPER + 1 + j])
        v += abs(prop[j] - hyper[BASE_HYPER + 1 + j])
    return (u ** (order + 1.0) + v ** (order + 1.0)) / (2.0 if order == 1.0 else 6.0)


@part(Differences)
def no_differences(theta, prop, index, start, n, data, rise, bound):
    """For targets that only serve tests which ask for energies."""
    for b in range(n):
        rise[b], bound[b] = np.nan, np.nan


class TaylorTarget(Target):
    """The same posterior as ``base``, with a polynomial part of the energies moved into the offset."""

    def __init__(
        self,
        base: Target,
        *,
        order: int,
        centre: np.ndarray,
        gradient: np.ndarray,
        hessian: np.ndarray,
        root: np.ndarray,
        base_hyper: list[float],
        rows: np.ndarray,
        bound_column: int,
        parts: Parts,
        start: Callable[[np.random.Generator], np.ndarray] | None = None,
    ):
        self._start = base.start if start is None and base.several_modes else start
        self.base, self.order = base, order
        self.centre, self.gradient, self.hessian = centre, gradient, hessian
        padded = [*base_hyper, *[0.0] * (BASE_HYPER - len(base_hyper))]
        super().__init__(
            rows=rows,
            bound_column=bound_column,
            hyper=[*padded, order, *centre, *gradient, *hessian.ravel(), *root.ravel()],
            family_hyper=list(base._family_hyper),
            parts=parts,
            dim=base.dim,
            names=base.names,
            prior=base.prior,
            temper=base.temper,
        )

    def laplace(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and precision of the Gaussian that the Taylor part of order 2 and a Gaussian prior make (spec 5b).

        A precision that is not positive definite is lifted to one that is: still a valid proposal, no longer the best.
        """
        if self.order != 2:
            raise NotApplicable("the Laplace law needs control=Taylor(order=2)")
        prior = self._prior
        root = metric_root(self.hessian + np.diag(prior.precision))
        precision = root.T @ root
        pull = self.gradient + prior.precision * (self.centre - prior.mean)
        return self.centre - np.linalg.solve(precision, pull), precision

    @property
    def curvature(self) -> float:
        """The trace of the posterior precision, where the Hessian gives it; else the base target's estimate."""
        trace = float(np.trace(self.hessian)) + float(self._prior.precision.sum())
        return trace if trace > 0 else self.base.curvature

    def start(self, rng: np.random.Generator) -> np.ndarray:
        """Twice as wide as the Laplace law at the centre; a target that may have several modes keeps its own law."""
        if self._start is not None:
            return self._start(rng)
        root = metric_root(self.hessian + np.diag(self._prior.precision))
        return self.centre + 2.0 * np.linalg.solve(root, rng.standard_normal(self.dim))

    def default_proposal(self) -> Any:
        return self.base.default_proposal()

    def __repr__(self) -> str:
        return f"Taylor(order={self.order})({self.base!r})"
