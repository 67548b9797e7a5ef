"""What closed forms of two predictors share: symmetric tensors, ranges a little wider, roots of cubics."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

_SLACK = 1e-12


def symmetric(*entries: np.ndarray) -> np.ndarray:
    """The symmetric tensor in two predictors: entry ``k`` has the second of them ``k`` times."""
    order = len(entries) - 1
    result = np.empty((*(2,) * order, *np.shape(entries[0])))
    for axes in np.ndindex((2,) * order):
        result[axes] = entries[sum(axes)]
    return result


def ranges(centre: np.ndarray, reach: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The ends of ``|x - centre| <= reach``, with room for rounding."""
    wider = reach + _SLACK * (1 + np.abs(centre) + reach)
    return centre - wider, centre + wider


def largest_of(best: np.ndarray, values: Iterable[np.ndarray]) -> None:
    """Raise ``best`` to these absolute values, and a little more; what is not known is infinite."""
    for k, value in enumerate(values):
        size = (1 + _SLACK) * np.abs(value)
        np.maximum(best[k], np.where(np.isnan(size), np.inf, size), out=best[k])


def cubic_roots(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> np.ndarray:
    """The real roots (3, n) of ``a x^3 + b x^2 + c x + d``; a single one is given three times.

    With ``x = s - b/3a``: ``s^3 + 3 p s + 2 q``; three real roots ``2 sqrt(-p) cos(t + 2 pi k / 3)``, ``cos 3t = -q /
    (-p)^(3/2)``, or one by Cardano. Two of Newton's steps make up for what cancels.
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


def positive_check(y: np.ndarray) -> None:
    wrong = ~(y > 0)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(f"y must be positive, but row {row} has {y[row]:g}.")


def share_check(y: np.ndarray) -> None:
    wrong = ~((y > 0) & (y < 1))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"y must lie between 0 and 1, both excluded, but row {row} has {y[row]:g}: move such responses inside."
        )
