"""What is computed of one piece of the data, in one reading: sums at a centre, bounds, and some rows kept for chains.

The kept rows are independent draws by the law ``c_i / C_p`` of the piece, as many as asked for, with replacement. They
are drawn while the blocks go by: with ``C_b`` the sum of ``c`` in a block and ``C`` that of all blocks so far, each
place takes a row of the block with probability ``C_b / C`` and else keeps what it has. By induction a place has row
``i`` with probability ``c_i / C`` after every block, independently of the other places. How many places take a row is
binomial, and which ones is a random subset of this size: that is the same law, with fewer random numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from .._linear import Frame
from ..errors import NonFiniteEnergy
from ..rows.packing import ROW, Packing, packed_rows, weight_of
from ..rows.servings import by_cumulated
from ..rows.source import Rows, rows_at
from ..targets.expansion.kept import RowsAt
from ..targets.expansion.one_pass import expanded_block
from ..targets.expansion.one_predictor import Remainders, RowSums
from ..targets.layouts import RUNGS
from ..targets.observations.from_source import Blocks, Places
from .records import Record

ARRAYS = {"numbers": 1, "gradient": 1, "hessian": 2, "factors": 1, "thirds": 1, "rows": 2, "places": 1}
"""Of the record of a piece, and how many dimensions each has."""


@dataclass(frozen=True)
class PieceMap:
    """A function that computes, block by block, the record of a piece: sums, bounds, and ``entries`` kept rows."""

    blocks: Blocks
    check: Callable[[np.ndarray], None]
    packing: Packing
    frame: Frame | None

    @property
    def at(self) -> RowsAt:
        return self.packing.fill.at  # type: ignore[attr-defined]

    @property
    def remainders(self) -> Remainders:
        return self.packing.fill.remainders  # type: ignore[attr-defined]

    def __call__(self, given: Iterable[Rows], entries: int, seed: tuple[int, ...], names: list[str]) -> Record:
        rng, d = np.random.default_rng(seed), len(self.at.centre)
        of_rows = RowSums(np.ones(RUNGS + 1), 0.0, 0.0, np.zeros(d))
        energy, gradient, hessian = 0.0, np.zeros(d), np.zeros((d, d))
        kept, places = Places(entries, self.blocks), np.zeros(entries, np.int64)
        n_rows, weight, total, squares = 0, 0.0, 0.0, 0.0
        for rows in given:
            block = self._checked(rows)
            weights = weight_of(block, self.packing.temper)
            numbers = np.empty((self.packing.columns, len(block.y)))  # features and responses are not asked for
            more, said = expanded_block(self.remainders, numbers.T, block, self.frame, rng.standard_normal(d))
            energy, gradient, hessian = energy + more[0], gradient + more[1], hessian + more[2]
            of_rows = of_rows.joined(said)
            c = self.remainders.terms.columns(numbers.T, self.packing.y_column).bound
            of_block = float(np.sum(c))
            total, squares = total + of_block, squares + float(np.dot(c, c))
            if of_block > 0:
                here = rng.choice(entries, rng.binomial(entries, min(of_block / total, 1.0)), replace=False)
                chosen = by_cumulated(c, rng.random(len(here)))
                kept.put(here, _some(rows, block, chosen))
                places[here] = block.start + chosen
            n_rows, weight = n_rows + len(block.y), weight + float(weights.sum()) / self.packing.temper
        if not np.isfinite([energy, total]).all():
            raise NonFiniteEnergy("the sum of the energies or of the bounds of these rows is not finite.")
        none = np.empty((0, packed_rows(0, self.packing.columns).shape[1]))
        arrays = {
            "numbers": np.array([energy, of_rows.leverage, of_rows.longest, n_rows, weight, total, squares]),
            "gradient": gradient,
            "hessian": hessian,
            "factors": of_rows.factors,
            "thirds": of_rows.thirds @ self.at.inverse,
            "rows": self.packing.rows(kept.observed(None).rows()) if total > 0 else none,
            "places": places if total > 0 else places[:0],
        }
        return Record({"names": names}, arrays)

    def _checked(self, given: Rows) -> Rows:
        rows = self.blocks(given)
        try:
            self.check(rows.y)
        except ValueError as error:
            raise ValueError(f"in the block of rows from {rows.start} on, counted from there: {error}") from None
        if rows.weights is not None and (rows.weights < 0).any():
            row = int(np.argmax(rows.weights < 0))
            raise ValueError(f"weights must not be negative, but row {rows.start + row} has {rows.weights[row]:g}.")
        return rows


def _some(given: Rows, block: Rows, which: np.ndarray) -> Rows:
    """Some rows of a block, with the features as they were given."""
    beside = (block.weights, given.offset)
    weights, offset = (None if values is None else np.asarray(values, dtype=np.float64)[which] for values in beside)
    return Rows(0, rows_at(given.X, which), block.y[which], weights, offset)


def drawn_rows(
    blocks: Blocks, packing: Packing, given: Iterable[Rows], uniforms: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return more packed rows of a piece, drawn in the same way as the kept rows, and their places in the piece.

    The piece is read once.
    """
    packed = np.concatenate([packing.rows(blocks(rows)) for rows in given])
    chosen = by_cumulated(packed[:, ROW.places(width=packing.y_column).bound], uniforms)
    return packed[chosen], chosen
