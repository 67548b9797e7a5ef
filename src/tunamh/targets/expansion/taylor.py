"""What all Taylor targets share: the polynomial in the offset, and the rows' remainders (spec 5a).

About a centre ``t`` write ``u = theta - t``. The sum of the rows' Taylor polynomials, ``g.u + u'Hu/2`` (order 1:
``g.u``), is known in closed form and goes into the offset; the rows keep their remainders ``R_i``, with the bounds of
`tunamh.targets.expansion.bounds`. The posterior is the same.

A chain may walk in the parameters' own coordinates or in whitened ones, ``theta = m + L z`` with ``L L' = A^-1`` (spec
5b): there the Laplace law is standard normal, and distance and offset cost O(d); the rows stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from ..._linear import Metric
from ...compiled import REASSOCIATE, Differences, Offset, helper, part
from ...errors import NotApplicable
from ...priors import PriorExpansion
from ...rows.packing import PackedRows
from ..base import Expansion, Target
from ..layouts import EXPANDED, Trust, expanded_of, pack_hyper
from .bounds import Bounds


@helper(fastmath=REASSOCIATE)
def polynomial_fall(theta, prop, hyper):
    return polynomial_fall_of(theta, prop, hyper, theta.size)


@helper(fastmath=REASSOCIATE)
def polynomial_fall_of(theta, prop, hyper, d):
    """Return minus the rise of the Taylor polynomial of ``d`` parameters, ``-p.(g + H w / 2)``."""
    at = expanded_of(hyper, d)
    second = at.order > 1.0
    total = 0.0
    for j in range(d):
        slope = at.gradient[j]
        if second:
            for k in range(d):
                slope += 0.5 * at.hessian[j, k] * (prop[k] + theta[k] - 2.0 * at.centre[k])
        total -= (prop[j] - theta[j]) * slope
    return total


@part(Offset)
def polynomial_offset(theta, prop, hyper):
    return polynomial_fall(theta, prop, hyper)


@part(Differences)
def no_differences(theta, prop, index, start, n, data, rise, bound):
    """Write NaN. This function is for targets that are used only with tests that read energies."""
    for b in range(n):
        rise[b], bound[b] = np.nan, np.nan


class Shape(NamedTuple):
    """Estimates of how far a posterior is from its Laplace law, in whitened coordinates.

    The pass over the rows computes them. ``skew`` estimates the distance of the mean from the mode. ``leverage`` is the
    largest share that one row has in the information about a direction. ``longest`` is the largest ``|L'x_i|``.
    """

    skew: np.ndarray
    leverage: float
    longest: float


def mean_of_skewed(thirds: np.ndarray) -> np.ndarray:
    """Return an estimate of the mean of a posterior minus its mode, in whitened coordinates: ``-thirds / 2``.

    ``thirds_j = sum_k d^3 U / dz_j dz_k^2``, for a regression ``sum_i w_i f'''(eta_i) |L'x_i|^2 L'x_i``. To first
    order, the cubic term shifts the mean of a standard normal ``z`` by this amount (Tierney and Kadane 1986). The
    result is at most half as long as a typical draw, because for larger shifts the first order is a poor approximation.
    """
    shift, most = -0.5 * thirds, 0.5 * np.sqrt(thirds.size)
    return shift * min(1.0, most / max(float(np.linalg.norm(shift)), 1e-300))


class TaylorTarget(Target):
    """The same posterior as ``base``, with a polynomial part of the energies moved into the offset.

    Parameters
    ----------
    order, centre, at_centre
        1 or 2; where the rows are expanded; the data's expansion there.
    remainders, bounds
        The rows, and how far they can move.
    root : (d, d), optional
        The matrix by which the parameters' distances are measured; None: the identity.
    shape : optional
        Given where ``root`` is that of the posterior precision, so that the target may be whitened.
    """

    spread = 2.0
    """Width of the law by which chains start, in widths of the Laplace law."""

    def __init__(
        self,
        base: Target,
        order: int,
        centre: np.ndarray,
        at_centre: Expansion,
        *,
        remainders: PackedRows,
        bounds: Bounds,
        root: np.ndarray | None = None,
        shape: Shape | None = None,
    ):
        d = base.dim
        self._settle(
            base=base,
            order=order,
            centre=centre,
            at_centre=at_centre,
            bounds=bounds,
            root=np.eye(d) if root is None else root,
            white=shape is not None,
            own_bounds=base.own_bounds,
            predictors=base.predictors,
            _shape=Shape(np.zeros(d), 0.0, np.inf) if shape is None else shape,
            _start=base.start if base.several_modes else None,
        )
        super().__init__(
            packed=replace(remainders, parts=remainders.parts._replace(distance=bounds.distance)),
            hyper=base.own_numbers,
            family_hyper=list(base._family_hyper),
            dim=d,
            names=base.names,
            prior=base.prior,
            ready=base._prior,
            temper=base.temper,
        )

    base: Target
    order: int
    centre: np.ndarray
    at_centre: Expansion
    bounds: Bounds
    root: np.ndarray
    white: bool
    _shape: Shape
    _start: Callable[[np.random.Generator, int], np.ndarray] | None

    centre_as_told: bool = False
    """Whether a user said where to expand; otherwise it is a mode that was searched for, or the mean beside it."""

    fingerprint_of_all_rows = True

    def starting_like_base(self) -> Self:
        """Return the same target. Its chains start where ``base`` starts, not from the Laplace law at the centre."""
        return self._with(_start=self.base.start)

    def starting_about_reference(self, spread: float) -> Self:
        """Return the same target. Its chains start about the mean of the Gaussian, which may be far from the centre."""
        mean, factor = self.reference, spread * self.metric.factor

        def start(rng: np.random.Generator, chain: int) -> np.ndarray:
            return mean + factor @ rng.standard_normal(len(mean))

        return self._with(_start=start, metric=self.metric, prior_at_centre=self.prior_at_centre)

    def about_own_centre(self) -> Self:
        """Return the same target with the note that the user chose the centre."""
        return self._with(centre_as_told=True)

    @property
    def fingerprint(self) -> str:
        """Return the checksum of the data, which is that of ``base``."""
        return self.base.fingerprint

    @property
    def gradient(self) -> np.ndarray:
        return self.at_centre.gradient

    @cached_property
    def hessian(self) -> np.ndarray:
        return self.at_centre.plain_hessian

    @cached_property
    def _hyper(self) -> np.ndarray:
        fields = {name: getattr(self, name) for name in ("order", "centre", "gradient", "hessian", "root")}
        return pack_hyper(self.own_numbers, EXPANDED.pack(**fields, **self.bounds.trust._asdict()))

    def to_user(self, points: np.ndarray) -> np.ndarray:
        return self.base.to_user(points)

    def to_chain(self, point: np.ndarray) -> np.ndarray:
        return self.base.to_chain(point)

    @property
    def variables(self) -> list[tuple[str, list[str] | None]]:
        return self.base.variables

    @property
    def recorded(self) -> list[str]:
        return self.base.recorded

    @property
    def skew(self) -> np.ndarray:
        return self._shape.skew

    @property
    def leverage(self) -> float:
        return self._shape.leverage

    @property
    def longest(self) -> float:
        return self._shape.longest

    @property
    def trust(self) -> Trust:
        return self.bounds.trust

    def with_skew(self, skew: np.ndarray) -> TaylorTarget:
        """Return the same target with another estimate of mean minus mode, on which proposals are centred."""
        shape = self._shape._replace(skew=np.asarray(skew, dtype=np.float64))
        return self._with(_shape=shape, prior_at_centre=self.prior_at_centre, metric=self.metric)

    @cached_property
    def prior_at_centre(self) -> PriorExpansion:
        return self._prior.expansion(self.centre, self.at_centre.width)

    @cached_property
    def metric(self) -> Metric:
        """Return the metric of the posterior precision at the centre, including the prior."""
        return self.at_centre.plus(self.prior_at_centre).metric()

    @property
    def centre_gradient(self) -> np.ndarray:
        """Return ``G``, the gradient of the energies and of the prior's energy at the centre."""
        return self.gradient + self.prior_at_centre.gradient

    @cached_property
    def reference(self) -> np.ndarray:
        """Return the mean of the Gaussian ``N(m, L L')`` from which proposals are drawn.

        The mode of the expansion is ``t - A^-1 G`` with ``G`` the gradient at the centre, including the prior (spec
        5b). The mean of a skewed posterior is elsewhere; with proposals about the mean, more proposals are accepted.
        """
        factor = self.metric.factor
        return self.centre + factor @ (self.skew - factor.T @ self.centre_gradient)

    @property
    def effective_rows(self) -> float:
        return self.base.effective_rows

    @property
    def non_gaussianity(self) -> float:
        """Return how far the posterior is from its Laplace law, a number from 0 to about 1.

        It is the largest of several measures: the skewness, the rows per parameter, and the largest share that one row
        has in the information about a direction. If few rows inform a direction, it has the tails of their likelihood.
        Also a prior with heavy tails counts.
        """
        skewness = 2.0 * float(np.linalg.norm(self.skew)) / np.sqrt(self.dim)
        rows_each = np.sqrt(self.dim / self.effective_rows)
        return max(skewness, rows_each, min(self.leverage, 1.0), self._prior.tails)

    @property
    def walk_spread(self) -> float:
        """Return 1.5 if the prior has heavy tails, otherwise 0: how widely the lengths of random-walk steps are spread.

        Such a prior may have a peak and tails of very different widths.
        """
        return 0.0 if self._prior.tails < 0.1 else 1.5

    def whitened(self) -> TaylorTarget:
        """Return the same target for chains in the coordinates ``z`` with ``theta = m + L z``. Its distance costs O(d).

        With ``u = L (z - z_c)``, the Taylor part of order 2 and the expansion of the prior together are ``L'G.(z - z_c)
        + sum_j kept_j (z - z_c)_j^2 / 2``, whatever the metric was before. So the expansion of the prior goes into the
        offset, too. With order 1 the Taylor part is ``L'g.z``.
        """
        distance = self.bounds.white_distance
        unfit = self.bounds.needs_white_root and not self.white
        if distance is None or unfit or self.parts.offset is not polynomial_offset:
            raise NotApplicable(
                "Autoregressive needs whitened distances: pass control=Taylor(order=2) for a regression."
            )
        from .whitened import Whitened

        return Whitened(self, distance)

    @property
    def precision_trace(self) -> float:
        """Return the trace of the posterior precision from the Hessian.

        If this is not positive, return the estimate of ``base``.
        """
        trace = float(np.trace(self.hessian)) + float(np.trace(self.prior_at_centre.hessian))
        return trace if trace > 0 else self.base.precision_trace

    def start(self, rng: np.random.Generator, chain: int = 0) -> np.ndarray:
        """Draw a point where a chain starts: from a law wider than the Laplace law at the centre.

        A target that may have several modes has its own law for this.
        """
        if self._start is not None:
            return self._start(rng, chain)
        return self.centre + self.spread * (self.metric.factor @ rng.standard_normal(self.dim))

    def supported_point(self) -> np.ndarray | None:
        return self.base.supported_point()

    def default_proposal(self) -> Any:
        return self.base.default_proposal()

    def __repr__(self) -> str:
        return f"Taylor(order={self.order})({self.base!r})"
