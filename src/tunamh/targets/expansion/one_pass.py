"""What one pass over the rows finds at a point: sums of the energies' expansion, bounds of the remainders, an audit.

The search for a mode adds up energies, gradients and Hessians; bounds need the predictors and derivatives at the same
point again. Where rows are not in memory, the last pass of the search does both. Bounds need a metric, and that of the
posterior at this point is known only when the pass is over: they are measured in that of the point before, and hold in
another one by `tunamh.targets.expansion.kept`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..._linear import Frame
from ...errors import BoundViolation, NonFiniteEnergy, NotApplicable
from ...rows.gathered_rows import BlockWeights
from ...rows.packing import KeptBounds, Packing, weighed, weight_of
from ...rows.source import Rows
from ..base import Expansion
from .audit import refuse_wrong_bounds
from .one_predictor import Remainders, RowSums, Seen


class BoundsAhead(NamedTuple):
    """Bounds that a pass of the search for a mode has found, with their metric and what is known of the rows."""

    fill: Remainders
    inverse: np.ndarray
    sums: RowSums
    gathered: Any
    """What makes packed rows that are gathered when chains need them, from what the pass has kept."""


def expanded_block(
    fill: Remainders, rows: np.ndarray, block: Rows, frame: Frame | None, z: np.ndarray | None
) -> tuple[tuple[float, np.ndarray, np.ndarray], RowSums]:
    """Return energy, gradient and Hessian of a block, and sums about its bounds.

    The bounds are written to packed ``rows``. If ``z`` is passed, every row is checked against its bound between the
    centre and the point of ``z``.
    """
    of, seen, weight = fill.terms, _seen(fill, block), weight_of(block, fill.temper)
    return of.expansion_of(seen, block.X, block.y, weight, frame), _bounded(fill, rows, block, seen, z)


def _seen(fill: Remainders, block: Rows) -> Seen:
    found: Seen = fill.terms.seen(block.X, fill.at.centre, block.y)
    return found


def _bounded(fill: Remainders, rows: np.ndarray, block: Rows, seen: Seen, z: np.ndarray | None) -> RowSums:
    of, at, weight = fill.terms, fill.at, weight_of(block, fill.temper)
    columns = of.columns(rows, fill.width)
    said: RowSums = of.remainders_of(seen, columns, at, block.X, block.y, weight, block.start)
    if z is not None:
        refuse_wrong_bounds(of, at, z, block, weight, columns, seen.energies)
    return said


@dataclass(frozen=True)
class ExpandedWeighing:
    """A function of a block: its expansion, sums about its bounds (None: it has none), sums of c and c^2."""

    fill: Remainders
    packing: Packing
    frame: Frame | None
    audited: bool
    kept: KeptBounds | None

    def __call__(self, block: Rows) -> tuple[int, tuple[float, np.ndarray, np.ndarray], RowSums | None, float, float]:
        rows = np.empty((self.packing.columns, len(block.y))).T  # columns in one piece, for sums
        of, seen, weight = self.fill.terms, _seen(self.fill, block), weight_of(block, self.fill.temper)
        expansion = of.expansion_of(seen, block.X, block.y, weight, self.frame)
        z = np.random.default_rng(block.start).standard_normal(len(self.fill.at.centre)) if self.audited else None
        c = of.columns(rows, self.fill.width).bound
        try:
            said = _bounded(self.fill, rows, block, seen, z)
            sums = weighed(c, block.start)
        except (NotApplicable, BoundViolation, NonFiniteEnergy, ValueError):  # raised again at the end of the search
            return block.start, expansion, None, np.nan, np.nan
        if self.kept is not None:
            self.kept.put(block.start, c)
        return block.start, expansion, said, *sums


def added_up_with_bounds(found: Iterator[Any], frame: Frame | None) -> tuple[Expansion, RowSums | None, BlockWeights]:
    """Add up the results of `ExpandedWeighing` of all blocks in their order.

    If one block has no bounds, the result has none.
    """
    starts: list[int] = []
    sums: list[float] = []
    squares, known = 0.0, True
    totals: list[Any] = []
    said: RowSums | None = None
    with np.errstate(over="ignore", invalid="ignore"):
        for start, terms, of_block, total, square in found:
            totals = list(terms) if not starts else [a + b for a, b in zip(totals, terms, strict=True)]
            starts.append(start)
            sums.append(total)
            squares, known = squares + square, known and of_block is not None
            said = of_block if said is None or of_block is None else said.joined(of_block)
    weights = BlockWeights(np.array(starts, np.int64), np.array(sums), squares)
    energy, gradient, hessian = totals
    return Expansion(energy, gradient, hessian, frame), said if known else None, weights
