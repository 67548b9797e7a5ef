"""Text columns that are hardly meant as factors: dates, and columns in which most rows have a level of their own."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .errors import FormulaError
from .syntax import Name, Node

_FEW = 20  # levels, of which each may well have a coefficient
_OWN_SHARE = 0.5  # of the rows: with more levels than that, most rows have one of their own
_LOOKED_AT = 1000  # levels

_TIME = r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?\s*(Z|[+-]\d{2}:?\d{2}|[ap]\.?m\.?)?"
_DATE = r"(\d{4}[-/.]\d{1,2}([-/.]\d{1,2})?|\d{1,2}[-/.]\d{1,2}[-/.](\d{2}|\d{4}))"
_DATE_OR_TIME = re.compile(rf"\s*({_DATE}([ T]\s*{_TIME})?|{_TIME})\s*", re.IGNORECASE)


def refuse_unlikely(levels: Mapping[str, tuple[str, ...]], atoms: Mapping[str, Node], n_rows: int) -> None:
    """Raise for columns whose levels are dates, or as many as rows; ``C(column)`` says that they are meant."""
    for name, found in levels.items():
        if len(found) <= _FEW or not isinstance(atoms[name], Name):
            continue
        own = str(atoms[name])
        meant = f"If you want a coefficient for each of them, write C({own}); for group effects write (1 | {own})."
        if looks_like_dates(found):
            raise FormulaError(
                f"column {name} has dates or times as text ({len(found):,} different ones, such as {found[0]!r}). "
                "Turn them into numbers first, such as days since the first day: "
                f"(pandas.to_datetime(table[{name!r}]) - pandas.Timestamp({found[0]!r})).dt.days. {meant}"
            )
        if len(found) > _OWN_SHARE * n_rows:
            raise FormulaError(
                f"column {name} holds text with {len(found):,} levels in {n_rows:,} rows: most rows have a "
                f"different level. Leave it out, or convert it if it contains numbers as text. {meant}"
            )


def looks_like_dates(levels: tuple[str, ...]) -> bool:
    """Whether all levels, or a thousand of them, are written as dates or times."""
    every = max(1, len(levels) // _LOOKED_AT)
    return all(_DATE_OR_TIME.fullmatch(level) for level in levels[::every])
