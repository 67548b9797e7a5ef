"""Times to event as Poisson rows: every row is split where the hazard changes, and equal pieces are added up.

The hazard of row ``i`` at time ``t`` is ``e^{a_j + x_i.theta}`` in piece ``j``, ``cuts[j] < t <= cuts[j + 1]``. With
``e_ij`` the time that the row is at risk in the piece, and ``d_ij`` 1 if its event is there and 0 otherwise,

    log likelihood of row i = sum_j  d_ij (a_j + x_i.theta) - e_ij e^{a_j + x_i.theta},

which are the log likelihoods of Poisson counts ``d_ij`` with the offsets ``log e_ij``, up to constants (Holford 1980).
Of pieces with equal predictors (the same columns, offset and hazard) only the sums of ``w_i d_ij`` and of ``w_i e_ij``
count: the sum of their energies is that of one row with the sums in their place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ...rows.passes import over_blocks
from ...rows.source import Rows
from ..designs.split import SplitDesign
from .base import Sample
from .observed import InMemory

Result = TypeVar("Result")

_GAIN = 4  # pieces per distinct piece that are worth adding them up
_MOST_CELLS = 50_000_000  # combinations of patterns and pieces that are counted


class Spans(NamedTuple):
    """For every row: its first and last piece of time, the time when its observation begins, and its last time."""

    first: np.ndarray
    last: np.ndarray
    entry: np.ndarray
    stop: np.ndarray

    @classmethod
    def of(cls, entry: np.ndarray | None, stop: np.ndarray, inner: np.ndarray) -> Spans:
        """Return the spans of rows. ``inner`` are the cuts between pieces; a cut belongs to the piece before it."""
        begin = np.zeros(len(stop)) if entry is None else entry
        first = np.searchsorted(inner, begin, side="right") if entry is not None else np.zeros(len(stop), np.int64)
        return cls(first, np.searchsorted(inner, stop, side="left"), begin, stop)


class Pieces(NamedTuple):
    """Poisson rows: the user's row that each belongs to, its hazard, its time at risk and its number of events."""

    row: np.ndarray
    hazard: np.ndarray
    exposure: np.ndarray
    events: np.ndarray


