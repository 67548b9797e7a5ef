"""What all Taylor targets share: the polynomial in the offset, and the bounds of the remainder (spec 5a).

About a centre ``t`` write ``u = theta - t``, ``v = prop - t``, ``p = v - u``, ``w = v + u``. The sum of the rows'
Taylor polynomials, ``g.u + u'Hu/2`` (order 1: ``g.u``), is known in closed form and goes into the offset; the rows keep
their remainders ``R_i``. The posterior is the same, the bounds are smaller.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from .._jit import REASSOCIATE, Differences, Distance, Offset, helper, part
from .._linear import Metric
from ..priors import PriorExpansion
from .base import Expansion, Parts, Target

# hyper: four numbers of the base target, the order, the tier (radius squared, factor outside it), the centre (d),
# gradient (d), Hessian (d x d), metric root (d x d). What comes after the centre is different in `whitened`.
BASE_HYPER = 4
_TIER = BASE_HYPER + 1
CENTRE = BASE_HYPER + 3


@helper
def matrix_at(hyper, start, d):
    """The d x d matrix that begins at ``hyper[start]``; loops over a matrix vectorise, over computed positions not."""
    return hyper[start : start + d * d].reshape(d, d)


@helper(fastmath=REASSOCIATE)
def polynomial_fall(theta, prop, hyper):
    """Minus the rise of the Taylor polynomial, ``-p.(g + H w / 2)``."""
    d = theta.size
    centre, gradient = hyper[CENTRE : CENTRE + d], hyper[CENTRE + d : CENTRE + 2 * d]
    curvature = matrix_at(hyper, CENTRE + 2 * d, d)
    second = hyper[BASE_HYPER] > 1.0
    total = 0.0
    for j in range(d):
        pull = gradient[j]
        if second:
            for k in range(d):
                pull += 0.5 * curvature[j, k] * (prop[k] + theta[k] - 2.0 * centre[k])
        total -= (prop[j] - theta[j]) * pull
    return total


@part(Offset)
def polynomial_offset(theta, prop, hyper):
    return polynomial_fall(theta, prop, hyper)


def mean_of_skewed(thirds: np.ndarray) -> np.ndarray:
    """How far the mean of a posterior lies from its mode, in whitened coordinates: ``-thirds / 2`` to first order.

    ``thirds_j = sum_k d^3 U / dz_j dz_k^2``, for a regression ``sum_i w_i f'''(eta_i) |L'x_i|^2 L'x_i``: the cubic term
    pulls a standard normal ``z`` by half its mean square (Tierney and Kadane 1986). Cut to half the distance of a draw,
    beyond which the first order says little.
    """
    shift, most = -0.5 * thirds, 0.5 * np.sqrt(thirds.size)
    return shift * min(1.0, most / max(float(np.linalg.norm(shift)), 1e-300))


# ----------------------------------------------------------------------------------------------------- distances

LEAST_LOCAL_SHARE = 0.1
"""A local supremum counts as no less than this share of the global one: C grows by a few percent, and the factor
outside is at most 10, so that the few proposals that land there do not cost more than all the others."""

_OUTSIDE = 1e-6


def trust_radius_of(dim: int) -> float:
    """The radius that a standard normal vector exceeds with probability 1e-6 (1.35 sqrt(d) in spec 5d, for large d)."""
    from scipy.special import chdtri

    return float(np.sqrt(chdtri(dim, _OUTSIDE)))


@helper
def penalised_outside(distance, pp, ww, pw, hyper):
    """Local suprema hold within the radius: beyond, the distance makes up for them (spec 5d). Symmetric in u and v."""
    farthest = 0.25 * (pp + ww) + 0.5 * abs(pw)  # the larger of |u|^2 and |v|^2
    return distance if farthest <= hyper[_TIER] else distance * hyper[_TIER + 1]


@helper
def first_order(pp, ww, pw):
    """The sharp M1 of spec 5a for energies of a linear predictor; ``u.v >= 0`` is ``|w| >= |p|``."""
    if ww >= pp:
        return (abs(pw) + np.sqrt(pp * ww)) / 4.0
    return (0.5 * (pp + ww) + np.sqrt(pw * pw + 0.25 * (ww - pp) ** 2)) / 4.0


@helper
def second_order(pp, ww, pw):
    """M2 of spec 5a, ``|p| (3 |w|^2 D2 + |p|^2) / 24`` with ``D2`` the largest ``|x.p^| (x.w^)^2`` of a unit ``x``."""
    if pp == 0.0:
        return 0.0
    cosine = min(1.0, abs(pw) / np.sqrt(pp * ww)) if ww > 0.0 else 0.0
    k = np.sqrt(2.0 + 0.25 * cosine * cosine) - 0.5 * cosine
    largest = (2.0 + cosine * k) ** 1.5 / (3.0**1.5 * k)
    return np.sqrt(pp) * (3.0 * ww * largest + pp) / 24.0


@helper
def first_order_general(pp, ww, pw):
    """For any energy whose Hessian has a bounded norm: ``min(|p| (|u| + |v|), |u|^2 + |v|^2) / 2``."""
    uu, vv = max(0.25 * (pp + ww - 2.0 * pw), 0.0), max(0.25 * (pp + ww + 2.0 * pw), 0.0)
    return 0.5 * min(np.sqrt(pp) * (np.sqrt(uu) + np.sqrt(vv)), uu + vv)


@helper
def second_order_general(pp, ww, pw):
    """For any energy with a Lipschitz Hessian: ``|p| (|u|^2 + u.v + |v|^2) / 6 = |p| (3 |w|^2 + |p|^2) / 24``."""
    return np.sqrt(pp) * (3.0 * ww + pp) / 24.0


@helper(fastmath=REASSOCIATE)
def products(here, there, centre, root):
    """``|p|^2, |w|^2, p.w`` after multiplication by ``root``."""
    d = here.size
    pp, ww, pw = 0.0, 0.0, 0.0
    for j in range(d):
        p, w = 0.0, 0.0
        for k in range(d):
            p += root[j, k] * (there[k] - here[k])
            w += root[j, k] * (there[k] + here[k] - 2.0 * centre[k])
        pp += p * p
        ww += w * w
        pw += p * w
    return pp, ww, pw


@helper
def _metric_products(theta, prop, hyper):
    """In the metric ``A = R'R`` of the parameters."""
    d = theta.size
    return products(theta, prop, hyper[CENTRE : CENTRE + d], matrix_at(hyper, CENTRE + 2 * d + d * d, d))


@part(Distance)
def first_order_distance(theta, prop, hyper):
    pp, ww, pw = _metric_products(theta, prop, hyper)
    return penalised_outside(first_order(pp, ww, pw), pp, ww, pw, hyper)


@part(Distance)
def second_order_distance(theta, prop, hyper):
    pp, ww, pw = _metric_products(theta, prop, hyper)
    return penalised_outside(second_order(pp, ww, pw), pp, ww, pw, hyper)


@part(Distance)
def first_order_distance_general(theta, prop, hyper):
    pp, ww, pw = _metric_products(theta, prop, hyper)
    return first_order_general(pp, ww, pw)


@part(Distance)
def second_order_distance_general(theta, prop, hyper):
    pp, ww, pw = _metric_products(theta, prop, hyper)
    return second_order_general(pp, ww, pw)


@part(Distance)
def original_distance(theta, prop, hyper):
    """SMH's own bound, ``(|u|_1^{k+1} + |v|_1^{k+1}) / (k+1)!`` (spec 2.6)."""
    d, order = theta.size, hyper[BASE_HYPER]
    u, v = 0.0, 0.0
    for j in range(d):
        u += abs(theta[j] - hyper[CENTRE + j])
        v += abs(prop[j] - hyper[CENTRE + j])
    return (u ** (order + 1.0) + v ** (order + 1.0)) / (2.0 if order == 1.0 else 6.0)


@part(Differences)
def no_differences(theta, prop, index, start, n, data, rise, bound):
    """For targets that only serve tests which ask for energies."""
    for b in range(n):
        rise[b], bound[b] = np.nan, np.nan


class TaylorTarget(Target):
    """The same posterior as ``base``, with a polynomial part of the energies moved into the offset.

    ``root`` is the matrix by which distances are measured, ``white`` when it is that of the posterior precision;
    ``tier`` is the radius squared within which the bounds hold and the factor that makes them hold everywhere; ``skew``
    estimates how far the posterior mean lies from the mode, in whitened coordinates. ``leverage`` is the largest share
    of one row in what is known of any direction, ``longest`` the largest ``|L'x_i|``.
    """

    spread = 2.0
    """Width of the law by which chains start, in widths of the Laplace law."""

    def __init__(
        self,
        base: Target,
        *,
        order: int,
        centre: np.ndarray,
        at_centre: Expansion,
        root: np.ndarray,
        base_hyper: list[float],
        rows: np.ndarray,
        bound_column: int,
        parts: Parts,
        white: bool = False,
        skew: np.ndarray | None = None,
        leverage: float = 0.0,
        longest: float = np.inf,
        tier: tuple[float, float] = (np.inf, 1.0),
        start: Callable[[np.random.Generator, int], np.ndarray] | None = None,
    ):
        self._start = base.start if start is None and base.several_modes else start
        self.base, self.order, self.white, self.tier = base, order, white, tier
        self.centre, self.at_centre, self.leverage, self.longest = centre, at_centre, leverage, longest
        self.gradient, self.hessian = at_centre.gradient, at_centre.plain_hessian
        self.own_bounds = base.own_bounds
        self.skew = np.zeros(base.dim) if skew is None else skew
        padded = [*base_hyper, *[0.0] * (BASE_HYPER - len(base_hyper))]
        self._shared_hyper = [*padded, order, *tier, *centre]
        super().__init__(
            rows=rows,
            bound_column=bound_column,
            hyper=[*self._shared_hyper, *self.gradient, *self.hessian.ravel(), *root.ravel()],
            family_hyper=list(base._family_hyper),
            parts=parts,
            dim=base.dim,
            names=base.names,
            prior=base.prior,
            temper=base.temper,
        )

    @cached_property
    def prior_at_centre(self) -> PriorExpansion:
        return self._prior.expansion(self.centre, self.at_centre.width)

    @cached_property
    def metric(self) -> Metric:
        """Of the posterior precision at the centre, the prior's included."""
        return self.at_centre.plus(self.prior_at_centre).metric()

    @property
    def centre_gradient(self) -> np.ndarray:
        """``G``, the gradient at the centre of energies and prior."""
        return self.gradient + self.prior_at_centre.gradient

    @cached_property
    def reference(self) -> np.ndarray:
        """The mean of the Gaussian ``N(m, L L')`` by which proposals are made.

        ``t - A^-1 G`` with ``G`` the gradient at the centre, prior included, is the mode of the expansion (spec 5b). A
        skewed posterior has its mean elsewhere, and from there proposals are accepted more often.
        """
        return self.centre + self.metric.factor @ (self.skew - self.metric.factor.T @ self.centre_gradient)

    @property
    def effective_rows(self) -> float:
        return self.base.effective_rows

    @property
    def non_gaussianity(self) -> float:
        """How far the posterior is from its Laplace law, 0 to 1 or so.

        By its skewness, by rows per parameter, and by the largest share of one row in what is known of any direction: a
        direction that few rows inform has the tails of their likelihood. A prior of your own may have tails too.
        """
        skewness = 2.0 * float(np.linalg.norm(self.skew)) / np.sqrt(self.dim)
        own_prior = 0.0 if self._prior.gaussian else 0.1
        return max(skewness, np.sqrt(self.dim / self.effective_rows), min(self.leverage, 1.0), own_prior)

    def whitened(self) -> TaylorTarget:
        """The same target for chains that walk in ``z``, ``theta = m + L z``: distance and offset cost O(d)."""
        from .whitened import WhitenedTarget

        return WhitenedTarget(self)

    @property
    def precision_trace(self) -> float:
        """The trace of the posterior precision, where the Hessian gives it; else the base target's estimate."""
        trace = float(np.trace(self.hessian)) + float(np.trace(self.prior_at_centre.hessian))
        return trace if trace > 0 else self.base.precision_trace

    def start(self, rng: np.random.Generator, chain: int = 0) -> np.ndarray:
        """Wider than the Laplace law at the centre; a target that may have several modes keeps its own law."""
        if self._start is not None:
            return self._start(rng, chain)
        return self.centre + self.spread * (self.metric.factor @ rng.standard_normal(self.dim))

    def default_proposal(self) -> Any:
        return self.base.default_proposal()

    def __repr__(self) -> str:
        return f"Taylor(order={self.order})({self.base!r})"
