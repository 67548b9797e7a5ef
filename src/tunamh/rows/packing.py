"""Rows in the form that the compiled core gathers fastest.

What belongs to one row (features, response, bound, weight) lies side by side, the first row starts on a cache
line, and rows are a multiple of 32 bytes long: a random row then costs the fewest cache lines, and the padding
stays below 32 bytes per row.
"""

from __future__ import annotations

import numpy as np

from ..process.scratch import large

_CACHE_LINE = 64
_ROW_MULTIPLE = 4  # float64 numbers: 32 bytes


def packed_rows(n_rows: int, n_columns: int) -> np.ndarray:
    """An uninitialised float64 matrix, aligned, its columns padded with zeros."""
    width = -(-n_columns // _ROW_MULTIPLE) * _ROW_MULTIPLE
    raw = large(n_rows * width * 8 + _CACHE_LINE, np.uint8)
    shift = -raw.ctypes.data % _CACHE_LINE
    rows = raw[shift : shift + n_rows * width * 8].view(np.float64).reshape(n_rows, width)
    rows[:, n_columns:] = 0.0
    return rows


def packed_size(n_rows: int, width: int) -> int:
    """Bytes of so many packed rows and of the law by which they are drawn."""
    return n_rows * (8 * width + 16)
