"""What is wrong with a formula, or with data for it."""

from __future__ import annotations

from ..errors import TunaMHError


class FormulaError(TunaMHError, ValueError):
    """A formula that cannot be read, or data that do not fit it; the text names the place and what to do."""


def listed(names: list[str], most: int = 8) -> str:
    """Names one behind the other, the first of many."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} others" if more > 0 else "")
