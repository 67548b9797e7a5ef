"""The rows of a regression, from arrays or from a source: a map over blocks, and samples in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from .._arguments import shown
from ..data.passes import added_up, over_blocks
from ..data.seal import Seal
from ..data.source import Rows, Source, watched_map
from ..data.tables import aligned, as_matrix, as_vector, refuse_non_finite
from .designs import Design, as_design
from .designs.dense import DenseDesign
from .designs.shifted import ShiftedDesign

Result = TypeVar("Result")

_MOST_WEIGHT = 1e20  # with more, a posterior is narrower than the rounding of its parameters


class Observations(ABC):
    """Rows of features, responses and, maybe, weights and offsets; ``design`` says how features are packed."""

    n_rows: int
    design: Design
    names: Sequence[str] | None
    weighted: bool

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


@dataclass
class InMemory(Sample):
    """Arrays, which are not copied; the seal notices when they are changed. A sample has none."""

    design: Design
    y: np.ndarray
    weights: np.ndarray | None = None
    names: Sequence[str] | None = None
    seal: Seal | None = None

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        return len(self.y)

    @property
    def weighted(self) -> bool:  # type: ignore[override]
        return self.weights is not None

    @property
    def fingerprint(self) -> str:
        return "" if self.seal is None else self.seal.digest

    def rows(self, which: Any = slice(None), start: int = 0) -> Rows:
        """The rows of a slice or of an array of row numbers."""
        weights = None if self.weights is None else self.weights[which]
        return Rows(start, self.design.block(which), self.y[which], weights)

    def map(self, function: Callable[[Rows], Result]) -> Iterator[Result]:
        return over_blocks(lambda block: function(self.rows(block, block.start)), self.n_rows)

    def weighted_up(self, factor: float) -> InMemory:
        weights = np.full(self.n_rows, factor)
        return replace(self, weights=weights if self.weights is None else weights * self.weights)

    def take(self, index: np.ndarray) -> InMemory:
        weights = None if self.weights is None else self.weights[index]
        return InMemory(self.design.take(index), self.y[index], weights, self.names)

    def on_columns(self, which: np.ndarray) -> InMemory:
        return replace(self, design=self.design.on_columns(which))

    def check(self, rows: Rows) -> None:
        if self.seal is not None:
            self.seal.check_block(slice(rows.start, rows.start + len(rows.y)))

    def check_some(self) -> None:
        if self.seal is not None:
            self.seal.check_some()


class Arranged(Sample):
    """Rows of other observations, each block turned into one of another design by ``change``."""

    def __init__(self, base: Observations, design: Any, change: Callable[[Rows], Rows]):
        self.base, self.design, self.change = base, design, change
        self.n_rows, self.names, self.weighted = base.n_rows, base.names, base.weighted

    @property
    def fingerprint(self) -> str:
        return self.base.fingerprint

    def map(self, function: Callable[[Rows], Result]) -> Iterator[Result]:
        return self.base.map(lambda rows: function(self.change(rows)))

    def rows(self) -> Rows:
        return self.change(self.base.rows())  # type: ignore[attr-defined]

    def take(self, index: np.ndarray) -> Sample:
        return Arranged(self.base.take(index), self.design, self.change)

    def weighted_up(self, factor: float) -> Sample:
        return Arranged(self.base.weighted_up(factor), self.design, self.change)  # type: ignore[attr-defined]

    def on_columns(self, which: np.ndarray) -> Observations:
        """Of the other design's columns, which are more than those of the base where classes share them."""
        return Arranged(self.base, self.design, lambda rows: _on_columns(self.change(rows), which))

    def check(self, rows: Rows) -> None:
        self.base.check(rows)

    def check_some(self) -> None:
        self.base.check_some()


