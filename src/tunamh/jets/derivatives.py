"""Energy, gradient, Hessian and third derivatives per row of a user's own function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from .jet import expand
from .series import Index


class Derivatives(NamedTuple):
    """Energy and derivatives. The last axis is the row: ``(n,)``, ``(K, n)``, ``(K, K, n)`` and ``(K, K, K, n)``."""

    energy: np.ndarray
    gradient: np.ndarray
    hessian: np.ndarray
    third: np.ndarray


def derivatives(
    energy: Callable[..., Any], predictors: Sequence[Any], y: Any, known: Sequence[np.ndarray] = ()
) -> Derivatives:
    """Return the derivatives of ``energy(eta_1, ..., eta_K, *known, y)``.

    A predictor is one number per row, or one number for all rows.
    """
    y = np.asarray(y, dtype=np.float64)
    values = [np.asarray(eta, dtype=np.float64) for eta in predictors]
    shape = np.broadcast_shapes(y.shape, *(eta.shape for eta in values))
    jet = expand(energy, values, y, 3, known)
    return Derivatives(*(partials(len(values), order, shape, jet.derivative) for order in range(4)))


def derivatives_to(
    most: int, energy: Callable[..., Any], predictors: np.ndarray, y: np.ndarray, known: Sequence[np.ndarray] = ()
) -> list[np.ndarray]:
    """Return the derivatives of the orders 1 to ``most``."""
    jet = expand(energy, list(predictors), y, most, known)
    return [partials(len(predictors), order, y.shape, jet.derivative) for order in range(1, most + 1)]


def partials(size: int, order: int, shape: tuple[int, ...], read: Callable[[Index], Any]) -> np.ndarray:
    """Return the symmetric tensor of an order. ``read`` is called once for every partial derivative."""
    result = np.empty((*(size,) * order, *shape))
    seen: dict[Index, Any] = {}
    for axes in product(range(size), repeat=order):
        index = tuple(axes.count(a) for a in range(size))
        if index not in seen:
            seen[index] = read(index)
        result[axes] = seen[index]
    return result
