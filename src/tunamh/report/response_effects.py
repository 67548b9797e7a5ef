"""Effects on the scale of the response: what a step of a number, or another level, does at typical values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..effects import comparisons
from ..effects.asking import Asking
from ..errors import TunaMHError
from ..targets.families.links import IDENTITY
from .pictures import Interval, Panel, panels

_MOST_COLUMNS = 12
_MOST_ROWS = 60
_UNREADABLE = (TunaMHError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError)  # of strangers' files


@dataclass(frozen=True)
class ResponseEffects:
    """A picture of comparisons on the scale of the response.

    ``told`` says what it shows, and ``notes`` say what it leaves out.
    """

    told: str
    notes: list[str]
    panels: list[Panel]


def response_effects(tree: Any, level: float) -> ResponseEffects | None:
    """Return the picture, or None for results without a formula.

    It is also None if the coefficients are already differences of the mean.
    """
    try:
        asking = Asking(tree)
        family = asking.fitted.family
        if family is None or (family.link is IDENTITY and not family.of_classes):
            return None
        return _effects(tree, asking, level)
    except _UNREADABLE:
        return None


def _effects(tree: Any, asking: Asking, level: float) -> ResponseEffects | None:
    columns, notes = asking.columns, []
    contrast: dict[str, Any] = {}
    size, classes = 0, asking.outcomes.size
    for name in columns.predictors:
        levels = columns.levels(name)
        more = classes * (1 if levels is None else len(levels) - 1)
        if len(contrast) < _MOST_COLUMNS and size + more <= _MOST_ROWS:
            contrast[name] = "reference" if levels is not None else None if columns.known(name).labels else "sd"
            size += more
    if not contrast:
        return None
    left = len(columns.predictors) - len(contrast)
    if left:
        notes.append(f"{left} of {len(columns.predictors)} columns are left out: tunamh.comparisons shows them.")
    table = comparisons(tree, contrast=contrast, ci_prob=level)
    if asking.formula.groups:
        notes.append("Group effects are left out: these are differences for a typical group.")
    found = panels(_rows(table), zero=True)
    return ResponseEffects(str(table.attrs["told"]), notes, found) if found else None


def _rows(table: Any) -> list[Interval]:
    draws = table.draws.values.reshape(-1, len(table))
    halves = np.quantile(draws, [0.25, 0.75], axis=0).T
    low, high = (name for name in table.columns if name.startswith("eti"))
    found = []
    for k, row in enumerate(table.to_dict("records")):
        of_class = f" ({row['class']})" if "class" in row else ""
        name, of_step = row["variable"], f"({row['variable']} + 1 sd) - {row['variable']}"
        own = f"{name}: +1 sd" if row["contrast"] == of_step else f"{name}: {row['contrast']}"
        half, ends = (float(halves[k, 0]), float(halves[k, 1])), (float(row[low]), float(row[high]))
        found.append(Interval(f"{own}{of_class}", float(row["mean"]), half, ends, "effects"))
    return found
