"""Tables of log variances: densities on the whole line, the logarithm linear between nodes and beyond the last ones.

With ``x_0 < ... < x_n`` and the log densities ``y_0, ..., y_n`` there, the density is ``exp`` of the line through two
neighbours, and beyond the ends of a line that falls outwards. Mass and inverse distribution function of every piece
are closed form, so that draws and densities are exact for the law that the table says, however rough it is.
"""

from __future__ import annotations

import math

import numpy as np

from ..compiled import helper
from ..compiled.layouts import WHOLE, Layout

TABLES = Layout(
    "ScaleTables",
    scales=WHOLE,
    nodes=WHOLE,
    at=("scales", "nodes"),
    log_density=("scales", "nodes"),
    left=("scales",),  # slopes beyond the ends, both positive
    right=("scales",),
    cumulative=("scales", "nodes + 1"),  # of the left tail and of the pieces; the last is 1
)
"""One table for each scale."""

tables_at = TABLES.reader()

_FLAT = 1e-6  # of a piece: a rise of the log density, below which it is treated as none


def _log_mass(width: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Of pieces on which the log density rises from ``low`` to ``high``."""
    rise = np.abs(high - low)
    small = rise < _FLAT
    shape = np.where(small, 1.0, -np.expm1(-rise) / np.where(small, 1.0, rise))
    return np.maximum(low, high) + np.log(width * shape)


def tables(at: np.ndarray, log_density: np.ndarray) -> dict[str, np.ndarray]:
    """Return the fields of `TABLES` from nodes and log densities up to constants, both arrays (scales, nodes)."""
    left = np.clip((log_density[:, 1] - log_density[:, 0]) / (at[:, 1] - at[:, 0]), 0.1, 20.0)
    right = np.clip((log_density[:, -2] - log_density[:, -1]) / (at[:, -1] - at[:, -2]), 0.1, 20.0)
    pieces = _log_mass(np.diff(at), log_density[:, :-1], log_density[:, 1:])
    ends = log_density[:, :1] - np.log(left)[:, None], log_density[:, -1:] - np.log(right)[:, None]
    logs = np.hstack([ends[0], pieces, ends[1]])
    total = np.logaddexp.reduce(logs, axis=1)[:, None]
    cumulative = np.minimum(np.cumsum(np.exp(logs - total), axis=1), 1.0)
    cumulative[:, -1] = 1.0
    return {"at": at, "log_density": log_density - total, "left": left, "right": right, "cumulative": cumulative}


@helper
def log_density_of(x, tables, g):
    """Return the log density of scale ``g`` at ``x``."""
    at, value, n = tables.at, tables.log_density, tables.nodes
    if x <= at[g, 0]:
        return value[g, 0] - tables.left[g] * (at[g, 0] - x)
    if x >= at[g, n - 1]:
        return value[g, n - 1] - tables.right[g] * (x - at[g, n - 1])
    low, high = 0, n - 1
    while high - low > 1:
        middle = (low + high) // 2
        if at[g, middle] <= x:
            low = middle
        else:
            high = middle
    share = (x - at[g, low]) / (at[g, high] - at[g, low])
    return value[g, low] + share * (value[g, high] - value[g, low])


@helper
def drawn_from(rng, tables, g):
    """Draw from the table of scale ``g``: first a piece by its mass, then a position in it."""
    at, value, n = tables.at, tables.log_density, tables.nodes
    cumulative = tables.cumulative
    u, k = rng.random(), 0
    while k < n and u >= cumulative[g, k]:
        k += 1
    inside = 1.0 - rng.random()  # in (0, 1]
    if k == 0:
        return at[g, 0] + math.log(inside) / tables.left[g]
    if k == n:
        return at[g, n - 1] - math.log(inside) / tables.right[g]
    width, rise = at[g, k] - at[g, k - 1], value[g, k] - value[g, k - 1]
    if abs(rise) < _FLAT:
        return at[g, k - 1] + inside * width
    if rise > 0.0:  # from the higher end, where the exponential does not overflow
        return at[g, k] + width * math.log1p(inside * math.expm1(-rise)) / rise
    return at[g, k - 1] + width * math.log1p(inside * math.expm1(rise)) / rise
