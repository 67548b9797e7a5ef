"""Compiled code on disk: one file for a function and its types, named after what it is made of (`.contents`).

An edit makes another name, so nothing old is ever called, and only what depends on the edit is compiled again. Files
are there whole or not at all; one that cannot be read or written (a full disk, a file cut short) costs time, nothing
else. A wheel may bring such files (`tunamh/_compiled`, made by ``tunamh compile``): they are looked at first, and only
read.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import pickle
import sys
import tempfile
import uuid
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba.core import sigutils
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from .contents import NoDigest, digest_of, digest_of_types, options_of

_PACKAGE = Path(__file__).parent.parent
_SHIPPED = _PACKAGE / "_compiled"
_MOST = 40  # versions of a function that are kept
_PYTHON = sys.implementation.name, importlib.util.MAGIC_NUMBER.hex()  # whose bytecode functions are made of


def _candidates() -> list[Path]:
    """Folders to keep compiled code in, the first that can be written to is taken."""
    if os.environ.get("NUMBA_CACHE_DIR"):
        return [Path(os.environ["NUMBA_CACHE_DIR"]) / "tunamh"]
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return [_PACKAGE / "__pycache__" / "tunamh", home / "tunamh"]


@cache
def folder() -> Path | None:
    """Return the folder for compiled code, or None if no folder is writable."""
    for candidate in _candidates():
        with contextlib.suppress(OSError, RuntimeError):
            candidate.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=candidate).close()
            return candidate
    return None


_loaded: set[Path] = set()


def loaded() -> list[Path]:
    """Return the files from which this process has loaded machine code.

    A wheel must contain them for the same calls.
    """
    return sorted(_loaded)


def _rebuild(target_context: Any, data: Any) -> Any:
    """Machine code that can be called, from what a file holds."""
    return CompileResult._rebuild(target_context, *data)


class ContentCache:
    """The cache of one function, with the methods that Numba's dispatchers call."""

    told = False

    def __init__(self, dispatcher: Any, rebuild: Callable[[Any, Any], Any] = _rebuild):
        self._dispatcher, self._rebuild = dispatcher, rebuild
        plain = dispatcher.py_func
        name = f"{plain.__module__}.{plain.__qualname__}".removeprefix("tunamh.")
        self._prefix = "".join(c for c in name if c.isalnum() or c in "_.")[-100:]

    @property
    def cache_path(self) -> str:
        return str(folder())

    def _name(self, signature: Any, codegen: Any) -> str | None:
        """The file's name for these types on this processor; None where nobody can tell what code is made of."""
        try:
            contents = digest_of(self._dispatcher.py_func)
        except NoDigest:
            return None
        arguments, _ = sigutils.normalize_signature(signature)
        versions = numba.__version__, llvmlite.__version__, _PYTHON, codegen.magic_tuple()
        key = repr((contents, digest_of_types(arguments), versions, options_of(self._dispatcher)))
        return f"{self._prefix}-{hashlib.sha256(key.encode()).hexdigest()[:32]}.nbc"

    def _file(self, signature: Any, codegen: Any) -> Path | None:
        name, where = self._name(signature, codegen), folder()
        if name is not None and (shipped := _SHIPPED / name).exists():
            return shipped
        return None if name is None or where is None else where / name

    def file(self, signature: Any, target_context: Any) -> Path | None:
        """Return the file of the machine code for these types, or None if it cannot be stored."""
        return self._file(signature, target_context.codegen())

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        target_context.refresh()
        file = self._file(signature, target_context.codegen())
        if file is None or not file.exists():
            return None
        try:
            data = pickle.loads(file.read_bytes())
            _loaded.add(file)
            return self._rebuild(target_context, data)
        except Exception as error:  # whatever unpickling a damaged file may raise
            self._tell("read", error)
            if file.parent != _SHIPPED:
                with contextlib.suppress(OSError):
                    file.unlink()
            return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        if compiled.lifted or compiled.library.has_dynamic_globals:
            return
        name, where = self._name(signature, compiled.codegen), folder()
        if name is None or where is None:
            return
        file = where / name
        try:
            written = file.with_suffix(f".{uuid.uuid4().hex[:12]}")
            written.write_bytes(dumps(compiled._reduce()))
            written.replace(file)
            self._forget_old(file)
        except Exception as error:
            self._tell("written", error)
            with contextlib.suppress(OSError):
                written.unlink()

    def _forget_old(self, file: Path) -> None:
        """Leave the newest versions of this function: other environments, or other types of its arguments."""
        with contextlib.suppress(OSError):
            others = sorted(file.parent.glob(f"{self._prefix}-*.nbc"), key=lambda path: -path.stat().st_mtime)
            for old in others[_MOST:]:
                old.unlink()

    def flush(self) -> None:
        """Do nothing. Numba calls this when a function is compiled again, but then it has another hash."""

    enable = disable = flush

    def _tell(self, what: str, error: Exception) -> None:
        if ContentCache.told:
            return
        ContentCache.told = True
        warnings.warn(
            f"compiled code in {folder()} cannot be {what} ({type(error).__name__}: {error}): it is compiled again in "
            "memory, which takes seconds. Make room there, delete the folder, or name another one by NUMBA_CACHE_DIR.",
            stacklevel=2,
        )