class SplitRows(Sample):
    """The pieces of all rows as Poisson rows. Pieces are made when a block of them is read.

    ``inner`` are the cuts between pieces. With ``J`` cuts, the hazard of stratum ``s`` in piece ``j`` has the number
    ``s (J + 1) + j``. If ``pieces`` are passed, they are used, as for a sample.
    """

    def __init__(self, base: InMemory, inner: np.ndarray, strata: int = 1):
        self._settle(base=base, inner=inner, strata=strata, names=base.names)

    base: InMemory
    inner: np.ndarray
    strata: int

    @cached_property
    def spans(self) -> Spans:
        return Spans.of(self.base.entry, self.base.y, self.inner)

    @cached_property
    def pieces(self) -> Pieces:
        """Return the pieces of all rows. The pieces of one row follow each other."""
        spans = self.spans
        counts = spans.last - spans.first + 1
        row = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
        within = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        piece = spans.first[row] + within
        low = np.maximum(self._left[piece], spans.entry[row])
        high = np.minimum(self._right[piece], spans.stop[row])
        happened = self._happened
        events = np.where(piece == spans.last[row], happened[row], 0.0)
        hazard = piece if self.base.strata is None else piece + self._hazards * self.base.strata.codes[row]
        return Pieces(row, hazard.astype(np.int32), high - low, events)

    weights: np.ndarray | None = None
    """Factors of the pieces of a sample, beside the weights of the rows."""

    @property
    def _hazards(self) -> int:
        return len(self.inner) + 1

    @property
    def _left(self) -> np.ndarray:
        return np.concatenate([[0.0], self.inner])

    @property
    def _right(self) -> np.ndarray:
        return np.append(self.inner, np.inf)

    @property
    def _happened(self) -> np.ndarray:
        codes = self.base.censored
        return np.ones(self.base.n_rows) if codes is None else (codes == 0).astype(np.float64)

    @cached_property
    def n_rows(self) -> int:  # type: ignore[override]
        if "pieces" in self._facts:
            return len(self.pieces.row)
        return int((self.spans.last - self.spans.first + 1).sum())

    @cached_property
    def design(self) -> SplitDesign:  # type: ignore[override]
        found, size = self.pieces, self.strata * self._hazards
        places = self.base.design.dim + np.arange(size)
        return SplitDesign(self.base.design, found.row, found.hazard, np.log(found.exposure), places)

    @property
    def weighted(self) -> bool:  # type: ignore[override]
        return self.weights is not None or (not self.summed and self.base.weights is not None)

    summed: bool = False
    """Whether the weights of the rows are in the sums of events and of the times at risk."""

    @property
    def fingerprint(self) -> str:
        return self.base.fingerprint

    @property
    def origin(self) -> tuple[np.ndarray, int]:  # type: ignore[override]
        return self.pieces.row, self.base.n_rows

    def rows(self, which: Any = slice(None), start: int = 0) -> Rows:
        weights = None if self.weights is None else self.weights[which]
        if not self.summed and self.base.weights is not None:
            own = self.base.weights[self.pieces.row[which]]
            weights = own if weights is None else weights * own
        return Rows(start, self.design.block(which), self.pieces.events[which], weights)

    def map(self, function: Callable[[Rows], Result]) -> Iterator[Result]:
        _ = self.design  # before the threads that share it
        return over_blocks(lambda block: function(self.rows(block, block.start)), self.n_rows)

    def take(self, index: np.ndarray) -> SplitRows:
        found = Pieces(*(values[index] for values in self.pieces))
        weights = None if self.weights is None else self.weights[index]
        return self._with(pieces=found, design=self.design.take(index), weights=weights)

    def weighted_up(self, factor: float) -> SplitRows:
        weights = np.full(self.n_rows, factor) if self.weights is None else factor * self.weights
        return self._with(weights=weights)

    def on_columns(self, which: np.ndarray) -> SplitRows:
        return self._with(design=self.design.on_columns(which))

    def check(self, rows: Rows) -> None:
        """Check the blocks of the user's rows that these pieces come from."""
        if self.base.seal is not None and not self.summed:
            own = self.pieces.row[rows.start : rows.start + len(rows.y)]
            self.base.seal.check_around(int(own[0]), int(own[-1]))

    def check_some(self) -> None:
        self.base.check_some()

    # ----------------------------------------------------------------------------------------------- equal pieces

    def added_up(self, pattern: np.ndarray, first: np.ndarray) -> SplitRows | None:
        """Return the pieces with equal pieces added up, or None if this does not make them fewer.

        ``pattern`` has for each row the number of its combination of columns, and ``first`` the row where each
        combination first occurs. A row is under observation during the whole of every piece between its first and its
        last piece. So for these pieces it is enough to count rows.
        """
        J, spans = self._hazards, self.spans
        if len(first) * J > _MOST_CELLS:
            return None
        weights = np.ones(self.base.n_rows) if self.base.weights is None else self.base.weights
        cell, size = pattern * J, len(first) * J

        def total(at: np.ndarray, values: np.ndarray) -> np.ndarray:
            return np.bincount(at, values, minlength=size).reshape(-1, J)

        begins = np.maximum(self._left[spans.first], spans.entry)
        in_first = np.minimum(self._right[spans.first], spans.stop) - begins
        exposure = total(cell + spans.first, weights * in_first)
        later = spans.last > spans.first
        at_end = (spans.stop - self._left[spans.last])[later]
        exposure += total((cell + spans.last)[later], weights[later] * at_end)
        whole = later & (spans.last > spans.first + 1)
        after_first, at_last = (cell + spans.first + 1)[whole], (cell + spans.last)[whole]

        def inside(values: np.ndarray) -> np.ndarray:
            return np.cumsum(total(after_first, values) - total(at_last, values), axis=1)[:, :-1]

        some = inside(np.ones(len(after_first))) > 0  # sums of weights may leave a rounding where there is nothing
        exposure[:, :-1] += np.where(some, inside(weights[whole]), 0.0) * np.diff(self._left)
        events = total(cell + spans.last, weights * self._happened)
        there = np.flatnonzero(exposure.ravel() > 0)
        if _GAIN * len(there) > self.n_rows:
            return None
        row, piece = first[there // J], there % J
        hazard = piece if self.base.strata is None else piece + J * self.base.strata.codes[row]
        found = Pieces(row.astype(np.int32), hazard.astype(np.int32), exposure.ravel()[there], events.ravel()[there])
        return self._with(pieces=found, summed=True)


def events_per_time(base: InMemory) -> float:
    """Return the weighted number of events divided by the time at risk, which is multiplied by ``e^offset``."""
    none = np.zeros(base.design.dim)

    def terms(rows: Rows) -> tuple[float, float]:
        weights = np.ones(len(rows.y)) if rows.weights is None else rows.weights
        happened = weights if rows.censored is None else weights * (rows.censored == 0)
        spent = rows.y if rows.entry is None else rows.y - rows.entry
        return float(happened.sum()), float(weights @ (spent * np.exp(rows.X.matvec(none))))

    events, time = base.sums(terms)
    return events / time
