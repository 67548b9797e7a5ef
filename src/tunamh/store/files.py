"""Files that are there whole or not at all, and one writer at a time."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

from ..process.whole_files import BINARY, NO_FOLLOW, NON_BLOCK, UNFINISHED, locked, remove_unfinished, replace_whole
from .errors import StoreError

__all__ = ["UNFINISHED", "Lock", "read_whole", "remove_unfinished", "write_whole"]


def write_whole(path: Path, data: bytes) -> None:
    """Write ``data`` to a file. After a kill or a power cut at any moment, the file is the old one or the new one.

    The data are first written to a temporary file with another name. This file is always created, and a link with this
    name is never followed. So a link in a folder of another user cannot redirect the data.
    """
    try:
        replace_whole(path, data)
    except OSError as error:
        if not path.parent.is_dir():
            raise StoreError(
                f"{path} could not be written: the folder {path.parent} does not exist any more. It was deleted or "
                f"moved during the run: if it was moved, call tunamh.resume with its new place; if it was deleted, "
                f"its draws are lost.",
                path,
            ) from error
        raise StoreError(
            f"{path} could not be written ({error.strerror or error}). The files that were written before are "
            f"complete: free some space or repair the disk; then tunamh.resume continues with the same draws.",
            path,
        ) from error


def read_whole(path: Path, most: int) -> bytes:
    """Return the bytes of a file with at most ``most`` bytes.

    Raise `ValueError` for a pipe or a device, and read nothing.
    """
    with os.fdopen(os.open(path, os.O_RDONLY | NON_BLOCK | BINARY), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("it is not a regular file")
        if found.st_size > most:
            raise ValueError(f"it has {found.st_size:,} bytes, where at most {most:,} are expected")
        return file.read(most + 1)


class Lock:
    """The lock of a folder. Only the process that writes holds it; the system releases it if the process dies."""

    def __init__(self, folder: Path):
        self.path = folder / "lock"
        self._file: int | None = None

    def __enter__(self) -> Lock:
        try:
            flags = os.O_RDWR | os.O_CREAT | NO_FOLLOW
            self._file = os.open(self.path, flags, 0o644)
        except OSError as error:
            raise StoreError(
                f"{self.path} could not be opened ({error.strerror}), so nothing can be written to the store: check "
                f"the permissions of the folder, and whether the disk is full.",
                self.path,
            ) from error
        if not locked(self._file):
            self.__exit__()
            raise StoreError(
                f"another process writes to {self.path.parent}: wait until it has finished, or stop it. "
                f"tunamh.read_store can read the store at any time.",
                self.path,
            )
        return self

    def __exit__(self, *exception: Any) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
