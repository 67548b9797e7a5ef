"""A summary as a pandas table that shows lines below it. Imported when one is made: pandas takes its time."""

from __future__ import annotations

from html import escape
from typing import Any

import pandas as pd


class SummaryTable(pd.DataFrame):
    """A table of which the lines ``attrs["notes"]`` are shown below; what is cut out of it is a plain table.

    ``attrs["decimals"]`` says how many decimals of a column are shown. Its numbers are not rounded.
    """

    @property
    def _notes(self) -> list[str]:
        return list(self.attrs.get("notes", ()))

    @property
    def _rounded(self) -> pd.DataFrame:
        return pd.DataFrame(self).round(self.attrs.get("decimals", {}))

    def __repr__(self) -> str:
        """All columns, however narrow the terminal: what is hidden would be R-hat and effective draws."""
        table = self._rounded.to_string(max_rows=pd.get_option("display.max_rows"))
        return "\n".join([table, *self._notes])

    def _repr_html_(self) -> str | None:
        shown = self._rounded._repr_html_()
        return None if shown is None else shown + "".join(f"<p>{escape(line)}</p>" for line in self._notes)


class GroupTable(SummaryTable):
    """A table of groups. What is cut out of it or sorted is one too, with the same decimals and lines."""

    @property
    def _constructor(self) -> Any:
        return GroupTable
