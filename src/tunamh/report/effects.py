"""Group effects: thousands of them. The largest have a picture, all have a place in a table that is searched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..results.layout import EFFECT
from ..results.tree import summed_effects
from .numbers import Variable, joined, labels_of
from .pictures import InOrder, Interval, Panel, in_order, panels
from .tables import Table, effects_table

_LARGEST = 30


@dataclass(frozen=True)
class Effects:
    note: str
    panels: list[Panel]
    whole: InOrder
    table: Table


def effects_of(tree: Any, variables: list[Variable], level: float) -> Effects | None:
    """None where there are none; where draws of them were not kept, from means and standard deviations."""
    kept = [v for v in variables if v.role == EFFECT]
    if kept and len(variables) > len(kept):
        return _effects(joined(kept), level, "")
    summed = [_from_sums(name, mean, sd, level) for name, (mean, sd) in summed_effects(tree).items()]
    told = [one for one in summed if one is not None]
    note = " Their draws were not kept: intervals are those of a normal law with the same mean and deviation."
    return _effects(joined(told), level, note) if told else None


def _effects(variable: Variable, level: float, note: str) -> Effects:
    order = np.argsort(-np.abs(np.nan_to_num(variable.mean)), kind="stable")
    largest = order[:_LARGEST]
    rows = [
        Interval(_label(variable, j), float(variable.mean[j]), tuple(variable.half[j]), tuple(variable.ends[j]))
        for j in largest[np.argsort(-variable.mean[largest], kind="stable")]
    ]
    shown = "All" if variable.size <= _LARGEST else f"The {_LARGEST} largest of"
    return Effects(
        f"{shown} {variable.size:,} effects.{note}",
        panels(rows, zero=True),
        in_order(variable.mean, variable.ends),
        effects_table(variable, order, level),
    )


def _label(variable: Variable, j: int) -> str:
    """Of ``group_effect`` the labels have the factor's name already."""
    return variable.labels[j] if variable.name == "group_effect" else variable.names[j]


def _from_sums(name: str, mean: Any, sd: Any, level: float) -> Variable | None:
    """Means and variances over chains, from those of every chain."""
    from scipy.special import ndtr, ndtri

    if "chain" not in mean.dims or mean.ndim < 2 or mean.dims != sd.dims:
        return None
    dims = [dim for dim in mean.dims if dim != "chain"]
    labels = labels_of(mean, dims)
    mean, sd = (values.transpose("chain", *dims).values.reshape(-1, len(labels)) for values in (mean, sd))
    centre = mean.mean(axis=0)
    spread = np.sqrt(np.square(sd).mean(axis=0) + mean.var(axis=0))
    z = [ndtri(0.5 + share / 2) for share in (level, 0.5)]
    ends, half = (centre[:, None] + width * spread[:, None] * np.array([-1.0, 1.0]) for width in z)
    positive = ndtr(centre / np.where(spread > 0, spread, 1e-300))
    unknown = np.full(len(labels), np.nan)
    return Variable(name, labels, centre, spread, ends, half, positive, unknown, unknown)
