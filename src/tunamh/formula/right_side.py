"""The right side of a formula with what was learned from the data: levels, means, cells that occur.

It turns any rows of such data, those it was learned from and new ones, into the columns of a design.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from typing import Any, Literal, NamedTuple

import numpy as np

from ..targets.designs import DenseDesign, IndexedDesign
from ..targets.designs.curved import CurvedDesign
from ..targets.designs.indexed import NOWHERE, IndexedBlock
from .coding import Block, blocks_of
from .curve_terms import Term, term_from_json
from .errors import FormulaError, listed
from .evaluation import Values, as_factor, filled
from .parser import parse_expression
from .smooths import Smooth
from .syntax import Operation, label
from .terms import Terms, term_label, terms_of

MOST_COLUMNS = 5000
"""Coefficients: matrices of the square of so many numbers are made."""


class Columns(NamedTuple):
    """Columns of a design for some rows.

    ``whole`` are columns with a number in every row. For columns that are mostly zero, a row has the positions of its
    parameters (``positions``) and the values there (``values``; None: all values are 1). ``dim`` is the number of
    columns.
    """

    whole: np.ndarray
    positions: np.ndarray
    values: np.ndarray | None
    dim: int

    def design(self) -> Any:
        if self.positions.shape[1] == 0:
            return DenseDesign(np.ascontiguousarray(self.whole))
        return IndexedDesign(self.whole, self.positions, self.values, self.dim)

    def block(self) -> IndexedBlock:
        """Return the columns in the form for compiled code.

        Raise `FormulaError` if a position is outside the columns, because compiled code would not notice this. A model
        that was read from a file may contain such positions.
        """
        at = self.positions
        if self.whole.shape[1] > self.dim or (at.size and not (at.min() >= NOWHERE and at.max() < self.dim)):
            raise FormulaError(f"the model names columns outside its {self.dim}.")
        values = np.empty((len(self.whole), 0)) if self.values is None else self.values
        return IndexedBlock(np.ascontiguousarray(self.whole), at, values, self.dim)

    def dense(self) -> np.ndarray:
        return self.block().dense()


@dataclass(frozen=True)
class RightSide:
    """The right side of a formula: its terms, and what was learned from the data.

    ``levels`` maps a factor to its levels, the reference first. ``states`` maps a function to the numbers that it
    learned. ``cells`` maps the key of a block to the combinations of levels that occur. The keys of the first two dicts
    are the texts in the formula.
    """

    terms: Terms
    levels: Mapping[str, tuple[str, ...]]
    states: Mapping[str, Mapping[str, float]]
    cells: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    curves: tuple[Term, ...] = ()
    """In the order of the terms."""
    hide_intercept: bool = False
    """Whether the intercept, by which factors are coded, is the family's own (`Ordinal`)."""

    @cached_property
    def blocks(self) -> list[Block]:
        is_factor = {label(atom): label(atom) in self.levels for term in self.terms.fixed for atom in term}
        return blocks_of(self.terms.fixed, self.terms.has_intercept, is_factor)

    @cached_property
    def whole(self) -> list[Block]:
        """Return the blocks with one column each: the intercept, numbers, and products of numbers."""
        return [one for one in self.blocks if not one.factors and (one.numbers or not self.hide_intercept)]

    @cached_property
    def gathered(self) -> list[Block]:
        return [one for one in self.blocks if one.factors]

    @cached_property
    def references(self) -> dict[str, str]:
        """Return the reference level of each factor that has one: a level without a column in some term."""
        coded = {label(one.atom) for block in self.gathered for one in block.factors if not one.full}
        return {name: levels[0] for name, levels in self.levels.items() if levels and name in coded}

    def sizes(self, block: Block) -> list[int]:
        """Return for each factor of the block the number of its levels that have columns."""
        return [len(self.levels[label(one.atom)]) - (not one.full) for one in block.factors]

    def count(self, block: Block) -> int:
        if len(block.factors) > 1:
            return len(self.cells[block.key])
        return int(np.prod(self.sizes(block)))

    @cached_property
    def parts(self) -> list[Block | Term]:
        """Return everything that makes columns, in the order of the columns.

        Columns of numbers come first, then columns of levels.
        """
        whole = [one for one in self.curves if not one.levels]
        return [*self.whole, *whole, *self.gathered, *(one for one in self.curves if one.levels)]

    @property
    def smooths(self) -> list[Term]:
        """Return the curves whose wiggly part has an unknown scale."""
        return [one for one in self.curves if one.asked.penalised]

    @cached_property
    def spans(self) -> list[tuple[str, int]]:
        """Return the terms in the order of the columns, each with its number of columns."""
        return [
            (one.name, one.size)
            if isinstance(one, Term)
            else (term_label(one.term), self.count(one) if one.factors else 1)
            for one in self.parts
        ]

    @cached_property
    def dim(self) -> int:
        return sum(count for _, count in self.spans)

    @cached_property
    def names(self) -> list[str]:
        """Return the names of the columns: the terms as the user wrote them, with levels in brackets."""
        return [name for one in self.parts for name in self._names(one)]

    def curve_labels(self, curve: Term) -> tuple[str, ...]:
        """Return the labels of all columns of a curve.

        If each level has its own curve, a label begins with the level.
        """
        if not curve.levels:
            return curve.labels
        levels = self.levels[label(curve.asked.by)]  # type: ignore[arg-type]
        return tuple(f"{level}, {one}" for level in levels for one in curve.labels)

    def _names(self, block: Block | Term) -> list[str]:
        if isinstance(block, Term):
            return [f"{block.name}[{one}]" for one in self.curve_labels(block)]
        if not block.factors:
            return [term_label(block.term)]
        order, factors = self._order(block), {label(one.atom) for one in block.factors}
        found = []
        for levels in self.cell_levels(block):
            left = iter(levels)
            found.append(":".join(f"{name}[{next(left)}]" if name in factors else name for name in order))
        return found

    def _order(self, block: Block) -> list[str]:
        """The factors and numbers of a block, in the order of its term."""
        inside = {label(one.atom) for one in block.factors} | set(map(label, block.numbers))
        return [name for name in map(label, block.term) if name in inside]

    def block_name(self, block: Block) -> str:
        """Return the name of the term, or of the part of the term that the block contains."""
        return ":".join(self._order(block)) if block.factors else term_label(block.term)

    def cell_levels(self, block: Block) -> list[tuple[str, ...]]:
        """The levels of each column of a block with factors, in the order of its term."""
        sizes = self.sizes(block)
        cells = np.asarray(self.cells[block.key]) if len(sizes) > 1 else np.arange(sizes[0])
        codes = {}
        for one, code in zip(block.factors, np.unravel_index(cells, sizes), strict=True):
            name = label(one.atom)
            codes[name] = [self.levels[name][k + (not one.full)] for k in code.tolist()]
        return list(zip(*(codes[name] for name in self._order(block) if name in codes), strict=True))

    # --------------------------------------------------------------------------------------------------- of rows

    def codes(self, values: Values) -> dict[str, np.ndarray]:
        """Return the codes of all factors. Raise `FormulaError` for a level that was not in the data of the fit."""
        found = {}
        for term in self.terms.fixed:
            for atom in term:
                name = label(atom)
                if name in self.levels and name not in found:
                    found[name] = known_codes(values, atom, self.levels[name])
        for curve in self.curves:
            by = curve.asked.by
            if by is not None and curve.levels and label(by) not in found:
                found[label(by)] = known_codes(values, by, self.levels[label(by)])
        return found

    def cell_numbers(self, block: Block, codes: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the number of each row's combination of levels; -1 if it contains a reference without a column."""
        n = len(next(iter(codes.values())))
        number, outside = np.zeros(n, dtype=np.int64), np.zeros(n, bool)
        for one, size in zip(block.factors, self.sizes(block), strict=True):
            code = codes[label(one.atom)] - (not one.full)
            number, outside = number * size + code, outside | (code < 0)
        return np.where(outside, NOWHERE, number)

    def multiplier(self, block: Block, values: Values) -> np.ndarray:
        if not block.numbers:
            return np.ones(values.n_rows)
        return reduce(np.multiply, (values.numbers(atom) for atom in block.numbers))

    def columns(self, values: Values, *, by_columns: bool = False) -> Columns:
        """Return the columns of some rows.

        If ``by_columns`` is True, the numbers of one column lie side by side in memory.
        """
        codes = self.codes(values)
        curves = {one.name: one.of_rows(values) for one in self.curves}
        parts = [self.multiplier(block, values)[:, None] for block in self.whole]
        parts += [curves[one.name] for one in self.curves if not one.levels]
        whole = _beside_each_other(parts, values.n_rows, "F" if by_columns else "C")
        begin, positions, scales = whole.shape[1], [], []
        for block in self.gathered:
            cell = self.cell_numbers(block, codes)
            if len(block.factors) > 1:
                cell = self._known_cells(block, cell, codes, values)
            positions.append(np.where(cell == NOWHERE, NOWHERE, begin + cell)[:, None])
            scales.append(self.multiplier(block, values)[:, None])
            begin += self.count(block)
        for one in self.curves:
            if one.levels:
                level = codes[label(one.asked.by)]  # type: ignore[arg-type]
                positions.append(begin + level[:, None] * one.each + np.arange(one.each))
                scales.append(curves[one.name])
                begin += one.size
        valued = any(block.numbers for block in self.gathered) or any(one.levels for one in self.curves)
        none = np.empty((values.n_rows, 0))
        at = np.hstack([none, *positions]).astype(np.int32)
        return Columns(whole, at, np.hstack([none, *scales]) if valued else None, self.dim)

    def design(self, values: Values, origin: np.ndarray | None = None) -> Any:
        """Return the design of rows of the data. It has the same columns as `columns`.

        A row stores its place on each curve and not all columns of the curve. ``origin`` is subtracted from the columns
        that have a number in every row.
        """
        banded, beside = self._banded
        held = filled(values, partial(self._of_design, origin=origin))
        if not banded:
            return Columns(held["whole"], held["positions"], held["values"], beside.dim).design()
        ends = np.cumsum([size for _, size in self.spans]).tolist()
        start_of = {name: end - size for (name, size), end in zip(self.spans, ends, strict=True)}
        curves = tuple(one.as_curve(start_of[one.name]) for one in banded)
        return CurvedDesign(held["whole"], held["positions"], held["values"], self.dim, curves, held["on"])

    def _of_design(self, values: Values, origin: np.ndarray | None) -> dict[str, np.ndarray | None]:
        """The arrays of a design; ``on`` are numbers on curves."""
        banded, beside = self._banded
        whole, positions, scales, _ = beside.columns(values)
        if origin is not None:
            whole = whole - origin[: whole.shape[1]]
        if not banded:
            return {"whole": whole, "positions": positions, "values": scales}
        codes = self.codes(values)
        numbers = np.column_stack([column for one in banded for column in one.numbers_on(values, codes)])
        shift = sum(one.size for one in banded if not one.levels)
        positions = np.where(positions >= whole.shape[1], positions + shift, positions).astype(np.int32)
        return {"whole": whole, "positions": positions, "values": scales, "on": numbers}

    @cached_property
    def _banded(self) -> tuple[list[Smooth], RightSide]:
        """The curves that rows hold by their numbers, behind all columns that are kept whole; and the rest."""
        whole, by_levels = ([one for one in self.curves if bool(one.levels) == levels] for levels in (False, True))
        last: list[Smooth] = []
        for one in reversed(whole):
            if not (isinstance(one, Smooth) and one.banded):
                break
            last.insert(0, one)
        ready = [*last, *(one for one in by_levels if isinstance(one, Smooth))]
        others = tuple(one for one in self.curves if one not in ready)
        return ready, replace(self, curves=others)

    def _known_cells(self, block: Block, cell: np.ndarray, codes: Mapping[str, np.ndarray], values: Values) -> Any:
        cells = np.asarray(self.cells[block.key], dtype=np.int64)
        at = np.minimum(np.searchsorted(cells, cell), max(len(cells) - 1, 0))
        unknown = (cell != NOWHERE) & (cells[at] != cell if len(cells) else True)
        if unknown.any():
            row = int(np.argmax(unknown))
            named = ", ".join(
                f"{label(one.atom)} = {self.levels[label(one.atom)][codes[label(one.atom)][row]]!r}"
                for one in block.factors
            )
            raise FormulaError(
                f"row {values.row(row)} has {named}. No row of the fitted data had this combination, so it has "
                "no coefficient."
            )
        return np.where(cell == NOWHERE, NOWHERE, at)

    # ------------------------------------------------------------------------------------------------------- JSON

    def to_json(self) -> dict[str, Any]:
        return {
            "terms": written(self.terms),
            "levels": {name: list(levels) for name, levels in self.levels.items()},
            "states": {name: dict(state) for name, state in self.states.items()},
            "cells": {key: list(cells) for key, cells in self.cells.items()},
            "hide_intercept": self.hide_intercept,
            **({"curves": [one.to_json() for one in self.curves]} if self.curves else {}),
        }

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> RightSide:
        terms = terms_of(parse_expression(str(found["terms"])))
        return cls(
            terms,
            {str(name): tuple(map(str, levels)) for name, levels in found["levels"].items()},
            {
                str(name): {str(key): float(value) for key, value in state.items()}
                for name, state in found["states"].items()
            },
            {str(key): tuple(map(int, cells)) for key, cells in found["cells"].items()},
            tuple(term_from_json(*pair) for pair in zip(found.get("curves", ()), terms.curves, strict=True)),
            bool(found["hide_intercept"]),
        )


def _beside_each_other(parts: list[np.ndarray], n_rows: int, order: Literal["C", "F"]) -> np.ndarray:
    found, begin = np.empty((n_rows, sum(part.shape[1] for part in parts)), order=order), 0
    for part in parts:
        found[:, begin : begin + part.shape[1]] = part
        begin += part.shape[1]
    return found


def written(terms: Terms) -> str:
    """Return the terms without group terms as the right side of a formula."""
    parts = ["1" if terms.has_intercept else "0"]
    parts += [":".join(f"({atom})" if _loose(atom) else str(atom) for atom in term) for term in terms.fixed]
    return " + ".join([*parts, *map(str, terms.curves)])


def _loose(atom: Any) -> bool:
    """A comparison needs its parentheses."""
    return isinstance(atom, Operation)


def known_codes(values: Values, atom: Any, levels: tuple[str, ...]) -> np.ndarray:
    """Return the codes of a factor among known levels. Raise `FormulaError` for other levels."""
    factor = as_factor(values.value(atom))
    codes = factor.recoded(levels)
    if len(codes) and codes.min() < 0:
        row = int(np.argmax(codes < 0))
        unseen = sorted({factor.levels[code] for code in np.unique(factor.codes[codes < 0]).tolist()})
        plural = "s" * (len(unseen) > 1)
        raise FormulaError(
            f"{label(atom)} has the level{plural} {listed([repr(one) for one in unseen])} (first in row "
            f"{values.row(row)}), which the fitted data did not have. The known levels are "
            f"{listed([repr(one) for one in levels])}."
        )
    return codes
