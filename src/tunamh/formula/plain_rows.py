"""Rows of a formula whose terms are columns as they are, read without the interpreter of expressions.

Most formulas name columns only: ``y ~ a + b + carrier``. Of a block whose columns are arrays already, and levels that
were coded at once, the columns of the design are then copies of these arrays. All other blocks and formulas go the long
way, which gives the same numbers, and says what is wrong with a value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from ..rows.source import NOWHERE, Factored, Rows
from ..rows.table_source import TableBlock
from ..tables.columns import Factor, Numbers, squares
from ..tables.frames import CompleteRows
from ..tables.matrices import LARGEST
from .model import FormulaModel
from .syntax import Name, label


class CodedTerm(NamedTuple):
    """A factor by its column: its levels, of which the first has no coefficient unless ``full``."""

    column: str
    levels: tuple[str, ...]
    full: bool


class PlainRows(NamedTuple):
    """The columns of numbers in their order, None for the intercept; those of text; the response."""

    numbers: tuple[str | None, ...]
    factors: tuple[CodedTerm, ...]
    y: str
    dim: int

    @classmethod
    def of_model(cls, model: FormulaModel) -> PlainRows | None:
        """None where something is to be computed, or where rows may be left out."""
        side, node = model.side, model.response.node
        if side.curves or model.offsets or model.beside or model.dropped or model.response.levels is not None:
            return None
        names = [name for block in side.whole for name in map(_column, block.numbers or ("",))]
        alone = all(len(block.numbers) <= 1 for block in side.whole)
        coded = [block for block in side.gathered if len(block.factors) == 1 and not block.numbers]
        atoms = [_column(block.factors[0].atom) for block in coded]
        known = not any(name is None for name in (*names, *atoms, _column(node)))
        if not (known and alone and len(coded) == len(side.gathered)):
            return None
        factors = [
            CodedTerm(str(name), side.levels[label(block.factors[0].atom)], block.factors[0].full)
            for name, block in zip(atoms, coded, strict=True)
        ]
        return cls(tuple(name or None for name in names), tuple(factors), str(_column(node)), side.dim)

    def of_block(self, block: TableBlock) -> Rows | None:
        """The rows of a block; None where it must be looked at more closely."""
        return self._rows(block.start, block.numbers, block.text)

    def of_complete(self, rows: CompleteRows, start: int) -> Rows | None:
        """The same of columns that were read."""
        if rows.holes:
            return None
        numbers = {name: column.values for name, column in rows.columns.items() if isinstance(column, Numbers)}
        factors = {name: column for name, column in rows.columns.items() if isinstance(column, Factor)}
        return self._rows(start, numbers, factors.get)

    def of_columns(self, numbers: Mapping[str, np.ndarray], factors: Mapping[str, Factor]) -> Rows | None:
        """The same of columns as a file has them, numbered from 0 on."""
        return self._rows(0, numbers, factors.get)

    def _rows(self, start: int, known: Mapping[str, np.ndarray], text: Callable[[str], Factor | None]) -> Rows | None:
        if self.y not in known or any(name is not None and name not in known for name in self.numbers):
            return None
        y = known[self.y].astype(np.float64)
        lines = np.empty((len(self.numbers), len(y)))
        for line, name in zip(lines, self.numbers, strict=True):
            line[:] = 1.0 if name is None else known[name]
        with np.errstate(over="ignore", invalid="ignore"):
            if not squares(lines.reshape(-1)) + squares(y) <= LARGEST:  # some value is none, or too large
                return None
        if not self.factors:
            return Rows(start, lines.T, y)
        positions = self._positions(text, len(y))
        return None if positions is None else Rows(start, Factored(lines.T, positions, self.dim), y)

    def _positions(self, text: Callable[[str], Factor | None], n_rows: int) -> np.ndarray | None:
        found, begin = np.empty((n_rows, len(self.factors)), np.int32), len(self.numbers)
        for k, one in enumerate(self.factors):
            factor = text(one.column)
            if factor is None:
                return None
            place = {level: begin + code - (not one.full) for code, level in enumerate(one.levels)}
            if not one.full:
                place[one.levels[0]] = NOWHERE
            if factor.has_missing or any(level not in place for level in factor.levels):
                return None
            found[:, k] = np.array([place[level] for level in factor.levels], np.int32)[factor.codes]
            begin += len(one.levels) - (not one.full)
        return found


def _column(atom: object) -> str | None:
    """The name of a column; None of an expression. The intercept has no atom, and an empty name."""
    if atom == "":
        return ""
    return atom.name if isinstance(atom, Name) else None
