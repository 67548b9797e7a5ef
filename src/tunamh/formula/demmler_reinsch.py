"""Curves of one column by how much the data say of them, per unit of penalty (Demmler and Reinsch 1975).

With ``G`` the mean over the rows of products of the functions, and ``S`` their penalty, both scaled to one trace, the
eigenvectors of ``G v = mu (G + S) v`` make both diagonal: ``v'Gv = mu``, ``v'Sv = 1 - mu``.

Of some functions the rows say nothing, ``mu = 0``: where the data have a gap over four or more intervals of knots, or
few different values. Under the prior a curve has these, too, and between the data it goes up and down by them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .errors import FormulaError
from .splines import penalty
from .syntax import Call, Node, label

_NO_DATA = 1e-7  # eigenvalues of functions that the rows say nothing of


class Curves(NamedTuple):
    """The curves that have a penalty, and their numbers ``mu``; ``norm^2`` is the sum of ``mu / (1 - mu)``.

    ``line`` has mean 0 and variance 1 over the rows; it is None for cyclic functions. ``unseen`` are curves that are
    zero in all rows, with ``v'Sv = 1``.
    """

    mu: np.ndarray
    vectors: np.ndarray
    norm: float
    line: np.ndarray | None
    unseen: np.ndarray


def demmler_reinsch(node: Call, x: Node, G: np.ndarray, *, cyclic: bool) -> Curves:
    k = len(G)
    S = penalty(k, cyclic=cyclic)
    S = S * (np.trace(G) / np.trace(S))
    root = np.linalg.cholesky(G + S)
    inverse = np.linalg.inv(root)
    mu, vectors = np.linalg.eigh(inverse @ G @ inverse.T)
    mu, vectors = mu[::-1], (inverse.T @ vectors)[:, ::-1]
    free = 1 if cyclic else 2
    wiggles, seen = np.arange(len(mu)) >= free, mu > _NO_DATA
    known = wiggles & seen
    if not known.any():
        raise FormulaError(
            f"{node}: {label(x)} has too few different values for a curve: write C({label(x)}) for "
            "one coefficient for each value, or use the column itself."
        )
    norm = np.sqrt((mu[known] / (1 - mu[known])).sum())
    line = None
    if not cyclic:
        line = np.arange(k, dtype=np.float64)  # its B-splines' coefficients lie on a line, too
        line -= np.ones(k) @ G @ line
        line = line / np.sqrt(line @ G @ line)
    return Curves(mu[known], vectors[:, known], float(norm), line, _in_order(vectors[:, wiggles & ~seen]))


def _in_order(unseen: np.ndarray) -> np.ndarray:
    """From left to right: eigenvectors of one eigenvalue are no matter of rounding then."""
    if not unseen.size:
        return unseen
    places = np.linalg.eigh(unseen.T @ (np.arange(len(unseen))[:, None] * unseen))[1]
    found = unseen @ places
    largest = found[np.abs(found).argmax(axis=0), np.arange(found.shape[1])]
    return np.asarray(found * np.sign(largest))
