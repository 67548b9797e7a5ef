"""An expansion whose rows were bounded in another metric: sums grow and shrink, what is known of a row stays.

Rows were expanded about a centre ``t`` and bounded in the metric ``A = L^-T L^-1`` of the posterior of then:
``|R_i(prop) - R_i(theta)| <= c_i M_A(theta, prop)`` with ``c_i = w_i L_i |L'x_i|^{k+1}`` for an expansion of order
``k`` (spec 5a, 5d). Rows came and went since, and the sums at ``t`` give the precision ``B = N^-T N^-1`` of today. With

    kappa = |L^-1 N|   (the spectral norm),   |N'x| <= kappa |L'x| for every x,

the same ``c_i`` hold in the metric of today, if the distance is multiplied by ``kappa^{k+1}``; constants ``L_i`` that
were taken within a radius ``r`` of A hold within ``r / kappa`` of B (spec 5x).

*Proof.* By spec 5d the bound in B is ``w_i L_i(r) |N'x_i|^{k+1} M_B`` where ``L_i(r)`` bounds the derivative while the
predictor moves by no more than ``|N'x_i| r``. That is at most ``kappa |L'x_i| r``, the range of the radius ``kappa r``
of A; and ``|N'x_i|^{k+1} <= kappa^{k+1} |L'x_i|^{k+1}``. QED. Rows in proportion, ``B = m A``, lose nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..._linear import Metric
from ...rows.packing import ROW, PackedRows
from ...rows.source import Rows
from ..base import Expansion
from ..layouts import Trust
from ..search.newton import Mode
from .one_predictor import Ladder, Remainders, RowSums, Whitening
from .taylor import Shape, TaylorTarget, mean_of_skewed, polynomial_offset

if TYPE_CHECKING:
    from ..glm import GLM

ORDER = 2
_SPREAD = 1.25  # of the law by which chains start, in widths of the Gaussian


class RowsAt(NamedTuple):
    """Where rows are expanded, and in which metric they are bounded: ``factor`` is ``L``, ``inverse`` is ``L^-1``."""

    centre: np.ndarray
    factor: np.ndarray
    inverse: np.ndarray
    ladder: Ladder

    @property
    def whitening(self) -> Whitening:
        return Whitening(ORDER, self.centre, self.factor, self.ladder, False)


@dataclass(frozen=True)
class Filled:
    """A function that fills the bounds and the centre's columns of packed rows. It can be sent to other processes."""

    terms: Any
    at: RowsAt
    width: int
    temper: float

    def __call__(self, rows: np.ndarray, block: Rows) -> RowSums:
        return self.remainders(rows, block)

    @property
    def remainders(self) -> Remainders:
        return Remainders(self.terms, self.at.whitening, self.width, self.temper)


class KeptSums(NamedTuple):
    """Sums over rows at a centre: the expansion of the data, sums for bounds, number of rows, weight."""

    at_centre: Expansion
    of_rows: RowSums
    n_rows: int
    weight: float

    def joined(self, other: KeptSums) -> KeptSums:
        here, there = self.at_centre, other.at_centre
        both = here._replace(
            energy=here.energy + there.energy,
            gradient=here.gradient + there.gradient,
            hessian=here.hessian + there.hessian,
        )
        return KeptSums(
            both, self.of_rows.joined(other.of_rows), self.n_rows + other.n_rows, self.weight + other.weight
        )

    def without(self, other: KeptSums) -> KeptSums:
        """Return the sums of the remaining rows.

        Maxima do not change, because a maximum over more rows is still an upper bound.
        """
        here, there = self.at_centre, other.at_centre
        left = here._replace(
            energy=here.energy - there.energy,
            gradient=here.gradient - there.gradient,
            hessian=here.hessian - there.hessian,
        )
        of_rows = self.of_rows._replace(thirds=self.of_rows.thirds - other.of_rows.thirds)
        return KeptSums(left, of_rows, self.n_rows - other.n_rows, self.weight - other.weight)


class KeptExpansion(NamedTuple):
    """What a target knows before it reads any row: an expansion, where it is, and a text on how it was made.

    ``mode`` contains the centre, which may be ``away`` posterior standard deviations from the mode.
    """

    expanded: TaylorTarget
    mode: Mode
    weight: float
    told: str


def in_metric_of(base: GLM, at: RowsAt, at_centre: Expansion, of_rows: RowSums) -> tuple[Metric, Trust, Shape]:
    """Return the metric of today's posterior, the radii within which the kept bounds hold in it, and its shape.

    The kept bounds were computed in the metric of ``at``.
    """
    prior = base._prior.expansion(at.centre, at_centre.width)
    today = at_centre.plus(prior).metric()
    between = at.inverse @ today.factor
    sizes = np.linalg.svd(between, compute_uv=False)
    kappa, typical = float(sizes[0]), float(np.mean(sizes**2))
    thirds = typical * (between.T @ of_rows.thirds) + base._prior.thirds(at.centre, at_centre.width, today.factor)
    trust = Trust(tuple(at.ladder.radii**2 / kappa**2), tuple(kappa ** (ORDER + 1) * of_rows.factors))
    return today, trust, Shape(mean_of_skewed(thirds), kappa**2 * of_rows.leverage, kappa * of_rows.longest)


def kept_target(base: GLM, at: RowsAt, sums: KeptSums, rows: Any) -> TaylorTarget:
    """Return the expansion of ``base`` about a centre that may be old, in the metric of today's posterior."""
    at_centre = sums.at_centre
    today, trust, shape = in_metric_of(base, at, at_centre, sums.of_rows)
    expanded = TaylorTarget(
        base,
        ORDER,
        at.centre,
        at_centre,
        remainders=PackedRows(
            rows,
            ROW.places(width=base.y_column).bound,
            base.parts_with(*base.terms.taylor_parts, offset=polynomial_offset),
        ),
        bounds=base.terms.bounds(ORDER, trust),
        root=today.inverse,
        shape=shape,
    )
    return expanded.starting_about_reference(_SPREAD)


def kept_expansion(base: GLM, expanded: TaylorTarget, weight: float, told: str) -> KeptExpansion:
    """Return the expansion with its centre in place of a mode, because the kept sums are exact only at the centre."""
    at_centre = expanded.at_centre
    away = float(np.linalg.norm(expanded.metric.factor.T @ expanded.centre_gradient))
    posterior = at_centre.plus(expanded.prior_at_centre)
    return KeptExpansion(expanded, Mode(expanded.centre, at_centre, posterior, away), weight, told)
