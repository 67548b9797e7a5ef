"""Where all pieces are expanded: a point, the metric of then, and the names of the columns, which may become more."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import numpy as np

from .._linear import Frame
from ..targets.expansion.kept import RowsAt
from ..targets.expansion.one_predictor import Ladder
from .records import Record


class Centre(NamedTuple):
    """The point and the metric in which all pieces are expanded, with the names of the columns.

    ``name`` is a hash of what the centre was when it was chosen, at a date and with ``rows`` rows; it never changes.
    When columns are added, the point is zero there, and in the metric they are independent of the others. So everything
    that was computed for rows without such columns is still valid: their ``|L'x|`` are the same numbers.
    """

    name: str
    names: tuple[str, ...]
    point: np.ndarray
    factor: np.ndarray
    radii: np.ndarray
    rows: int
    date: str
    mean: np.ndarray
    """The Gaussian's mean of then, by which a drift is seen."""

    frame: Frame | None = None

    drifts: bool = False
    """Whether the mean had drifted when the centre was chosen, so that more rows are kept."""

    @classmethod
    def at(
        cls,
        names: list[str],
        point: np.ndarray,
        factor: np.ndarray,
        radii: np.ndarray,
        *,
        rows: int,
        date: str,
        mean: np.ndarray,
        frame: Frame | None,
    ) -> Centre:
        parts = [point, factor, radii] + ([] if frame is None else [frame.columns])
        text = repr(names).encode() + b"".join(np.ascontiguousarray(part).tobytes() for part in parts)
        name = hashlib.blake2b(text, digest_size=8).hexdigest()
        return cls(name, tuple(names), point, factor, radii, rows, date, mean, frame)

    @property
    def rows_at(self) -> RowsAt:
        return RowsAt(self.point, self.factor, np.linalg.inv(self.factor), Ladder(self.radii))

    def places_of(self, names: tuple[str, ...]) -> np.ndarray:
        """Return the position of each name in this centre, or -1 if it is new."""
        place = {name: k for k, name in enumerate(self.names)}
        return np.array([place.get(name, -1) for name in names], dtype=np.int64)

    def on(self, names: list[str], widths: np.ndarray) -> Centre | None:
        """Return the centre with these columns. New columns have the standard deviations ``widths``.

        The result is None if columns of a centre with a frame are missing.
        """
        if tuple(names) == self.names:
            return self
        at = self.places_of(tuple(names))
        old, new = np.flatnonzero(at >= 0), np.flatnonzero(at < 0)
        if self.frame is not None and len(old) < len(self.names):
            return None
        point, mean = np.zeros(len(names)), np.zeros(len(names))
        point[old], mean[old] = self.point[at[old]], self.mean[at[old]]
        covariance = np.diag(np.square(np.where(at < 0, widths, 0.0)))
        covariance[np.ix_(old, old)] = (self.factor @ self.factor.T)[np.ix_(at[old], at[old])]
        frame = None if self.frame is None else _wider(self.frame, at, old, new)
        factor = (
            self._factor_on(at, old, new, widths) if len(old) == len(self.names) else np.linalg.cholesky(covariance)
        )
        return self._replace(names=tuple(names), point=point, factor=factor, mean=mean, frame=frame)

    def _factor_on(self, at: np.ndarray, old: np.ndarray, new: np.ndarray, widths: np.ndarray) -> np.ndarray:
        """No column went: the factor itself, with a block for the new ones, loses no digits."""
        factor, d = np.zeros((len(at), len(at))), len(self.names)
        factor[old, :d] = self.factor[at[old]]
        factor[new, d + np.arange(len(new))] = widths[new]
        return factor

    def as_record(self) -> Record:
        arrays = {"point": self.point, "factor": self.factor, "radii": self.radii, "mean": self.mean}
        if self.frame is not None:
            arrays |= {"frame": self.frame.columns, "frame_inverse": self.frame.inverse}
        words: dict[str, Any] = {"name": self.name, "names": list(self.names), "rows": self.rows, "date": self.date}
        words["drifts"] = self.drifts
        return Record(words, arrays)

    @classmethod
    def from_record(cls, record: Record) -> Centre:
        words, arrays = record
        frame = Frame(arrays["frame"], arrays["frame_inverse"]) if "frame" in arrays else None
        numbers = arrays["point"], arrays["factor"], arrays["radii"]
        about = int(words["rows"]), words["date"], arrays["mean"]
        return cls(words["name"], tuple(words["names"]), *numbers, *about, frame, bool(words.get("drifts")))


def _wider(frame: Frame, at: np.ndarray, old: np.ndarray, new: np.ndarray) -> Frame:
    """The coordinates of the frame first, then those of new columns as they are."""
    d, size = len(frame.columns), len(at)
    columns, inverse = np.zeros((size, size)), np.zeros((size, size))
    columns[old, :d], columns[new, d + np.arange(len(new))] = frame.columns[at[old]], 1.0
    inverse[:d, old], inverse[d + np.arange(len(new)), new] = frame.inverse[:, at[old]], 1.0
    return Frame(columns, inverse)
