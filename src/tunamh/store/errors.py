"""What goes wrong with a store."""

from __future__ import annotations

from pathlib import Path

from ..errors import TunaMHError


class StoreError(TunaMHError):
    """The folder of a stored run cannot be written or read, or it belongs to another run.

    The message says what to do.

    Attributes
    ----------
    path : Path
        The file or folder.
    """

    def __init__(self, message: str, path: Path):
        self.path = path
        super().__init__(message)
