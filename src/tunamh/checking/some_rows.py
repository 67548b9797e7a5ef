"""The rows that are looked at: a random subsample, of a table in memory or of tables in blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import NotApplicable
from ..formula import FormulaModel
from ..formula.errors import FormulaError
from ..formula.evaluation import Values
from ..formula.remaining import remaining
from ..formula.syntax import columns_in
from ..formula.variables import as_columns, joined_variables, read, refuse_unknown
from ..prediction.subsample import RandomRows, complete_blocks
from ..prediction.times import Seen
from ..process.stages import announce
from ..rows.table_source import TableBlock, Tables
from ..tables.columns import Column
from ..tables.frames import Frame, complete_rows

_ALL_SEEN = Seen(None, None)


@dataclass(frozen=True, eq=False)
class SomeRows:
    """Columns of some rows, their row numbers in the data, and the number of rows from which they were drawn.

    ``weights`` is None if the model has no weights. ``seen`` says which responses are censored, and has the times of
    entry.
    """

    table: Frame
    numbers: np.ndarray
    n_rows: int
    weights: np.ndarray | None = None
    seen: Seen = _ALL_SEEN

    @property
    def every(self) -> bool:
        """Return True if these are all rows, each once."""
        return len(np.unique(self.numbers)) == len(self.numbers) == self.n_rows

    @property
    def told(self) -> str:
        """Return in words how many rows these are."""
        some = len(self.numbers)
        return f"all {some:,} rows" if self.every else f"{some:,} of {self.n_rows:,} rows, drawn at random"


def drawn_rows(
    formula: FormulaModel, data: Any, rows: int, rng: np.random.Generator, *, more: Sequence[str] = (), weighted: bool
) -> SomeRows:
    """Return a simple random subsample of the rows, as `tunamh.loo` draws it.

    With ``weighted``, a row of weight ``w`` counts as ``w`` rows, of which some are drawn. For tables in blocks, the
    rows are chosen where the blocks are read.
    """
    for name in formula.arrays:
        raise NotApplicable(
            f"{name} of this model was an array, which a result does not contain: fit the model with the name of a "
            f'column of the data instead, {name}="{name[0]}".'
        )
    names = _names(formula, more)
    node = formula.beside.get("weights")
    by_weight = list(columns_in(node)) if weighted and node is not None else []
    announce("drawing rows")
    data = remaining(data)
    if not weighted:
        found = _of_loo(data, names, rows, rng)
    elif isinstance(data, Tables):
        found = _of_blocks(formula, data, names, by_weight, rows, rng)
    else:
        found = _of_memory(formula, as_columns(data), names, by_weight, rows, rng)
    values = Values(read(found.table, names), found.table.n_rows, {})
    weights = None if node is None else values.numbers(node)
    return SomeRows(found.table, found.numbers, found.n_rows, weights, Seen.of(formula, found.table))


def _of_loo(data: Any, names: list[str], rows: int, rng: np.random.Generator) -> SomeRows:
    sample = RandomRows(rows, rng)
    for block in complete_blocks(data, names):
        sample.offer(block)
    table, numbers, _ = sample.taken()
    return SomeRows(table, numbers, sample.offered)


def _names(formula: FormulaModel, more: Sequence[str]) -> list[str]:
    needed = [*formula.predictor_columns, *columns_in(formula.response.node), *more]
    needed += [name for node in formula.beside.values() for name in columns_in(node)]
    return list(dict.fromkeys(needed))


# ------------------------------------------------------------------------------------------------------- in memory


def _of_memory(
    formula: FormulaModel, table: Frame, names: list[str], by_weight: list[str], rows: int, rng: np.random.Generator
) -> SomeRows:
    there = np.flatnonzero(complete_rows(read(table, names), table.n_rows).keep)
    if len(there) == 0:
        raise FormulaError("the data have no rows without missing values.")
    if by_weight:
        weights = _weights_of(formula, table.take(there, by_weight))
        ends = np.cumsum(weights)
        most = min(rows, _most(weights))
        picked = there[np.searchsorted(ends, _evenly(float(ends[-1]), most, rng), side="right")]
    else:
        picked = np.sort(rng.choice(there, size=min(rows, len(there)), replace=False))
    return SomeRows(table.take(picked, names), picked, len(there))


def _weights_of(formula: FormulaModel, table: Frame) -> np.ndarray:
    node = formula.beside["weights"]
    return Values(read(table, columns_in(node)), table.n_rows, {}).numbers(node)


def _most(weights: np.ndarray) -> int:
    """How many rows may be drawn: rows of weights up to 1 once, larger ones as often as they count."""
    return max(1, min(int(weights.sum()), int(np.ceil(np.maximum(weights, 0.0)).sum())))


def _evenly(total: float, count: int, rng: np.random.Generator) -> np.ndarray:
    """Places in ``[0, total)`` that lie evenly, from a random one on: systematic sampling."""
    return np.minimum((np.arange(count) + rng.random()) * (total / count), np.nextafter(total, 0.0))


# ------------------------------------------------------------------------------------------------------- in blocks


class _Chosen:
    """Some rows of a block, by their numbers in all tables; sent to where the block is."""

    def __init__(self, names: list[str], picked: np.ndarray):
        self.names, self.picked = names, picked

    def __call__(self, block: TableBlock) -> tuple[np.ndarray, dict[str, Column]]:
        columns = as_columns(block.table)
        first, last = np.searchsorted(self.picked, (block.start, block.start + columns.n_rows))
        own = self.picked[first:last] - block.start
        return own + block.start, read(columns.take(own, self.names), self.names)


class _Weighed:
    """What the rows of a block weigh, and which lie at some places of ``[0, weight of all)``."""

    def __init__(self, formula: FormulaModel, names: list[str], starts: dict[int, float] | None, places: np.ndarray):
        self.formula, self.names, self.starts, self.places = formula, names, starts, places

    def __call__(self, block: TableBlock) -> tuple[int, float, np.ndarray]:
        weights = np.nan_to_num(_weights_of(self.formula, as_columns(block.table)))
        if self.starts is None:
            return block.start, float(weights.sum()), np.empty(0, np.int64)
        ends = self.starts[block.start] + np.cumsum(weights)
        first, last = np.searchsorted(self.places, (self.starts[block.start], ends[-1]))
        at = np.minimum(np.searchsorted(ends, self.places[first:last], side="right"), len(ends) - 1)
        return block.start, 0.0, block.start + at


def _of_blocks(
    formula: FormulaModel, tables: Tables, names: list[str], by_weight: list[str], rows: int, rng: np.random.Generator
) -> SomeRows:
    """One pass; with weights three. Rows with missing values are left out of those that were drawn."""
    refuse_unknown(names, list(tables.names))
    if by_weight:
        picked = _picked_by_weight(formula, tables, by_weight, rows, rng)
    else:
        picked = np.sort(rng.choice(tables.n_rows, size=min(rows, tables.n_rows), replace=False))
    found = [part for part in tables.map(_Chosen(names, picked), names) if len(part[0])]
    if not found:
        raise FormulaError("the data have no rows.")
    numbers = np.concatenate([own for own, _ in found])
    table = joined_variables([columns for _, columns in found], len(numbers))
    keep = np.flatnonzero(complete_rows(read(table, names), table.n_rows).keep)
    if len(keep) == 0:
        raise FormulaError("the rows that were drawn all have missing values.")
    return SomeRows(table.take(keep, names), numbers[keep], tables.n_rows)


def _picked_by_weight(
    formula: FormulaModel, tables: Tables, names: list[str], rows: int, rng: np.random.Generator
) -> np.ndarray:
    starts, total = {}, 0.0
    for start, weight, _ in tables.map(_Weighed(formula, names, None, np.empty(0)), names):
        starts[start] = total
        total += weight
    places = _evenly(total, max(1, min(rows, int(total))), rng)
    return np.concatenate([own for *_, own in tables.map(_Weighed(formula, names, starts, places), names)])
