"""The rows of a regression from a source of blocks (`tunamh.rows.source`)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ...errors import SourceError
from ...rows.digest import digest_of
from ...rows.source import Factored, Rows, Source, WithMemory, real_numbers, refuse_outside, rows_at, watched_map
from ...rows.table_source import RowsOfTables
from ...tables.libraries import is_sparse
from ...tables.matrices import as_matrix, refuse_non_finite
from ..designs import Block, Design
from ..designs.dense import DenseDesign
from ..designs.indexed import IndexedDesign
from ..designs.with_offset import DesignWithOffset
from .base import Observations
from .observed import InMemory
from .samples import rows_for_columns, rows_for_search

Result = TypeVar("Result")

_BYTES_OF_A_SAMPLE = 1 << 27  # whatever the memory that a source allows: draws must not depend on it


class Blocks(NamedTuple):
    """Makes rows of a design from the rows of a source. The object is sent to other processes with a function.

    A row has ``columns`` numbers, in single precision if ``single`` is set, and ``factors`` positions of levels. The
    design has ``dim`` parameters. ``which`` is a mask for a question that leaves some of them out.
    """

    columns: int
    single: bool
    factors: int
    dim: int
    weighted: bool
    shifted: bool
    censored: bool
    which: np.ndarray | None = None
    valued: bool = False

    @classmethod
    def like(cls, rows: Rows) -> Blocks:
        X = rows.X
        if is_sparse(X):
            raise TypeError("X of a block is a sparse matrix: give an array, or tunamh.extend.Factored with values.")
        beside = rows.weights is not None, rows.offset is not None, rows.censored is not None
        if isinstance(X, Factored):
            found = cls(np.shape(X.numbers)[1], False, np.shape(X.positions)[1], int(X.dim), *beside)
            return found._replace(valued=X.values is not None)
        if len(np.shape(X)) != 2:
            raise ValueError(f"X of a block must have two dimensions (rows, columns), got shape {np.shape(X)}.")
        columns = np.shape(X)[1]
        return cls(columns, np.asarray(X).dtype == np.float32, 0, columns, *beside)

    def empty(self) -> Design:
        """Return the design without rows."""
        numbers = np.empty((0, self.columns), np.float32 if self.single else np.float64)
        values = np.empty((0, self.factors)) if self.valued else None
        return self._design(numbers, np.empty((0, self.factors), np.int32), np.empty(0), values)

    def design(self, X: Any, offset: Any, start: int, n: int) -> Design:
        """Return the design of the features of a block.

        Raise an error if the features have another form than those of the first block.
        """
        numbers, positions = (X.numbers, X.positions) if isinstance(X, Factored) else (X, np.empty((n, 0), np.int32))
        numbers = real_numbers(numbers, "X", start)
        if self.single and numbers.dtype.kind == "f" and numbers.dtype.itemsize > 4:
            raise ValueError(
                f"X of rows from {start} on is in double precision, unlike the first block: give all the same."
            )
        numbers = np.asarray(numbers, dtype=np.float32 if self.single else np.float64)
        if numbers.shape != (n, self.columns) or np.shape(positions) != (n, self.factors):
            raise ValueError(
                f"rows from {start} on have X of shape {numbers.shape} and y of shape {(n,)}: the same rows in both "
                f"and {self.columns} columns, as in the first block, expected."
            )
        if self.factors:
            refuse_outside(X, self.dim, start)
        values = X.values if isinstance(X, Factored) and self.factors else None
        if (values is not None) != self.valued or (values is not None and np.shape(values) != np.shape(positions)):
            raise ValueError(f"rows from {start} on have values of levels of another shape than the first block's.")
        values = None if values is None else real_numbers(values, "values of levels", start)
        return self._design(numbers, positions, offset, values)

    def _design(self, numbers: np.ndarray, positions: np.ndarray, offset: Any, values: Any = None) -> Design:
        design: Design = IndexedDesign(numbers, positions, values, self.dim) if self.factors else DenseDesign(numbers)
        if self.which is not None:
            design = design.on_columns(self.which)
        return DesignWithOffset(design, np.asarray(offset, dtype=np.float64)) if self.shifted else design

    def __call__(self, rows: Rows) -> Rows:
        given = real_numbers(rows.y, "y", rows.start)
        y = np.require(given, np.float64, ["C", "W"])  # compiled code is made for arrays that may be written to
        if y.ndim != 1:
            raise ValueError(f"rows from {rows.start} on have y of shape {y.shape}: one number for each row expected.")
        weights = _beside(rows, "weights", rows.weights, self.weighted)
        offset = _beside(rows, "offset", rows.offset, self.shifted)
        censored = _beside(rows, "censored", rows.censored, self.censored)
        block: Block = self.design(rows.X, offset, rows.start, len(y)).block(slice(None))
        return Rows(rows.start, block, y, weights, offset, censored)


def _of_block(blocks: Blocks, function: Callable[[Rows], Result], rows: Rows) -> Result:
    return function(blocks(rows))


def _digested(function: Callable[[Rows], Result], rows: Rows) -> tuple[int, int, Result]:
    """With the number of the block's first row, and a digest of what is in it, once that is seen to be numbers."""
    result = function(rows)
    X = (rows.X.numbers, rows.X.positions, rows.X.values) if isinstance(rows.X, Factored) else (rows.X,)
    digest = digest_of([*X, rows.y, rows.weights, rows.offset, rows.censored])
    return rows.start, digest, result