class _SomeColumns:
    """A block of several predictors of which some parameters stay at zero: what questions about a design ask."""

    def __init__(self, block: Any, which: np.ndarray):
        self.block, self.which = block, which

    def _whole(self, part: np.ndarray) -> np.ndarray:
        whole = np.zeros((len(self.which), *part.shape[1:]))
        whole[self.which] = part
        return whole

    def dense(self) -> np.ndarray:
        return self.block.dense()[..., self.which]

    def times(self, matrix: np.ndarray) -> np.ndarray:
        return self.block.times(self._whole(matrix))

    def reach(self, vector: np.ndarray) -> np.ndarray:
        return self.block.reach(self._whole(vector))

    def squares(self, kept: np.ndarray | None = None) -> np.ndarray:
        return self.block.squares(kept)[self.which]


def _on_columns(rows: Rows, which: np.ndarray) -> Rows:
    return rows._replace(X=_SomeColumns(rows.X, which))


class FromSource(Observations):
    """Rows that a source gives block by block; their columns are dense. One map looks at all of them first."""

    def __init__(self, source: Source, which: np.ndarray | None = None):
        self.source, self._which = source, which
        self.n_rows = source.n_rows
        shape, self.weighted, self._shifted = _first_block(source)
        if len(shape) != 2:
            raise ValueError(f"X of a block must have two dimensions (rows, columns), got shape {shape}.")
        columns = shape[1]
        self._columns = columns if which is None else int(which.sum())
        self.design = self._design(np.empty((0, self._columns)), np.empty(0))
        names = None if source.names is None else [str(name) for name in source.names]
        if names is not None and len(names) != columns:
            raise ValueError(f"the source names {len(names)} columns, but its rows have {columns}.")
        self.names = names

    @property
    def fingerprint(self) -> str:
        return self.source.fingerprint

    def map(self, function: Callable[[Rows], Result]) -> Iterator[Result]:
        return watched_map(self.source, lambda rows: function(self._block(rows)))

    def _design(self, X: np.ndarray, offset: Any) -> Design:
        design = DenseDesign(X)
        return ShiftedDesign(design, np.asarray(offset, dtype=np.float64)) if self._shifted else design

    def _block(self, rows: Rows) -> Rows:
        X, y = np.ascontiguousarray(rows.X, dtype=np.float64), np.ascontiguousarray(rows.y, dtype=np.float64)
        all_columns = self._columns if self._which is None else len(self._which)
        if y.ndim != 1 or X.shape != (len(y), all_columns):
            raise ValueError(
                f"rows from {rows.start} on have X of shape {X.shape} and y of shape {y.shape}: the same rows in both "
                f"and {all_columns} columns, as in the first block, expected."
            )
        X = X if self._which is None else np.ascontiguousarray(X[:, self._which])
        weights = _beside(rows, "weights", rows.weights, self.weighted)
        offset = _beside(rows, "offset", rows.offset, self._shifted)
        return Rows(rows.start, self._design(X, offset).block(slice(None)), y, weights, offset)

    def check(self, rows: Rows) -> None:
        """Of a source nothing but its fingerprint is known."""

    def check_some(self) -> None:
        """Of a source nothing but its fingerprint is known."""

    def take(self, index: np.ndarray) -> InMemory:
        """One map in which every block gives those of its rows that are asked for."""

        def chosen(rows: Rows) -> tuple[np.ndarray, ...]:
            here = np.flatnonzero((index >= rows.start) & (index < rows.start + len(rows.y)))
            inside = index[here] - rows.start
            ones = np.ones(len(rows.y))
            others = (ones if values is None else values for values in (rows.weights, rows.offset))
            return here, rows.X.dense()[inside], rows.y[inside], *(values[inside] for values in others)

        found = zip(*self.map(chosen), strict=True)
        places, X, y, weights, offset = (np.concatenate(parts) for parts in found)
        order = np.argsort(places)
        design = self._design(X[order], offset[order])
        return InMemory(design, y[order], weights[order] if self.weighted else None, self.names)

    def on_columns(self, which: np.ndarray) -> FromSource:
        kept = which if self._which is None else self._which.copy()
        if self._which is not None:
            kept[self._which] = which
        return FromSource(self.source, kept)


