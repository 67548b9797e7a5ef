"""Copies of a user's plain function: one copy that jets run and one that Numba compiles, with the same constants.

Numba keeps the values that globals and enclosing variables have when it compiles; Python looks them up at every call.
Bounds by jets and energies by compiled code must be of the same function, so both are made of copies that hold the
values of now. Functions that the energy calls by name go with it, plain or compiled.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
from numba.core.dispatcher import Dispatcher

from ...compiled.user_functions import _names as names_in

_MEMO = "_tunamh_energy"
_LIBRARIES = {"numpy", "scipy", "math", "numba", "builtins", "tunamh"}


class FunctionCopies(NamedTuple):
    """Two copies of a user's function, and other functions that are made from it."""

    traced: Callable[..., Any]
    compiled: Any
    made: dict[str, Any]


def copies_of(function: Callable[..., Any]) -> FunctionCopies:
    """Return the copies of a function. Copies that were made before are used again if no constant has changed.

    Compiling takes about a second.
    """
    plain = function.py_func if isinstance(function, Dispatcher) else function
    constants: list[Any] = []
    traced = _copied(plain, lambda copy: copy, {}, constants)
    before = vars(plain).get(_MEMO)
    if before is not None and len(before[0]) == len(constants) and all(map(_same, before[0], constants)):
        return before[1]
    result = FunctionCopies(traced, _copied(plain, _compiled, {}, []), {})
    vars(plain)[_MEMO] = constants, result
    return result


def _compiled(copy: types.FunctionType) -> Any:
    return numba.njit(copy, error_model="numpy")


def _copied(plain: Any, finish: Callable[[Any], Any], copies: dict[Any, Any], constants: list[Any]) -> Any:
    """A copy whose globals and cells are its own; ``finish`` makes of every function what others are to call."""
    if plain in copies:  # functions may call each other, or themselves
        return copies[plain]
    scope = {"__builtins__": plain.__globals__.get("__builtins__"), "__name__": plain.__module__}
    cells = tuple(types.CellType() for _ in plain.__closure__ or ())
    copy = types.FunctionType(plain.__code__, scope, plain.__name__, plain.__defaults__, cells or None)
    copy.__kwdefaults__ = plain.__kwdefaults__
    copies[plain] = result = finish(copy)

    def taken(value: Any) -> Any:
        inner = value.py_func if isinstance(value, Dispatcher) else value
        if isinstance(inner, types.FunctionType) and inner.__module__.partition(".")[0] not in _LIBRARIES:
            return _copied(inner, finish, copies, constants)
        constant = _kept(value)
        constants.append(constant)
        return constant

    for name in sorted(names_in(plain.__code__) & plain.__globals__.keys()):
        scope[name] = taken(plain.__globals__[name])
    for new, old in zip(cells, plain.__closure__ or (), strict=True):
        new.cell_contents = taken(old.cell_contents)
    return result


def _kept(value: Any) -> Any:
    """Arrays can change in place: a copy cannot."""
    if not isinstance(value, np.ndarray):
        return value
    copy = value.copy()
    copy.flags.writeable = False
    return copy


def _same(one: Any, two: Any) -> bool:
    if isinstance(one, np.ndarray) and isinstance(two, np.ndarray):
        return one.dtype == two.dtype and np.array_equal(one, two, equal_nan=one.dtype.kind == "f")
    return one is two or (type(one) is type(two) and isinstance(one, bool | int | float | str) and one == two)
