"""The rows of a regression from a source of blocks (`tunamh.data.source`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

from ..data.source import Rows, Source, watched_map
from ..data.tables import as_matrix, refuse_non_finite
from .designs import Design
from .designs.dense import DenseDesign
from .designs.shifted import ShiftedDesign
from .observations import InMemory, Observations

Result = TypeVar("Result")


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


def looked_through(found: FromSource, check: Callable[[np.ndarray], None]) -> FromSource:
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
