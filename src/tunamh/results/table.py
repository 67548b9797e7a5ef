"""A summary as a pandas table that shows lines below it. Imported when one is made: pandas takes its time."""

from __future__ import annotations

from html import escape
from typing import Any

import pandas as pd


class CutTable(pd.DataFrame):
    """A part of a summary. It is printed with all its columns, also in a narrow terminal."""

    @property
    def _constructor(self) -> Any:
        return CutTable

    def __repr__(self) -> str:
        return self.to_string(max_rows=pd.get_option("display.max_rows"))


class SummaryTable(pd.DataFrame):
    """A pandas table that is printed with rounded numbers and with notes below it.

    ``attrs["notes"]`` are the notes. ``attrs["decimals"]`` has, for each column, the number of decimals that are shown.
    A part of the table is a plain table without notes.
    """

    @property
    def _constructor(self) -> Any:
        return CutTable

    @property
    def _notes(self) -> list[str]:
        return list(self.attrs.get("notes", ()))

    @property
    def _written(self) -> pd.DataFrame:
        """The numbers as text with their decimals, one decimal point below the other."""
        decimals = self.attrs.get("decimals") or {}
        if set(decimals) != set(self.columns) or any(len(places) != len(self) for places in decimals.values()):
            return pd.DataFrame(self)
        columns = {name: _aligned(self[name], decimals[name]) for name in self.columns}
        return pd.DataFrame(columns, index=self.index)

    def to_string(self, *args: Any, **settings: Any) -> Any:
        """Return the table as text, with rounded numbers. The arguments are those of `pandas.DataFrame.to_string`."""
        return self._written.to_string(*args, **settings)

    def __repr__(self) -> str:
        """All columns, however narrow the terminal: what is hidden would be R-hat and effective draws."""
        table = self._written.to_string(max_rows=pd.get_option("display.max_rows"))
        return "\n".join([table, *self._notes])

    def _repr_html_(self) -> str | None:
        shown = self._written._repr_html_()
        return None if shown is None else shown + "".join(f"<p>{escape(line)}</p>" for line in self._notes)


def _aligned(values: Any, decimals: list[int]) -> list[str]:
    texts = [f"{value:.{max(0, places)}f}" for value, places in zip(values, decimals, strict=True)]
    behind = [len(text) - text.index(".") if "." in text else 0 for text in texts]
    return [text + " " * (max(behind) - own) for text, own in zip(texts, behind, strict=True)]


class GroupTable(SummaryTable):
    """A pandas table that is printed with rounded numbers and with notes below it.

    ``attrs["notes"]`` are the notes. ``attrs["decimals"]`` has, for each column, the number of decimals that are shown;
    the numbers in the table are not rounded. A part of the table, or a sorted table, has the same decimals and notes.
    """

    @property
    def _constructor(self) -> Any:
        return GroupTable

    @property
    def _written(self) -> pd.DataFrame:
        return pd.DataFrame(self).round(self.attrs.get("decimals", {}))