def _first_block(source: Source) -> tuple[tuple[int, ...], bool, bool]:
    """The shape of its features, and whether it has weights and offsets."""
    for found in source.map(lambda rows: (np.shape(rows.X), rows.weights is not None, rows.offset is not None)):
        return found
    raise ValueError("the source has no blocks: its map gave nothing.")


def _beside(rows: Rows, what: str, values: Any, wanted: bool) -> np.ndarray | None:
    """Numbers of a source's rows that all of its blocks have or none."""
    if (values is not None) != wanted:
        raise ValueError(
            f"rows from {rows.start} on have {'no ' * wanted}{what}, unlike the first block: all blocks must, or none."
        )
    if values is None:
        return None
    array = np.ascontiguousarray(values, dtype=np.float64)
    if array.shape != (len(rows.y),):
        raise ValueError(f"rows from {rows.start} on are {len(rows.y)}, but their {what} have shape {array.shape}.")
    return array


def observe(X: Any, y: Any, weights: Any, offset: Any, check: Callable[[np.ndarray], None]) -> Observations:
    """Whatever a user gives as ``X, y``; ``check`` is the family's, of responses."""
    if isinstance(X, Source):
        for name, given in (("y", y), ("weights", weights), ("offset", offset)):
            if given is not None:
                raise TypeError(f"a source gives its own {name}: leave {name}= out, got {shown(given)}.")
        return _looked_through(FromSource(X), check)
    if y is None:
        raise TypeError("y is missing: give the responses, one per row of X, or a source that has them.")
    y, weights, offset = aligned(X, "X", y=y, weights=weights, offset=offset)
    design, names = as_design(X)
    n_rows = design.n_rows
    y = as_vector(y, "y", n_rows)
    check(y)
    weights = None if weights is None else as_vector(weights, "weights", n_rows)
    if offset is not None:
        design = ShiftedDesign(design, as_vector(offset, "offset", n_rows))
    seal = Seal({**design.arrays(), "y": y, **({} if weights is None else {"weights": weights})}, names)
    return InMemory(design, y, weights, names, seal)


def _looked_through(found: FromSource, check: Callable[[np.ndarray], None]) -> FromSource:
    """Raise for numbers that are no use, wherever they are, before anything rests on them."""

    names = None if found.names is None else list(found.names)

    def look(rows: Rows) -> tuple[int, int]:
        if len(rows.y) == 0:
            raise ValueError(f"a block of the source, at row {rows.start}, is empty: leave such blocks out.")
        refuse_non_finite(as_matrix(rows.X.dense(), "X"), "X", rows.start, names)
        for what, values in (("y", rows.y), ("weights", rows.weights), ("offset", rows.offset)):
            if values is not None:
                refuse_non_finite(values, what, rows.start)
        try:
            check(rows.y)
        except ValueError as error:
            raise ValueError(f"in the block of rows from {rows.start} on, counted from there: {error}") from None
        return rows.start, len(rows.y)

    counted = 0
    for start, n_rows in found.map(look):
        if start != counted:
            raise ValueError(f"a block of the source says it starts at row {start}, but {counted} rows came before it.")
        counted += n_rows
    if counted != found.n_rows:
        raise ValueError(f"the source says it has {found.n_rows} rows, its blocks have {counted} together.")
    return found


def check_weights(observations: Observations, temper: float) -> None:
    """Raise for weights that are negative, all zero, or too large to compute with."""

    def look(rows: Rows) -> tuple[float, bool]:
        weights = rows.weights
        assert weights is not None
        if (weights < 0).any():
            row = int(np.argmax(weights < 0))
            raise ValueError(f"weights must not be negative, but row {rows.start + row} has {weights[row]:g}.")
        return float(weights.sum()), bool(weights.any())

    total, some = observations.sums(look)
    if temper * total > _MOST_WEIGHT:
        raise ValueError(f"weights add up to {total:g}, too much to compute with: 1 is the weight of one row.")
    if not some:
        raise ValueError("weights are all zero, so that no row counts: at least one must be positive.")
