"""Columns of zeros and ones in another basis of whole numbers, in which they have few entries (spec 5t).

Levels of categories that mean the same, or nearly so ("not in universe" of five questions), make columns that hardly
differ. Their differences have few entries, and those of columns that are equal have none.
"""

from __future__ import annotations

import numpy as np

_MOST_PER_COLUMN = 100  # changes; each shortens a column, so that they end by themselves


def shorter_basis(gram: np.ndarray) -> np.ndarray:
    """Return an integer matrix ``T`` with determinant 1 or -1, such that the columns of ``X T`` are short.

    ``gram`` is ``X'X``. Column ``c`` is replaced by ``c - k d``, where ``k`` is the integer nearest to ``<c, d> / <d,
    d>``, as long as this makes a column shorter (pairwise reduction of a lattice). For columns of zeros and ones the
    squared length is the number of entries. The pair with the largest gain comes first.
    """
    G, n = np.array(gram, dtype=np.float64), len(gram)
    T = np.eye(n)
    for _ in range(_MOST_PER_COLUMN * n):
        length = np.diag(G)
        gain = np.where(length[None, :] > 0, 2.0 * np.abs(G) - length[None, :], -np.inf)
        np.fill_diagonal(gain, -np.inf)
        c, d = np.unravel_index(int(np.argmax(gain)), gain.shape)
        if not gain[c, d] > 0.5:
            break
        k = float(np.rint(G[c, d] / length[d])) or float(np.sign(G[c, d]))
        T[:, c] -= k * T[:, d]
        G[:, c] -= k * G[:, d]
        G[c, :] -= k * G[d, :]
    return T
