"""From compiled code back to Python: for rows that are not in memory.

Compiled code holds an address, 0 where it has none, and calls it with whole numbers, of which some are addresses of
arrays. Python runs under its lock in the chain's own thread and must not raise: it keeps what went wrong, and says so
by what it returns.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from .machinery import intrinsic

_SIGNATURE = ctypes.CFUNCTYPE(*([ctypes.c_int64] * 5), ctypes.c_double, ctypes.c_int64)


@intrinsic
def call_back(typing, address, kind, first, second, size, number, out):
    """Compile a call of the Python function at ``address``: ``function(kind, first, second, size, number, out)``."""

    def emit(context, builder, signature, arguments):
        whole, real = ir.IntType(64), ir.DoubleType()
        kind = ir.FunctionType(whole, [whole, whole, whole, whole, real, whole])
        return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])

    whole = types.int64
    return whole(whole, whole, whole, whole, whole, types.float64, whole), emit


class Callback:
    """A Python function that compiled code can call while this object exists."""

    def __init__(self, function: Callable[[int, int, int, int, float, int], int]):
        self._kept = _SIGNATURE(function)
        self.address = ctypes.cast(self._kept, ctypes.c_void_p).value or 0


def vector_at(address: int, size: int, kind: Any = ctypes.c_double) -> np.ndarray:
    """Return the array of ``size`` numbers that begins at an address. The caller of the function keeps it alive."""
    return np.ctypeslib.as_array((kind * size).from_address(address))
