"""The records of all pieces, joined: sums at the centre of today's columns, and the rows that were kept."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from ..targets.base import Expansion
from ..targets.designs.base import DesignNumbers
from ..targets.expansion.kept import KeptSums
from ..targets.expansion.one_predictor import RowSums
from ..targets.layouts import FEATURES
from .centre import Centre
from .piece_map import ARRAYS
from .records import Record, numbers_of


class MappedPiece(NamedTuple):
    """What is known of a piece at a centre.

    It has sums, the rows kept for chains with their places in the piece, and the sums of c and c^2.
    """

    sums: KeptSums
    rows: np.ndarray
    places: np.ndarray
    total: float
    squares: float


def usable(record: Record | None, width: int) -> bool:
    """Return True if a record has everything that the record of a piece must have, with rows of this width."""
    if record is None or not numbers_of(record, ARRAYS) or "names" not in record.words:
        return False
    rows, names = record.arrays["rows"], record.words["names"]
    return rows.shape[1] == width and len(record.arrays["gradient"]) == len(names)


def mapped(record: Record, centre: Centre, numbers: DesignNumbers) -> MappedPiece:
    """Return the record of a piece in today's columns. Columns that are newer than the record are zero in its rows."""
    arrays = record.arrays
    energy, leverage, longest, n_rows, weight, total, squares = arrays["numbers"].tolist()
    place = {name: k for k, name in enumerate(record.words["names"])}
    at = np.array([place.get(name, -1) for name in centre.names], dtype=np.int64)
    hessian = _framed(arrays["hessian"], len(at)) if centre.frame is not None else _matrix(arrays["hessian"], at)
    thirds = _vector(arrays["thirds"], at) @ centre.factor
    expansion = Expansion(energy, _vector(arrays["gradient"], at), hessian, centre.frame)
    sums = KeptSums(expansion, RowSums(arrays["factors"], leverage, longest, thirds), int(n_rows), weight)
    return MappedPiece(sums, _moved(arrays["rows"], at, len(place), numbers), arrays["places"], total, squares)


def joined(pieces: Sequence[MappedPiece]) -> KeptSums:
    """Return the sums of all pieces, added in their order."""
    return reduce(KeptSums.joined, (piece.sums for piece in pieces))


def _vector(values: np.ndarray, at: np.ndarray) -> np.ndarray:
    return np.where(at >= 0, values[np.maximum(at, 0)], 0.0)


def _matrix(values: np.ndarray, at: np.ndarray) -> np.ndarray:
    there = at >= 0
    return np.where(np.outer(there, there), values[np.ix_(np.maximum(at, 0), np.maximum(at, 0))], 0.0)


def _framed(values: np.ndarray, size: int) -> np.ndarray:
    """In the frame's own coordinates new ones come last (`Centre.on`)."""
    found = np.zeros((size, size))
    found[: len(values), : len(values)] = values
    return found


def _moved(rows: np.ndarray, at: np.ndarray, before: int, numbers: DesignNumbers) -> np.ndarray:
    """Packed rows whose positions are those of today's columns."""
    if not numbers.positions or (len(at) == before and (at == np.arange(before)).all()):
        return rows
    new = np.full(before + 1, -1, np.int32)
    new[at[at >= 0]] = np.flatnonzero(at >= 0)
    places = FEATURES.places(columns=numbers.columns, positions=numbers.positions)
    found = rows.copy()
    indices = found[:, places.indices : places.values].view(np.int32)[:, : numbers.positions]
    indices[:] = new[indices]  # -1, no position, is the last of the list
    return found
