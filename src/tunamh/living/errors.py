"""What can be wrong with a cache."""

from __future__ import annotations

from ..errors import TunaMHError


class CacheError(TunaMHError):
    """A cache of `tunamh.open_rows` cannot be used. The message says why, and what to do."""
