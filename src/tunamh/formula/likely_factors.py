"""Text columns that are hardly meant as factors: numbers as text, dates, and a level of its own in most rows."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..errors import Text
from ..process.callers import users_line
from ..tables.columns import Factor
from .errors import FormulaError, listed
from .syntax import Name, Node

_FEW = 20  # levels, of which each may well have a coefficient
_OWN_SHARE = 0.5  # of the rows: with more levels than that, most rows have one of their own
_LOOKED_AT = 1000  # levels
_NUMBERS_SHARE = 0.8  # of many levels: with more numbers than that among them, the others are mistakes

_TIME = r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?\s*(Z|[+-]\d{2}:?\d{2}|[ap]\.?m\.?)?"
_DATE = r"(\d{4}[-/.]\d{1,2}([-/.]\d{1,2})?|\d{1,2}[-/.]\d{1,2}[-/.](\d{2}|\d{4}))"
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
_CODE = re.compile(r"\d+")
_DATE_OR_TIME = re.compile(rf"\s*({_DATE}([ T]\s*{_TIME})?|{_TIME})\s*", re.IGNORECASE)


class NoNumber(NamedTuple):
    """The first text of a column that is not a number: the row and the text."""

    row: int
    text: str


def first_without_number(found: Factor) -> NoNumber | None:
    """Return the first text of a column that is not a number, or None if all its levels are numbers."""
    wrong = np.array([_NUMBER.fullmatch(level) is None for level in found.levels], bool)
    if not wrong.any():
        return None
    rows = np.flatnonzero((found.codes >= 0) & wrong[found.codes])
    return NoNumber(int(rows[0]), found.levels[found.codes[rows[0]]]) if len(rows) else None


def refuse_numbers_as_text(
    levels: Mapping[str, tuple[str, ...]], texts: Mapping[str, NoNumber | None], atoms: Mapping[str, Node]
) -> None:
    """Raise an error for columns of text whose levels are numbers: all levels, or nearly all of many levels.

    The levels 0 and 1 are allowed. A few whole numbers as text often mean a factor; for these there is only a warning.
    ``texts`` has the columns of text, with the first value that is not a number.
    """
    for name, other in texts.items():
        found, own = levels[name], str(atoms[name])
        if len(found) < 3 or not isinstance(atoms[name], Name):
            continue
        share = sum(_NUMBER.fullmatch(level) is not None for level in found) / len(found)
        if other is None:
            order = listed([repr(level) for level in found], 4)
            if len(found) <= _FEW and all(_CODE.fullmatch(level) for level in found):
                warnings.warn(
                    f"column {name} holds whole numbers as text: it is a factor with {len(found)} levels ({order}). If "
                    f"it is a number, give pandas.to_numeric(table[{name!r}]); C({own}) says that a factor is meant.",
                    stacklevel=users_line(),
                )
                continue
            raise FormulaError(
                Text.of(
                    f"column {name} holds numbers as text: as a factor it would have {len(found):,} levels, in the "
                    f"order of the alphabet ({order}). ",
                    (f"If it is a number, give pandas.to_numeric(table[{name!r}]); if", "If"),
                    f" it is a factor, write C({own}).",
                )
            )
        if len(found) > _FEW and share > _NUMBERS_SHARE:
            raise FormulaError(
                Text.of(
                    f"column {name} holds text that looks like numbers; the first value that is not a number is "
                    f"{other.text!r} in row {other.row}. ",
                    (
                        f"Correct such values, or make them missing: pandas.to_numeric(table[{name!r}], "
                        'errors="coerce").',
                        "Correct such values in the file, or leave them empty.",
                    ),
                    f" If it is a factor, write C({own}).",
                )
            )


def as_numbers(levels: tuple[str, ...]) -> str:
    """Return advice about a response whose text looks like numbers, with a space before it, or "" for other texts."""
    numbers = sum(_NUMBER.fullmatch(level) is not None for level in levels)
    if len(levels) < 3 or numbers <= _NUMBERS_SHARE * len(levels):
        return ""
    other = next((f", such as {one!r}" for one in levels if _NUMBER.fullmatch(one) is None), "")
    wrong = f" Not all are numbers{other}." if other else ""
    return f" They look like numbers as text: turn them into numbers first, as pandas.to_numeric does.{wrong}"


def refuse_unlikely(levels: Mapping[str, tuple[str, ...]], atoms: Mapping[str, Node], n_rows: int) -> None:
    """Raise an error for columns whose levels are dates, or almost as many as rows.

    ``C(column)`` allows such a column.
    """
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
    """Return True if the levels are written as dates or times. At most about a thousand levels are read."""
    every = max(1, len(levels) // _LOOKED_AT)
    return all(_DATE_OR_TIME.fullmatch(level) for level in levels[::every])
