"""New rows, a chunk at a time, as the columns of a fitted model."""

from __future__ import annotations

from collections.abc import Iterator, Sized
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np

from .._arguments import number
from ..errors import NotApplicable, Text
from ..formula.errors import FormulaError, listed
from ..formula.evaluation import Values, as_factor
from ..formula.model import FormulaModel, GroupSide
from ..formula.right_side import Columns, known_codes
from ..formula.syntax import Name, columns_in
from ..formula.variables import as_columns, read, refuse_unknown, variable
from ..groups import GroupEffects
from ..rows.source import level_positions
from ..rows.table_source import TableBlock, Tables
from ..tables.columns import Factor
from ..tables.frames import Frame, column_names, complete_rows, frame_of_columns
from ..tables.matrices import as_matrix, as_vector, has_row_labels, refuse_non_finite
from .fitted import Fitted

KEEP = "keep"
"""What is said of rows with missing values, of which a prediction is NaN."""


@dataclass(frozen=True)
class Chunk:
    """Some new rows as the model reads them.

    They have the common columns, the offset, the columns of further parameters, and for each factor the group and the
    columns of its effects.
    """

    first: int
    columns: Columns
    offset: np.ndarray | None
    others: dict[str, np.ndarray]
    groups: list[tuple[Factor, np.ndarray] | None]
    trials: np.ndarray | None
    y: np.ndarray | None = None
    stratum: np.ndarray | None = None
    kept: np.ndarray | None = None
    """Which of the rows that were given these are, where others have missing values."""
    varying: tuple[tuple[int, np.ndarray], ...] = ()
    """Of means over new groups: the columns of every factor's effects, and the number of their predictor."""

    @property
    def n_rows(self) -> int:
        return len(self.columns.whole)


@dataclass(frozen=True)
class NewRowExtras:
    """What a user passes beside the new rows: an array for all rows, or None."""

    offset: Any = None
    trials: Any = None
    groups: Any = None
    predictors: Any = None


class Effects(Enum):
    """Which group effects are used: all, those of factors whose columns are in the table, or none."""

    ALL = 0
    AT_HAND = 1
    NONE = 2

    @classmethod
    def of(cls, included: bool, new_levels: str) -> Effects:
        return cls.NONE if not included else cls.AT_HAND if new_levels == "population" else cls.ALL


