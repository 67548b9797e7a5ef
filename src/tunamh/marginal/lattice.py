"""Rank-one lattices: points that fill a cube evenly, and whose set does not change if each is shifted by one of them.

Of ``K`` points ``x_k = k a / K mod 1``, the shifted points ``U + x_k mod 1`` form one set, whichever of them is called
``U``. That is why an average over them can be taken about a draw of the posterior (docs/spec-evidence.md 4).
"""

from __future__ import annotations

from functools import cache

import numpy as np

_SIZES = {1: (2, 4, 8, 16, 32), 2: (13, 34, 89, 233, 610)}
_OTHER_SIZES = (101, 307, 1009)


def sizes(q: int) -> tuple[int, ...]:
    """Return the numbers of points that are tried in ``q`` dimensions, the smallest first."""
    return _SIZES.get(q, _OTHER_SIZES)


@cache
def lattice(size: int, q: int) -> np.ndarray:
    """Return a lattice of ``size`` points in ``q`` dimensions, an array (size, q).

    It is a Korobov lattice, whose generator has the least ``P_2``.
    """
    best, least = np.ones(q), np.inf
    for a in range(1, max(2, size)):
        generator = np.array([pow(a, j, size) if size > 1 else 0 for j in range(q)], dtype=np.float64)
        points = np.outer(np.arange(size), generator) / size % 1.0
        bernoulli = points**2 - points + 1 / 6
        worst = float(np.prod(1 + 2 * np.pi**2 * bernoulli, axis=1).mean())
        if worst < least - 1e-12:
            best, least = generator, worst
        if q == 1:
            break
    return np.outer(np.arange(size), best) / size % 1.0
