"""Where numbers lie in the flat vectors ``hyper`` of targets: what packs them stands beside what reads them.

A target's own numbers come first, then those of an expansion, if there is one. The vector says itself where the latter
begin, so a target may have as many numbers of its own as it likes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..compiled import fixed, helper
from ..compiled.windows import matrix_window, window

OWN = 1
"""Where a target's own numbers begin; before them, where the expansion's do (0: there is none)."""

RUNGS = 4
"""Of a ladder of trust radii."""

_SHARED = 1 + RUNGS + RUNGS + 1  # numbers that every expansion begins with: order, radii squared, factors


def pack_hyper(own: Sequence[float], expansion: np.ndarray | None = None) -> np.ndarray:
    """The vector of a target with these numbers of its own."""
    begins = 0.0 if expansion is None else OWN + len(own)
    return fixed(np.concatenate([[begins], own, [] if expansion is None else expansion]))


class Trust(NamedTuple):
    """A ladder of radii about the centre (spec 5m): within the k-th a distance is multiplied by the k-th factor.

    The last factor holds beyond all radii; infinity there means that nothing is known, and all rows are read.
    """

    radii_squared: Any = (np.inf,) * RUNGS
    factors: Any = (1.0,) * (RUNGS + 1)


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
    if (len(trust.radii_squared), len(trust.factors)) != (RUNGS, RUNGS + 1):
        raise ValueError(f"a ladder has {RUNGS} radii and {RUNGS + 1} factors, got {trust}")
    for name, array, shape in zip(bundle._fields[2:], arrays, shapes, strict=True):
        if np.shape(array) != shape:
            raise ValueError(f"{name} must have shape {shape}, got {np.shape(array)}")
    ladder = [order, *trust.radii_squared, *trust.factors]
    return np.concatenate([ladder, *(np.ravel(array) for array in arrays)])


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
        Trust(window(hyper, at + 1, RUNGS), window(hyper, at + 1 + RUNGS, RUNGS + 1)),
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
        Trust(window(hyper, at + 1, RUNGS), window(hyper, at + 1 + RUNGS, RUNGS + 1)),
        window(hyper, first, d),
        window(hyper, first + d, d),
        window(hyper, first + 2 * d, d),
        window(hyper, first + 3 * d, d),
        window(hyper, first + 4 * d, d),
        matrix_window(hyper, first + 5 * d, d, d),
    )
