"""Tiny random subsets of rows, to which starts of a search are fitted."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


def subsets_of(n: int, d: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Row numbers, d of them each (twice as many from 20 coefficients on, where d rows alone fit poorly)."""
    if d == 1:
        yield from (np.array([i]) for i in (range(n) if n <= 200 else rng.choice(n, size=200, replace=False)))
        return
    size = min(n, d if d < 20 else 2 * d)
    for _ in range(200 if d <= 5 else 50 if d <= 20 else 20):
        yield rng.choice(n, size=size, replace=False)
