"""Where numbers lie in the flat vectors ``hyper`` of targets: what packs them stands beside what reads them.

A target's own numbers come first, then those of an expansion, if there is one. The vector says itself where the latter
begin, so a target may have as many numbers of its own as it likes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._jit import fixed, helper
from .._jit.windows import matrix_window, window

OWN = 1
"""Where a target's own numbers begin; before them, where the expansion's do (0: there is none)."""

_SHARED = 3  # numbers that every expansion begins with: order, trust radius squared, penalty outside


def pack_hyper(own: Sequence[float], expansion: np.ndarray | None = None) -> np.ndarray:
    """The vector of a target with these numbers of its own."""
    begins = 0.0 if expansion is None else OWN + len(own)
    return fixed([begins, *own, *(() if expansion is None else expansion)])


class Trust(NamedTuple):
    """Bounds that hold within a radius of the centre, and what a distance is multiplied by beyond."""

    radius_squared: float = np.inf
    penalty_outside: float = 1.0


class Expanded(NamedTuple):
    """An expansion in the parameters' own coordinates, as compiled code reads it; ``root`` measures distances."""

    order: Any
    trust: Any
    centre: Any
    gradient: Any
    hessian: Any
    root: Any


class White(NamedTuple):
    """An expansion in the coordinates ``z``, ``theta = origin + factor z``: offset ``slope.z + curvature.z^2 / 2``."""

    order: Any
    trust: Any
    centre: Any
    centre_state: Any
    slope: Any
    curvature: Any
    origin: Any
    factor: Any


def pack_expanded(expanded: Expanded) -> np.ndarray:
    d = len(expanded.centre)
    return _packed(expanded, [(d,), (d,), (d, d), (d, d)])


def pack_white(white: White) -> np.ndarray:
    d = len(white.centre)
    return _packed(white, [(d,)] * 5 + [(d, d)])


def _packed(bundle: Any, shapes: list[tuple[int, ...]]) -> np.ndarray:
    order, trust, *arrays = bundle
    for name, array, shape in zip(bundle._fields[2:], arrays, shapes, strict=True):
        if np.shape(array) != shape:
            raise ValueError(f"{name} must have shape {shape}, got {np.shape(array)}")
    return np.concatenate([[order, *trust], *(np.ravel(array) for array in arrays)])


@helper(inline=True)
def order_of(hyper):
    return hyper[int(hyper[0])]


@helper(inline=True)
def centre_of(hyper, d):
    """Where every expansion has its centre, in the parameters' own coordinates."""
    return window(hyper, int(hyper[0]) + _SHARED, d)


@helper(inline=True)
def expanded_of(hyper, d):
    at = int(hyper[0])
    first = at + _SHARED
    return Expanded(
        hyper[at],
        Trust(hyper[at + 1], hyper[at + 2]),
        window(hyper, first, d),
        window(hyper, first + d, d),
        matrix_window(hyper, first + 2 * d, d, d),
        matrix_window(hyper, first + 2 * d + d * d, d, d),
    )


@helper(inline=True)
def white_of(hyper, d):
    at = int(hyper[0])
    first = at + _SHARED
    return White(
        hyper[at],
        Trust(hyper[at + 1], hyper[at + 2]),
        window(hyper, first, d),
        window(hyper, first + d, d),
        window(hyper, first + 2 * d, d),
        window(hyper, first + 3 * d, d),
        window(hyper, first + 4 * d, d),
        matrix_window(hyper, first + 5 * d, d, d),
    )
