"""The rows of a cache's files without those that are forgotten, for questions about the data of a posterior."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ..living.cache import Cache
from ..rows.executors import in_order
from ..rows.pieces import InPieces, OfBlocks, Reading
from ..rows.table_source import TableBlock
from .living_reading import forgotten
from .parser import parse_expression
from .syntax import Node, columns_in
from .variables import as_columns, read

Result = TypeVar("Result")


def remaining(data: Any) -> Any:
    """Return the data without the rows that a cache has been told to forget.

    If the tables have a cache with such rules, all values of forgotten rows are missing in the result. So the other
    rows keep their row numbers, and the computation leaves the forgotten rows out. Other data are returned as they are.
    """
    if not isinstance(data, InPieces) or data.cache is None:
        return data
    rules = Cache(data.cache.path).rules()
    return RemainingRows(data, tuple(parse_expression(str(rule["where"])) for rule in rules)) if rules else data


class RemainingRows(InPieces):
    """Tables in which all values of forgotten rows are missing."""

    def __init__(self, tables: InPieces, conditions: tuple[Node, ...]):
        settings: dict[str, Any] = {"executor": tables.executor, "memory": tables.memory}
        super().__init__(tables.pieces, tables.lengths, tables.names, tables.fingerprint, **settings)
        self.conditions = conditions

    def map(self, function: Callable[[TableBlock], Result], columns: Sequence[str] | None = None) -> Iterator[Result]:
        of_rules = [name for node in self.conditions for name in columns_in(node)]
        names = tuple(dict.fromkeys([*(self.names if columns is None else columns), *of_rules]))
        task = OfBlocks(function, Reading(names, _WithoutValues(self.conditions)), names)
        tasks = (each for each in zip(self.pieces, self.starts, self.lengths, strict=True) if each[2] > 0)
        for results in in_order(self.executor, task, tasks):
            yield from results


@dataclass(frozen=True)
class _WithoutValues:
    """A table of Parquet with nothing in the rows for which a condition holds."""

    conditions: tuple[Node, ...]

    def __call__(self, table: Any) -> Any:
        import pyarrow as pa

        frame = as_columns(table)
        names = [name for node in self.conditions for name in columns_in(node)]
        gone = forgotten(read(frame, names), self.conditions, frame.n_rows)
        return table.take(pa.array(np.arange(frame.n_rows), mask=gone)) if gone.any() else table
