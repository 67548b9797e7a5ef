"""Large arrays in files that are mapped into memory, where a source says that there is too little of it for them.

The system reads and writes their pages, and takes the memory of those that are not used. A file has no name: the disk
is free again when the array is, or when the process ends in whatever way.
"""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

_SMALL = 1 << 22
"""Bytes up to which an array is in memory in any case."""

_AT_ONCE = 1 << 20
"""Rows of a stretch."""

_FOLDER: ContextVar[str | None] = ContextVar("folder of large arrays", default=None)


@contextmanager
def large_arrays_in(folder: str | None) -> Iterator[None]:
    """Inside this context, put `large` arrays into files of this folder; with None, keep them in memory."""
    token = _FOLDER.set(folder)
    try:
        yield
    finally:
        _FOLDER.reset(token)


def folder_in_force() -> str | None:
    """Return the folder of the innermost `large_arrays_in`, or None."""
    return _FOLDER.get()


def large(shape: int | Sequence[int], dtype: Any = np.float64) -> np.ndarray:
    """Return an array that is not initialised. If it is in a file, it begins on a page of its own."""
    folder, kind = _FOLDER.get(), np.dtype(dtype)
    shape = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    count = int(np.prod(shape, dtype=np.int64))
    size = count * kind.itemsize
    if folder is None or size <= _SMALL:
        return np.empty(shape, kind)
    with tempfile.TemporaryFile(dir=folder, prefix="tunamh-") as file:
        file.truncate(size)
        mapped = mmap.mmap(file.fileno(), size)
    return np.frombuffer(mapped, kind, count).reshape(shape)


def concatenated(parts: Sequence[Any]) -> np.ndarray:
    """Return the vectors joined, as a `large` array."""
    arrays = [np.asarray(part, dtype=np.float64) for part in parts]
    return np.concatenate(arrays, out=large(sum(len(array) for array in arrays)))


def as_large(values: np.ndarray) -> np.ndarray:
    """Return a vector as a `large` array. An array that is in a file already is returned as it is."""
    if _FOLDER.get() is None or is_in_file(values):
        return values
    found = large(values.shape, values.dtype)
    found[:] = values
    return found


def is_in_file(values: np.ndarray) -> bool:
    """Return True if an array is a part of an array that `large` has put into a file."""
    base: Any = values
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base.obj if isinstance(base, memoryview) else base, mmap.mmap)


def in_rows(matrix: np.ndarray) -> np.ndarray:
    """Return the matrix in C order. If a copy is needed, it is a `large` array."""
    if matrix.flags.c_contiguous and matrix.dtype == np.float64:
        return matrix
    found = large(matrix.shape)
    found[:] = matrix
    return found


def distinct(values: np.ndarray) -> np.ndarray:
    """Return the different values, sorted."""
    found = values[:0]
    for rows in stretches(len(values)):
        found = np.union1d(found, values[rows])
    return found


def coded(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the different values, sorted, and for every row the position of its value among them (a `large` array)."""
    found, codes = distinct(values), large(len(values), np.int64)
    for rows in stretches(len(values)):
        codes[rows] = np.searchsorted(found, values[rows])
    return found, codes


def stretches(n: int, at_once: int | None = None) -> Iterator[slice]:
    """Yield slices that cover ``n`` rows in order. They are short, so that computations on them need little memory."""
    step = at_once or _AT_ONCE
    return (slice(start, min(start + step, n)) for start in range(0, n, step))
