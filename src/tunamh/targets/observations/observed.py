"""The rows of a regression in memory, those of others in another design, and some of their responses.

Targets read the user's own arrays, without a copy. A seal holds one whole number per block of rows: the bits of its
numbers, read as whole numbers, times an odd factor for each row, added up modulo a power of two. A change of a single
number always changes it, and every machine finds the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ...rows.passes import ROWS_AT_ONCE, over_blocks
from ...rows.source import Rows
from ...tables.columns import Factor
from ...tables.matrices import refuse_non_finite
from ..designs import Design
from ..designs.some_columns import SomeColumns, SomeDirections
from .base import Observations, Sample

Result = TypeVar("Result")

MOST_ROWS = 10_000
"""Whose responses results keep."""


_FACTORS = 2 * np.random.default_rng(0).integers(1 << 62, size=ROWS_AT_ONCE, dtype=np.uint64) + np.uint64(1)
_SPREAD = 1000
_FORM = 8192  # of digests; those of rows of one block stay as they were whatever the size of a block


class Seal:
    """Checksums of arrays with the same number of rows. When a seal is made, unusable numbers raise an error.

    ``names`` are the names of the columns, by array, if there are any.
    """

    def __init__(self, arrays: dict[str, np.ndarray], names: Mapping[str, Sequence[str] | None]):
        self._arrays = arrays
        self._n_rows = len(next(iter(arrays.values())))
        self._some = slice(None, None, max(1, self._n_rows // _SPREAD))

        def look(block: slice) -> tuple[int, list[bytes]]:
            for what, array in arrays.items():
                labels = names.get(what)
                refuse_non_finite(array[block], what, block.start, None if labels is None else list(labels))
            return block.start, self._of_block(block)

        self._sums = dict(over_blocks(look, self._n_rows))
        self._few = self._of_few()

    @property
    def digest(self) -> str:
        """Return a short hash of all arrays that the seal protects."""
        shapes = [array.shape for array in self._arrays.values()]
        digest = hashlib.blake2b(repr((shapes, _FORM)).encode(), digest_size=8)
        for sums in self._sums.values():
            digest.update(b"".join(sums))
        return digest.hexdigest()

    def check_block(self, block: slice) -> None:
        """Raise an error if these rows have changed."""
        self._compare(self._of_block(block), self._sums[block.start], f" in rows {block.start} to {block.stop - 1}")

    def check_around(self, first: int, last: int) -> None:
        """Make the check `check_block` for all blocks that contain rows from ``first`` to ``last``."""
        for start in range(first - first % ROWS_AT_ONCE, last + 1, ROWS_AT_ONCE):
            self.check_block(slice(start, min(start + ROWS_AT_ONCE, self._n_rows)))

    def check_some(self) -> None:
        """Raise an error if a thousand rows, spread over the data, or any vector has changed."""
        self._compare(self._of_few(), self._few)

    def _of_block(self, block: slice) -> list[bytes]:
        return [_checksum(array[block]) for array in self._arrays.values()]

    def _of_few(self) -> list[bytes]:
        few = (array[self._some] if array.ndim > 1 else array for array in self._arrays.values())
        return [hashlib.blake2b(np.ascontiguousarray(part).tobytes(), digest_size=8).digest() for part in few]

    def _compare(self, now: list[bytes], before: list[bytes], where: str = "") -> None:
        for what, one, other in zip(self._arrays, now, before, strict=True):
            if one != other:
                raise ValueError(
                    f"{what} was changed{where} after the target was made from it: make a new target, or give this "
                    f"one a copy of {what}."
                )


def _checksum(array: np.ndarray) -> bytes:
    bits = array.view(f"u{array.dtype.itemsize}")
    factors = _FACTORS[: len(array)].astype(bits.dtype if bits.dtype.itemsize >= 4 else np.uint64)
    return np.einsum("i,ij->" if bits.ndim == 2 else "i,i->", factors, bits).tobytes()


@dataclass(frozen=True, eq=False)
class InMemory(Sample):
    """Observations in arrays, which are not copied.

    The seal notices if the arrays are changed; a sample has no seal.
    """

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
        """Return the rows of a slice or of an array of row numbers."""
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
    """Rows of other observations in another design: ``change`` makes a block of the new design from each block.

    ``along`` are the directions for questions about single parameters (None: the parameters themselves).
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
        """Return the observations with some columns of the new design.

        There are more columns than in the base if several classes use the same columns.
        """
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
    """A subsample of the responses: their name, values and row numbers, and the number of all rows.

    ``classes`` are the names of the classes 0, 1, ..., if classes have names.
    """

    name: str
    values: np.ndarray
    rows: np.ndarray
    n_rows: int
    classes: tuple[str, ...] | None = None


def some_rows(n_rows: int) -> np.ndarray:
    """Return the numbers of random rows, always the same ones: all rows, or ten thousand of them."""
    if n_rows <= MOST_ROWS:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, MOST_ROWS, replace=False))


def seen_responses(given: Observations, formula: Any, places: np.ndarray | None, family: Any) -> SeenResponses | None:
    """Return a subsample of the responses of rows in memory.

    For other rows return None, because a pass over them would be needed. ``places`` are the row numbers of `some_rows`
    in the user's table, if some rows of the table were left out.
    """
    if not isinstance(given, InMemory):
        return None
    y = given.y if given.counts is None else given.counts
    which = some_rows(len(y))
    name = "y" if formula is None else str(formula.response.node)
    values = y[which].astype(np.int64) if family.of_classes else np.array(y[which])
    return SeenResponses(name, values, which if places is None else places, len(y), given.classes)