class FromSource(Observations):
    """Rows that a source returns block by block. One pass reads all of them first (`validated`).

    This pass stores a hash of every block, and every later pass compares the hashes. So tunamh notices if the data
    change during a run, even if the source does not.
    """

    in_process = False

    source: Source
    digests: np.ndarray | None
    """Of every block, in their order, once all have been looked at."""

    _blocks: Blocks

    _samples: list[tuple[np.ndarray, InMemory]]
    """The numbers of some rows and these rows, where the first look took them along."""

    def __init__(
        self,
        source: Source,
        blocks: Blocks | None = None,
        digests: np.ndarray | None = None,
        samples: Sequence[tuple[np.ndarray, InMemory]] = (),
    ):
        blocks = _first_block(source) if blocks is None else blocks
        names = None if source.names is None else [str(name) for name in source.names]
        if names is not None and len(names) != blocks.dim:
            raise ValueError(f"the source names {len(names)} columns, but its rows have {blocks.dim}.")
        self._settle(source=source, digests=digests, _blocks=blocks, _samples=list(samples))
        self._settle(n_rows=source.n_rows, weighted=blocks.weighted, design=blocks.empty(), names=names)
        if isinstance(source, RowsOfTables):
            self._settle(classes=source.classes, factor_names=source.factors)

    @property
    def has_censoring(self) -> bool:
        return self._blocks.censored

    @property
    def fingerprint(self) -> str:
        if self.digests is None:
            return self.source.fingerprint
        return f"{self.source.fingerprint}-{hashlib.blake2b(self.digests.tobytes(), digest_size=8).hexdigest()}"

    @property
    def memory(self) -> int | None:  # type: ignore[override]
        return self.source.memory if isinstance(self.source, WithMemory) else None

    @property
    def most_at_once(self) -> int | None:  # type: ignore[override]
        if self.memory is None:
            return None
        return max(1000, _BYTES_OF_A_SAMPLE // (8 * (self.design.numbers.width + 3)))

    def map(self, function: Callable[[Rows], Result]) -> Iterator[Result]:
        return self._each(partial(_of_block, self._blocks, function))

    def _each(self, function: Callable[[Rows], Result]) -> Iterator[Result]:
        """``function`` of every block as the source gives it; raises at the first that is not what it was."""
        for k, (start, digest, result) in enumerate(watched_map(self.source, partial(_digested, function))):
            if self.digests is not None and (k >= len(self.digests) or digest != int(self.digests[k])):
                raise SourceError(
                    f"the rows from {start} on have changed since the target was made. Open the rows again and make "
                    f"a new target. To continue a stored run, restore the old rows and call tunamh.resume."
                )
            yield result

    def check(self, rows: Rows) -> None:
        """Do nothing: every pass over the source makes this check."""

    def check_some(self) -> None:
        """Do nothing: every pass over the source makes this check."""

    def take(self, index: np.ndarray) -> InMemory:
        return next(self.take_each([index]))

    def take_each(self, indices: list[np.ndarray]) -> Iterator[InMemory]:
        """Yield several samples of rows, read in one pass. All samples are then in memory."""
        known = [self._known(index) for index in indices]
        if all(one is not None for one in known):
            yield from known  # type: ignore[misc]
            return
        sorts = [None if (index[:-1] <= index[1:]).all() else np.argsort(index, kind="stable") for index in indices]
        wanted = [index if sort is None else index[sort] for index, sort in zip(indices, sorts, strict=True)]
        samples = [Places(len(index), self._blocks) for index in indices]
        for parts in self._each(partial(_chosen_each, self._blocks, wanted)):
            for sample, sort, (here, rows) in zip(samples, sorts, parts, strict=True):
                sample.put(here if sort is None else sort[here], rows)
        samples.reverse()
        while samples:
            yield samples.pop().observed(self.names)

    def _known(self, index: np.ndarray) -> InMemory | None:
        """A sample that came with the first look; it is not kept here once it is given away."""
        for k, (rows, sample) in enumerate(self._samples):
            if np.array_equal(rows, index):
                del self._samples[k]
                return sample
        return None

    def on_columns(self, which: np.ndarray) -> FromSource:
        before = self._blocks.which
        kept = which if before is None else before.copy()
        if before is not None:
            kept[before] = which
        return FromSource(self.source, self._blocks._replace(which=kept), self.digests)


class Places:
    """Arrays for a known number of rows that are filled part by part. No part is stored twice."""

    def __init__(self, n_rows: int, blocks: Blocks):
        self.n_rows, self.blocks, self.arrays = n_rows, blocks, dict[str, np.ndarray]()
        self._types = {"numbers": np.float32 if blocks.single else np.float64, "positions": np.int32}

    def put(self, places: Any, rows: Rows) -> None:
        parts = {"y": rows.y, "weights": rows.weights, "offset": rows.offset, "censored": rows.censored}
        X = rows.X
        features = {"numbers": X, "positions": None, "values": None}
        if isinstance(X, Factored):
            features = {"numbers": X.numbers, "positions": X.positions, "values": X.values}
        parts |= features
        for name, part in parts.items():
            if part is None:
                continue
            if name not in self.arrays:
                kind = self._types.get(name, np.float64)
                self.arrays[name] = np.empty((self.n_rows, *part.shape[1:]), kind, order="F")  # as files have columns
            self.arrays[name][places] = part

    def observed(self, names: Sequence[str] | None) -> InMemory:
        """Return the rows, when all of them have been filled in."""
        found: Any = self.arrays.get
        X = found("numbers")
        if self.blocks.factors:
            X = Factored(X, found("positions"), self.blocks.dim, found("values"))
        design = self.blocks.design(X, found("offset"), 0, self.n_rows)
        return InMemory(design, found("y"), found("weights"), names, None, found("censored"))


def _chosen_each(blocks: Blocks, indices: list[np.ndarray], rows: Rows) -> list[tuple[slice, Rows]]:
    return [_chosen(blocks, index, rows) for index in indices]


def _chosen(blocks: Blocks, index: np.ndarray, rows: Rows) -> tuple[slice, Rows]:
    """Where in ``index``, which is sorted, rows of this block are, and these rows."""
    n = len(rows.y)
    here = slice(*np.searchsorted(index, (rows.start, rows.start + n)).tolist())
    inside = index[here] - rows.start
    blocks.design(rows.X, np.zeros(n), rows.start, n)  # says what is wrong with its shape
    weights = _beside(rows, "weights", rows.weights, blocks.weighted)
    offset = _beside(rows, "offset", rows.offset, blocks.shifted)
    censored = _beside(rows, "censored", rows.censored, blocks.censored)
    weights, offset, censored = (None if values is None else values[inside] for values in (weights, offset, censored))
    y = np.ascontiguousarray(real_numbers(rows.y, "y", rows.start), dtype=np.float64)[inside]
    return here, Rows(rows.start, rows_at(rows.X, inside), y, weights, offset, censored)


def _first_block(source: Source) -> Blocks:
    """What the first block is like."""
    if isinstance(source, RowsOfTables):
        return Blocks.like(source.first())
    for found in source.map(Blocks.like):
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
    array = np.ascontiguousarray(real_numbers(values, what, rows.start), dtype=np.float64)
    if array.shape != (len(rows.y),):
        raise ValueError(f"rows from {rows.start} on are {len(rows.y)}, but their {what} have shape {array.shape}.")
    return array


def _look(blocks: Blocks, check: Callable[[np.ndarray], None], names: list[str] | None, rows: Rows) -> int:
    """Raise for numbers of a block that are no use."""
    if len(rows.y) == 0:
        raise ValueError(f"a block of the source, at row {rows.start}, is empty: leave such blocks out.")
    numbers = np.asarray(rows.X.numbers if isinstance(rows.X, Factored) else rows.X)
    seen = blocks(rows)
    if numbers.shape[1] > 0:
        refuse_non_finite(as_matrix(numbers, "X"), "X", rows.start, names)
    numbers_beside = {"y": seen.y, "weights": seen.weights, "offset": seen.offset, "censored": seen.censored}
    for what, found in numbers_beside.items():
        if found is not None:
            refuse_non_finite(found, what, rows.start)
    if seen.censored is not None and not np.isin(seen.censored, (-1.0, 0.0, 1.0)).all():
        row = int(np.argmax(~np.isin(seen.censored, (-1.0, 0.0, 1.0))))
        raise ValueError(f"censored must be 0, 1 or -1, but row {rows.start + row} has {seen.censored[row]:g}.")
    if isinstance(rows.X, Factored) and rows.X.values is not None:
        refuse_non_finite(np.asarray(rows.X.values), "the values of X", rows.start)
    try:
        check(seen.y)
    except ValueError as error:
        raise ValueError(f"in the block of rows from {rows.start} on, counted from there: {error}") from None
    return len(seen.y)


def _look_and_take(
    look: Callable[[Rows], int], blocks: Blocks, indices: list[np.ndarray], rows: Rows
) -> tuple[int, list[tuple[slice, Rows]]]:
    return look(rows), _chosen_each(blocks, indices, rows)


def validated(found: FromSource, check: Callable[[np.ndarray], None]) -> FromSource:
    """Raise an error for numbers that cannot be used, in the first pass over a source, before anything is computed.

    The same pass takes the samples with which the search for the mode begins.
    """
    names, blocks = None if found.names is None else list(found.names), found._blocks
    indices = [rows_for_columns(found.n_rows, blocks.dim)]
    indices += rows_for_search(found.n_rows, blocks.dim, found.most_at_once)
    samples = [Places(len(index), blocks) for index in indices]
    counted, digests = 0, []
    look = partial(_look_and_take, partial(_look, blocks, check, names), blocks, indices)
    for start, digest, (n_rows, parts) in watched_map(found.source, partial(_digested, look)):
        if start != counted:
            raise ValueError(f"a block of the source says it starts at row {start}, but {counted} rows came before it.")
        counted += n_rows
        digests.append(digest)
        for sample, (here, rows) in zip(samples, parts, strict=True):
            sample.put(here, rows)
    if counted != found.n_rows:
        raise ValueError(f"the source says it has {found.n_rows} rows, its blocks have {counted} together.")
    taken = [(index, sample.observed(found.names)) for index, sample in zip(indices, samples, strict=True)]
    return FromSource(found.source, blocks, np.array(digests, dtype=np.uint64), taken)
