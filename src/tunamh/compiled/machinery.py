"""How functions are compiled and handed over: helpers, parts, and views that cost nothing.

A part (a model's block of rows, a proposal, an acceptance test) is a plain function compiled for the signature of its
role (`tunamh.compiled.roles`) and handed to the chain as a pointer. The chain is therefore compiled once, cached on
disk, and works with parts that it has never seen.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
from numba import types
from numba.core import cgutils
from numba.core.errors import NumbaError
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic as _numba_intrinsic
from numba.extending import typeof_impl

from ..process.forks import compiler_lock
from .cache import ContentCache
from .compiler import compiled

intrinsic: Any = _numba_intrinsic  # its calls look nothing like its definition to a type checker

_FLAGS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}

REASSOCIATE = {"reassoc", "contract", "nsz"}
"""Lets the compiler reorder a sum over columns into vector lanes. NaN and infinity keep their meaning."""

CONTRACT = {"contract", "nsz"}
"""Fused multiply-add only: safe for the hand-written rounding in `_vector`."""


def helper(function: Callable | None = None, *, fastmath: Any = False, inline: bool = False, cache: bool = True) -> Any:
    """Compile a function that other compiled functions call. It is stored on disk if a folder is writable.

    ``inline`` forces LLVM to inline it, because a call inside a loop prevents vectorisation of the loop. A function
    whose sums may be reordered is always inlined. Otherwise there would be two versions, alone and inside its caller,
    with different rounding: newly compiled code would call one and code from the cache the other. Then the first draws
    after an installation would differ from all later draws.
    """

    def decorate(function: Callable) -> Any:
        forced = inline or bool(fastmath)
        return compiled(function, cache=cache, inner=True, fastmath=fastmath, forceinline=forced, **_FLAGS)

    return decorate if function is None else decorate(function)


class Part(types.WrapperAddressProtocol):
    """A function that is compiled for a role: the signature of an energy, a step or another task.

    The function is compiled, or loaded from the cache, when it is first used. All parts with the same role have the
    same Numba type. So other compiled code can call any of them without a new compilation.

    Parameters
    ----------
    function : callable
        The Python function.
    role : FamilyEnergy, Step or another role
        The signature.
    fastmath : set of LLVM flags, optional
        The same argument as in `tunamh.extend.part`.
    cache : bool
        True: keep the compiled code on disk.
    made_by : str, optional
        If another function returned ``function``: the text ``module:name:number:...`` with the module and the name of
        that other function, and the numbers with which it was called.
    """

    def __init__(
        self, function: Callable, role: Any, *, fastmath: Any = False, cache: bool = True, made_by: str | None = None
    ):
        self.__doc__ = function.__doc__
        self.made_by = made_by  # ``module:function:number``: the call of a function that returns this part
        self.role = role
        self._made_of = function, fastmath, cache
        self.dispatcher = compiled(
            function, cache=cache, inner=False, fastmath=fastmath, forceinline=bool(fastmath), **_FLAGS
        )
        self._address: int | None = None

    def __reduce__(self) -> Any:
        """By its name where it has one in a module, else by what it was made of: parts are sent to other processes."""
        function, fastmath, cache = self._made_of
        place = self.place
        if place is not None:
            return part_at, (place,)
        return _made_again, (function, self.role, fastmath, cache)

    def _compile(self) -> None:
        with compiler_lock:  # chains in threads may hand over the same part at once
            if self._address is not None:
                return
            self.dispatcher.compile(self.role.signature)
            self.dispatcher.disable_compile()  # another type would be a mistake, not a new version
            result = self.dispatcher.get_compile_result(self.role.signature)
            self._entry_point = result.entry_point
            self._address = result.library.get_pointer_to_function(result.fndesc.llvm_cfunc_wrapper_name)

    @property
    def file(self) -> Path | None:
        """Return the path of the file with the machine code; None if the code is not kept on disk."""
        kept = self.dispatcher._cache
        return kept.file(self.role.signature, self.dispatcher.targetctx) if isinstance(kept, ContentCache) else None

    @property
    def is_kept(self) -> bool:
        """Return True if the function need not be compiled, because its machine code is in memory or on disk."""
        return self._address is not None or ((file := self.file) is not None and file.exists())

    @property
    def place(self) -> str | None:
        """Return a text by which other processes find the function; None if they cannot find it.

        For a function in a module the text is ``module:name``. For a function that another function returned, it is
        ``module:name:number:...``: the module and the name of that other function, and the numbers with which it was
        called (the argument ``made_by`` of `Part`).
        """
        if self.made_by is not None:
            return self.made_by
        plain = self._made_of[0]
        plain = getattr(plain, "py_func", plain)
        found = getattr(sys.modules.get(plain.__module__), plain.__name__, None) is self
        return f"{plain.__module__}:{plain.__name__}" if found else None

    def __wrapper_address__(self) -> int:
        if self._address is None:
            self._compile()
        return cast(int, self._address)

    def signature(self) -> Any:
        """Return the Numba signature of the role: the types of the arguments and of the result."""
        return self.role.signature

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled function with these arguments; the function is compiled if necessary."""
        if self._address is None:
            self._compile()
        return self.dispatcher(*arguments)

    def trusted(self, *arguments: Any) -> Any:
        """Call the compiled function without a check of the argument types.

        For a block of rows, the check can take longer than the computation.
        """
        if self._address is None:
            self._compile()
        return self._entry_point(*arguments)


