"""What is wrong with a formula, or with data for it."""

from __future__ import annotations

from ..errors import TunaMHError


class FormulaError(TunaMHError, ValueError):
    """The formula cannot be read, or the data do not fit it. The message says where, and what to do."""


def listed(names: list[str], most: int = 8) -> str:
    """Names one behind the other, the first of many."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} others" if more > 0 else "")
