"""What goes wrong with a store."""

from __future__ import annotations

from pathlib import Path

from ..errors import TunaMHError


class StoreError(TunaMHError):
    """A store could not be written or read, or belongs to another run; the text says what to do.

    Attributes
    ----------
    path : Path
        The file or folder it is about.
    """

    def __init__(self, message: str, path: Path):
        self.path = path
        super().__init__(message)
