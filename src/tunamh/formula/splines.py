"""Functions of one number as columns: cubic B-splines on even knots, cyclic ones, and polynomials.

B-splines: with ``h = (high - low) / (k - 3)`` and ``t = (x - low) / h``, the four functions that are not zero in the
interval ``[j, j + 1)`` of ``t`` have, at ``s = t - j``,

    (1 - s)^3 / 6,    (3 s^3 - 6 s^2 + 4) / 6,    (-3 s^3 + 3 s^2 + 3 s + 1) / 6,    s^3 / 6,

which add up to 1 (de Boor 1978). Outside ``[low, high]`` each goes on along its tangent at the end, so that all curves
do. Cyclic ones have ``k`` intervals, and the functions at their ends are the same. The second derivative of a curve
``sum_j c_j B_j`` at knot ``i`` is ``(c_i - 2 c_(i+1) + c_(i+2)) / h^2`` and linear between knots, so that the
integral of its square is a quadratic form of these differences (`penalty`).
"""

from __future__ import annotations

import numpy as np

SPLINES, CYCLIC, POLYNOMIAL = "splines", "cyclic", "polynomial"


def places(x: np.ndarray, low: float, high: float, k: int, *, cyclic: bool) -> np.ndarray:
    """Return the position ``t`` of every ``x`` in units of knots.

    For cyclic functions, ``t`` is between 0 and ``k``.
    """
    intervals = k if cyclic else k - 3
    t = (x - low) * (intervals / (high - low))
    return np.mod(t, k) if cyclic else t


def four_functions(x: np.ndarray, low: float, high: float, k: int, *, cyclic: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return for every ``x`` the four functions that are not zero: their numbers and values, arrays (n, 4)."""
    t = places(x, low, high, k, cyclic=cyclic)
    first = np.floor(t) if cyclic else np.clip(np.floor(t), 0, k - 4)
    s = t - first
    inside = np.clip(s, 0.0, 1.0)
    beyond = s - inside
    values = np.stack([_values(inside, j) + beyond * _slopes(inside, j) for j in range(4)], axis=1)
    at = first[:, None].astype(np.int64) + np.arange(4)
    return at % k if cyclic else at, values


def _values(s: np.ndarray, j: int) -> np.ndarray:
    if j == 0:
        return (1 - s) ** 3 / 6
    if j == 1:
        return (3 * s**3 - 6 * s**2 + 4) / 6
    return (-3 * s**3 + 3 * s**2 + 3 * s + 1) / 6 if j == 2 else s**3 / 6


def _slopes(s: np.ndarray, j: int) -> np.ndarray:
    if j == 0:
        return -((1 - s) ** 2) / 2
    if j == 1:
        return (3 * s**2 - 4 * s) / 2
    return (-3 * s**2 + 2 * s + 1) / 2 if j == 2 else s**2 / 2


def raw_columns(kind: str, x: np.ndarray, low: float, high: float, k: int) -> np.ndarray:
    """Return the values of all ``k`` functions at every ``x``: an array (n, k).

    Polynomials are Legendre polynomials on ``[low, high]``; the first one is 1.
    """
    if kind == POLYNOMIAL:
        return np.polynomial.legendre.legvander((2 * x - low - high) / (high - low), k - 1)
    at, values = four_functions(x, low, high, k, cyclic=kind == CYCLIC)
    found = np.zeros((len(x), k))
    np.put_along_axis(found, at, values, axis=1)
    return found


def differences(k: int, *, cyclic: bool) -> np.ndarray:
    """Return the matrix of second differences of coefficients at the knots, from the first knot to the last."""
    if cyclic:
        return np.roll(np.eye(k), 0, 1) - 2 * np.roll(np.eye(k), 1, 1) + np.roll(np.eye(k), 2, 1)
    return np.diff(np.eye(k), n=2, axis=0)


def penalty(k: int, *, cyclic: bool) -> np.ndarray:
    """Return the penalty matrix ``S``: ``c'Sc`` is the integral of the squared second derivative, up to a factor.

    The square of a function that is linear from ``a`` to ``b`` over a unit interval has the integral ``(a^2 + ab + b^2)
    / 3``.
    """
    D = differences(k, cyclic=cyclic)
    first, last = D, np.roll(D, -1, axis=0)
    if not cyclic:
        first, last = D[:-1], D[1:]
    across = first.T @ last
    return (first.T @ first + last.T @ last + 0.5 * (across + across.T)) / 3.0
