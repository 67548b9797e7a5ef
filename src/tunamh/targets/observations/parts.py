"""Rows in memory that came in parts: arrays that were given one after the other, of which some rows may be gone."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

from ...rows.source import Rows
from ..designs import Design
from .base import Observations, Sample
from .observed import InMemory

Result = TypeVar("Result")


class InParts(Observations):
    """Rows in several arrays, one part after the other, which are not copied. Each part has its own check for changes.

    When a part is added, no row is read.
    """

    examined = True
    parts: tuple[InMemory, ...]

    def __init__(self, parts: tuple[InMemory, ...]):
        first = parts[0]
        self._settle(parts=parts, design=first.design, names=first.names, weighted=first.weighted)
        self._settle(n_rows=sum(part.n_rows for part in parts))

    @property
    def _starts(self) -> list[int]:
        return [0, *np.cumsum([part.n_rows for part in self.parts]).tolist()]

    @property
    def fingerprint(self) -> str:
        text = " ".join(part.fingerprint for part in self.parts)
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    def map(self, function: Callable[[Rows], Result]) -> Iterator[Result]:
        for part, start in zip(self.parts, self._starts, strict=False):
            yield from part.map(lambda rows, start=start: function(rows._replace(start=start + rows.start)))  # type: ignore[misc]

    def take(self, index: np.ndarray) -> Sample:
        index = np.asarray(index)
        starts = np.array(self._starts)
        which = np.searchsorted(starts, index, side="right") - 1
        taken = [part.take(index[which == k] - starts[k]) for k, part in enumerate(self.parts)]
        joined = joined_rows(taken)
        order = np.argsort(np.argsort(which, kind="stable"), kind="stable")
        return joined if (which[:-1] <= which[1:]).all() else joined.take(order)

    def on_columns(self, which: np.ndarray) -> Observations:
        return InParts(tuple(part.on_columns(which) for part in self.parts))

    def check(self, rows: Rows) -> None:
        starts = self._starts
        k = int(np.searchsorted(starts, rows.start, side="right")) - 1
        self.parts[k].check(rows._replace(start=rows.start - starts[k]))

    def check_some(self) -> None:
        for part in self.parts:
            part.check_some()

    def with_part(self, part: InMemory) -> InParts:
        """Return the rows with one more part after the others."""
        return InParts((*self.parts, part))

    def without(self, index: np.ndarray) -> InParts:
        """Return the rows without some rows, in the same order. Only parts that lose rows are copied."""
        starts, left = self._starts, []
        for k, part in enumerate(self.parts):
            gone = index[(index >= starts[k]) & (index < starts[k + 1])] - starts[k]
            if len(gone) == 0:
                left.append(part)
            elif len(gone) < part.n_rows:
                left.append(_without(part, gone))
        return InParts(tuple(left))


def _without(part: InMemory, gone: np.ndarray) -> InMemory:
    from dataclasses import replace

    kept = np.ones(part.n_rows, bool)
    kept[gone] = False
    text = f"{part.fingerprint} {hashlib.blake2b(np.sort(gone).astype(np.int64).tobytes(), digest_size=8).hexdigest()}"
    digest = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    return replace(part.take(np.flatnonzero(kept)), digest=digest)


def joined_rows(parts: list[InMemory]) -> InMemory:
    """Return samples joined, one after the other."""
    parts = [part for part in parts if part.n_rows] or parts[:1]
    weights = None if parts[0].weights is None else np.concatenate([part.weights for part in parts])
    design = _joined_designs([part.design for part in parts])
    return InMemory(design, np.concatenate([part.y for part in parts]), weights, parts[0].names)


def _joined_designs(designs: list[Design]) -> Design:
    from ..designs.dense import DenseDesign
    from ..designs.with_offset import DesignWithOffset

    first: Any = designs[0]
    if len(designs) == 1:
        return first
    several: list[Any] = designs
    if isinstance(first, DesignWithOffset):
        inner = _joined_designs([one.design for one in several])
        return DesignWithOffset(inner, np.concatenate([one.offset for one in several]))
    return DenseDesign(np.concatenate([one.X for one in several]))
