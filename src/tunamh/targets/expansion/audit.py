"""Every row of a block held against its bound, at two draws from the Gaussian: in columns, where no row is packed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...compiled import CONTRACT, helper
from ...errors import BoundViolation, NonFiniteEnergy
from ...rows.packing import weight_of
from ...rows.source import Rows
from .bounds import second_order
from .one_predictor import Remainders, RowSums

_ROUNDING = 1e-9


@dataclass(frozen=True)
class AuditedRemainders:
    """A function that fills bounds as `Remainders` and checks every row against its bound.

    The draws of the check depend only on the position of the block.
    """

    fill: Remainders

    def __call__(self, rows: np.ndarray, block: Rows) -> RowSums:
        said, of, at = self.fill(rows, block), self.fill.terms, self.fill.at
        columns, weights = of.columns(rows, self.fill.width), weight_of(block, self.fill.temper)
        z = np.random.default_rng(block.start).standard_normal(len(at.centre))
        refuse_wrong_bounds(of, at, z, block, weights, columns, of.energies(columns.eta, block.y))
        return said


def refuse_wrong_bounds(
    terms: Any, at: Any, z: np.ndarray, block: Rows, weights: np.ndarray, columns: Any, energies: np.ndarray
) -> None:
    """Raise an error if a remainder of order 2 exceeds its bound between the centre and a point.

    ``z`` is a draw from a standard normal law, shortened to the first radius. ``columns`` are the columns of packed
    rows, and ``energies`` are the energies at the centre, where remainders are zero.
    """
    size = float(np.linalg.norm(z))
    z = z * min(1.0, at.ladder.radii[0] / max(size, 1e-300))
    after = block.X.matvec(at.centre + at.factor @ z)
    square = float(z @ z)
    distance = second_order(square, square, square)
    of_rows = columns.eta, columns.slope, columns.curvature, columns.bound, weights
    move = after, energies, terms.energies(after, block.y), of_rows, distance
    if _wrong_rows(*move) == 0:
        return
    row, rise = _first_wrong(*move)
    if row < 0:
        return  # a last digit, which contracted products have turned
    if not np.isfinite(rise):
        row += block.start
        raise NonFiniteEnergy(f"row {row} has an energy near the centre that is not finite.", row=row)
    found, allowed = float(weights[row] * rise), float(columns.bound[row] * distance)
    raise BoundViolation(
        block.start + row, abs(found) / max(allowed, 1e-300), rise=found, bound=allowed, own_bounds=False
    )


@helper(fastmath=CONTRACT)
def _wrong_rows(after, energies, energies_after, of_rows, distance):
    """How many rows `_first_wrong` would complain of: a loop without branches."""
    eta, slope, curvature, c, weights = of_rows
    wrong = 0
    for i in range(after.size):
        away = after[i] - eta[i]
        rise = energies_after[i] - energies[i] - away * (slope[i] + 0.5 * away * curvature[i])
        size = abs(energies[i]) + abs(energies_after[i]) + 1.0
        size += abs(away) * (abs(slope[i]) + 1.0 + (1.0 + abs(eta[i]) + abs(away)) * abs(curvature[i]))
        fine = weights[i] * abs(rise) <= c[i] * distance + _ROUNDING * weights[i] * size
        wrong += 0 if fine & (abs(rise) < np.inf) else 1
    return wrong


@helper
def _first_wrong(after, energies, energies_after, of_rows, distance):
    """The first row whose remainder rises by more than its bound, rounding aside, and by how much; -1 if there is none.

    ``after`` are the predictors at the point, the energies those at the centre and there, and ``of_rows`` what packed
    rows have of the centre and their bounds. A row whose rise is not finite comes before all others.
    """
    eta, slope, curvature, c, weights = of_rows
    first, by_how_much = -1, 0.0
    for i in range(after.size):
        away = after[i] - eta[i]
        rise = energies_after[i] - energies[i] - away * (slope[i] + 0.5 * away * curvature[i])
        if not np.isfinite(rise):
            return i, rise
        size = abs(energies[i]) + abs(energies_after[i]) + 1.0
        size += abs(away) * (abs(slope[i]) + 1.0 + (1.0 + abs(eta[i]) + abs(away)) * abs(curvature[i]))
        if first < 0 and weights[i] * abs(rise) > c[i] * distance + _ROUNDING * weights[i] * size:
            first, by_how_much = i, rise
    return first, by_how_much
