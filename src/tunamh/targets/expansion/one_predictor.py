"""What blocks of rows with one linear predictor each contribute to sums, and how their remainders are bounded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..._linear import Frame
from ...compiled import fixed, helper
from ...errors import NotApplicable
from ...rows.packing import columns_by_name, weight_of
from ...rows.source import Rows
from ..designs import Block
from ..families.likelihood import OnePredictorLikelihood
from ..glm_rows import differences, energies, scales, taylor_differences, taylor_energies, taylor_scales
from ..layouts import RUNGS, TAYLOR_ROW, Trust
from .bounds import Bounds, bounds_of_regression

_OUTSIDE = 1e-6


def trust_radius_of(dim: int) -> float:
    """Return the radius that a standard normal vector exceeds with probability 1e-6.

    For large d this is the 1.35 sqrt(d) of spec 5d.
    """
    from scipy.special import chdtri

    return float(np.sqrt(chdtri(dim, _OUTSIDE)))


@helper
def _own_of_two(first, second, everywhere, own, factors):
    """``L_i`` and the factors of constants within two radii, where those for all radii are finite."""
    next_rung, last = 1.0, 1.0
    for i in range(own.size):
        near, far, end = first[i], second[i], everywhere[i]
        if end < near:
            near = end
        if end < far:
            far = end
        tenth = 0.1 * far if far < np.inf else 0.0
        least = tenth if tenth > near else near
        own[i] = least
        if far > next_rung * least:  # rarely, so that there is hardly a division
            next_rung = max(far / least, next_rung)
        if end > last * least:
            last = max(end / least, last)
    factors[1] = next_rung
    factors[2:] = last


@helper
def _fill_shape(weight, size, second, third, leverage, longest, thirds):
    """The largest ``w |f''| |L'x|^2`` and ``|L'x|``, and ``w f''' |L'x|^2`` of every row."""
    most, far = 0.0, 0.0
    for i in range(size.size):
        square = weight[i] * (size[i] * size[i])
        most = max(most, square * abs(second[i]))
        far = max(far, size[i])
        thirds[i] = square * third[i]
    leverage[0], longest[0] = most, far


class Ladder(NamedTuple):
    """Radii about the centre within which bounds are computed, each twice the one before (spec 5m).

    If the radii are infinite, the bounds hold everywhere. With ``L_i(r)`` the constant of row ``i`` within the
    radius ``r``, the bound of the row uses ``L_i = max(L_i(r_0), L_i(2 r_0) / 10)``. The factor of a radius is ``max(1,
    max_i L_i(r_k) / L_i)``. The tenth of the second constant costs little, and proposals beyond the first radius stay
    cheap.
    """

    radii: np.ndarray

    def constants(
        self,
        at: Callable[[float], np.ndarray],
        everywhere: np.ndarray | None,
        rough: Callable[[float], np.ndarray] | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the constants ``L_i`` of the rows of a block, and the factors of the radii.

        ``at(radius)`` returns the constants within a radius. ``everywhere`` are the constants for all radii, or None;
        if they are finite in every row, they are used from the third radius on. ``rough``, if passed, is used in place
        of ``at`` beyond the first radius, and its value at the largest radius in place of that at the third.
        """
        known = everywhere is not None and bool(np.isfinite(everywhere).all())
        if not np.isfinite(self.radii[0]) and everywhere is not None:
            return everywhere, np.ones(RUNGS + 1)
        if everywhere is not None and known and rough is None:
            own, factors = np.empty(len(everywhere)), np.ones(RUNGS + 1)
            two = (np.ascontiguousarray(rung) for rung in (at(self.radii[0]), at(self.radii[1]), everywhere))
            _own_of_two(*two, own, factors)
            return own, factors
        if rough is None:
            rungs = [at(radius) for radius in self.radii[: 2 if known else RUNGS]]
        else:
            rungs = [at(self.radii[0]), rough(self.radii[1])]
            rungs += [] if known else [rough(self.radii[-1])] * (RUNGS - 2)
        if everywhere is not None and known:
            rungs = [np.minimum(rung, everywhere) for rung in rungs] + [everywhere] * (RUNGS - 1)
        own = rungs[0]
        if rough is None:  # a rough bound may be so loose that a tenth of it would cost more than it saves
            own = np.maximum(own, 0.1 * np.where(np.isfinite(rungs[1]), rungs[1], 0.0))
        factors = np.full(RUNGS + 1, np.inf)
        factors[0] = 1.0
        for k in range(1, len(rungs)):
            rung = rungs[k]
            if rung is rungs[k - 1]:
                factors[k] = factors[k - 1]
                continue
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                factors[k] = np.fmax.reduce(rung / own, initial=1.0)  # 0 / 0: a bound of 0 that stays needs no factor
        return own, factors

    def trust(self, factors: np.ndarray) -> Trust:
        return Trust(tuple(self.radii**2), tuple(factors))


def ladder_of(dim: int, *, local: bool) -> Ladder:
    """Return the radii for ``dim`` parameters. Without local bounds they are infinite."""
    first = trust_radius_of(dim) if local else np.inf
    return Ladder(first * 2.0 ** np.arange(RUNGS))


class Whitening(NamedTuple):
    """Where rows are expanded and to which order; ``factor`` is the matrix ``L`` with which distances are measured.

    ``ladder`` has the radii within which bounds are computed. If ``original`` is True, the bounds of SMH are used.
    """

    order: int
    centre: np.ndarray
    factor: np.ndarray
    ladder: Ladder
    original: bool


class RowSums(NamedTuple):
    """What the rows of a block say about an expansion: maxima, and the sum of third derivatives (spec 5g)."""

    factors: np.ndarray
    leverage: float
    longest: float
    thirds: np.ndarray

    def joined(self, other: RowSums) -> RowSums:
        return RowSums(
            np.maximum(self.factors, other.factors),
            max(self.leverage, other.leverage),
            max(self.longest, other.longest),
            self.thirds + other.thirds,
        )


@dataclass(frozen=True)
class Remainders:
    """A function that fills the bounds and the centre's columns of the packed rows of a block.

    ``terms`` computes them. The features use ``width`` columns. The function can be sent to other processes.
    """

    terms: Any
    at: Whitening
    width: int
    temper: float

    def __call__(self, rows: np.ndarray, block: Rows) -> RowSums:
        columns, weight = self.terms.columns(rows, self.width), weight_of(block, self.temper)
        return self.terms.remainders(columns, self.at, block.X, block.y, weight, block.start)

    def with_bounds(self, rows: np.ndarray, block: Rows, c: np.ndarray) -> None:
        """Fill the centre's columns of packed rows, and write bounds that are already known."""
        columns = self.terms.columns(rows, self.width)
        self.terms.at_centre(columns, self.at.centre, block.X, block.y)
        columns.bound[:] = c


class Seen(NamedTuple):
    """Rows at one point: their predictors, the derivatives of their energies in the predictors, and the energies."""

    eta: np.ndarray
    derivatives: tuple[np.ndarray, np.ndarray, np.ndarray]
    energies: np.ndarray


class OnePredictor:
    """Sums and bounds for a family of one predictor with energies ``w f(x.theta, y)``."""

    plain_parts = differences, energies, scales
    taylor_parts = taylor_differences, taylor_energies, taylor_scales
    centre_columns = 3
    """Columns of a packed row that hold what the remainder needs: ``eta``, ``f'`` and ``f''`` at the centre."""

    def __init__(self, family: OnePredictorLikelihood):
        self.family, self._hyper = family, fixed(family.hyper)

    def energies(self, eta: np.ndarray, y: np.ndarray) -> np.ndarray:
        out = np.empty_like(eta)
        self.family.energy(eta.size, eta, y, self._hyper, out)
        return out

    def energies_at(self, X: Block, points: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.array([weight @ self.energies(eta, y) for eta in X.matvecs(points)])

    def slope(self, X: Block, theta: np.ndarray, y: np.ndarray, weight: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the energy and the gradient of a block."""
        eta = X.matvec(theta)
        slopes = weight * self.family.derivatives(eta, y)[0]
        return float(weight @ self.energies(eta, y)), X.rmatvec(slopes)

    def expansion(
        self, X: Block, theta: np.ndarray, y: np.ndarray, weight: np.ndarray, frame: Frame | None
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Return energy, gradient and Hessian of a block. The Hessian is in the coordinates of ``frame``."""
        return self.expansion_of(self.seen(X, theta, y), X, y, weight, frame)

    def seen(self, X: Block, theta: np.ndarray, y: np.ndarray) -> Seen:
        """Return predictors, derivatives and energies of the rows at a point."""
        eta = X.matvec(theta)
        return Seen(eta, self.family.derivatives(eta, y), self.energies(eta, y))

    def expansion_of(
        self, seen: Seen, X: Block, y: np.ndarray, weight: np.ndarray, frame: Frame | None
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Return `expansion` from predictors, derivatives and energies that were computed already."""
        first, second, _ = seen.derivatives
        return float(weight @ seen.energies), X.rmatvec(weight * first), X.sandwich(weight * second, frame)

    def first_bounds(self, X: Block, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return the bounds ``c_i = weight_i sup|f'| |x_i|``.

        A row with zero weight or ``x_i = 0`` has the bound zero.
        """
        size = weight * X.row_norms()
        return np.multiply(self.family.suprema(y).first, size, out=np.zeros(len(y)), where=size > 0)

    @property
    def known_order(self) -> int | None:
        """Return `highest_order` if it does not depend on the responses, otherwise None."""
        return 2 if self.family.second_order_constants is not None else None

    def highest_order(self, y: np.ndarray) -> int:
        """Return the highest order of an expansion whose remainder is bounded in every row near the centre.

        The result is 0 if there is no such order.
        """
        finite = [bool(np.isfinite(values).all()) for values in self.family.suprema(y)]
        return 2 if finite[2] else 1 if finite[1] else 0

    def local(self) -> bool:
        """Return True if bounds near the centre are smaller than bounds that hold everywhere."""
        return self.family.suprema_near is not None or self.family.second_order_constants is not None

    def _constants(self, y: np.ndarray, eta: np.ndarray, size: np.ndarray, order: int, radius: float) -> np.ndarray:
        """Per row, a bound on ``|f''|`` (order 1) or the constant of order 2 while ``|eta' - eta| <= size r``."""
        if order == 2 and self.family.second_order_constants is not None:
            return self.family.second_order_constants(y, eta, _radii(radius, size))
        return self.family.suprema_near(y, eta, _radii(radius, size))[order]

    def bounds(self, order: int, trust: Trust) -> Bounds:
        return bounds_of_regression(order, trust)

    def columns(self, rows: np.ndarray, width: int) -> Any:
        """Return the columns of packed rows by name. The features use ``width`` columns."""
        return columns_by_name(TAYLOR_ROW, rows, width=width)

    def at_centre(self, columns: Any, centre: np.ndarray, X: Block, y: np.ndarray) -> None:
        """Fill the columns of packed rows that describe the centre."""
        eta = X.matvec(centre)
        columns.slope[:], columns.curvature[:], _ = self.family.derivatives(eta, y)
        columns.eta[:] = eta

    def remainders(
        self, columns: Any, at: Whitening, X: Block, y: np.ndarray, weight: np.ndarray, start: int
    ) -> RowSums:
        """Fill the bounds of the rows and the centre's columns of packed rows (spec 5a, 5d).

        The bounds are ``c_i = weight_i L |A^-1/2 x_i|^{order+1}``.
        """
        eta = X.matvec(at.centre)
        return self.remainders_of(Seen(eta, self.family.derivatives(eta, y), eta), columns, at, X, y, weight, start)

    def remainders_of(
        self, seen: Seen, columns: Any, at: Whitening, X: Block, y: np.ndarray, weight: np.ndarray, start: int
    ) -> RowSums:
        """Do what `remainders` does, from predictors and derivatives at the centre that were computed already."""
        order, eta = at.order, seen.eta
        size = X.row_max() if at.original else X.whitened_norms(at.factor)
        costly = order == 2 and self.family.rough_bounds is not None
        everywhere = None if costly else np.asarray(self.family.suprema(y)[order])
        own, factors = at.ladder.constants(
            lambda radius: self._constants(y, eta, size, order, radius),
            everywhere,
            (lambda radius: self.family.rough_bounds(y, eta, _radii(radius, size))) if costly else None,
        )
        if not np.isfinite(own).all():
            row = start + int(np.argmax(~np.isfinite(own)))
            raise NotApplicable(
                f"Taylor(order={order}) needs bounded derivatives; {self.family!r} has none in row {row}"
            )
        square = size * size
        first, second, third = seen.derivatives
        columns.bound[:] = weight * own * (square if order == 1 else square * size)
        columns.eta[:], columns.slope[:], columns.curvature[:] = eta, first, second
        leverage, longest, third_moments = np.empty(1), np.empty(1), np.empty(len(eta))
        _fill_shape(weight, size, second, third, leverage, longest, third_moments)
        return RowSums(factors, float(leverage[0]), float(longest[0]), X.rmatvec(third_moments) @ at.factor)


def _radii(radius: float, size: np.ndarray) -> np.ndarray:
    """How far predictors of rows of this ``size`` may move; a row of zeros stays, however large the radius."""
    if np.isfinite(radius):
        return radius * size
    return np.multiply(radius, size, out=np.zeros_like(size), where=size > 0)


def expansion_of_rows(terms: Any, theta: np.ndarray, frame: Frame | None, temper: float, rows: Rows) -> tuple:
    """Return energy, gradient and Hessian of a block of rows at ``theta``, as ``terms`` computes them."""
    return terms.expansion(rows.X, theta, rows.y, weight_of(rows, temper), frame)
