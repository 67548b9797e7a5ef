"""The folder of a cache: which rows were asked to be forgotten, and a folder for every model with its records.

Every file is there whole or not at all, and is found by a name that says what it was computed from. A file that is cut,
changed or of another version is as good as none: its piece is mapped again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from .._arguments import shown
from .._version import DRAWS
from ..process.whole_files import NO_FOLLOW, locked, remove_unfinished, replace_whole
from .errors import CacheError
from .records import Record, as_bytes, read

COMPUTES = f"{DRAWS}/4"
"""Of the version that computes: records of another one are thrown away. The second number counts changes here."""

_HEADER, _RULES = "cache.json", "forgotten.json"
_ABOUT = "a cache of tunamh.open_rows"


class Cache:
    """The folder of a cache, which the user passes to `open_rows`. It is made when the first record is written."""

    def __init__(self, path: Any):
        if not isinstance(path, str | os.PathLike):
            raise TypeError(f"cache must be the name of a folder, such as 'flights.tunamh', got {shown(path)}.")
        self.path = Path(path)
        if self.path.exists() and not (self.path / _HEADER).is_file() and any(self.path.iterdir()):
            raise CacheError(f"the folder {self.path} is not empty and is not a cache of tunamh: choose another name.")

    @property
    def is_there(self) -> bool:
        return (self.path / _HEADER).is_file()

    def begin(self, source: str) -> None:
        """Make the folder of the cache. Records of versions that compute differently are removed; forget rules stay."""
        self.path.mkdir(parents=True, exist_ok=True)
        header = {"about": _ABOUT, "computes": COMPUTES, "source": source}
        if self._json(_HEADER) != header:
            known = self._json(_HEADER) or {}
            if known.get("computes") != COMPUTES:
                for folder in self._models():
                    shutil.rmtree(folder, ignore_errors=True)
            self._write(self.path / _HEADER, json.dumps(header, indent=1).encode())

    @property
    def source(self) -> str | None:
        """Return the path of the files, as the user passed it to `open_rows`."""
        found = self._json(_HEADER) or {}
        return found.get("source")

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the lock of the cache. Only the process that writes may hold it."""
        self.path.mkdir(parents=True, exist_ok=True)
        file = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | NO_FOLLOW, 0o644)
        try:
            if not locked(file):
                raise CacheError(f"another process writes to {self.path}: wait until it has finished, or stop it.")
            yield
        finally:
            os.close(file)

    def _models(self) -> list[Path]:
        return [folder for folder in sorted(self.path.glob("model-*")) if folder.is_dir()]

    def model(self, about: Any) -> ModelFolder:
        """Return the folder of a model. Its name is a hash of ``about``, which describes the model."""
        name = hashlib.blake2b(repr(about).encode(), digest_size=8).hexdigest()
        return ModelFolder(self.path / f"model-{name}")

    def models(self) -> list[ModelFolder]:
        return [ModelFolder(folder) for folder in self._models()]

    # ------------------------------------------------------------------------------------------ rows to be forgotten

    def rules(self) -> list[dict[str, Any]]:
        """Return the conditions of rows that are left out, in the order in which they were given."""
        path = self.path / _RULES
        if not path.exists():
            return []
        found = self._json(_RULES)
        if not isinstance(found, list) or not all(isinstance(one, dict) and "where" in one for one in found):
            raise CacheError(
                f"{path} says which rows are forgotten, and it cannot be read: restore it from a copy, or delete "
                "it and call tunamh.forget again."
            )
        return found

    def add_rule(self, rule: dict[str, Any]) -> None:
        self._write(self.path / _RULES, json.dumps([*self.rules(), rule], indent=1).encode())

    def _json(self, name: str) -> Any:
        try:
            return json.loads((self.path / name).read_bytes())
        except (OSError, ValueError):
            return None

    @staticmethod
    def _write(path: Path, data: bytes) -> None:
        try:
            replace_whole(path, data)
        except OSError as error:
            raise CacheError(
                f"{path} could not be written ({error.strerror or error}). Files that were written before are not "
                "damaged: free some space or repair the disk, and run the same script again."
            ) from error


class ModelFolder:
    """The folder with the records of one model."""

    def __init__(self, path: Path):
        self.path = path

    def begin(self) -> None:
        self.path.mkdir(exist_ok=True)
        remove_unfinished(self.path)

    def read(self, name: str) -> Record | None:
        return read(self.path / f"{name}.record")

    def write(self, name: str, record: Record) -> None:
        Cache._write(self.path / f"{name}.record", as_bytes(record))

    def names(self) -> list[str]:
        return [path.stem for path in self.path.glob("*.record")]

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            with contextlib.suppress(OSError):
                (self.path / f"{name}.record").unlink()

    def rename(self, name: str, other: str) -> None:
        with contextlib.suppress(OSError):
            os.replace(self.path / f"{name}.record", self.path / f"{other}.record")

    @property
    def size(self) -> int:
        """Return the size of all records in bytes."""
        return sum(path.stat().st_size for path in self.path.glob("*.record"))
