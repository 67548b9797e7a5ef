"""The rows of a regression, from arrays or a source: a map over blocks, samples in memory, some of the responses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ...rows.passes import added_up, over_blocks
from ...rows.seal import Seal
from ...rows.source import Rows
from ...tables.columns import Factor
from ..designs import Design
from ..designs.some_columns import SomeColumns, SomeDirections
from ..value import Value

Result = TypeVar("Result")

MOST_ROWS = 10_000
"""Whose responses results keep."""


class Observations(Value, ABC):
    """Rows of features, responses and, maybe, weights and offsets; ``design`` says how features are packed."""

    n_rows: int
    design: Design
    names: Sequence[str] | None
    weighted: bool

    memory: int | None = None
    """Bytes that may be held of the rows, packed; None: as many as they take."""

    in_process: bool = True
    """Whether functions of blocks run in this process and its threads, on rows that are in its memory."""

    most_at_once: int | None = None
    """Rows of a sample at most; None: as many as there are."""

    examined: bool = False
    """Whether weights and numbers were looked at before, piece by piece."""

    classes: Sequence[str] | None = None
    """The names of responses 0, 1, ..., where a user gave these by name."""

    factor_names: Sequence[str] = ()
    """The columns of categories, whose coefficients come behind those of the other columns."""

    others: tuple[Design, ...] = ()
    """Designs of further predictors."""

    described: tuple[str, ...] = ()
    """The parameters that further predictors describe."""

    other_names: tuple[Sequence[str] | None, ...] = ()
    """Of the columns of further predictors."""

    other_priors: tuple[Any, ...] = ()
    """Of their coefficients, where the family has none."""

    other_origins: tuple[np.ndarray | None, ...] = ()
    """What was subtracted from the columns of further predictors."""

    origin: tuple[np.ndarray, int] | None = None
    """Of which given row each row is a part, and how many were given: where one became two."""

    @property
    def has_censoring(self) -> bool:
        """Whether rows say if their response is known only to be larger or smaller."""
        return False

    @property
    def has_entry(self) -> bool:
        """Whether rows say when they come under observation."""
        return False

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """A short hash of the data: their shape and all numbers in them."""

    @abstractmethod
    def map(self, function: Callable[[Rows], Result]) -> Iterator[Result]:
        """``function`` of every block of rows, in their order; ``X`` of a block is one of the design's."""

    def sums(self, terms: Callable[[Rows], tuple]) -> list:
        """``terms`` of every block, added up in the order of the blocks."""
        return added_up(self.map(terms))

    @abstractmethod
    def take(self, index: np.ndarray) -> Sample:
        """The rows with these numbers, in this order."""

    def take_each(self, indices: list[np.ndarray]) -> Iterator[Sample]:
        """Several samples; where each would need a map, all of them in one."""
        return map(self.take, indices)

    @abstractmethod
    def on_columns(self, which: np.ndarray) -> Observations:
        """With some of the columns only, a mask."""

    @abstractmethod
    def check(self, rows: Rows) -> None:
        """Raise unless these rows are as they were when the target was made."""

    @abstractmethod
    def check_some(self) -> None:
        """The same for a few rows, spread over the data."""


class Sample(Observations):
    """Observations that are in memory as a whole."""

    @abstractmethod
    def rows(self) -> Rows:
        """All of them."""

    @abstractmethod
    def weighted_up(self, factor: float) -> Sample:
        """With all weights multiplied by ``factor``."""


@dataclass(frozen=True, eq=False)
class InMemory(Sample):
    """Arrays, which are not copied; the seal notices when they are changed. A sample has none."""

    design: Design
    y: np.ndarray
    weights: np.ndarray | None = None
    names: Sequence[str] | None = None
    seal: Seal | None = None
    censored: np.ndarray | None = None
    others: tuple[Design, ...] = ()
    other_names: tuple[Sequence[str] | None, ...] = ()
    described: tuple[str, ...] = ()
    other_priors: tuple[Any, ...] = ()
    other_origins: tuple[np.ndarray | None, ...] = ()
    classes: tuple[str, ...] | None = None
    digest: str = ""
    """Of the data that distinct rows were taken from."""
    origin: tuple[np.ndarray, int] | None = None
    counts: np.ndarray | None = None
    """The successes of every given row, where rows count trials."""
    entry: np.ndarray | None = None
    """The time when each row comes under observation, where some come late."""
    strata: Factor | None = None
    """The stratum of each row, where strata have parameters of their own."""

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        return len(self.y)

    @property
    def factor_names(self) -> Sequence[str]:  # type: ignore[override]
        return [name for name, levels in (self.design.factors or {}).items() if len(levels) > 1]

    @property
    def weighted(self) -> bool:  # type: ignore[override]
        return self.weights is not None

    @property
    def has_censoring(self) -> bool:
        return self.censored is not None

    @property
    def has_entry(self) -> bool:
        return self.entry is not None

    @property
    def fingerprint(self) -> str:
        return self.digest if self.seal is None else self.seal.digest

    def rows(self, which: Any = slice(None), start: int = 0) -> Rows:
        """The rows of a slice or of an array of row numbers."""
        beside = (self.weights, self.censored, self.entry)
        weights, censored, entry = (None if values is None else values[which] for values in beside)
        others = tuple(design.block(which) for design in self.others)
        return Rows(start, self.design.block(which), self.y[which], weights, None, censored, others, entry)

    def map(self, function: Callable[[Rows], Result]) -> Iterator[Result]:
        return over_blocks(lambda block: function(self.rows(block, block.start)), self.n_rows)

    def weighted_up(self, factor: float) -> InMemory:
        weights = np.full(self.n_rows, factor)
        return replace(self, weights=weights if self.weights is None else weights * self.weights)

    def take(self, index: np.ndarray) -> InMemory:
        beside = (self.weights, self.censored, self.entry)
        weights, censored, entry = (None if values is None else values[index] for values in beside)
        others = tuple(design.take(index) for design in self.others)
        found = InMemory(self.design.take(index), self.y[index], weights, self.names, None, censored, others)
        return replace(found, entry=entry, strata=None if self.strata is None else self.strata.take(index))

    def on_columns(self, which: np.ndarray) -> InMemory:
        return replace(self, design=self.design.on_columns(which))

    def check(self, rows: Rows) -> None:
        if self.seal is not None:
            self.seal.check_block(slice(rows.start, rows.start + len(rows.y)))

    def check_some(self) -> None:
        if self.seal is not None:
            self.seal.check_some()


