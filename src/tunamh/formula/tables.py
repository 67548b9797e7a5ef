"""Formulas of tables that come in blocks (`tunamh.open_rows`): the same two looks, each one map.

What a block is asked is a small value that can be sent to other processes; what it answers is small, too. Rows with
missing values that are to be left out keep their places, with a weight of zero.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..groups.from_tables import BYTES_OF_AN_EFFECT
from ..process.scratch import folder_in_force
from ..rows.in_memory import fits, folder_of_rows
from ..rows.pieces import every_block
from ..rows.source import Factored, Rows
from ..rows.table_source import RowsOfTables, TableBlock, Tables
from ..rows.trials import counted, refuse_wrong_trials
from ..tables.columns import Column, Factor
from ..tables.frames import CompleteRows, Frame, complete_rows
from ..targets import GLM
from ..targets.designs.indexed import NOWHERE
from ..targets.families.base import BaseFamily, Location
from .censoring import censoring_of
from .data_summaries import (
    FirstLook,
    Learned,
    Moments,
    SecondLook,
    completed,
    first_look,
    learned,
    refuse_second_intercept,
    second_look,
    second_look_at_once,
)
from .errors import FormulaError
from .left_side import Response, numbers_beside, response_of_levels
from .model import FormulaModel
from .needed_rows import Read, RowsOf, missing_told, rows_of, rows_of_complete, values_of
from .plain_rows import PlainRows
from .priors import prior_of
from .smooths import asked as asked_of
from .syntax import label
from .typical import ColumnsLook, columns_look, typical_columns
from .variables import as_columns, complete_in_large_arrays, join_levels, joined_variables, read, usable_numbers

_IN_FILES = 16  # bytes of a row whose columns are in files, at the peak (measured: 6 to 13)
_OF_CURVES = 150  # more, for a moment, where what curves need is added up (measured: 65 to 150)
_FEW = 16  # responses of a block that are kept, to know their spread


def opened(block: TableBlock, names: list[str]) -> CompleteRows:
    """Return the rows of a block without missing values. Columns that are arrays already are not copied."""
    at_hand: dict[str, Column] = {}
    for name in names:
        found = usable_numbers(block.numbers[name], name) if name in block.numbers else block.text(name)
        if found is not None:
            at_hand[name] = found
    if at_hand and len(at_hand) == len(names):
        return complete_rows(at_hand, len(at_hand[names[0]]))
    table = as_columns(block.table)
    others = read(table, [name for name in names if name not in at_hand])
    return complete_rows({name: at_hand[name] if name in at_hand else others[name] for name in names}, table.n_rows)


class FirstAnswer(NamedTuple):
    look: FirstLook
    columns: ColumnsLook
    holes: dict[str, int]
    lost: int
    levels: tuple[str, ...] | None
    moments: Moments | None
    some: np.ndarray
    second: SecondLook | None
    """None where it needs to know what all blocks have."""


@dataclass(frozen=True)
class AskFirst:
    """The first pass over the rows of a formula. It returns an answer for every block.

    The answer contains levels, moments, missing values and responses. If one pass is enough, it also contains the
    answer of the second pass.
    """

    asked: Read
    reads_codes: ClassVar[bool] = True

    def __call__(self, block: TableBlock) -> FirstAnswer:
        rows = opened(block, self.asked.names)
        values = values_of(rows, {}, block.start)
        look = first_look(self.asked.right, values)
        columns = columns_look(self.asked.right, self.asked.others.values(), values)
        found, second = values.value(self.asked.response), second_look_at_once(self.asked.right, look, values)
        beside = columns, rows.holes, rows.lost
        if isinstance(found, Factor):
            used = tuple(found.levels[code] for code in np.unique(found.codes).tolist())
            return FirstAnswer(look, *beside, used, None, np.empty(0), second)
        y = values.numbers(self.asked.response)
        return FirstAnswer(look, *beside, None, Moments.of(y), y[:: max(1, len(y) // _FEW)], second)


@dataclass(frozen=True)
class AskSecond:
    """The second pass over the rows of a formula: which cells occur in a block, and how its columns vary."""

    names: list[str]
    side: Any
    reads_codes: ClassVar[bool] = True

    def __call__(self, block: TableBlock) -> SecondLook:
        return second_look(self.side, values_of(opened(block, self.names), self.side.states, block.start))


@dataclass(frozen=True)
class FormulaRows:
    """Makes the rows of a target from a block of tables.

    ``filler`` is the response of rows that are left out because of missing values.
    """

    model: FormulaModel
    names: list[str]
    filler: float
    linear: bool = True  # in the label are energies, where there are trials
    reads_codes: ClassVar[bool] = True

    @cached_property
    def _text(self) -> str:
        about = json.dumps(replace(self.model, typical={}).to_json(), sort_keys=True)  # which makes no columns
        return f"FormulaRows({hashlib.blake2b(about.encode(), digest_size=8).hexdigest()}, {self.filler!r})"

    def __repr__(self) -> str:
        return self._text

    def __call__(self, block: TableBlock) -> Rows:
        plain = None if self.plain is None else self.plain.of_block(block)
        return self.of_rows(opened(block, self.names), block.start) if plain is None else plain

    @cached_property
    def plain(self) -> PlainRows | None:
        """Return how rows are read if the formula only names columns; None for other formulas."""
        return PlainRows.of_model(self.model)

    def of_rows(self, rows: CompleteRows, start: int) -> Rows:
        """Return the rows of a target. Rows with missing values keep their places."""
        plain = None if self.plain is None else self.plain.of_complete(rows, start)
        if plain is not None:
            return plain
        model = self.model
        values, keep, n = values_of(rows, model.states, start), rows.keep, len(rows.keep)
        columns = model.side.columns(values, by_columns=True)
        whole = _spread(columns.whole, keep, n, 0.0)
        X: Any = whole
        if columns.positions.shape[1]:
            scales = None if columns.values is None else _spread(columns.values, keep, n, 0.0)
            X = Factored(whole, _spread(columns.positions, keep, n, NOWHERE), columns.dim, scales)
        beside = numbers_beside(model.beside, values)
        y, weights = model.response.values(values), beside.get("weights")
        if model.dropped and weights is None:
            weights = np.ones(values.n_rows)
        trials = beside.get("trials")
        if trials is not None:
            refuse_wrong_trials(y, trials, FormulaError, lambda row: f"row {values.row(row)}")
        offset, censored = model.offset(values), censoring_of(beside)
        filler = self.filler if trials is None else 0.0
        filled: Any = [
            None if given is None else _spread(given, keep, n, fill)
            for given, fill in ((y, filler), (weights, 0.0), (offset, 0.0), (censored, 0.0))
        ]
        found = Rows(start, X, *filled)
        return found if trials is None else counted(found, _spread(trials, keep, n, 0.0), linear=self.linear)


def _spread(kept: np.ndarray, keep: np.ndarray, n: int, fill: float) -> np.ndarray:
    """Of the rows that are kept, in the places of all."""
    if keep.all():
        return kept
    found = np.full((n, *kept.shape[1:]), fill, dtype=kept.dtype)
    found[keep] = kept
    return found


# ------------------------------------------------------------------------------------------------------ the target


def needs_rows_at_hand(asked: Read) -> str | None:
    """Return in words which part of the formula needs all rows in memory, or None."""
    if any(terms.groups for terms in (asked.right, *asked.others.values())):
        return "group effects"
    if asked.others:
        return "further predictors"
    if asked.data_columns:
        return "columns of the data in an energy"
    if asked.right.strata or "entry" in asked.beside:
        return "strata and delayed entry"
    return "arrays beside a formula" if asked.arrays else None


def may_be_held(
    asked: Read, tables: Tables, as_read: int | None = None, needed_by: str | None = None, in_files: bool = False
) -> bool:
    """Return True if the columns of a formula fit into the allowed memory. Raise an error if they must fit but do not.

    ``as_read`` is the number of bytes of the columns of one row (None: it is measured by reading a block).
    ``needed_by`` says what needs all rows in memory, beside the formulas that always need them. ``in_files``: columns
    may be in files.
    """
    needed_by = needs_rows_at_hand(asked) or needed_by
    own = _IN_FILES + _OF_CURVES * any(terms.curves for terms in (asked.right, *asked.others.values()))
    return fits(
        tables, asked.names, **_sizes(asked), needed_by=needed_by, in_files=own if in_files else None, as_read=as_read
    )


def folder_of(asked: Read, tables: Tables, as_read: int | None = None) -> str | None:
    """Return the folder for the large arrays of a model with groups, or None if they fit into memory."""
    return folder_of_rows(tables, asked.names, **_sizes(asked), as_read=as_read)


def _sizes(asked: Read) -> dict[str, int]:
    """Numbers of a packed row, and the bytes that group effects need for each row."""
    sides = asked.right, *asked.others.values()
    groups = [group for terms in sides for group in terms.groups]
    effects = sum(len(group.columns.fixed) + group.columns.has_intercept for group in groups)
    numbers = sum(len(terms.fixed) + 1 + sum(asked_of(one).numbers for one in terms.curves) for terms in sides)
    return {"numbers": numbers, "more": BYTES_OF_AN_EFFECT * effects}


def rows_of_tables(asked: Read, tables: Tables, missing: str) -> RowsOf:
    """Return all rows without missing values.

    The columns are in memory, or in files if large arrays are in files (`tunamh.process.scratch`).
    """
    if folder_in_force() is None:
        return rows_of(asked, in_memory(asked, tables), missing)
    return rows_of_complete(asked, in_files(asked, tables), None, missing)


def in_memory(asked: Read, tables: Tables) -> Frame:
    """Return the columns that a formula needs, with all rows, in memory."""
    return joined_variables(list(_columns_of(asked, tables)), tables.n_rows)


def in_files(asked: Read, tables: Tables) -> CompleteRows:
    """Return the columns that a formula needs, with all rows that have no missing values.

    They are large arrays, which may be in files (`tunamh.process.scratch`).
    """
    return complete_in_large_arrays(_columns_of(asked, tables), asked.names, tables.n_rows)


def _columns_of(asked: Read, tables: Tables) -> Iterator[dict[str, Column]]:
    return every_block(tables, _Columns(asked.names), asked.names)


@dataclass(frozen=True)
class _Columns:
    names: list[str]

    def __call__(self, block: TableBlock) -> dict[str, Column]:
        return read(as_columns(block.table), self.names)


def target_of_tables(
    asked: Read, tables: Tables, family: Any, prior: Any, missing: str, hide_intercept: bool
) -> tuple[GLM, FormulaModel]:
    names = asked.names
    answers = list(tables.map(AskFirst(asked), names))
    holes: dict[str, int] = {}
    for answer in answers:
        for name, count in answer.holes.items():
            holes[name] = holes.get(name, 0) + count
    lost = sum(answer.lost for answer in answers)
    if holes and missing == "error":
        raise FormulaError(missing_told(holes, lost, tables.n_rows))
    if lost == tables.n_rows:
        raise FormulaError("every row has a missing value: no rows are left.")
    response, y = _response(asked, answers, family)
    looks, n_rows = [answer.look for answer in answers], tables.n_rows - lost
    side = learned(asked.right, looks, n_rows, hide_intercept=hide_intercept)
    refuse_second_intercept(side)
    seconds = [answer.second for answer in answers if answer.second is not None]
    if len(seconds) < len(answers):
        seconds = list(tables.map(AskSecond(names, side), names))
    common: Learned = completed(side, seconds)
    typical = typical_columns([answer.columns for answer in answers], common.side, common.moments)
    of_formula = asked.text, response, common.side, asked.right.offsets
    model = FormulaModel(*of_formula, beside=asked.beside, dropped=lost, typical=typical)
    if model.side.dim == 0:
        raise FormulaError(f"the formula {asked.text!r} has no coefficients: give it an intercept or a term.")
    of_trials = "trials" in asked.beside
    if of_trials and not family.of_labels:
        raise FormulaError(f"trials= is for labels, and {type(family).__name__} is not a family of labels.")
    linear = not of_trials or family.linear_in_label
    rows = FormulaRows(model, names, float(y[0]), linear)
    classes = response.levels if family.of_classes else None
    source = RowsOfTables(tables, rows, model.side.names, names, each=1 if linear else 2, classes=classes)
    of_rows = family.for_trials() if of_trials else family
    made = prior_of(prior, common, _location(family, y, answers), response.levels)
    return GLM(source, family=of_rows, prior=made), model


def _location(family: BaseFamily, y: np.ndarray, answers: list[FirstAnswer]) -> Location:
    """Where predictors may be expected, from some responses and the moments of all; classes by name have none."""
    moments = [answer.moments for answer in answers if answer.moments is not None and answer.moments.n > 0]
    if not moments:
        return Location(0.0, 1.0)
    total = reduce(Moments.__add__, moments)
    return family.location(y, moments=(total.mean, total.sd))


def _response(asked: Read, answers: list[FirstAnswer], family: Any) -> tuple[Response, np.ndarray]:
    """The response, and some of its values."""
    name = label(asked.response)
    there = [answer for answer in answers if answer.levels or (answer.moments is not None and answer.moments.n > 0)]
    kinds = {answer.levels is None for answer in there}
    if len(kinds) > 1:
        raise FormulaError(f"the response {name} holds numbers in some blocks and text in others.")
    if kinds == {True}:
        some = np.concatenate([answer.some for answer in there])
        moments = [answer.moments for answer in there if answer.moments is not None]
        low, high = min(one.low for one in moments), max(one.high for one in moments)
        if low == high and (family.of_labels or family.of_classes):
            raise FormulaError(f"the response {name} is {low:g} in every row: there is nothing to estimate.")
        return Response(asked.response), some
    levels = join_levels([answer.levels for answer in there if answer.levels])
    return response_of_levels(asked.response, levels, family), np.zeros(1)
