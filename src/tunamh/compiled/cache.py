"""Compiled code on disk: one file for a function and its types, named after what it is made of (`.contents`).

An edit makes another name, so nothing old is ever called, and only what depends on the edit is compiled again. Files
are there whole or not at all; one that cannot be read or written (a full disk, a file cut short) costs time, nothing
else.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import sys
import tempfile
import uuid
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba.core import sigutils
from numba.core.caching import CompileResultCacheImpl
from numba.core.serialize import dumps

from .contents import NoDigest, digest_of, digest_of_types, options_of

_PACKAGE = Path(__file__).parent.parent
_MOST = 20  # versions of a function that are kept


def _candidates() -> list[Path]:
    """Folders to keep compiled code in, the first that can be written to is taken."""
    if os.environ.get("NUMBA_CACHE_DIR"):
        return [Path(os.environ["NUMBA_CACHE_DIR"]) / "tunamh"]
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return [_PACKAGE / "__pycache__" / "tunamh", home / "tunamh"]


@cache
def folder() -> Path | None:
    """Where compiled code is written to; None where no folder is writable."""
    for candidate in _candidates():
        with contextlib.suppress(OSError, RuntimeError):
            candidate.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=candidate).close()
            return candidate
    return None


class ContentCache:
    """The cache of one function, as Numba's dispatchers ask for it."""

    told = False

    def __init__(self, dispatcher: Any):
        self._dispatcher = dispatcher
        self._prefix = "".join(c for c in dispatcher.py_func.__qualname__ if c.isalnum() or c in "_.")

    @property
    def cache_path(self) -> str:
        return str(folder())

    def _file(self, signature: Any, codegen: Any) -> Path | None:
        """The file of this function for these types on this processor; None where there can be none."""
        where = folder()
        if where is None:
            return None
        try:
            contents = digest_of(self._dispatcher.py_func)
        except NoDigest:
            return None
        arguments, _ = sigutils.normalize_signature(signature)
        versions = numba.__version__, llvmlite.__version__, sys.version_info[:3], codegen.magic_tuple()
        options = options_of(self._dispatcher)
        key = repr((contents, digest_of_types(arguments), versions, options))
        return where / f"{self._prefix}-{hashlib.sha256(key.encode()).hexdigest()[:32]}.nbc"

    def holds(self, signature: Any, target_context: Any) -> bool:
        """Whether machine code for these types is on disk."""
        file = self._file(signature, target_context.codegen())
        return file is not None and file.exists()

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        target_context.refresh()
        file = self._file(signature, target_context.codegen())
        if file is None or not file.exists():
            return None
        try:
            return CompileResultCacheImpl.rebuild(self, target_context, pickle.loads(file.read_bytes()))  # type: ignore[arg-type]
        except Exception as error:  # whatever unpickling a damaged file may raise
            self._tell("read", error)
            with contextlib.suppress(OSError):
                file.unlink()
            return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        if compiled.lifted or compiled.library.has_dynamic_globals:
            return
        file = self._file(signature, compiled.codegen)
        if file is None:
            return
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
        """Numba asks for this when a function is to be compiled again: it has another digest then."""

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
