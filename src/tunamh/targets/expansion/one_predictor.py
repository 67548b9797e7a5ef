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
    """The radius that a standard normal vector exceeds with probability 1e-6 (1.35 sqrt(d) in spec 5d, for large d)."""
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
    """Radii about the centre at which bounds are taken, each twice the one before (spec 5m); one infinite: no ladder.

    With ``L_i(r)`` the constant of row ``i`` within the radius ``r``, its bound is made of ``L_i = max(L_i(r_0),
    L_i(2 r_0) / 10)``, and the factor of a radius is ``max(1, max_i L_i(r_k) / L_i)``. A tenth of the second rung costs
    little and keeps proposals that land there cheap.
    """

    radii: np.ndarray

    def constants(
        self,
        at: Callable[[float], np.ndarray],
        everywhere: np.ndarray | None,
        rough: Callable[[float], np.ndarray] | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """``L_i`` of a block's rows, and the factors they need.

        ``at(radius)`` gives the constants within a radius, ``everywhere`` those for all radii, None where there are
        none. Where these are finite in every row they serve from the third rung on. ``rough``, if given, takes the
        place of ``at`` beyond the first rung, and the largest radius that of the third.
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
    """For so many parameters; without local bounds one rung reaches everywhere."""
    first = trust_radius_of(dim) if local else np.inf
    return Ladder(first * 2.0 ** np.arange(RUNGS))


class Whitening(NamedTuple):
    """Where rows are expanded, to which order, and how: ``factor`` is the ``L`` by which distances are measured.

    ``ladder`` has the radii at which bounds are taken; ``original`` asks for SMH's own bounds.
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
    """Fills the bounds and the centre's columns of a block's packed rows, by what ``terms`` say of them.

    A function that may travel; features take ``width`` columns.
    """

    terms: Any
    at: Whitening
    width: int
    temper: float

    def __call__(self, rows: np.ndarray, block: Rows) -> RowSums:
        columns, weight = self.terms.columns(rows, self.width), weight_of(block, self.temper)
        return self.terms.remainders(columns, self.at, block.X, block.y, weight, block.start)

    def with_bounds(self, rows: np.ndarray, block: Rows, c: np.ndarray) -> None:
        """The same where the bounds are known."""
        columns = self.terms.columns(rows, self.width)
        self.terms.at_centre(columns, self.at.centre, block.X, block.y)
        columns.bound[:] = c


class Seen(NamedTuple):
    """Of rows at a point: predictors, the derivatives of the energies by them, and the energies."""

    eta: np.ndarray
    derivatives: tuple[np.ndarray, np.ndarray, np.ndarray]
    energies: np.ndarray


class OnePredictor:
    """Energies ``w f(x.theta, y)`` of a family of one predictor."""

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
        """Energy and gradient."""
        eta = X.matvec(theta)
        slopes = weight * self.family.derivatives(eta, y)[0]
        return float(weight @ self.energies(eta, y)), X.rmatvec(slopes)

    def expansion(
        self, X: Block, theta: np.ndarray, y: np.ndarray, weight: np.ndarray, frame: Frame | None
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Energy, gradient and Hessian, the latter in the coordinates of ``frame``."""
        return self.expansion_of(self.seen(X, theta, y), X, y, weight, frame)

    def seen(self, X: Block, theta: np.ndarray, y: np.ndarray) -> Seen:
        """What the rows are at a point, for all that is asked of them there."""
        eta = X.matvec(theta)
        return Seen(eta, self.family.derivatives(eta, y), self.energies(eta, y))

    def expansion_of(
        self, seen: Seen, X: Block, y: np.ndarray, weight: np.ndarray, frame: Frame | None
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """`expansion` of rows that were seen at the point."""
        first, second, _ = seen.derivatives
        return float(weight @ seen.energies), X.rmatvec(weight * first), X.sandwich(weight * second, frame)

    def first_bounds(self, X: Block, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """``c_i = weight_i sup|f'| |x_i|``; what does not move has bound zero, however steep the family."""
        size = weight * X.row_norms()
        return np.multiply(self.family.suprema(y).first, size, out=np.zeros(len(y)), where=size > 0)

    @property
    def known_order(self) -> int | None:
        """The `highest_order` of any rows; None where the responses must be asked."""
        return 2 if self.family.second_order_constants is not None else None

    def highest_order(self, y: np.ndarray) -> int:
        """The highest order of expansion whose remainder is bounded in every row, near the centre; 0 where none is."""
        finite = [bool(np.isfinite(values).all()) for values in self.family.suprema(y)]
        return 2 if finite[2] else 1 if finite[1] else 0

    def local(self) -> bool:
        """Whether bounds near the centre are smaller than bounds everywhere."""
        return self.family.suprema_near is not None or self.family.second_order_constants is not None

    def _constants(self, y: np.ndarray, eta: np.ndarray, size: np.ndarray, order: int, radius: float) -> np.ndarray:
        """Per row, a bound on ``|f''|`` (order 1) or the constant of order 2 while ``|eta' - eta| <= size r``."""
        if order == 2 and self.family.second_order_constants is not None:
            return self.family.second_order_constants(y, eta, _radii(radius, size))
        return self.family.suprema_near(y, eta, _radii(radius, size))[order]

    def bounds(self, order: int, trust: Trust) -> Bounds:
        return bounds_of_regression(order, trust)

    def columns(self, rows: np.ndarray, width: int) -> Any:
        """Those of packed rows by name; features take ``width`` of them."""
        return columns_by_name(TAYLOR_ROW, rows, width=width)

    def at_centre(self, columns: Any, centre: np.ndarray, X: Block, y: np.ndarray) -> None:
        """Fill the centre's columns of packed rows."""
        eta = X.matvec(centre)
        columns.slope[:], columns.curvature[:], _ = self.family.derivatives(eta, y)
        columns.eta[:] = eta

    def remainders(
        self, columns: Any, at: Whitening, X: Block, y: np.ndarray, weight: np.ndarray, start: int
    ) -> RowSums:
        """Fill ``c_i = weight_i L |A^-1/2 x_i|^{order+1}`` and the centre's columns of packed rows (spec 5a, 5d)."""
        eta = X.matvec(at.centre)
        return self.remainders_of(Seen(eta, self.family.derivatives(eta, y), eta), columns, at, X, y, weight, start)

    def remainders_of(
        self, seen: Seen, columns: Any, at: Whitening, X: Block, y: np.ndarray, weight: np.ndarray, start: int
    ) -> RowSums:
        """`remainders` of rows that were seen at the centre."""
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
    """Energy, gradient and Hessian of a block of rows at ``theta``, by what ``terms`` say of them."""
    return terms.expansion(rows.X, theta, rows.y, weight_of(rows, temper), frame)