class NewRows:
    """New rows of a table. Each chunk of rows is read when it is needed."""

    def __init__(
        self,
        fitted: Fitted,
        table: Any,
        given: NewRowExtras,
        with_response: bool = False,
        effects: Effects = Effects.ALL,
        missing: str | None = None,
    ):
        self.fitted, self.given, self.with_response, self.effects = fitted, given, with_response, effects
        self.missing = missing
        self.user_table, formula = table, fitted.formula
        self.tables = table if isinstance(table, Tables) else None
        if formula is not None:
            _refuse_beside_a_formula(given)
            self.table = as_columns(table) if self.tables is None else Frame(dict.fromkeys(table.names), table.n_rows)
            self.n_rows = self.table.n_rows
        elif self.tables is not None:
            raise TypeError("predictions for tables in blocks need a formula: make the target with tunamh.regression.")
        elif missing == KEEP:
            raise NotApplicable(
                "missing='keep' is for models of tunamh.regression: leave rows with missing values out."
            )
        else:
            self.plain = _plain_columns(fitted, table)
            self.n_rows = len(self.plain.whole)
        if self.n_rows == 0:
            raise FormulaError("the new data have no rows.")

    def chunks(self, size: int) -> Iterator[Chunk]:
        formula = self.fitted.formula
        if formula is None:
            for first in range(0, self.n_rows, size):
                yield self._from_arrays(slice(first, min(first + size, self.n_rows)))
            return
        names, more = self._names(formula)
        self._refuse_missing_groups(formula)
        refuse_unknown(names, self.table.names)
        for start, part in self._parts(names, size):
            found = complete_rows(read(as_columns(part), names), part.n_rows)
            if found.holes and self.missing != KEEP:
                self._refuse_missing(next(iter(found.holes)), start + int(np.argmin(found.keep)))
            values = Values(found.columns, found.n_rows, formula.states, start, found.numbers)
            chunk = self._from_formula(formula, values, start + np.flatnonzero(found.keep), more)
            yield replace(chunk, kept=found.keep) if found.holes else chunk

    def _refuse_missing(self, name: str, row: int) -> None:
        keep = Text.of(", or say ", ("missing='keep'", "--missing keep"), " (a prediction of NaN)")
        where = f"column {name} has a missing value in row {row}: drop or fill such rows first"
        raise FormulaError(Text.of(where, ("", "") if self.missing is None else (str(keep), keep.shell), "."))

    @cached_property
    def index(self) -> Any:
        """Return the row labels of a pandas table, or None for other tables."""
        if not has_row_labels(self.user_table) or self.user_table.index.nlevels > 1:
            return None
        return np.asarray(self.user_table.index)

    def _counts(self, one: GroupSide) -> bool:
        """Whether the effects of a factor count."""
        if self.effects is Effects.AT_HAND:
            return all(name in self.table.columns for atom in one.by for name in columns_in(atom))
        return self.effects is Effects.ALL

    def _refuse_missing_groups(self, formula: FormulaModel) -> None:
        """The columns of groups may be left out, but only if that is said."""
        needed = {name for one in filter(self._counts, formula.groups) for atom in one.by for name in columns_in(atom)}
        absent = sorted(needed - set(self.table.names))
        if absent and not set(formula.columns_needed(lambda one: False)) - set(self.table.names):
            raise FormulaError(
                Text.of(
                    f"the data have no column {listed(absent)}, which names the groups: add it, or say ",
                    ("new_levels='population'", "--new-levels population"),
                    " (a typical group).",
                )
            )

    def refuse_missing_trials(self) -> None:
        """Raise an error if the model needs numbers of trials and the user has not passed them."""
        formula = self.fitted.formula
        if self.given.trials is not None:
            return
        if formula is None:
            if self.fitted.about.get("trials") is True:
                raise ValueError(
                    "the model was fitted with trials=, a number for each row, and simulated responses are successes "
                    "of so many trials: give the new rows' trials=."
                )
            return
        trials = formula.beside.get("trials")
        absent = [] if trials is None else [name for name in columns_in(trials) if name not in self.table.columns]
        if absent or "trials" in formula.arrays:
            said = f"the data have no column {listed(absent)}" if absent else "the model was fitted with trials"
            raise FormulaError(
                Text.of(
                    f"{said}, and simulated responses are successes of so many trials: ",
                    ("give the new rows' trials=.", "add a column of trials."),
                )
            )

    def _names(self, formula: FormulaModel) -> tuple[list[str], list[str]]:
        """The columns to be read, and those of them that are there for trials or responses only."""
        trials = formula.beside.get("trials")
        more: list[str] = []
        if trials is not None and self.given.trials is None:
            more = [name for name in columns_in(trials) if name in self.table.columns]
        if self.with_response:
            more += list(columns_in(formula.response.node))
        return list(dict.fromkeys([*formula.columns_needed(self._counts), *more])), more

    def _parts(self, names: list[str], size: int) -> Iterator[tuple[int, Frame]]:
        """Columns of so many rows at a time, and the number of the first."""
        blocks = [(0, self.table)] if self.tables is None else self.tables.map(columns_of_block, names)
        for start, table in blocks:
            for first in range(0, table.n_rows, size):
                yield start + first, table.take(slice(first, first + size), names)

    def _from_formula(self, formula: FormulaModel, values: Values, which: np.ndarray, more: list[str]) -> Chunk:
        trials, counted = formula.beside.get("trials"), None
        if self.given.trials is not None:
            counted = _vector(self.given.trials, "trials", self.n_rows)[which]
        elif trials is not None and more:
            counted = values.numbers(trials)
        return Chunk(
            values.row(0) if len(which) else 0,
            formula.side.columns(values),
            formula.offset(values),
            {name: side.columns(values).dense() for name, side in formula.others.items()}
            | {name: values.numbers(Name(name))[:, None] for name in formula.data_columns},
            [
                (one.labels(values), one.columns.columns(values).dense()) if self._counts(one) else None
                for one in formula.groups
            ],
            counted,
            formula.response.values(values) if self.with_response else None,
            None if formula.strata is None else formula.strata.factor(values).codes,
        )

    def _from_arrays(self, which: slice) -> Chunk:
        about, given, n = self.fitted.about, self.given, self.n_rows
        if about.get("strata"):
            raise NotApplicable(
                "predictions with strata need a formula: make the target with tunamh.regression, and write strata(x)."
            )
        if about.get("offset") and given.offset is None:
            raise ValueError("the model was fitted with offset=: give the new rows' offset= too.")
        offset = None if given.offset is None else _vector(given.offset, "offset", n)[which]
        counted = about.get("trials") if given.trials is None else given.trials
        trials = None if counted is None or isinstance(counted, bool) else _vector(counted, "trials", n)[which]
        others = {}
        for name in about["predictors"]:
            if not given.predictors or name not in given.predictors:
                raise ValueError(f"in this model {name} depends on columns: pass predictors={{{name!r}: Z}} too.")
            others[name] = np.asarray(
                as_matrix(given.predictors[name], f"predictors[{name!r}]", or_vector=True), dtype=np.float64
            )[which]
        plain = self.plain
        values = None if plain.values is None else plain.values[which]
        columns = Columns(plain.whole[which], plain.positions[which], values, plain.dim)
        return Chunk(which.start, columns, offset, others, self._groups(which), trials)

    def _groups(self, which: slice) -> list[tuple[Factor, np.ndarray] | None]:
        wanted = list({one.get("given", k): one for k, one in enumerate(self.fitted.about.get("groups", []))}.values())
        if not wanted:
            return []
        given = self.given.groups
        if self.effects is Effects.NONE or (self.effects is Effects.AT_HAND and given is None):
            return [None] * len(wanted)
        listed_groups = list(given) if isinstance(given, list | tuple) else [given]
        if given is None or len(listed_groups) != len(wanted):
            names = ", ".join(str(one["name"]) for one in wanted)
            raise ValueError(f"the model has group effects of {names}: give groups=, as to tunamh.MixedModel.")
        found: list[tuple[Factor, np.ndarray] | None] = []
        for about, one in zip(wanted, listed_groups, strict=True):
            effects = one if isinstance(one, GroupEffects) else GroupEffects(one)
            name, Z = str(about["name"]), effects.X
            codes = variable(frame_of_columns({name: effects.codes}, "groups").take(which).columns[name], name)
            matrix = (
                np.ones((which.stop - which.start, 1))
                if Z is None
                else as_matrix(Z, "X of groups", or_vector=True)[which]
            )
            if matrix.shape[1] != len(about["columns"]):
                raise ValueError(
                    f"effects of {about['name']} have {len(about['columns'])} columns, got {matrix.shape[1]}."
                )
            found.append((as_factor(codes), np.asarray(matrix, dtype=np.float64)))
        return found


