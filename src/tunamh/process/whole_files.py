"""Files that are there whole or not at all, whatever kills the process that writes them."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

UNFINISHED = ".unfinished"
"""How the name of a file ends while it is being written."""

NO_FOLLOW, NON_BLOCK, BINARY = (getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))


def replace_whole(path: Path, data: bytes) -> None:
    """Write ``data`` to a file. After a kill or a power cut at any moment, the file is the old one or the new one.

    The data are first written to a temporary file with another name. This file is always created, and a link with this
    name is never followed. So a link in a folder of another user cannot redirect the data.
    """
    other = path.with_name(path.name + UNFINISHED)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_FOLLOW | BINARY
    try:
        other.unlink(missing_ok=True)
        with os.fdopen(os.open(other, flags, 0o644), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(other, path)
        _sync_folder(path.parent)
    except OSError:
        with contextlib.suppress(OSError):
            other.unlink(missing_ok=True)  # on a full disk that is room for others
        raise


def _sync_folder(folder: Path) -> None:
    """That a file has a new name is kept in its folder; not every system lets one sync that."""
    with contextlib.suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def remove_unfinished(folder: Path) -> None:
    """Remove files that a killed process has left unfinished."""
    for path in folder.glob(f"*{UNFINISHED}"):
        with contextlib.suppress(OSError):
            path.unlink()


def locked(file: int) -> bool:
    """Lock a file. Return True if this process holds the lock now.

    On systems without such locks the result is True; there, the user must not start two runs.
    """
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True
