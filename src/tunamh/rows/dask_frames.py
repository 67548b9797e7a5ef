"""Dask data frames and arrays: their partitions are the pieces, and work is done where these lie."""

from __future__ import annotations

import hashlib
import operator
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from .._arguments import shown
from ..errors import SourceError
from .blocks import HeldPiece
from .executors import pickled, run_pickled, waited_for
from .pieces import InPieces, OfBlocks, Reading, Survey
from .table_source import TableBlock

Result = TypeVar("Result")

_AHEAD = 32  # partitions whose work is asked for before their results are


def _on_piece(function: bytes, table: Any, place: str, *others: Any) -> Any:
    """In a worker, with the partition at hand."""
    return run_pickled(function, HeldPiece(_local(table), place), *others)


def _local(table: Any) -> Any:
    return np.asarray(table) if type(table).__module__.startswith("numpy") else table


class DaskTables(InPieces):
    """The partitions of a Dask data frame or array as pieces. Only small results and gathered rows are sent."""

    def __init__(self, frame: Any, reading: Reading, *, executor: Any, memory: int | None):
        if executor is not None:
            raise TypeError("a Dask collection is computed by Dask itself: leave executor= out.")
        self.frame, self._number = frame, None
        parts = self._partitions(reading.columns)
        self._number = len(parts)
        places = [f"partition {k}" for k in range(len(parts))]
        found = list(self._each(Survey(reading), parts, places, [()] * len(places)))
        fingerprint = hashlib.blake2b(repr(found).encode(), digest_size=8).hexdigest()
        self._kept = [k for k, (length, _) in enumerate(found) if length > 0]
        self._places, found = [places[k] for k in self._kept], [found[k] for k in self._kept]
        names = reading.columns if reading.change is None else None
        if names is None and reading.change is None and not _is_array(frame):
            names = tuple(map(str, frame.columns))
        self._given = reading
        super().__init__((), [length for length, _ in found], names, fingerprint, reading=reading, memory=memory)

    def _partitions(self, columns: Sequence[str] | None) -> list[Any]:
        """Delayed tables, of these columns only where nothing is changed."""
        frame = self.frame
        if not _is_array(frame):
            return _one_by_one(frame) if columns is None else self._of_columns(list(columns))
        frame = frame if frame.ndim == 2 else frame.reshape(-1, 1)
        return list(frame.rechunk({1: -1}).to_delayed().ravel())

    def _of_columns(self, columns: list[str]) -> list[Any]:
        """The same partitions, whichever columns are asked for."""
        parts = _one_by_one(self.frame[columns])
        if self._number in (None, len(parts)):
            return parts
        from dask import delayed

        return [delayed(operator.getitem)(part, columns) for part in _one_by_one(self.frame)]

    def first(self, columns: Sequence[str] | None = None) -> TableBlock:
        task = OfBlocks(_itself, self._given, None if columns is None else tuple(columns))
        partitions = self._partitions(columns if self._given.change is None else self._given.columns)
        part = partitions[self._kept[0]]
        return next(self._each(task, [part], self._places[:1], [(0, self.lengths[0])]))[0]

    def map(self, function: Callable[[TableBlock], Result], columns: Sequence[str] | None = None) -> Iterator[Result]:
        task = OfBlocks(function, self._given, None if columns is None else tuple(columns))
        partitions = self._partitions(columns if self._given.change is None else self._given.columns)
        parts = [partitions[k] for k in self._kept]
        others = list(zip(self.starts, self.lengths, strict=True))
        for results in self._each(task, parts, self._places, others):
            yield from results

    def _each(
        self, function: Callable[..., Any], parts: Sequence[Any], places: Sequence[str], others: Sequence[tuple]
    ) -> Iterator[Any]:
        """Of every partition, on the cluster of the current client or, without one, in Dask's threads."""
        from dask import delayed

        compute, run, blob = _compute(), delayed(_on_piece, pure=False), pickled(function)
        waiting: deque[tuple[Any, str]] = deque()
        tasks = zip(parts, places, others, strict=True)
        try:
            for part, place, other in tasks:
                waiting.append((compute(run(blob, part, place, *other)), place))
                if len(waiting) >= _AHEAD:
                    yield _result(*waiting.popleft())
            while waiting:
                yield _result(*waiting.popleft())
        finally:
            for future, _ in waiting:
                future.cancel()


def _one_by_one(frame: Any) -> list[Any]:
    """Its partitions, each by itself: what Dask's optimizer reads of few columns it joins, as they then are small."""
    return frame.simplify().to_delayed(optimize_graph=False)  # columns that are not asked for are not read, and no more


def _is_array(collection: Any) -> bool:
    from dask.array import Array

    return isinstance(collection, Array)


def _is_frame(collection: Any) -> bool:
    from dask.dataframe import DataFrame

    return isinstance(collection, DataFrame)


def _itself(block: TableBlock) -> TableBlock:
    return block


def _compute() -> Callable[[Any], Any]:
    """From delayed work to its future."""
    try:
        from distributed import default_client

        client = default_client()
    except (ImportError, ValueError):
        import dask

        return lambda work: _Done(lambda: dask.compute(work, scheduler="threads")[0])
    return client.compute


class _Done:
    """Work in Dask's threads, done when it is asked for."""

    def __init__(self, compute: Callable[[], Any]):
        self.compute = compute

    def result(self, timeout: float | None = None) -> Any:
        return self.compute()

    def done(self) -> bool:
        return True

    def cancel(self) -> None:
        """Do nothing: no work has begun."""


def _result(future: Any, place: str) -> Any:
    try:
        return waited_for(future)
    except Exception as error:
        if type(error).__name__ not in ("KilledWorker", "CancelledError", "FutureCancelledError", "CommClosedError"):
            raise
        raise SourceError(
            f"the cluster gave up on {place} after losing workers ({error}). Usually they ran out of memory: make "
            f"partitions smaller, or give the workers more memory. If the run has a store, tunamh.resume(store, "
            f"target) continues it."
        ) from error


def dask_tables(frame: Any, reading: Reading, *, executor: Any, memory: int | None) -> DaskTables:
    if not _is_array(frame) and not _is_frame(frame):
        raise TypeError(f"a Dask data frame or array was expected, got {shown(frame)}.")
    return DaskTables(frame, reading, executor=executor, memory=memory)
