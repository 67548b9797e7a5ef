"""Helpers as compiled functions call them: optimised code to be taken into the caller, and no machine code.

Numba makes of every function what a call from Python needs: a wrapper that takes Python's arguments apart (a model has
dozens of arrays), one with C's calling convention, and machine code of all three. Compiled functions use none of it:
they take a helper's optimised LLVM code into their own, and machine code is made of the whole. So a helper is two
functions. Python calls the outer one. Compiled functions call the inner one, which has no wrappers and no machine code
and takes half the time to compile.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from llvmlite import binding
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, compile_result
from numba.core.registry import CPUDispatcher


class _CodeToLink(JITCodeLibrary):
    """LLVM code of one function, optimised, with no address in memory."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0

    @property
    def codegen(self) -> Any:
        """Return an object that ignores the addresses of Python objects: the machine code of the caller sets them."""
        return SimpleNamespace(set_env=lambda name, environment: None)

    def serialize_using_object_code(self) -> tuple[str, str, bytes]:
        return self.name, "bitcode", self._get_module_for_linking().as_bitcode()


class _ToLink(Compiler):
    """Numba's steps, the last of them left out."""

    def compile_extra(self, func: Any) -> Any:
        self.state.library = _CodeToLink(self.state.targetctx.codegen(), func.__qualname__)
        return super().compile_extra(func)


def code_to_link(target_context: Any, data: Any) -> Any:
    """Return an inner function that was read from a file of the cache."""
    (name, _, bitcode), described, environment, signature, *_, referenced = data
    library = _CodeToLink(target_context.codegen(), name)
    library._final_module = binding.parse_bitcode(bitcode)
    library._finalize_final_module()
    return compile_result(
        typing_context=target_context.typing_context,
        target_context=target_context,
        entry_point=target_context.get_executable(library, described, environment),
        signature=signature,
        library=library,
        objectmode=False,
        lifted=(),
        fndesc=described,
        environment=environment,
        reload_init=[],
        referenced_envs=referenced,
    )


def inner_dispatcher(function: Any, options: dict[str, Any]) -> Any:
    """Return Numba's dispatcher of an inner function.

    If the sums of a function may be reordered, machine code is also made for the function itself. Then LLVM decides how
    vector lanes are added. If the caller decided this, the rounding would differ from earlier releases.
    """
    without = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    pipeline = Compiler if options["fastmath"] else _ToLink
    return CPUDispatcher(function, {}, {**options, **without}, pipeline_class=pipeline)


def is_to_link(dispatcher: Any) -> bool:
    """Return True if the function has no machine code of its own."""
    return dispatcher._compiler.pipeline_class is _ToLink


class OuterDispatcher(CPUDispatcher):
    """A function in the form that Python calls.

    For compiled functions it has the type of ``inner``, if there is one.
    """

    inner: Any = None

    @property
    def _numba_type_(self) -> Any:
        return types.Dispatcher(self if self.inner is None else self.inner)

    def add_overload(self, cres: Any) -> None:
        """Add compiled code, and give machine code the addresses of the Python objects that it and its inner functions
        use.
        """
        super().add_overload(cres)
        for environment in cres._find_referenced_environments():
            cres.library.codegen.set_env(environment.env_name, environment)
