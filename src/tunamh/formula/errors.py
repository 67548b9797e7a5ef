"""What is wrong with a formula, or with data for it."""

from __future__ import annotations

from ..errors import TunaMHError
from ..tables.libraries import listed

__all__ = ["FormulaError", "listed"]


class FormulaError(TunaMHError, ValueError):
    """The formula cannot be read, or the data do not fit it. The message says where, and what to do."""
