"""Users' own compiled functions: kept by the function, and run once with bounds checking before they run without.

Compiled code does not notice an index beyond its arrays: it reads or overwrites memory that belongs to something else.
So every function that a user brings is compiled a second time, bounds checking included, and called at a plain point
(zero, or the first other one at which it does not raise) with every row. Rows at which it raises at all of them are
tried again where a chain starts. Helpers that the function calls by name are checked with it; those that it reaches in
another way (``module.helper``) are not. Indices that depend on ``theta`` are checked at that point only.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Hashable, Iterator
from typing import Any, NamedTuple, TypeVar

import numba
import numpy as np
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError

from .._arguments import shown
from . import does_not_compile, helper, read_only

Made = TypeVar("Made")

_MEMO = "_tunamh"
_MOST_EXAMINED = 1000  # rows at which a function raises, for a reason to be found in Python one by one

# ------------------------------------------------------------------------------------------ kept by the function


class _Kept(NamedTuple):
    made: Any
    versions: frozenset  # what the function had been compiled to: ``function.recompile()`` makes others


def kept(function: Any, key: Hashable, make: Callable[[], Made]) -> Made:
    """Return what ``make`` made for this function before, or call ``make`` now. It lives as long as the function.

    Compiling costs half a second, and memory that is never released.
    """
    memo = vars(function).setdefault(_MEMO, {})
    found = memo.get(key)
    if found is None or not found.versions <= _versions(function):
        made = make()
        found = memo[key] = _Kept(made, _versions(function))
    return found.made


def _versions(function: Any) -> frozenset:
    return frozenset(compiled.entry_point for compiled in function.overloads.values())


# -------------------------------------------------------------------------------------------- with bounds checking


def refuse_uncompiled(function: Any, what: str) -> None:
    """Raise an error if ``function`` was not made by ``@numba.njit``, or if it uses several threads."""
    if not isinstance(function, Dispatcher):
        raise TypeError(f"{what} must be compiled, got {shown(function)}: decorate it with @numba.njit.")
    if function.targetoptions.get("parallel"):
        raise TypeError(
            f"{what} is compiled with parallel=True, but chains run in threads of their own: use @numba.njit."
        )


def audit(function: Any, name: str, dim: int, *, inputs: int = 1, proposal: bool = False) -> None:
    """Call a user's function with bounds checking.

    It takes ``inputs`` vectors; a proposal also takes ``rng`` and ``prop``.
    """
    for point in plain_points(dim):
        vectors = [point.copy() for _ in range(inputs)]
        for vector in vectors:
            vector.flags.writeable = False
        if _tried(function, name, [np.random.default_rng(0), *vectors, point] if proposal else vectors, ""):
            return


class RowAudit:
    """Calls ``function(theta, row)`` with all rows; if ``out`` has a shape, ``function(theta, row, out)``.

    If the function raises an exception at a row, this row stays in ``left`` for the next point.
    """

    def __init__(self, function: Any, name: str, rows: np.ndarray, width: int, out: tuple[int, ...] = ()):
        self.function, self.name, self.rows, self.width = function, name, rows, width
        self.out = [np.zeros(out)] if out else []
        self.left = np.ones(len(rows), dtype=np.bool_)

    def at(self, theta: np.ndarray) -> bool:
        """Return True if all rows are done at this point.

        An index outside an array raises an error that names the row.
        """
        point, rows, width = theta.copy(), self.rows, self.width
        point.flags.writeable = False
        arguments = point, rows, width, *(self.out or [np.zeros(0)]), self.left
        try:
            if _pass(self.function, bool(self.out), checked=True)(*arguments) == 0:
                return True
        except NumbaError:
            _compile(_pass(self.function, bool(self.out), checked=False), self.name, arguments)
            return True  # it compiles without bounds checking only: nothing to be found out
        raised = np.flatnonzero(self.left)
        for i in raised[:: -(-raised.size // _MOST_EXAMINED)]:
            row = rows[i, :width]
            _tried(self.function, self.name, [point, row, *self.out], f" in row {i} ({_show(row)})")
        return False


class RowAudits:
    """Calls functions with all rows at simple points.

    Rows at which a function always raises are left for other points.
    """

    def __init__(self, audits: list[RowAudit], dim: int):
        self.left = audits
        for point in plain_points(dim):
            self.at(point)

    def at(self, theta: np.ndarray) -> None:
        """Check the indices of the rows that are left; at earlier points the functions failed for them."""
        self.left = [audit for audit in self.left if not audit.at(theta)]


def plain_points(dim: int) -> Iterator[np.ndarray]:
    """Yield zero and other points. The others are for functions that are not defined at zero, such as logarithms."""
    yield from (np.full(dim, value) for value in (0.0, 1.0, 0.5, -1.0))
    yield from np.random.default_rng(0).standard_normal((3, dim))


def _compile(dispatcher: Any, name: str, arguments: tuple) -> None:
    try:
        dispatcher.compile(tuple(numba.typeof(argument) for argument in arguments))
    except NumbaError as error:
        raise does_not_compile(name, error) from None


def _tried(function: Any, name: str, arguments: list, where: str) -> bool:
    """Whether the function came to an end. An index beyond an array raises; other exceptions are its own affair."""
    try:
        _checked(function)(*arguments)
    except IndexError as error:
        raise IndexError(
            f"{name} reads or writes beyond its arrays{where}: {_reason(function, arguments) or error}. Positions "
            "count from 0, so groups numbered from 1 need theta[int(row[0]) - 1]; or give more parameters or columns."
        ) from None
    except NumbaError:
        return True  # compiles without bounds checking only: nothing to be found out
    except Exception:
        return False
    return True


def _reason(function: Any, arguments: list) -> str:
    """The position and the size, which compiled code does not tell."""
    try:
        with np.errstate(all="ignore"):
            function.py_func(*arguments)
    except IndexError as error:
        return str(error)
    except Exception:
        return ""
    return ""


def _pass(function: Any, writes: bool, checked: bool) -> Callable:
    """Compiled: all rows marked in ``left``, of which those are unmarked that do not raise; tells how many are left."""

    def make() -> Callable:
        called = _checked(function) if checked else function

        @helper(cache=False)
        def without_out(theta, rows, width, out, left):
            n_left = 0
            for i in range(rows.shape[0]):
                if left[i]:
                    try:
                        called(read_only(theta), rows[i, :width])
                        left[i] = False
                    except Exception:
                        n_left += 1
            return n_left

        @helper(cache=False)
        def with_out(theta, rows, width, out, left):
            n_left = 0
            for i in range(rows.shape[0]):
                if left[i]:
                    try:
                        called(read_only(theta), rows[i, :width], out)
                        left[i] = False
                    except Exception:
                        n_left += 1
            return n_left

        return with_out if writes else without_out

    return kept(function, ("pass", writes, checked), make)


def _checked(function: Any) -> Any:
    """The function compiled with bounds checking, and so the helpers that it calls by name."""
    return kept(function, "checked", lambda: _checked_copy(function, {}))


def _checked_copy(function: Any, copies: dict) -> Any:
    if function in copies:  # functions may call each other, or themselves
        return copies[function]
    plain = function.py_func
    names, cells = _names(plain.__code__), list[types.CellType]()
    scope = dict(plain.__globals__)
    copy = types.FunctionType(plain.__code__, scope, plain.__name__, plain.__defaults__, _cells(plain, cells))
    asked = function.targetoptions
    options = {"error_model": asked.get("error_model", "numpy"), "fastmath": asked.get("fastmath", False)}
    copies[function] = checked = numba.njit(
        copy, boundscheck=True, **options
    )  # as it is inside the library's functions
    for name in names & scope.keys():
        if isinstance(scope[name], Dispatcher):
            scope[name] = _checked_copy(scope[name], copies)
    for cell in cells:
        if isinstance(cell.cell_contents, Dispatcher):
            cell.cell_contents = _checked_copy(cell.cell_contents, copies)
    return checked


def _cells(plain: Any, new: list[types.CellType]) -> tuple | None:
    """New cells with the same contents, so that the user's own stay as they are."""
    new.extend(types.CellType(cell.cell_contents) for cell in plain.__closure__ or ())
    return tuple(new) if plain.__closure__ else None


def _names(code: types.CodeType) -> set[str]:
    """Global names that a function mentions, functions inside it included."""
    inner = (_names(constant) for constant in code.co_consts if isinstance(constant, types.CodeType))
    return set(code.co_names).union(*inner)


def _show(row: np.ndarray) -> str:
    return np.array2string(row, precision=4, threshold=6, edgeitems=3)
