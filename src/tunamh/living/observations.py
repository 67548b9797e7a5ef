"""The rows of pieces that were mapped before as observations: nothing is read when they are made."""

from __future__ import annotations

from ..targets.observations.from_source import Blocks, FromSource
from .pieces import RowsOfPieces


class LivingRows(FromSource):
    """Rows of which every piece was looked at when it was mapped; a file that changes while a run goes on is refused.

    The fingerprint is that of the pieces, by which the cache finds them.
    """

    examined = True

    def __init__(self, source: RowsOfPieces, blocks: Blocks, classes: tuple[str, ...] | None):
        super().__init__(source, blocks)
        self._settle(classes=classes)
