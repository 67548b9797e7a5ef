"""Rows that repeat, taken once with their weights added up: the same posterior on fewer rows.

Designs of categories, and counts of trials, have few distinct rows however many there are. Their energies add up:
``sum_i w_i f(x_i theta, y_i)`` over equal rows is one row's energy times the sum of the weights.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...process.stages import announce
from ...rows.source import Rows
from .observed import InMemory, Observations, TransformedRows

_FEWEST = 2000  # rows, below which there is nothing to gain
_LOOKED_AT = 4000  # rows of a sample
_REPEATED = 0.25  # of the sample: then distinct rows are few, whatever the number of rows
_GAIN = 4  # rows per distinct row that are worth a change


def _keys(rows: Rows, widths: list[int]) -> np.ndarray:
    """Every row's features as they are packed, its response and censoring, as so many bytes."""
    packed = np.zeros((len(rows.y), sum(widths) + 2))
    at = 0
    for block, width in zip([rows.X, *rows.others], widths, strict=True):
        block.pack(packed[:, at : at + width])
        at += width
    packed[:, -2] = rows.y
    if rows.censored is not None:
        packed[:, -1] = rows.censored
    packed += 0.0  # a negative zero is a zero
    return packed.view(np.dtype((np.void, packed.shape[1] * 8)))[:, 0]


def distinct(observations: Observations) -> Observations | None:
    """The rows that differ, in the order in which they first occur, weighted; None where hardly any repeats."""
    if isinstance(observations, TransformedRows):
        base = distinct(observations.base)
        return None if base is None else TransformedRows(base, observations.design, observations.change)
    if not isinstance(observations, InMemory) or observations.n_rows < _FEWEST:
        return None
    widths = [int(design.numbers.width) for design in (observations.design, *observations.others)]
    some = np.sort(np.random.default_rng(5).choice(observations.n_rows, min(observations.n_rows, _LOOKED_AT), False))
    found = len(np.unique(_keys(observations.rows(some), widths)))
    if found > (1 - _REPEATED) * len(some):
        return None
    announce("looking for rows that repeat")
    first, weights = _first_and_weights(observations, widths)
    if _GAIN * len(first) > observations.n_rows:
        return None
    return replace(observations.take(first), weights=weights, digest=observations.fingerprint)


def _first_and_weights(observations: InMemory, widths: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """One pass: where every distinct row first occurs, and the weights of all its occurrences added up."""

    def terms(rows: Rows) -> tuple[list[bytes], np.ndarray, np.ndarray]:
        keys, first, which = np.unique(_keys(rows, widths), return_index=True, return_inverse=True)
        order = np.argsort(first)
        weights = np.bincount(which, rows.weights, minlength=len(keys))
        return [keys[k].tobytes() for k in order], rows.start + first[order], weights[order]

    place: dict[bytes, int] = {}
    first: list[int] = []
    total: list[float] = []
    for keys, at, weights in observations.map(terms):
        for key, row, weight in zip(keys, at.tolist(), weights.tolist(), strict=True):
            if key in place:
                total[place[key]] += weight
            else:
                place[key] = len(first)
                first.append(row)
                total.append(weight)
        if _GAIN * len(first) > observations.n_rows:  # too many to go on
            break
    return np.array(first), np.array(total, dtype=np.float64)
