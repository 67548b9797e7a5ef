"""Tables that sort and search: every row as texts, of which a page shows the first hundred until it is asked."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..results.group_effects import Statistics
from .metadata import Told
from .numbers import UNKNOWN, Variable, text

SHOWN = 100
_MOST = 20_000  # rows of a page
LONGEST = 200  # characters of a name


@dataclass(frozen=True)
class Table:
    """A table of the page. ``rows`` are texts, a name first. ``total`` also counts rows that are not in the table."""

    columns: list[tuple[str, str]]  # a heading, and what it means
    rows: list[list[str]]
    total: int

    @property
    def first(self) -> list[list[str]]:
        return self.rows[:SHOWN]


def headings(level: float) -> list[tuple[str, str]]:
    return [
        ("Parameter", "The name in tunamh.summary"),
        ("Mean", "Posterior mean"),
        ("SD", "Posterior standard deviation"),
        *interval_headings(level),
        ("P(> 0)", "Posterior probability of being positive"),
    ]


def interval_headings(level: float) -> list[tuple[str, str]]:
    tail = 50 - 50 * level
    return [
        (f"{tail:g} %", f"Lower end of the central {100 * level:g} % interval"),
        (f"{100 - tail:g} %", f"Upper end of the central {100 * level:g} % interval"),
    ]


def table_of(variables: list[Variable], told: Told, level: float) -> Table:
    """Return the table of all parameters except group effects, in the order of the posterior."""
    columns = [*headings(level), ("ESS", "Effective draws"), ("R-hat", "At most 1.01 if the chains agree")]
    shifts: dict[str, float] = {}
    if told.laplace is not None:
        columns.append(
            ("Shift from Laplace", "Mean minus the mean of Laplace's approximation, in posterior standard deviations")
        )
        shifts = dict(zip(told.laplace.names, told.laplace.shift, strict=True))
    rows: list[list[str]] = []
    for variable in variables:
        for j, name in enumerate(variable.names[: _MOST - len(rows)]):
            row = [*cells(variable, j, name), number(variable.ess[j], ".0f"), number(variable.r_hat[j], ".3f")]
            if shifts:
                row.append(number(shifts.get(name, math.nan), ".2f"))
            rows.append(row)
    return Table(columns, rows, sum(variable.size for variable in variables))


def effects_table(names: list[str], order: np.ndarray, level: float, own: Statistics) -> Table:
    """Return a table of group effects in the given order, with ranks if these are known."""
    ranked = bool(np.isfinite(own.rank).any())
    columns = headings(level)
    if ranked:
        columns += [
            ("Rank", "Posterior mean of the rank among all levels; 1 is the largest effect"),
            ("P(largest)", "Posterior probability of being the largest of all levels"),
        ]
    rows = []
    for j in order[:_MOST].tolist():
        row = _row(names[j], float(own.mean[j]), float(own.sd[j]), own.ends[j], own.positive[j])
        rows.append([*row, number(own.rank[j], ".1f"), number(own.best[j], ".3f")] if ranked else row)
    return Table(columns, rows, len(names))


def cells(variable: Variable, j: int, name: str) -> list[str]:
    return _row(name, float(variable.mean[j]), float(variable.sd[j]), variable.ends[j], variable.positive[j])


def _row(name: str, mean: float, sd: float, ends: np.ndarray, positive: float) -> list[str]:
    shown = [text(float(value), sd) for value in (mean, sd, *ends)]
    return [name[:LONGEST], *shown, number(positive, ".3f")]


def number(value: float, form: str) -> str:
    if not math.isfinite(value):
        return UNKNOWN
    shown = format(value, form)
    return shown.lstrip("-") if float(shown) == 0 else shown
