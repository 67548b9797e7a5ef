"""A whole number for the arrays of a block, by which a source's rows are known again whenever they are read."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..compiled import helper


def digest_of(arrays: Sequence[Any]) -> int:
    """Return a whole number for the arrays of a block (None: absent). It is the same whenever the block is read.

    The numbers in single precision are read as whole numbers, multiplied by an odd factor for each position, and added
    modulo ``2^32``. So a change of one number in its first seven digits always changes the result, and a change of
    several numbers almost always. Small differences in rounding on other machines hardly ever change it.
    """
    total = 0
    for array in arrays:
        if array is None:
            continue
        array = np.asarray(array)
        short = array.dtype.kind in "biu" and array.dtype.itemsize <= 4
        with np.errstate(over="ignore"):
            single = np.asarray(array, dtype=np.int32 if short else np.float32)
        total = total * 0x9E3779B97F4A7C15 + _sum_of_bits(single)
    return total % (1 << 64)


def _sum_of_bits(single: np.ndarray) -> int:
    """The factors are those of places in rows one behind the other, however the numbers lie in memory."""
    if single.ndim == 2 and single.shape[1] > 1 and single.flags.f_contiguous:
        columns = single.T.view(np.uint32)
        return int(_sum_of_products(columns.reshape(-1), _odd_by_columns(*single.shape)))
    bits = np.ascontiguousarray(single).view(np.uint32).reshape(-1)
    return int(_sum_of_products(bits, _odd(bits.size)))


@helper
def _sum_of_products(bits, factors):
    """Modulo ``2^32``."""
    total = np.uint32(0)
    for i in range(bits.size):
        total = np.uint32(total + np.uint32(bits[i] * factors[i]))
    return total


@functools.lru_cache(maxsize=16)
def _odd(size: int) -> np.ndarray:
    """Odd factors, the same for every block of a size."""
    return 2 * np.random.default_rng(1).integers(1 << 31, size=size, dtype=np.uint32) + np.uint32(1)


@functools.lru_cache(maxsize=16)
def _odd_by_columns(n_rows: int, columns: int) -> np.ndarray:
    """The same, column by column."""
    return np.ascontiguousarray(_odd(n_rows * columns).reshape(n_rows, columns).T).ravel()
