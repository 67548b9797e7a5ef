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
from ..errors import BoundViolation, NonFiniteEnergy
from ..rows.packing import ROW, Packing, packed_rows, weight_of
from ..rows.servings import by_cumulated
from ..rows.source import Rows
from ..targets.expansion.bounds import second_order
from ..targets.expansion.kept import RowsAt
from ..targets.expansion.one_predictor import RowSums
from ..targets.layouts import RUNGS
from .records import Record

ARRAYS = {"numbers": 1, "gradient": 1, "hessian": 2, "factors": 1, "thirds": 1, "rows": 2, "places": 1}
"""Of the record of a piece, and how many dimensions each has."""

_ROUNDING = 1e-9


@dataclass(frozen=True)
class PieceMap:
    """Of the rows of a piece, block by block, the record that is kept of it; ``entries`` rows are kept."""

    blocks: Callable[[Rows], Rows]
    check: Callable[[np.ndarray], None]
    packing: Packing
    frame: Frame | None

    @property
    def at(self) -> RowsAt:
        return self.packing.fill.at  # type: ignore[attr-defined]

    def __call__(self, given: Iterable[Rows], entries: int, seed: tuple[int, ...], names: list[str]) -> Record:
        rng = np.random.default_rng(seed)
        d, width = len(self.at.centre), packed_rows(0, self.packing.columns).shape[1]
        of_rows = RowSums(np.ones(RUNGS + 1), 0.0, 0.0, np.zeros(d))
        energy, gradient, hessian = 0.0, np.zeros(d), np.zeros((d, d))
        kept, places = np.zeros((entries, width)), np.zeros(entries, np.int64)
        n_rows, weight, total, squares = 0, 0.0, 0.0, 0.0
        column = ROW.places(width=self.packing.y_column).bound
        for block in map(self._checked, given):
            weights = weight_of(block, self.packing.temper)
            more = self.packing.fill.terms.expansion(block.X, self.at.centre, block.y, weights, self.frame)  # type: ignore[attr-defined]
            energy, gradient, hessian = energy + more[0], gradient + more[1], hessian + more[2]
            _, packed, said = self.packing.made(block)
            of_rows, c = of_rows.joined(said), packed[:, column]
            self._audit(block, packed, c, rng)
            of_block = float(np.sum(c))
            total, squares = total + of_block, squares + float(np.dot(c, c))
            if of_block > 0:
                here = rng.choice(entries, rng.binomial(entries, min(of_block / total, 1.0)), replace=False)
                chosen = by_cumulated(c, rng.random(len(here)))
                kept[here], places[here] = packed[chosen], block.start + chosen
            n_rows, weight = n_rows + len(block.y), weight + float(weights.sum()) / self.packing.temper
        if not np.isfinite([energy, total]).all():
            raise NonFiniteEnergy("the sum of the energies or of the bounds of these rows is not finite.")
        arrays = {
            "numbers": np.array([energy, of_rows.leverage, of_rows.longest, n_rows, weight, total, squares]),
            "gradient": gradient,
            "hessian": hessian,
            "factors": of_rows.factors,
            "thirds": of_rows.thirds @ self.at.inverse,
            "rows": kept if total > 0 else kept[:0],
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

    def _audit(self, block: Rows, packed: np.ndarray, c: np.ndarray, rng: np.random.Generator) -> None:
        """Hold every row against its bound at two draws from the Gaussian, within the first radius."""
        at, terms = self.at, self.packing.fill.terms  # type: ignore[attr-defined]
        z = rng.standard_normal((2, len(at.centre)))
        z *= np.minimum(1.0, at.ladder.radii[0] / np.maximum(np.linalg.norm(z, axis=1), 1e-300))[:, None]
        columns = terms.columns(packed, self.packing.y_column)
        weights, (before, after) = weight_of(block, self.packing.temper), block.X.matvecs(at.centre + z @ at.factor.T)
        energies = [terms.energies(eta, block.y) for eta in (before, after)]
        rise = energies[1] - energies[0] - (after - before) * columns.slope
        rise -= 0.5 * (after - before) * (after + before - 2 * columns.eta) * columns.curvature
        if not np.isfinite(rise).all():
            row = block.start + int(np.argmax(~np.isfinite(rise)))
            raise NonFiniteEnergy(f"row {row} has an energy near the centre that is not finite.", row=row)
        p, w = z[1] - z[0], z[1] + z[0]
        bound = c * second_order(float(p @ p), float(w @ w), float(p @ w))
        away = np.abs(before - columns.eta) + np.abs(after - columns.eta)
        size = np.abs(energies[0]) + np.abs(energies[1]) + 1.0 + away * (np.abs(columns.slope) + 1.0)
        size += (1.0 + np.abs(columns.eta)) * away * np.abs(columns.curvature)
        wrong = weights * np.abs(rise) > bound + _ROUNDING * weights * size
        if wrong.any():
            k = int(np.argmax(wrong))
            found, allowed = float(weights[k] * rise[k]), float(bound[k])
            raise BoundViolation(
                block.start + k, abs(found) / max(allowed, 1e-300), rise=found, bound=allowed, own_bounds=False
            )


def drawn_rows(
    blocks: Callable[[Rows], Rows], packing: Packing, given: Iterable[Rows], uniforms: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """More rows of a piece by the same law, packed, and their places in it: one reading."""
    packed = np.concatenate([packing.rows(blocks(rows)) for rows in given])
    chosen = by_cumulated(packed[:, ROW.places(width=packing.y_column).bound], uniforms)
    return packed[chosen], chosen
