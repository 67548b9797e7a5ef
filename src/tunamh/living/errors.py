"""What can be wrong with a cache."""

from __future__ import annotations

from ..errors import TunaMHError


class CacheError(TunaMHError):
    """tunamh cannot use the cache of `tunamh.open_rows`. The message says why, and what to do."""
