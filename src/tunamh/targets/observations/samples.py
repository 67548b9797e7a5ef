"""Which rows are looked at before all are: of the columns, and for the search of a mode. Always the same ones."""

from __future__ import annotations

import numpy as np


def rows_for_columns(n_rows: int, dim: int) -> np.ndarray:
    """Return the numbers of the rows with which columns are examined."""
    n = min(n_rows, max(1000, 2 * dim))
    return np.sort(np.random.default_rng(1).choice(n_rows, size=n, replace=False))


def rows_for_search(n_rows: int, dim: int, most: int | None) -> list[np.ndarray]:
    """Return row numbers for the search of a mode: two samples, a hundredth and a tenth of the rows.

    A sample has at most ``most`` rows. Samples that are too small to represent all rows are left out.
    """
    sizes = {n_rows // share if most is None else min(n_rows // share, most): share for share in (10, 100)}
    return [
        np.sort(np.random.default_rng(share).integers(n_rows, size=n))
        for n, share in reversed(sizes.items())
        if n >= max(1000, 20 * dim)
    ]
