"""Group effects: thousands of them. How much groups differ; a caterpillar for each factor and term; a table of all."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ..errors import TunaMHError
from ..results.factors import GroupedResult
from ..results.group_effects import Statistics, from_moments, statistics
from ..results.group_scales import CORRELATION, SD, SHARE, notes_of, numbers_of, quantities_of
from ..results.layout import EFFECT
from ..results.tree import summed_effects
from .numbers import Variable, joined, labels_of, text
from .pictures import InOrder, Interval, Panel, in_order, panels
from .tables import LONGEST, Table, effects_table, interval_headings

_LARGEST = 30
_MOST_SCALES = 200  # lines
_NO_DRAWS = (
    " Their draws were not kept: intervals are those of a normal distribution with the same mean and "
    "standard deviation."
)
_UNREADABLE = (TunaMHError, LookupError, TypeError, ValueError, AttributeError)  # what a stranger's file may lead to
_QUANTITIES = {SD: "standard deviation", CORRELATION: "correlation", SHARE: "share of variance"}


@dataclass(frozen=True)
class Column:
    """The effects of one column of a factor, or all effects of a result that does not name its factors."""

    heading: str
    labels: list[str]  # in a picture, below the heading
    names: list[str]
    numbers: Statistics
    note: str = ""


@dataclass(frozen=True)
class Caterpillar:
    heading: str
    note: str
    panels: list[Panel]
    whole: InOrder | None  # all of them, where only some have a row


@dataclass(frozen=True)
class Scales:
    """A table of how much groups differ, as texts. A name and a quantity come first in each row."""

    columns: list[str]
    rows: list[list[str]]
    notes: list[str]


@dataclass(frozen=True)
class Effects:
    scales: Scales | None
    caterpillars: list[Caterpillar]
    table: Table


def effects_of(tree: Any, variables: list[Variable], level: float) -> Effects | None:
    """Return the group effects of a result, or None if there are none.

    If draws of them were not kept, means and standard deviations are used.
    """
    try:
        columns = _by_column(GroupedResult(tree), level)
    except _UNREADABLE:
        columns = _together(tree, variables, level)
    if not columns:
        return None
    return Effects(scales_of(tree, level), [_caterpillar(one) for one in columns], _table(columns, level))


# ------------------------------------------------------------------------------------------------- numbers


def _by_column(result: GroupedResult, level: float) -> list[Column]:
    effects = result.effects()
    terms = {factor: sum(one.factor == factor for one in effects) for factor in result.factors}
    return [
        Column(
            f"{one.factor}: {one.heading}" if terms[one.factor] > 1 else one.factor,
            one.levels,
            one.names,
            statistics(one, level),
            _NO_DRAWS if one.draws is None else "",
        )
        for one in effects
    ]


def _together(tree: Any, variables: list[Variable], level: float) -> list[Column]:
    """Of results that do not say which effects belong together."""
    kept = [v for v in variables if v.role == EFFECT]
    if kept and len(variables) > len(kept):
        return [_plain_column(joined(kept))]
    found = [_from_sums(name, mean, sd, level) for name, (mean, sd) in summed_effects(tree).items()]
    return [one for one in found if one is not None]


def _plain_column(variable: Variable) -> Column:
    names = _names(variable.name, variable.labels)
    unknown, ends = np.full(variable.size, np.nan), np.full((variable.size, 2), np.nan)
    marginal = (variable.mean, variable.sd, variable.ends, variable.half, variable.positive)
    return Column("", names, names, Statistics(*marginal, unknown, ends, unknown))


def _from_sums(name: str, mean: Any, sd: Any, level: float) -> Column | None:
    if "chain" not in mean.dims or mean.ndim < 2 or mean.dims != sd.dims:
        return None
    dims = [dim for dim in mean.dims if dim != "chain"]
    names = _names(name, labels_of(mean, dims))
    both = [values.transpose("chain", *dims).values.reshape(-1, len(names)) for values in (mean, sd)]
    return Column("", names, names, from_moments(both[0], both[1], level), _NO_DRAWS)


def _names(variable: str, labels: list[str]) -> list[str]:
    """Of ``group_effect`` the labels have the factor's name already."""
    return labels if variable in ("group_effect", "") else [f"{variable}[{label}]" for label in labels]


# ------------------------------------------------------------------------------------------------- the parts


def _caterpillar(column: Column) -> Caterpillar:
    """In the order of the means, the largest on top; of many, those that are furthest from zero."""
    own, size = column.numbers, len(column.labels)
    largest = np.argsort(-np.abs(np.nan_to_num(own.mean)), kind="stable")[:_LARGEST]
    rows = [
        Interval(column.labels[j][:LONGEST], float(own.mean[j]), tuple(own.half[j]), tuple(own.ends[j]), "one axis")
        for j in largest[np.argsort(-own.mean[largest], kind="stable")]
    ]
    shown = "All" if size <= _LARGEST else f"The {_LARGEST} largest of"
    whole = in_order(own.mean, own.ends) if size > _LARGEST else None
    return Caterpillar(
        column.heading[:LONGEST], f"{shown} {size:,} effects.{column.note}", panels(rows, zero=True), whole
    )


def _table(columns: list[Column], level: float) -> Table:
    """All effects, the largest first; ranks are those within a column."""
    names = [name for column in columns for name in column.names]
    parts = [np.concatenate([getattr(column.numbers, one.name) for column in columns]) for one in fields(Statistics)]
    numbers = Statistics(*parts)
    order = np.argsort(-np.abs(np.nan_to_num(numbers.mean)), kind="stable")
    return effects_table(names, order, level, numbers)


def scales_of(tree: Any, level: float) -> Scales | None:
    """Return a table of standard deviations, correlations and shares of variance, or None if they cannot be read."""
    try:
        result = GroupedResult(tree)
        quantities = quantities_of(result)
        notes = notes_of(result, quantities)
    except _UNREADABLE:
        return None
    rows = []
    for one in quantities[:_MOST_SCALES]:
        own = numbers_of(one.draws, level)
        told = one.part.after(one.term)
        name = f"{one.group}: {told}" if told else one.group
        shown = [text(value, own.sd) for value in (own.mean, own.sd, own.low, own.high)]
        rows.append([name[:LONGEST], _QUANTITIES[one.quantity], *shown])
    headings = [heading for heading, _ in interval_headings(level)]
    return Scales(["", "", "Mean", "SD", *headings], rows, notes)
