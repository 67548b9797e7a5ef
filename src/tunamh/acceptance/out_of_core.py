"""Passes over all rows that are not in memory: a map in which compiled code passes over every block, packed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..compiled import BLOCK, NO_FAULT, FullPass, Model, Work, fixed, part
from ..process.stages import ended_by
from .base import sum_of_energies, sum_of_rises


@part(FullPass)
def _over_block(rises, theta, prop, distance, model, work):
    if rises:
        return sum_of_rises(theta, prop, model, work, distance)
    total, fault = sum_of_energies(theta, model, work)
    return total, 0.0, fault


@dataclass(frozen=True)
class PassOverBlock:
    """A function that returns the sum over a block and, if a row is at fault, its number and the packed row."""

    model: Model  # of no rows
    rises: bool
    theta: np.ndarray
    prop: np.ndarray
    distance: float

    def __call__(self, start: int, rows: np.ndarray) -> tuple[float, float, tuple[int, np.ndarray] | None]:
        model = _on_rows(self.model, rows)
        work = Work(np.empty(BLOCK, np.int64), np.empty(BLOCK), np.empty(BLOCK))
        total, worst, fault = _over_block.trusted(self.rises, self.theta, self.prop, self.distance, model, work)
        return total, worst, None if fault == NO_FAULT else (start + fault, rows[fault].copy())


def _on_rows(model: Model, rows: np.ndarray) -> Model:
    """The model of some packed rows, with scratch of its own; numbers that came from elsewhere are read-only again."""
    rows.flags.writeable = False
    data = model.data
    eta, eta_prop, y = (np.empty_like(scratch) for scratch in (data.eta, data.eta_prop, data.y))
    data = data._replace(rows=rows, hyper=fixed(data.hyper), family_hyper=fixed(data.family_hyper))
    data = data._replace(eta=eta, eta_prop=eta_prop, y=y)
    return model._replace(data=data, n_rows=len(rows), elsewhere=0, prior_hyper=fixed(model.prior_hyper))


@dataclass(frozen=True)
class AllRows:
    """Sums over all rows of a target that are not in memory: of energies at ``theta``, or of rises.

    If rises are added up, each row is checked against its bound.
    """

    model: Model
    gathered: Any

    def __call__(
        self, rises: bool, theta: np.ndarray, prop: np.ndarray, distance: float
    ) -> tuple[float, float, tuple[int, np.ndarray] | None]:
        task = PassOverBlock(self.model, rises, theta, prop, distance)
        with ended_by(self.gathered.given_up):
            return self._joined(self.gathered.over_all(task), rises)

    def _joined(self, blocks: Iterable[Any], rises: bool) -> tuple[float, float, tuple[int, np.ndarray] | None]:
        total, worst, first = 0.0, 0.0, None
        for of_block, worst_of_block, fault in blocks:
            total, worst = total + of_block, max(worst, worst_of_block)
            first = fault if first is None else first
            if fault is not None and (rises or total != math.inf):  # an energy of +infinity is one of all rows
                return total, worst, fault
        return total, worst, first
