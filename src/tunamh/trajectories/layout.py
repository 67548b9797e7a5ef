"""Where the numbers of a trajectory's kernel lie in a target's flat vector: packing stands beside reading."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..compiled import helper
from ..compiled.windows import matrix_window, window


class Lists(NamedTuple):
    """Row ``i`` has the pairs ``first[i]`` to ``first[i + 1]`` of ``entries``, each a value and a column."""

    first: Any  # (rows + 1)
    entries: Any  # (2 x pairs): 32 bits each


class Numbers(NamedTuple):
    """A point is ``theta = centre + L z``, and ``phi = origin + M z`` in the basis of the rows.

    ``near`` are copies of the rows whose forces are taken as they are, close together in memory; their last three
    columns are the predictor at the centre, and the slope and curvature of the row's quadratic there.
    """

    short: Any
    centre: Any  # (d)
    factor: Any  # (d, d): L
    origin: Any  # (d)
    to_basis: Any  # (d, d): M, an upper triangle
    lists: Any
    near: Any  # (rows, columns)
    near_lists: Any


def pairs_of(value: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Values, which are whole numbers, and columns by turns, 32 bits each."""
    return np.column_stack([value, column]).astype(np.int32).ravel()


def pack(numbers: Numbers) -> np.ndarray:
    """``order 2.0, d, short, N, pairs, near rows, their columns and pairs``, then the arrays in the fields' order.

    A pair fills the place of one number: every pass reads all of them. It is a finite one, since a column is small.
    """
    lists, near, near_lists = numbers.lists, numbers.near, numbers.near_lists
    pairs, near_pairs = lists.entries.view(np.float64), near_lists.entries.view(np.float64)
    sizes = len(numbers.centre), numbers.short, len(lists.first) - 1, len(pairs), *near.shape, len(near_pairs)
    arrays = (*numbers[1:5], lists.first, pairs, near, near_lists.first, near_pairs)
    return np.concatenate([[2.0], sizes, *(np.ravel(array) for array in arrays)]).astype(np.float64)


@helper(inline=True)
def numbers_of(hyper):
    at = int(hyper[0])
    d, short, n, pairs = int(hyper[at + 1]), int(hyper[at + 2]), int(hyper[at + 3]), int(hyper[at + 4])
    near, columns, near_pairs = int(hyper[at + 5]), int(hyper[at + 6]), int(hyper[at + 7])
    centre = at + 8
    factor = centre + d
    origin = factor + d * d
    to_basis = origin + d
    first = to_basis + d * d
    entries = first + n + 1
    near_rows = entries + pairs
    near_first = near_rows + near * columns
    near_entries = near_first + near + 1
    return Numbers(
        short,
        window(hyper, centre, d),
        matrix_window(hyper, factor, d, d),
        window(hyper, origin, d),
        matrix_window(hyper, to_basis, d, d),
        Lists(window(hyper, first, n + 1), window(hyper, entries, pairs).view(np.int32)),
        matrix_window(hyper, near_rows, near, columns),
        Lists(window(hyper, near_first, near + 1), window(hyper, near_entries, near_pairs).view(np.int32)),
    )