class TransformedRows(Sample):
    """Rows of other observations, each block turned into one of another design by ``change``.

    ``along`` are the directions in which questions about single parameters look; None: their own.
    """

    def __init__(
        self, base: Observations, design: Any, change: Callable[[Rows], Rows], along: np.ndarray | None = None
    ):
        self._settle(base=base, design=design, change=change, along=along)
        self._settle(n_rows=base.n_rows, names=base.names, weighted=base.weighted)

    base: Observations
    change: Callable[[Rows], Rows]
    along: np.ndarray | None

    @property
    def fingerprint(self) -> str:
        return self.base.fingerprint

    @property
    def memory(self) -> int | None:  # type: ignore[override]
        return self.base.memory

    @property
    def in_process(self) -> bool:  # type: ignore[override]
        return self.base.in_process

    @property
    def most_at_once(self) -> int | None:  # type: ignore[override]
        return self.base.most_at_once

    def map(self, function: Callable[[Rows], Result]) -> Iterator[Result]:
        return self.base.map(partial(_changed, self.change, function))

    def rows(self) -> Rows:
        return self.change(self.base.rows())  # type: ignore[attr-defined]

    def take(self, index: np.ndarray) -> Sample:
        return TransformedRows(self.base.take(index), self.design, self.change, self.along)

    def take_each(self, indices: list[np.ndarray]) -> Iterator[Sample]:
        return (TransformedRows(taken, self.design, self.change, self.along) for taken in self.base.take_each(indices))

    def weighted_up(self, factor: float) -> Sample:
        return TransformedRows(self.base.weighted_up(factor), self.design, self.change, self.along)  # type: ignore[attr-defined]

    def on_columns(self, which: np.ndarray) -> Observations:
        """Of the other design's columns, which are more than those of the base where classes share them."""
        kind: Any = SomeColumns if self.along is None else partial(SomeDirections, self.along[:, which])
        chosen = partial(_on_columns, kind=kind, which=which)
        return TransformedRows(self.base, self.design, partial(_changed, self.change, chosen))

    def check(self, rows: Rows) -> None:
        self.base.check(rows)

    def check_some(self) -> None:
        self.base.check_some()


def _changed(change: Callable[[Rows], Rows], function: Callable[[Rows], Result], rows: Rows) -> Result:
    return function(change(rows))


def _on_columns(rows: Rows, kind: Any, which: np.ndarray) -> Rows:
    return rows._replace(X=kind(rows.X, which))


# ------------------------------------------------------------------------------------- responses that results keep


class SeenResponses(NamedTuple):
    """A subsample of the responses: their name, values and row numbers, how many rows there are in all.

    ``classes`` are the names of classes 0, 1, ... where these are given by name.
    """

    name: str
    values: np.ndarray
    rows: np.ndarray
    n_rows: int
    classes: tuple[str, ...] | None = None


def some_rows(n_rows: int) -> np.ndarray:
    """Numbers of random rows, always the same ones: all rows, or ten thousand of them."""
    if n_rows <= MOST_ROWS:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, MOST_ROWS, replace=False))


def seen_responses(given: Observations, formula: Any, places: np.ndarray | None, family: Any) -> SeenResponses | None:
    """Of rows in memory; None of others, which a pass would have to read.

    ``places`` are the row numbers of `some_rows` in the user's table, where these differ.
    """
    if not isinstance(given, InMemory):
        return None
    y = given.y if given.counts is None else given.counts
    which = some_rows(len(y))
    name = "y" if formula is None else str(formula.response.node)
    values = y[which].astype(np.int64) if family.of_classes else np.array(y[which])
    return SeenResponses(name, values, which if places is None else places, len(y), given.classes)
