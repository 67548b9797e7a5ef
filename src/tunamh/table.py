"""A summary as a pandas table that shows a line more below it. Imported when one is made: pandas takes its time."""

from __future__ import annotations

from html import escape

import pandas as pd


class SummaryTable(pd.DataFrame):
    """A table of which ``attrs["laplace"]`` is shown below; what is cut out of it is a plain table."""

    def __repr__(self) -> str:
        return f"{super().__repr__()}\n{self.attrs.get('laplace', '')}".rstrip()

    def _repr_html_(self) -> str | None:
        shown = super()._repr_html_()
        return None if shown is None else f"{shown}<p>{escape(self.attrs.get('laplace', ''))}</p>"
