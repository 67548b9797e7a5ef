"""Third derivatives in several predictors: symmetric tensors, roots of cubics, the largest cubic form."""

from __future__ import annotations

from collections.abc import Iterable
from math import cos, pi

import numpy as np

_SLACK = 1e-12


def symmetric(*entries: np.ndarray) -> np.ndarray:
    """Return the symmetric tensor in two predictors.

    ``entries[k]`` is the entry in which the second predictor occurs ``k`` times.
    """
    order = len(entries) - 1
    result = np.empty((*(2,) * order, *np.shape(entries[0])))
    for axes in np.ndindex((2,) * order):
        result[axes] = entries[sum(axes)]
    return result


def ranges(centre: np.ndarray, radius: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the interval ``|x - centre| <= radius``, a little wider because of rounding."""
    wider = radius + _SLACK * (1 + np.abs(centre) + radius)
    return centre - wider, centre + wider


def largest_of(best: np.ndarray, values: Iterable[np.ndarray]) -> None:
    """Replace ``best`` by these absolute values where they are larger, with room for rounding.

    Unknown values are infinite.
    """
    for k, value in enumerate(values):
        size = (1 + _SLACK) * np.abs(value)
        np.maximum(best[k], np.where(np.isnan(size), np.inf, size), out=best[k])


def cubic_roots(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Return the real roots (3, n) of ``a x^3 + b x^2 + c x + d``; a single real root is repeated three times.

    With ``x = s - b/3a`` the cubic is ``s^3 + 3 p s + 2 q``. It has three real roots ``2 sqrt(-p) cos(t + 2 pi k / 3)``
    with ``cos 3t = -q / (-p)^(3/2)``, or one root by Cardano's formula. Two steps of Newton's method correct the digits
    that cancel.
    """
    shift = b / (3 * a)
    p = c / (3 * a) - shift * shift
    q = shift**3 - shift * c / (2 * a) + d / (2 * a)
    square = q * q + p**3
    with np.errstate(all="ignore"):
        root = np.sqrt(np.maximum(-p, 0.0))
        angle = np.arccos(np.clip(-q / root**3, -1.0, 1.0)) / 3
        three = np.array([2 * root * np.cos(angle + 2 * np.pi * k / 3) for k in range(3)])
        larger = np.cbrt(-q - np.copysign(np.sqrt(np.maximum(square, 0.0)), q))
        single = larger - np.where(larger == 0, 0.0, p / larger)
        x = np.where((square > 0) | (root == 0), single, three) - shift
        for _ in range(2):
            step = (((a * x + b) * x + c) * x + d) / ((3 * a * x + 2 * b) * x + c)
            x = np.where(np.isfinite(step) & (np.abs(step) < 0.1 * (np.abs(x) + 1e-3)), x - step, x)
    return x


# ------------------------------------------------------------------------- from third derivatives to one number

_ANGLES = 48  # on a half circle

_BETWEEN = 1 / cos(3 * pi / (2 * _ANGLES))


def largest_cubic(bounds: np.ndarray, size: np.ndarray, overlaps: np.ndarray) -> np.ndarray:
    """Return for each row an upper bound of ``sup |D[z, z', w]|`` over unit vectors, given ``|D_abc| <= bounds``.

    ``D`` is symmetric, so the supremum is attained with three equal vectors (Banach). With ``T_abc = bounds_abc s_a s_b
    s_c`` and the unit vectors ``e_a = Y_a / s_a`` it is at most the largest ``sum_abc T_abc |v_a v_b v_c|``, where
    ``v_a = e_a.z``. There are three bounds of this sum:

    - ``|v_a| <= 1`` gives the sum of all ``T`` (spec 5n).
    - ``|v|^2 <= lambda``, the largest eigenvalue of ``e e'``, gives ``(sum T^2)^(1/2) lambda^(3/2)`` by Cauchy-Schwarz.
    - For two predictors at the angle ``phi``, ``v = (cos t, +-cos(t - phi))`` makes the sum a trigonometric polynomial
      of degree 3, whose absolute value has the period pi. It falls from its peak no faster than ``cos 3t`` (M. Riesz),
      so a grid of m angles misses no more than the factor ``cos(3 pi / 2m)``.
    """
    scaled = np.einsum("abci,ai,bi,ci->abci", bounds, size, size, size, optimize=True)
    scaled = np.where(np.isnan(scaled), 0.0, scaled)  # an infinite bound of what does not move
    total = scaled.sum(axis=(0, 1, 2))
    if len(size) == 1:
        return total
    lengths = np.where(size > 0, size, 1.0)
    cosines = overlaps / (lengths[:, None] * lengths[None, :])
    if len(size) == 2:
        return np.minimum(total, _on_the_circle(scaled, np.clip(cosines[0, 1], -1.0, 1.0)))
    largest = np.linalg.eigvalsh(np.moveaxis(cosines, -1, 0))[:, -1]
    return np.minimum(total, np.sqrt(np.square(scaled).sum(axis=(0, 1, 2))) * (1 + 1e-12) * largest**1.5)


def _on_the_circle(scaled: np.ndarray, cosine: np.ndarray) -> np.ndarray:
    """Both signs at once: the terms have no sign of their own, so that absolute values of ``v`` do."""
    sine = np.sqrt((1 - cosine) * (1 + cosine))
    first, second, third, fourth = scaled[0, 0, 0], 3 * scaled[0, 0, 1], 3 * scaled[0, 1, 1], scaled[1, 1, 1]
    best = np.zeros(cosine.shape)
    with np.errstate(invalid="ignore"):  # 0 times an infinite bound: the sum of all is infinite then
        for t in pi / _ANGLES * np.arange(_ANGLES):
            v, w = abs(cos(t)), np.abs(cosine * np.cos(t) + sine * np.sin(t))
            best = np.fmax(best, ((fourth * w + third * v) * w + second * v * v) * w + first * v**3)
    unknown = ~np.isfinite(scaled).all(axis=(0, 1, 2))
    return np.where(unknown, np.inf, best * (_BETWEEN * (1 + 1e-12)))
