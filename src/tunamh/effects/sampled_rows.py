"""A sample of rows for each average, drawn in one pass: priority sampling (Duffield, Lund and Thorup, JACM 2007).

Row ``i`` of size ``z_i`` has the priority ``z_i / u_i`` with a uniform ``u_i``. The sample are the ``m`` rows with the
largest priorities, and ``t`` is the next one. The sum over all rows of ``r_i`` is estimated, without bias, by the sum
over the sample of ``r_i max(1, t / z_i)``: given ``t``, a row is in the sample with probability ``min(1, z_i / t)``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..formula.variables import joined_variables
from ..tables.columns import Column
from ..tables.frames import Frame

FIRST_SAMPLE = 6000  # rows of all averages together
_FEWEST = 250  # of one average


@dataclass(frozen=True)
class Sample:
    """A sample of rows, with their averages and weights.

    ``counts`` says how many rows each row of the sample stands for. ``certain`` marks rows that were drawn with
    probability one.
    """

    rows: Frame
    codes: np.ndarray
    weights: np.ndarray
    counts: np.ndarray
    certain: np.ndarray


class Reservoir:
    """Of each average, the rows with the largest priorities so far."""

    def __init__(self, rng: np.random.Generator, times: float = 1.0):
        self.rng, self.times = rng, times
        self.parts: list[dict[str, Column]] = []
        self.numbers = np.zeros((0, 4))  # key, priority, size, weight
        self.keys = 0

    @property
    def each(self) -> int:
        return int(self.times * max(_FEWEST, FIRST_SAMPLE // max(1, self.keys)))

    def add(self, rows: Frame, codes: np.ndarray, sizes: np.ndarray, weights: np.ndarray, keys: int) -> None:
        """Add rows to the sample. ``sizes`` must be positive. Only rows that can stay in the sample are copied."""
        self.keys = max(self.keys, keys)
        priority = sizes / (1.0 - self.rng.random(len(sizes)))
        numbers = np.stack([codes.astype(np.float64), priority, sizes, weights], axis=1)
        kept = np.flatnonzero(_largest(numbers, self.each + 1))
        self.parts.append({name: column.take(kept) for name, column in rows.columns.items()})
        self.numbers = np.concatenate([self.numbers, numbers[kept]])
        if len(self.numbers) > 3 * self.keys * (self.each + 1) + 1000:
            self._prune()

    def _prune(self) -> None:
        kept = np.flatnonzero(_largest(self.numbers, self.each + 1))
        frame = joined_variables(self.parts, len(self.numbers)).take(kept)
        self.parts, self.numbers = [dict(frame.columns)], self.numbers[kept]

    def sample(self) -> Sample:
        self._prune()
        codes, priority, size, weights = self.numbers.T
        codes = codes.astype(np.int64)
        drawn = _largest(self.numbers, self.each)
        threshold = np.zeros(self.keys)
        threshold[codes[~drawn]] = priority[~drawn]  # one for each average that has more rows
        counts = np.maximum(1.0, threshold[codes] / size)[drawn]
        rows = Frame(self.parts[0], len(codes)).take(np.flatnonzero(drawn))
        return Sample(rows, codes[drawn], weights[drawn], counts, counts <= 1.0)


def _largest(numbers: np.ndarray, most: int) -> np.ndarray:
    """Whether a row is among the ``most`` of its average with the largest priorities."""
    order = np.lexsort((-numbers[:, 1], numbers[:, 0]))
    codes = numbers[order, 0]
    first = np.concatenate([[True], codes[1:] != codes[:-1]]) if len(codes) else np.zeros(0, bool)
    begins = np.flatnonzero(first)
    rank = np.arange(len(codes)) - np.repeat(begins, np.diff(np.append(begins, len(codes))))
    found = np.zeros(len(codes), bool)
    found[order] = rank < most
    return found
