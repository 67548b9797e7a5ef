"""What checks look at: residuals of some rows, columns, the names of classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..prediction.fitted import Fitted
from ..tables.codes import likely_codes
from ..tables.columns import Column, Numbers
from .finding import Finding
from .residuals import Residuals
from .statistics import Moments

FEWEST_ROWS = 30
FEW_VALUES = 6  # of a column that is taken as levels
_FEWEST_EVENTS = 5.0  # the sum of p(1 - p) below which nothing is said of labels


@dataclass(frozen=True, eq=False)
class Looked:
    """What the checks read. ``known`` are the columns of the formula, ``classes`` the names of classes."""

    fitted: Fitted
    residuals: Residuals
    columns: dict[str, Column]
    known: frozenset[str]
    classes: Sequence[str]
    every_row: bool = False
    """Whether these are all rows that there are."""

    @property
    def way_out(self) -> str:
        """Return a hint how to check more rows, or "" if all rows are checked."""
        return "" if self.every_row else "; set a larger rows="

    @property
    def family(self) -> Any:
        return self.fitted.family

    @property
    def groups(self) -> list[str]:
        """Return the names of the factors with group effects."""
        return [name for name, *_ in self.residuals.levels]

    @cached_property
    def codes(self) -> dict[str, str]:
        """Return, by column, the values that look like codes for missing values, in words."""
        found = {name: likely_codes(one.values) for name, one in self.columns.items() if isinstance(one, Numbers)}
        return {name: told for name, told in found.items() if told is not None}

    def one_column(self) -> bool:
        """Return True if the rows have the same order along the linear predictor as along one column.

        The column itself is checked, too, so one of the two checks is enough.
        """
        predictor = self.residuals.predictor
        if predictor.ndim > 1:
            return False
        for column in self.columns.values():
            if isinstance(column, Numbers) and len(np.unique(column.values)) > FEW_VALUES:
                order = np.argsort(column.values, kind="stable")
                steps = np.diff(predictor[order])
                if (steps >= 0).all() or (steps <= 0).all():
                    return True
        return False

    @property
    def bernoulli(self) -> bool:
        """Return True if the responses are labels, counts of successes or classes. Then events must be counted."""
        return self.residuals.trials is not None or bool(self.classes)

    def tested(self, one: Moments) -> Moments:
        """Return the scores of the mean for a test.

        If the model does not fix the variance, the variance is at least the observed one.
        """
        return one if self.bernoulli and self.residuals.shape is None else one.wider()

    def enough(self, rows: Moments) -> bool:
        """Return True if there are enough rows, and for labels enough events, for an answer."""
        return len(rows.score) >= FEWEST_ROWS and (not self.bernoulli or float(rows.variance.sum()) >= _FEWEST_EVENTS)

    def few(self, name: str, about: str = "") -> Finding:
        n = self.residuals.n
        what = "too few responses of each kind" if self.bernoulli else "too few rows"
        return Finding(name, about, None, wrong=f"Not checked: {what} among {n:,}{self.way_out}.")


def fifths(position: np.ndarray, values: np.ndarray, form: str = "+.2f") -> str:
    """Return in words the means in the lowest, the middle and the highest fifth of the rows."""
    parts = np.array_split(np.argsort(position, kind="stable"), 5)
    low, middle, high = (float(values[parts[k]].mean()) for k in (0, 2, 4))
    return f"{low:{form}} in the lowest fifth, {middle:{form}} in the middle, {high:{form}} in the highest"
