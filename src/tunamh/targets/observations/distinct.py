"""Rows that repeat, taken once with their weights added up: the same posterior on fewer rows.

Designs of categories, and counts of trials, have few distinct rows however many there are. Their energies add up:
``sum_i w_i f(x_i theta, y_i)`` over equal rows is one row's energy times the sum of the weights.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...process.stages import announce
from ...rows.source import Rows
from .base import Observations
from .observed import InMemory, TransformedRows
from .split_times import SplitRows

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
    """Return the different rows in the order in which they first occur, with the total weight of equal rows.

    The result is None if hardly any row is repeated.
    """
    if isinstance(observations, SplitRows):
        return _equal_pieces(observations)
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


def _equal_pieces(split: SplitRows) -> SplitRows | None:
    """Pieces of rows with the same columns, offset and stratum, added up."""
    base = split.base
    if base.n_rows < _FEWEST or "pieces" in split._facts:
        return None
    pattern, first = _patterns(base)
    return None if pattern is None else split.added_up(pattern, first)


def _patterns(base: InMemory) -> tuple[np.ndarray | None, np.ndarray]:
    """The number of every row's combination of columns, offset and stratum, and where each first occurs.

    None where there are too many to be worth it.
    """
    width = int(base.design.numbers.width)

    def keys_of(rows: Rows, which: slice | np.ndarray) -> np.ndarray:
        packed = np.zeros((len(rows.y), width + 1))
        rows.X.pack(packed[:, :width])
        if base.strata is not None:
            packed[:, -1] = base.strata.codes[which]
        packed += 0.0
        return packed.view(np.dtype((np.void, packed.shape[1] * 8)))[:, 0]

    some = np.sort(np.random.default_rng(5).choice(base.n_rows, min(base.n_rows, _LOOKED_AT), False))
    if len(np.unique(keys_of(base.rows(some), some))) > (1 - _REPEATED) * len(some):
        return None, np.empty(0)
    announce("looking for rows that repeat")

    def terms(rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        own = keys_of(rows, slice(rows.start, rows.start + len(rows.y)))
        keys, first, which = np.unique(own, return_index=True, return_inverse=True)
        return keys, rows.start + first, which

    place: dict[bytes, int] = {}
    first: list[int] = []
    pattern = []
    for keys, at, which in base.map(terms):
        known = np.empty(len(keys), np.int64)
        for k, (key, row) in enumerate(zip(keys, at.tolist(), strict=True)):
            found = place.setdefault(key.tobytes(), len(first))
            if found == len(first):
                first.append(row)
            known[k] = found
        pattern.append(known[which])
        if 2 * len(first) > base.n_rows:
            return None, np.empty(0)
    return np.concatenate(pattern), np.array(first)


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
