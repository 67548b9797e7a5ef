"""What happened night by night: which pieces a posterior has, what was mapped, and where the coefficients were."""

from __future__ import annotations

from typing import Any

from .cache import ModelFolder
from .pieces import PieceId
from .records import Record

_JOURNAL = "journal"


class Journal:
    """The journal of a model: its nights (runs), and which rows of which file are in the posterior of which night."""

    def __init__(self, folder: ModelFolder):
        self.folder, record = folder, folder.read(_JOURNAL)
        words = {} if record is None else record.words
        self.about: dict[str, Any] = words.get("about", {})
        self.nights: list[dict[str, Any]] = words.get("nights", [])
        self.pieces: list[dict[str, Any]] = words.get("pieces", [])

    def same_as(self, fingerprint: str) -> bool:
        """Return True if the last night had the same rows."""
        return bool(self.nights) and self.nights[-1]["data"] == fingerprint

    def add(
        self, about: dict[str, Any], night: dict[str, Any], ids: list[PieceId], rows: list[int], gone: list[int]
    ) -> None:
        """Add one more night. If it has the same rows as the night before, it replaces that night."""
        if self.same_as(night["data"]):
            self.nights[-1] = {**night, "date": self.nights[-1]["date"]}
        else:
            self.nights.append(night)
            self._register(ids, rows, gone)
        self.about = about
        words = {"about": about, "nights": self.nights, "pieces": self.pieces}
        self.folder.write(_JOURNAL, Record(words, {}))

    def _register(self, ids: list[PieceId], rows: list[int], gone: list[int]) -> None:
        """A piece is listed from the night on which its rows came to the last on which just these were there."""
        number = len(self.nights) - 1
        open_ones = {
            (one["digest"], one["rows"], one["forgotten"]): one for one in self.pieces if one["last"] == number - 1
        }
        for one, n_rows, forgotten in zip(ids, rows, gone, strict=True):
            known = open_ones.get((one.key, n_rows, forgotten))
            if known is None:
                known = {"file": one.file, "row_group": one.piece.group, "digest": one.key, "rows": n_rows}
                known |= {"forgotten": forgotten, "first": number}
                self.pieces.append(known)
            known["last"] = number

    def pieces_of(self, night: int) -> list[dict[str, Any]]:
        """Return the pieces whose rows are in the posterior of a night."""
        return [one for one in self.pieces if one["first"] <= night <= one["last"]]
