"""The rows of pieces that were mapped before as observations: nothing is read when they are made."""

from __future__ import annotations

from ..targets.observations.from_source import Blocks, FromSource
from .pieces import RowsOfPieces


class LivingRows(FromSource):
    """Rows of pieces that were read before, as observations.

    If a file changes during a run, an error is raised. The fingerprint is computed from the identities of the pieces.
    """

    examined = True

    def __init__(self, source: RowsOfPieces, blocks: Blocks, classes: tuple[str, ...] | None):
        super().__init__(source, blocks)
        self._settle(classes=classes)