@typeof_impl.register(Part)
def _role_of(part: Part, context: Any) -> Any:
    """Its role is its type.

    Left to itself, Numba makes the type anew from the signature, for every part of a bundle and at every call: half a
    millisecond for a model.
    """
    return part.role


def part_at(place: str) -> Any:
    """Return the part at a place (`Part.place`)."""
    module, name, *numbers = place.split(":")
    found = getattr(importlib.import_module(module), name)
    return found(*map(int, numbers)) if numbers else found


def _made_again(function: Callable, role: Any, fastmath: Any, cache: bool) -> Part:
    return Part(function, role, fastmath=fastmath, cache=cache)


def compile_now(part: Part, call: str) -> Part:
    """Compile a part made from a user's function now, so that an error appears where the part was made."""
    try:
        part.__wrapper_address__()
    except NumbaError as error:
        raise does_not_compile(call, error) from None
    return part


def does_not_compile(call: str, error: NumbaError) -> TypeError:
    """Return the error for a user's function that Numba cannot compile."""
    return TypeError(
        f"{call} does not compile. Decorate it with @numba.njit, without a signature. theta, prop and row are float64 "
        f"vectors; a function may write only to prop of a proposal. The result must be a number.\n{error}"
    )


def part(role: Any, *, fastmath: Any = False, cache: bool = True) -> Callable[[Callable], Part]:
    """Decorator: compile a function for the role ``role``."""
    return lambda function: Part(function, role, fastmath=fastmath, cache=cache)


@intrinsic
def borrowed(typing, bundle):
    """Return the same array, or bundle of arrays, without reference counters. The caller must keep the arrays alive.

    If a bundle with counters is passed to a part, the counter of every array is changed by atomic operations. In the
    chain loop this took a third of the time of a step with few rows.
    """

    def strip(context, builder, kind, value):
        if isinstance(kind, types.Array):
            array = cgutils.create_struct_proxy(kind)(context, builder, value=value)
            array.meminfo = cgutils.get_null_value(array.meminfo.type)
            array.parent = cgutils.get_null_value(array.parent.type)
            return array._getvalue()
        if isinstance(kind, types.BaseTuple):
            for position, member in enumerate(cast(Any, kind).types):
                stripped = strip(context, builder, member, builder.extract_value(value, position))
                value = builder.insert_value(value, stripped, position)
        return value

    def emit(context, builder, signature, arguments):
        return strip(context, builder, signature.args[0], arguments[0])

    return bundle(bundle), emit


@intrinsic
def read_only(typing, array):
    """Return the same array with a type that forbids writing.

    User's functions get the state of the chain in this form.
    """

    def emit(context, builder, signature, arguments):
        return impl_ret_borrowed(context, builder, signature.return_type, arguments[0])

    return types.Array(array.dtype, array.ndim, array.layout, readonly=True)(array), emit


def fixed(values: Any) -> np.ndarray:
    """Return the numbers as a read-only, contiguous float64 vector, as ``hyper`` and ``knobs`` must be.

    ``values`` is a number or a sequence of numbers. ``hyper`` are the fixed numbers of a part; ``knobs`` are its tuning
    parameters.
    """
    array = np.array(values, dtype=np.float64).ravel()
    array.flags.writeable = False
    return array
