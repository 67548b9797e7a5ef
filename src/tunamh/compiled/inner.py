"""Helpers as compiled functions call them: optimised code to be taken into the caller, and no machine code.

Numba makes of every function what a call from Python needs: a wrapper that takes Python's arguments apart (a model has
dozens of arrays), one with C's calling convention, and machine code of all three. Compiled functions use none of it:
they take a helper's optimised LLVM code into their own, and machine code is made of the whole. So a helper is two
functions. Python calls the outer one. Compiled functions call the inner one, without wrappers and machine code, which
takes half the time to compile.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from llvmlite import binding
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult
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
        """What a compiled function keeps of Python has an address once its caller is machine code; not before."""
        return SimpleNamespace(set_env=lambda name, environment: None)

    def serialize_using_object_code(self) -> tuple[str, str, bytes]:
        return self.name, "bitcode", self._get_module_for_linking().as_bitcode()


class _ToLink(Compiler):
    """Numba's steps, the last of them left out."""

    def compile_extra(self, func: Any) -> Any:
        self.state.library = _CodeToLink(self.state.targetctx.codegen(), func.__qualname__)
        return super().compile_extra(func)


def code_to_link(target_context: Any, data: Any) -> Any:
    """What an inner function was, from a file of the cache."""
    (name, _, bitcode), described, environment, signature, *_, referenced = data
    library = _CodeToLink(target_context.codegen(), name)
    library._final_module = binding.parse_bitcode(bitcode)
    library._finalize_final_module()
    return CompileResult(
        typing_context=target_context.typing_context,
        target_context=target_context,
        entry_point=target_context.get_executable(library, described, environment),
        typing_error=None,
        type_annotation="",
        signature=signature,
        library=library,
        objectmode=False,
        lifted=(),
        fndesc=described,
        call_helper=None,
        environment=environment,
        metadata=None,
        reload_init=[],
        referenced_envs=referenced,
    )


def inner_dispatcher(function: Any, options: dict[str, Any]) -> Any:
    """Numba's dispatcher of an inner function."""
    without = {"nopython": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    pipeline = Compiler if options.get("fastmath") else _ToLink
    return CPUDispatcher(function, {}, {**options, **without}, pipeline_class=pipeline)


class OuterDispatcher(CPUDispatcher):
    """A function as Python calls it; to compiled functions, its type is that of ``inner`` where there is one."""

    inner: Any = None

    @property
    def _numba_type_(self) -> Any:
        return types.Dispatcher(self if self.inner is None else self.inner)

    def add_overload(self, cres: Any) -> None:
        """Tell machine code, too, where Python's objects are that it and the inner functions in it mention."""
        super().add_overload(cres)
        for environment in cres._find_referenced_environments():
            cres.library.codegen.set_env(environment.env_name, environment)
