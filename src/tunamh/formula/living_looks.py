"""What a formula learns from one piece of files that come and go, as plain values that a cache keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from ..tables.columns import Factor
from .data_summaries import FirstLook, Moments, SecondLook, first_look, second_look
from .evaluation import Values, as_factor
from .living_reading import LivingPiece
from .needed_rows import Read
from .right_side import RightSide
from .syntax import Node, label
from .typical import ColumnsLook, columns_look
from .variables import join_levels

_FEW = 64  # responses of a piece that are kept, to know their spread

Look = dict[str, Any]
"""Of a piece: plain values, as JSON has them."""


def look_at(piece: Any, how: LivingPiece, asked: Read) -> Look:
    """Return what one piece of the files says: levels with their counts, moments of numbers, responses.

    It also contains the numbers of rows that have missing values or are forgotten.
    """
    looks, holes, lost, gone = [], dict[str, int](), 0, 0
    for complete, count in how.tables(piece):
        gone, lost = gone + count, lost + complete.lost
        for name, number in complete.holes.items():
            holes[name] = holes.get(name, 0) + number
        if complete.n_rows:
            looks.append(_of_table(Values(complete.columns, complete.n_rows, {}, 0, complete.numbers), asked))
    found: Look = {"n": sum(one["n"] for one in looks), "lost": lost, "holes": holes, "forgotten": gone}
    return {**found, "looks": looks}


def _of_table(values: Values, asked: Read) -> Look:
    first = first_look(asked.right, values)
    second = second_look(RightSide(asked.right, first.levels, {}), values)
    columns = columns_look(asked.right, asked.others.values(), values)
    counts = {}
    for atom in dict.fromkeys(atom for term in asked.right.fixed for atom in term):
        if label(atom) in first.levels:
            factor = as_factor(values.value(atom))
            seen = np.bincount(factor.codes, minlength=len(factor.levels)).tolist()
            counts[label(atom)] = {level: n for level, n in zip(factor.levels, seen, strict=True) if n}
    return {
        "n": values.n_rows,
        "levels": {name: list(levels) for name, levels in first.levels.items()},
        "sorted": first.sorted_levels,
        "counts": counts,
        "numbers": {name: list(one) for name, one in second.moments.items()},
        "columns": {"counts": columns.counts, "moments": {name: list(one) for name, one in columns.moments.items()}},
        "y": _responses(values, asked.response),
    }


def _responses(values: Values, node: Node) -> Look:
    found = values.value(node)
    if isinstance(found, Factor):
        used = [found.levels[code] for code in np.unique(found.codes).tolist()]
        return {"levels": used, "ordered": found.ordered, "moments": None, "some": []}
    y = np.asarray(found.values, dtype=np.float64)
    some = y[:: max(1, len(y) // _FEW)].tolist()
    return {"levels": None, "ordered": False, "moments": list(Moments.of(y)), "some": some}


class AllLooks:
    """What all pieces of the files say, joined in the order of the pieces."""

    def __init__(self, looks: Sequence[Look]):
        self.looks, self.tables = looks, [table for look in looks for table in look["looks"]]
        self.lengths = [int(look["n"]) for look in looks]
        self.lost = sum(int(look["lost"]) for look in looks)
        self.forgotten = [int(look["forgotten"]) for look in looks]

    @property
    def holes(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for look in self.looks:
            for name, count in look["holes"].items():
                found[name] = found.get(name, 0) + int(count)
        return found

    def counts(self, name: str) -> dict[str, int]:
        """Return the number of rows that have each level of a factor."""
        found: dict[str, int] = {}
        for table in self.tables:
            for level, count in table["counts"].get(name, {}).items():
                found[level] = found.get(level, 0) + int(count)
        return found

    @property
    def factors(self) -> list[str]:
        return list(dict.fromkeys(name for table in self.tables for name in table["levels"]))

    def levels(self, name: str, known: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
        """Return the levels of a factor, and a list of its new levels.

        Known levels that still occur come first in their order; new levels follow.
        """
        there = self.counts(name)
        if not known:
            return join_levels([tuple(table["levels"][name]) for table in self.tables if name in table["levels"]]), []
        new = [level for level in there if level not in set(known)]
        new = list(join_levels([tuple(sorted(new))])) if new else []
        return (*(level for level in known if level in there), *new), new

    def first(self, levels: Mapping[str, tuple[str, ...]]) -> FirstLook:
        return FirstLook(dict(levels), dict.fromkeys(levels, False), {})

    def second(self) -> SecondLook:
        found: dict[str, Moments] = {}
        for table in self.tables:
            for name, numbers in table["numbers"].items():
                one = Moments(*numbers)
                found[name] = found[name] + one if name in found else one
        return SecondLook({}, found, {})

    def columns(self) -> list[ColumnsLook]:
        """Return the summaries of the columns, one for each table."""
        found = [table["columns"] for table in self.tables]
        return [
            ColumnsLook(one["counts"], {name: Moments(*numbers) for name, numbers in one["moments"].items()})
            for one in found
        ]

    @property
    def response_moments(self) -> Moments | None:
        found = [Moments(*table["y"]["moments"]) for table in self.tables if table["y"]["moments"] is not None]
        return reduce(Moments.__add__, found) if found else None

    @property
    def response_levels(self) -> list[tuple[str, ...]]:
        return [tuple(table["y"]["levels"]) for table in self.tables if table["y"]["levels"] is not None]

    @property
    def some_responses(self) -> np.ndarray:
        return np.concatenate([np.zeros(0), *(np.array(table["y"]["some"]) for table in self.tables)])
