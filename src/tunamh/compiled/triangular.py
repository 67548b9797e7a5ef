"""Algebra of triangular matrices in compiled loops: of the small ones of a group, ``q`` by ``q``, and of whole ones."""

from __future__ import annotations

import math

from . import REASSOCIATE, helper


@helper(inline=True)
def cholesky(C, q):
    """Replace the lower half of ``P`` by its root ``C`` with ``C C' = P``."""
    for i in range(q):
        for j in range(i + 1):
            total = C[i, j]
            for k in range(j):
                total -= C[i, k] * C[j, k]
            if i == j:
                C[i, i] = math.sqrt(total)
            else:
                C[i, j] = total / C[j, j]


@helper(inline=True)
def solve(C, q, x):
    """Replace ``x`` by ``(C C')^-1 x``."""
    for i in range(q):
        total = x[i]
        for k in range(i):
            total -= C[i, k] * x[k]
        x[i] = total / C[i, i]
    back(C, q, x)


@helper(inline=True)
def back(C, q, x):
    """Replace ``x`` by ``C'^-1 x``."""
    for m in range(q):
        i = q - 1 - m
        total = x[i]
        for k in range(i + 1, q):
            total -= C[k, i] * x[k]
        x[i] = total / C[i, i]


@helper(inline=True)
def norm(H, q, x):
    """Return ``sqrt(x'Hx)``."""
    total = 0.0
    for a in range(q):
        for b in range(q):
            total += x[a] * H[a, b] * x[b]
    return math.sqrt(max(total, 0.0))


# ------------------------------------------------------------------------------------------------- whole matrices


@helper(fastmath=REASSOCIATE)
def solve_lower(L, x):
    """Replace ``x`` by ``L^-1 x``, where ``L`` is lower triangular."""
    for i in range(x.size):
        total = x[i]
        for k in range(i):
            total -= L[i, k] * x[k]
        x[i] = total / L[i, i]


@helper(fastmath=REASSOCIATE)
def solve_upper(L, x):
    """Replace ``x`` by ``L'^-1 x``."""
    for i in range(x.size - 1, -1, -1):
        x[i] /= L[i, i]
        for k in range(i):
            x[k] -= L[i, k] * x[i]
