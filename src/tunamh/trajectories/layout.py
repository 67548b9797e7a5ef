"""What lies where in the flat vector of a trajectory's kernel, and in its rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..compiled import helper
from ..compiled.layouts import NUMBER, WHOLE, Layout, int32


class Lists(NamedTuple):
    """The lists of all rows.

    Row ``i`` has the pairs ``first[i]`` to ``first[i + 1]`` of ``entries``: a value and a column.
    """

    first: Any  # (rows + 1)
    entries: Any  # (2 x pairs): 32 bits each


NUMBERS = Layout(
    "Trajectory",
    order=NUMBER,  # 2, as of every expansion that is quadratic
    d=WHOLE,
    short=WHOLE,  # columns in short lists
    n_rows=WHOLE,
    n_entries=WHOLE,
    n_near=WHOLE,
    near_columns=WHOLE,
    n_near_entries=WHOLE,
    centre=("d",),
    factor=("d", "d"),  # L
    origin=("d",),
    to_basis=("d", "d"),  # M, an upper triangle
    first=("n_rows + 1",),
    entries=int32("n_entries"),
    near=("n_near", "near_columns"),
    near_first=("n_near + 1",),
    near_entries=int32("n_near_entries"),
)
"""A point is ``theta = centre + L z``, and ``phi = origin + M z`` in the basis of the rows.

``near`` are copies of the rows whose forces are taken as they are, close together in memory, `NEAR_ROW` each. Entries
fill a place of 64 bits by twos: every pass reads all of them. As a number it is finite, since a column is small.
"""

_SEEN: dict[str, Any] = {"y": NUMBER, "weight": NUMBER, "offset": NUMBER, "features": ("full",)}

ROW = Layout("TrajectoryRow", "full", **_SEEN)
"""Response, weight, offset, and the columns that are held in full."""

NEAR_ROW = Layout("NearRow", "full", **_SEEN, eta=NUMBER, slope=NUMBER, curvature=NUMBER)
"""The same, the predictor at the centre, and the slope and curvature of the row's quadratic there."""

_numbers_at, row_at, near_row_at = NUMBERS.reader(), ROW.reader(), NEAR_ROW.reader()


def pairs_of(value: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Return values, which are integers, and columns in turn, with 32 bits each."""
    return np.column_stack([value, column]).astype(np.int32).ravel()


@helper(inline=True)
def numbers_of(hyper):
    return _numbers_at(hyper, int(hyper[0]))


@helper(inline=True)
def lists_of(numbers):
    return Lists(numbers.first, numbers.entries)


@helper(inline=True)
def near_lists_of(numbers):
    return Lists(numbers.near_first, numbers.near_entries)
