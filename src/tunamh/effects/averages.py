"""A question asked of rows: row by row, or averaged. Rows are read in blocks, and computed a part at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import NotApplicable
from ..tables.frames import Frame
from .outcomes import Outcomes
from .rows import AskedRows, Key
from .settings import Setting, changed

Values = list[np.ndarray]
_MOST_NUMBERS = 50_000_000  # of draws times lines


@dataclass(frozen=True)
class Question:
    """A question about rows: for every point of a grid, the settings to compute and what is computed from their values.

    ``of_rows(values, rows)`` computes measures of each row from the values (draws, rows, outcomes) at the settings.
    ``of_averages`` computes the lines of the table from the averages of the measures, or from the measures themselves
    if rows are not averaged. ``labels`` are the names of the lines. The lines of the first point come first.
    """

    settings: Sequence[Setting]
    labels: Sequence[dict[str, Any]]
    of_rows: Callable[[Values, Frame], Values] = lambda values, rows: values
    of_averages: Callable[[Values], Values] = lambda values: values
    points: Sequence[Setting] = ({},)
    n_measures: int | None = None
    """Of a point; None: one for each setting."""
    linear: bool = True
    """Whether every measure is a sum of values at the settings, with factors that depend on the row only."""

    def measures(self, outcomes: Outcomes, rows: Frame) -> Values:
        """Return the measures of the rows at all points, point after point."""
        found: Values = []
        for point in self.points:
            here = changed(rows, point)
            found += self.of_rows([outcomes.values(changed(here, one)) for one in self.settings], here)
        return found

    def lines(self, measures: Values) -> Values:
        """Return the lines of the table, computed from the measures at all points."""
        each = len(measures) // len(self.points)
        starts = range(0, len(measures), each)
        return [line for at in starts for line in self.of_averages(measures[at : at + each])]

    @property
    def measures_of_a_point(self) -> int:
        return len(self.settings) if self.n_measures is None else self.n_measures

    @property
    def n_lines(self) -> int:
        return len(self.points) * len(self.labels)

    def rows_at_once(self, outcomes: Outcomes) -> int:
        return max(1, outcomes.rows_at_once // max(1, len(self.settings) * len(self.points)))


def each_row(question: Question, outcomes: Outcomes, rows: Frame) -> Values:
    """Return the lines for single rows, without averages: arrays (draws, rows, outcomes)."""
    refuse_too_many(rows.n_rows * question.n_lines * outcomes.size, len(outcomes.fitted.picked))
    size = question.rows_at_once(outcomes)
    parts = [
        question.lines(question.measures(outcomes, rows.take(slice(first, first + size))))
        for first in range(0, rows.n_rows, size)
    ]
    return [np.concatenate(own, axis=1) for own in zip(*parts, strict=True)]


def refuse_too_many(lines: int, draws: int) -> None:
    if lines * draws > _MOST_NUMBERS:
        raise NotApplicable(
            f"the answer would have {lines:,} lines of {draws:,} draws, more than the limit of {_MOST_NUMBERS:,} "
            "numbers: average the rows (average_by=True), pass fewer rows, or set fewer draws=. tunamh.predict "
            "summarises any number of rows."
        )


class Averages:
    """Weighted sums of measures for each key (each average), arrays (draws, outcomes), and the sums of the weights."""

    def __init__(self, draws: int, outcomes: int):
        self.shape = draws, outcomes
        self.place: dict[Key, int] = {}
        self.weights = np.zeros(0)
        self.sums: list[np.ndarray] = []

    def places(self, keys: list[Key]) -> np.ndarray:
        """Return the position of each key in the sums. Keys that are not known yet are added."""
        for key in keys:
            self.place.setdefault(key, len(self.place))
        more = len(self.place) - len(self.weights)
        if more:
            self.weights = np.concatenate([self.weights, np.zeros(more)])
            self.sums = [np.concatenate([own, np.zeros((more, *self.shape))]) for own in self.sums]
        return np.array([self.place[key] for key in keys])

    def add(self, measures: Values, weights: np.ndarray, codes: np.ndarray) -> None:
        from scipy.sparse import csr_array

        if not self.sums:
            self.sums = [np.zeros((len(self.place), *self.shape)) for _ in measures]
        n = len(codes)
        self.weights += np.bincount(codes, weights, minlength=len(self.place))
        used, local = np.unique(codes, return_inverse=True)
        spread = csr_array((weights, (local, np.arange(n))), shape=(len(used), n))
        for own, values in zip(self.sums, measures, strict=True):
            flat = values.transpose(1, 0, 2).reshape(n, -1)
            own[used] += (spread @ flat).reshape(len(used), *self.shape)

    def means(self) -> Values:
        """Return the averages, one array (draws, keys, outcomes) for each measure."""
        refuse_no_weight(self.weights)
        return [(own / self.weights[:, None, None]).transpose(1, 0, 2) for own in self.sums]


def refuse_no_weight(weights: np.ndarray) -> None:
    if not (weights > 0).all():
        raise ValueError(
            "the weights of all rows of an average are zero: leave out these rows, or give them positive weights."
        )


def averaged(question: Question, outcomes: Outcomes, rows: AskedRows) -> tuple[Values, list[Key]]:
    """Return the lines (draws, keys, outcomes) and the keys, computed from every row at every draw."""
    found = Averages(len(outcomes.fitted.picked), outcomes.size)
    size = question.rows_at_once(outcomes)
    for block, part in rows.parts(size):
        places = found.places(block.keys)
        refuse_too_many(len(found.place) * question.n_lines * outcomes.size, found.shape[0])
        found.add(question.measures(outcomes, part.rows), part.weights, places[part.codes])
    return question.lines(found.means()), list(found.place)