def columns_of_block(block: TableBlock) -> tuple[int, Frame]:
    return block.start, as_columns(block.table)


def _refuse_beside_a_formula(given: NewRowExtras) -> None:
    for name, value in {"offset": given.offset, "groups": given.groups, "predictors": given.predictors}.items():
        if value is not None:
            raise TypeError(f"the model was made from a formula, which has its own {name}: leave {name}= out.")


def _vector(values: Any, name: str, n_rows: int) -> np.ndarray:
    if np.ndim(values) == 0 and not isinstance(values, Sized):
        return np.full(n_rows, number(name, values))
    return as_vector(values, name, n_rows)


def _plain_columns(fitted: Fitted, table: Any) -> Columns:
    """Of a target that was made from a matrix or a table: by position, or by name."""
    about = fitted.about
    names, dim, factors = about.get("columns"), int(about["dim"]), about.get("factors") or {}
    given = column_names(table)
    if given is not None and names is not None:
        return _named_columns(table, [str(name) for name in names], factors, dim)
    if factors:
        raise TypeError("the model was fitted to a table with categories: give the new rows as a table, too.")
    matrix = np.asarray(as_matrix(table, "the new data"), dtype=np.float64)
    if matrix.shape[1] != dim:
        raise ValueError(f"the new data have {matrix.shape[1]} columns, but the model was fitted to {dim}.")
    refuse_non_finite(matrix, "the new data")
    return Columns(matrix, np.empty((len(matrix), 0), dtype=np.int32), None, dim)


def _named_columns(table: Any, names: list[str], factors: dict[str, list[str]], dim: int) -> Columns:
    of_levels = {f"{name}[{level}]" for name, levels in factors.items() for level in levels[1:]}
    whole = [name for name in names if name not in of_levels]
    columns = as_columns(table)
    absent = [name for name in (*whole, *factors) if name not in columns.columns]
    if absent:
        raise FormulaError(f"the new data have no column {listed(absent)}, to which the model was fitted.")
    values = Values(read(columns, (*whole, *factors)), columns.n_rows, {})
    for name, one in values.variables.items():
        if one.missing.any():
            raise FormulaError(f"column {name} has a missing value in row {int(np.argmax(one.missing))}.")
    matrix = np.column_stack([values.numbers(Name(name)) for name in whole]) if whole else np.empty((values.n_rows, 0))
    positions = np.empty((values.n_rows, 0), dtype=np.int32)
    if factors:
        codes = [known_codes(values, Name(name), tuple(levels)) for name, levels in factors.items()]
        positions, _ = level_positions(codes, list(map(len, factors.values())), len(whole))
    return Columns(matrix, positions, None, dim)
