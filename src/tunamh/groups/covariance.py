"""The covariance of a group's effects, in coordinates without limits (spec 5q).

``Sigma = D R D`` with ``D`` the scales and ``R`` the correlations. Walked are ``lambda``: the logarithms of the scales,
then ``atanh`` of the canonical partial correlations, row by row below the diagonal, which make the Cholesky factor of
``R`` (Lewandowski, Kurowicka and Joe 2009). Under LKJ(eta) these are independent, ``(1 - w^2)^(eta - 1 + (q - 2 - j) /
2)`` in column ``j`` of ``q``, and the Jacobian of ``tanh`` adds one power.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._arguments import moderate_number, shown
from ..compiled import helper
from ..priors.student_t import StudentT


def df_of(law: Any) -> float:
    """Return the degrees of freedom of the law of effects; 0 for normal effects."""
    if law is None:
        return 0.0
    if not isinstance(law, StudentT):
        raise TypeError(
            "law must be tunamh.priors.StudentT(df=4), with any degrees of freedom, or None for normal effects, got "
            f"{shown(law)}."
        )
    if np.ndim(law.df) or np.any(np.asarray(law.mean) != 0) or np.any(np.asarray(law.scale) != 1):
        raise ValueError(
            "law= sets only the degrees of freedom, with mean 0: write law=priors.StudentT(df=4), and pass the prior "
            "of the scale, or a known scale, as scale=."
        )
    return moderate_number("df of the law of group effects", law.df, 0.5, 1e6)


def scale_count(q: int) -> int:
    """Return the number of coordinates of the covariance of ``q`` effects."""
    return q * (q + 1) // 2


@helper
def fill_root(scales, at, q, root):
    """Fill the lower triangular Cholesky factor of ``Sigma`` from the coordinates ``scales[at:]``."""
    k = at + q
    for i in range(q):
        left = 1.0
        for j in range(i):
            w = math.tanh(scales[k])
            k += 1
            root[i, j] = w * math.sqrt(left)
            left *= 1.0 - w * w
        root[i, i] = math.sqrt(left)
    for i in range(q):
        s = math.exp(scales[at + i])
        for j in range(q):
            root[i, j] = root[i, j] * s if j <= i else 0.0


@helper
def fill_precision(scales, at, q, root, precision):
    """Fill ``Sigma^-1`` and return ``log det Sigma``. ``root`` is work space."""
    fill_root(scales, at, q, root)
    logdet = 0.0
    for i in range(q):
        logdet += 2.0 * math.log(root[i, i])
    for a in range(q):  # the inverse of the root, column by column, in the upper half of precision
        for i in range(a, q):
            total = 1.0 if i == a else 0.0
            for j in range(a, i):
                total -= root[i, j] * precision[a, j]
            precision[a, i] = total / root[i, i]
    # precision[a, i] = (root^-1)[i, a] for i >= a; Sigma^-1 = root^-T root^-1
    for a in range(q):
        for b in range(a, q):
            total = 0.0
            for i in range(b, q):
                total += precision[a, i] * precision[b, i]
            precision[a, b] = total  # entries (a, i >= b) of this row are still needed for larger b only
    for a in range(q):
        for b in range(a):
            precision[a, b] = precision[b, a]
    return logdet


@helper
def log_correlations(scales, at, q, eta):
    """Return the log density LKJ(eta) in the coordinates of the chain, without its constant."""
    total = 0.0
    k = at + q
    for i in range(q):
        for j in range(i):
            w = math.tanh(scales[k])
            k += 1
            total += (eta + 0.5 * (q - 2 - j)) * math.log1p(-w * w)
    return total


def correlations(scales: np.ndarray, q: int) -> np.ndarray:
    """Return the correlations below the diagonal of ``R``, row by row, at points (..., q (q + 1) / 2)."""
    partial = np.tanh(scales[..., q:])
    root = np.zeros((*scales.shape[:-1], q, q))
    k = 0
    for i in range(q):
        left = np.ones(scales.shape[:-1])
        for j in range(i):
            w = partial[..., k]
            k += 1
            root[..., i, j] = w * np.sqrt(left)
            left = left * (1 - w * w)
        root[..., i, i] = np.sqrt(left)
    R = root @ np.swapaxes(root, -1, -2)
    low = np.tril_indices(q, -1)
    return R[..., low[0], low[1]]


def coordinates_of(scales: np.ndarray, related: np.ndarray) -> np.ndarray:
    """Return the coordinates ``lambda`` of ``q`` scales and of the correlations below the diagonal.

    This is the inverse of `correlations`.
    """
    q = len(scales)
    R = np.eye(q)
    R[np.tril_indices(q, -1)] = related
    root = np.linalg.cholesky(R + np.tril(R, -1).T)
    partial = []
    for i in range(q):
        left = 1.0
        for j in range(i):
            w = root[i, j] / np.sqrt(left)
            partial.append(np.arctanh(w))
            left *= 1 - w * w
    return np.concatenate([np.log(scales), partial])


def precision_of(scales: np.ndarray, q: int) -> tuple[np.ndarray, float]:
    """Return ``Sigma^-1`` and ``log det Sigma`` at one point."""
    root, precision = np.zeros((q, q)), np.zeros((q, q))
    logdet = fill_precision(np.ascontiguousarray(scales, dtype=np.float64), 0, q, root, precision)
    return precision, float(logdet)
