"""Where the numbers of a trajectory's kernel lie in a target's flat vector: packing stands beside reading."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._jit import helper
from .._jit.windows import matrix_window, window


class Numbers(NamedTuple):
    """A point is ``theta = centre + L z``, and ``phi = phi_0 + M z`` in the basis of the rows.

    ``pull + bend z`` is about the gradient in ``z`` of minus the log prior. ``first``, ``index`` and ``value`` are the
    rows' short lists.
    """

    short: Any
    centre: Any  # (d)
    factor: Any  # (d, d): L
    origin: Any  # (d): phi_0
    to_basis: Any  # (d, d): M
    pull: Any  # (d)
    bend: Any  # (d, d)
    first: Any  # (N + 1)
    index: Any
    value: Any


def pack(numbers: Numbers) -> np.ndarray:
    """``order 2.0, d, N, entries, short``, then the arrays in the order of the fields."""
    d, n, entries = len(numbers.centre), len(numbers.first) - 1, len(numbers.index)
    head = [2.0, float(d), float(n), float(entries), float(numbers.short)]
    return np.concatenate([head, *(np.ravel(array).astype(np.float64) for array in numbers[1:])])


@helper(inline=True)
def numbers_of(hyper):
    at = int(hyper[0])
    d, n, entries = int(hyper[at + 1]), int(hyper[at + 2]), int(hyper[at + 3])
    centre = at + 5
    factor = centre + d
    origin = factor + d * d
    to_basis = origin + d
    pull = to_basis + d * d
    bend = pull + d
    first = bend + d * d
    index = first + n + 1
    return Numbers(
        int(hyper[at + 4]),
        window(hyper, centre, d),
        matrix_window(hyper, factor, d, d),
        window(hyper, origin, d),
        matrix_window(hyper, to_basis, d, d),
        window(hyper, pull, d),
        matrix_window(hyper, bend, d, d),
        window(hyper, first, n + 1),
        window(hyper, index, entries),
        window(hyper, index + entries, entries),
    )
