"""The other rows of the small groups that looked-at rows are in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..formula.syntax import columns_in
from ..formula.variables import joined_variables
from ..tables.columns import Factor
from ..tables.frames import Frame
from .fitted import Fitted, Groups
from .subsample import complete_blocks

MOST_ROWS = 10
"""Rows of a group whose effect is integrated out. In larger groups a row has little influence on the effect, and the
integrals would take longer than all else."""


class Sample(NamedTuple):
    """The rows that `loo` computes exactly, and where they are.

    ``places`` are the positions of these rows among the complete rows (rows without missing values), ``n_rows`` is the
    number of complete rows, and ``data`` are all rows.
    """

    frame: Frame
    places: np.ndarray
    n_rows: int
    data: Any
    names: list[str]

    def all_rows(self) -> Iterator[tuple[Frame, np.ndarray]]:
        """Return all complete rows with their positions. If the sample is all rows, the data are not read again."""
        if len(self.places) == self.n_rows:
            yield self.frame, self.places
            return
        first = 0
        for block in complete_blocks(self.data, self.names):
            yield block.frame, first + np.arange(block.frame.n_rows)
            first += block.frame.n_rows


class GroupRows(NamedTuple):
    """All rows of some groups of a factor, small groups first, with the rows that `loo` computes exactly.

    If groups have several effects, the rows of a group are repeated for each row that is computed, and ``codes`` says
    for which one a copy is there.
    """

    group: Groups
    frame: Frame
    codes: np.ndarray  # 0, 1, ... of the groups
    sampled: np.ndarray  # each row's number in the sample; -1 of rows that are not looked at


def can_be_integrated(fitted: Fitted, group: Groups) -> bool:
    """Return True if the effects of a factor can be integrated out group by group.

    They must be independent between groups and in the main predictor, and this must be a single linear predictor: not
    one for each class, and not those of `tunamh.nonlinear`.
    """
    own = not group.related and group.effects is not None
    main = group.predictor is None and group.parameter is None
    return own and main and not fitted.per_class and not fitted.named_predictors


def group_rows(fitted: Fitted, sample: Sample) -> list[GroupRows]:
    """Return the small groups of the sampled rows, for every factor.

    A row counts only in the smallest of its groups, and only if this group has at most `MOST_ROWS` rows.
    """
    found = [_Collected(fitted, one, sample) for one in fitted.groups if can_be_integrated(fitted, one)]
    if not found:
        return []
    for frame, places in sample.all_rows():
        for one in found:
            one.offer(frame, places)
    sizes = np.stack([one.counts[one.own] for one in found])
    smallest = np.where(sizes.min(axis=0) <= MOST_ROWS, sizes.argmin(axis=0), -1)
    each = [one.rows(np.flatnonzero(smallest == k), sample.places) for k, one in enumerate(found)]
    return [one for one in each if one is not None]


class _Collected:
    """The rows of those groups of a factor that the sample has rows of, as long as they are small."""

    def __init__(self, fitted: Fitted, group: Groups, sample: Sample):
        assert fitted.formula is not None
        self.formula, self.side, self.group = fitted.formula, fitted.formula.groups[group.given], group
        labels = self._labels(sample.frame).packed()
        self.levels, self.own = labels.levels, labels.codes
        self.counts = np.zeros(len(self.levels), dtype=np.int64)
        self._pieces: list[tuple[Frame, np.ndarray, np.ndarray]] = []

    def _labels(self, frame: Frame) -> Factor:
        names = list(dict.fromkeys(name for atom in self.side.by for name in columns_in(atom)))
        return self.side.labels(self.formula.values(frame, names))

    def offer(self, frame: Frame, places: np.ndarray) -> None:
        codes = self._labels(frame).recoded(self.levels)
        self.counts += np.bincount(codes[codes >= 0], minlength=len(self.levels))
        kept = np.flatnonzero((codes >= 0) & (self.counts[codes] <= MOST_ROWS))
        if len(kept):
            self._pieces.append((frame.take(kept), codes[kept], places[kept]))

    def rows(self, wanted: np.ndarray, places: np.ndarray) -> GroupRows | None:
        """Return all rows of the groups of some rows of the sample.

        ``places`` are the positions of the sampled rows.
        """
        if len(wanted) == 0:
            return None
        codes = np.concatenate([piece[1] for piece in self._pieces])
        at = np.concatenate([piece[2] for piece in self._pieces])
        frame = joined_variables([dict(piece[0].columns) for piece in self._pieces], len(codes))
        kept = np.flatnonzero(np.isin(codes, self.own[wanted]))
        kept = kept[np.lexsort((codes[kept], self.counts[codes[kept]]))]
        number = dict(zip(places[wanted].tolist(), wanted.tolist(), strict=True))
        sampled = np.array([number.get(place, -1) for place in at[kept].tolist()])
        numbers = np.cumsum(np.diff(codes[kept], prepend=codes[kept[0]]) != 0)
        if len(self.group.columns) > 1:
            again, numbers, sampled = _for_each(numbers, sampled)
            kept = kept[again]
        return GroupRows(self.group, frame.take(kept), numbers, sampled)


def _for_each(codes: np.ndarray, sampled: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rows of every looked-at row's group: places, the number of the row they are there for, itself marked."""
    looked = np.flatnonzero(sampled >= 0)
    first, last = np.searchsorted(codes, codes[looked], "left"), np.searchsorted(codes, codes[looked], "right")
    places = np.concatenate([np.arange(a, b) for a, b in zip(first, last, strict=True)])
    numbers = np.repeat(np.arange(len(looked)), last - first)
    return places, numbers, np.where(places == looked[numbers], sampled[places], -1)
