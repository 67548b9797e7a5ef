"""The rows of a regression without groups, asked as those of a model with groups are (`tunamh.groups.sums`).

They may be in files or in other processes: each call is one map over them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..groups.sums import DataSums, Point


class RowsAlone:
    """The rows of a `GLM` with the same methods as the rows of a model with groups."""

    def __init__(self, base: Any):
        self.base, self.p = base, base.dim
        self.groupings: list[Any] = []

    def energy(self, at: Point) -> float:
        point = np.ascontiguousarray(at.common)[None]
        return float(self.base.energies_at(point)[0] - self.base._prior_energies_at(point)[0])

    def sums(self, at: Point) -> DataSums:
        found = self.base.expansion(np.ascontiguousarray(at.common))
        return DataSums(float(found.energy), found.gradient, found.plain_hessian, [], None)

    def shares(self, at: Point) -> dict[tuple[int, int], Any]:
        return {}
