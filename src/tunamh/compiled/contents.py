"""What a compiled function is made of, as a digest: by it, compiled code is kept and found again.

Numba's own cache knows a function's file only. After an edit of another file it would go on calling old code, and it
does not keep functions that other functions make. Machine code depends on more, and on less: on the bytecode of the
function and of all that it calls, on the constants and tables that these mention, on the types of their arguments and
on the fields of the named tuples among them; on no line number, docstring or path. All of that goes into the digest.
"""

from __future__ import annotations

import builtins
import hashlib
import types as python
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
from numba import types
from numba.core.dispatcher import Dispatcher

_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic, np.dtype, slice, range, type(Ellipsis))


class NoDigest(Exception):
    """A function refers to something that cannot be hashed. So its compiled code is not stored on disk."""


def digest_of(function: Any) -> str:
    """Return a hash of a function and of everything to which it refers. Raise `NoDigest` if this is impossible."""
    return _Reader().digest(function)


def digest_of_types(signature: Iterable[types.Type]) -> str:
    """Return a hash of the types of arguments.

    Names of fields are included, because code that reads a field contains its position.
    """
    digest = hashlib.sha256()
    for kind in signature:
        _feed(digest, *_types(kind))
    return digest.hexdigest()


def _feed(digest: Any, *texts: str) -> None:
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(data) + data)


def _types(kind: Any) -> Iterator[str]:
    yield str(kind)
    if isinstance(kind, types.FunctionType):
        for one in (*kind.signature.args, kind.signature.return_type):
            yield from _types(one)
    elif isinstance(kind, types.BaseTuple):
        yield from getattr(kind, "fields", ())
        for one in cast(Any, kind).types:
            yield from _types(one)


def _mentioned(code: python.CodeType) -> Iterator[str]:
    """Names of globals and attributes, those of functions inside the function too."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, python.CodeType):
            yield from _mentioned(constant)


@cache
def _taught() -> str:
    """What this library teaches Numba of `scipy.special`, which functions mention by name alone."""
    return hashlib.sha256((Path(__file__).parent / "scipy_overloads.py").read_bytes()).hexdigest()


_known: dict[Any, str] = {}
"""Digests of functions of modules, which live as long as the process."""


class _Reader:
    """Digests of functions that mention each other; ``open`` are those whose digest is under way."""

    def __init__(self) -> None:
        self.open: list[Any] = []
        self.lowest = 0  # of the open functions that were mentioned again, the first

    def digest(self, function: Any) -> str:
        if function in _known:
            return _known[function]
        if function in self.open:  # functions may call each other, or themselves
            self.lowest = min(self.lowest, self.open.index(function))
            return f"open {len(self.open) - self.open.index(function)}"
        depth = len(self.open)
        before, self.lowest = self.lowest, depth
        self.open.append(function)
        digest = hashlib.sha256()
        try:
            _feed(digest, *self._of_function(function))
        finally:
            self.open.pop()
        if self.lowest == depth and "<locals>" not in function.__qualname__:  # it depends on nobody above it
            _known[function] = digest.hexdigest()
        self.lowest = min(before, self.lowest)
        return digest.hexdigest()

    def _of_function(self, function: Any) -> Iterator[str]:
        yield from self._of_code(function.__code__, function.__doc__)
        yield from self._of(function.__defaults__)
        names = sorted(set(_mentioned(function.__code__)))
        scope = function.__globals__
        for name in names:
            if name in scope:
                yield name
                yield from self._of_mentioned(scope[name], names)
            elif hasattr(builtins, name):
                yield f"built-in {name}"
        for cell in function.__closure__ or ():
            yield from self._of_mentioned(cell.cell_contents, names)

    def _of_code(self, code: python.CodeType, doc: str | None) -> Iterator[str]:
        yield code.co_code.hex()
        yield repr((code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_flags))
        yield repr((code.co_argcount, code.co_kwonlyargcount, code.co_posonlyargcount))
        for k, constant in enumerate(code.co_consts):
            if isinstance(constant, python.CodeType):
                inner = constant.co_consts[:1]
                yield from self._of_code(constant, inner[0] if inner and isinstance(inner[0], str) else None)
            elif not (k == 0 and constant in (None, doc)):  # the place of a docstring
                yield repr(constant)

    def _of_mentioned(self, value: Any, names: list[str]) -> Iterator[str]:
        """Of a module, what is mentioned beside it: attributes are names too."""
        if not isinstance(value, python.ModuleType):
            yield from self._of(value)
            return
        yield f"module {value.__name__}"
        if value.__name__.startswith("scipy"):
            yield _taught()
        for name in names:
            inside = vars(value).get(name)
            if isinstance(inside, Dispatcher) or (inside is not None and hasattr(inside, "dispatcher")):
                yield name
                yield from self._of(inside)

    def _of(self, value: Any) -> Iterator[str]:
        match value:
            case Dispatcher():
                yield f"compiled {options_of(value)}"
                yield self.digest(value.py_func)
            case _ if hasattr(value, "dispatcher"):  # a part: a function in a role
                yield "part"
                yield from _types(value.role)
                yield from self._of(value.dispatcher)
            case _ if hasattr(value, "_defn"):  # an intrinsic of Numba
                yield "intrinsic"
                yield self.digest(value._defn)
            case _ if isinstance(getattr(value, "made_of", None), str):  # a layout says it itself
                yield f"{type(value).__name__} {value.made_of}"
            case types.Type():
                yield from _types(value)
            case type():
                yield f"class {value.__module__}.{value.__qualname__} {getattr(value, '_fields', '')}"
            case tuple() | list():
                yield f"{type(value).__name__} {len(value)}"
                for one in value:
                    yield from self._of(one)
            case dict():
                yield f"dict {len(value)}"
                for key, one in value.items():
                    yield from self._of(key)
                    yield from self._of(one)
            case set() | frozenset():
                yield f"set {sorted(map(repr, value))}"
            case np.ndarray():
                yield f"array {value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
            case _ if isinstance(value, _PLAIN):
                yield f"{type(value).__name__} {value!r}"
            case python.FunctionType():
                yield self.digest(value)
            case python.ModuleType():
                yield f"module {value.__name__}"
            case np.ufunc() | python.BuiltinFunctionType():
                yield f"built-in {value.__name__}"
            case _ if isinstance(getattr(value, "__wrapped__", None), python.FunctionType):
                yield self.digest(value.__wrapped__)
            case _:
                module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
                if not (isinstance(module, str) and isinstance(name, str) and not module.startswith("tunamh")):
                    raise NoDigest(f"{type(value).__name__} {value!r:.60}")
                yield f"{module}.{name}"


def options_of(dispatcher: Any) -> list[str]:
    """Return how a function is compiled, in an order that is the same in every process."""
    options = dispatcher.targetoptions.items()
    return sorted(f"{name}={sorted(value) if isinstance(value, set) else value!r}" for name, value in options)
