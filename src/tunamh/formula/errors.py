"""What is wrong with a formula, or with data for it."""

from __future__ import annotations

from ..errors import TunaMHError
from ..tables.libraries import listed

__all__ = ["FormulaError", "listed", "pointed"]

_BEFORE, _AFTER = 40, 30  # characters


class FormulaError(TunaMHError, ValueError):
    """tunamh cannot read the formula, or the data do not fit it. The message says where, and what to do."""


def pointed(text: str, at: int) -> str:
    """Return a piece of a text on its own line, with a ^ below position ``at``. Error messages use it."""
    begin, end = max(0, at - _BEFORE), at + _AFTER
    before, after = "..." * (begin > 0), "..." * (end < len(text))
    piece = "".join(" " if letter.isspace() else letter for letter in text[begin:end])
    return f"\n    {before}{piece}{after}\n    {' ' * (len(before) + at - begin)}^"
